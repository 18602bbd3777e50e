"""Code that is compiled quickly: another object, the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import forearm as fa
from forearm.kernels import native
from forearm.kernels.cache_key import surroundings


def test_quick_code_has_the_bits_of_optimised_code(monkeypatch: pytest.MonkeyPatch) -> None:
    arm, (q, qd, qdd) = fa.load("stanford-dhanaraj3"), np.random.default_rng(3).normal(size=(3, 9, 3))
    results = []
    for how in ("optimised", "quick"):
        monkeypatch.setenv("FOREARM_COMPILE", how)
        k = fa.compile(arm)
        one, many = k.inverse_dynamics(q[0], qd[0], qdd[0]), k.inverse_dynamics(q, qd, qdd)
        results.append([one, many, *k.simulate(q, 0.1 * qd, steps=5, step=1e-3)])
    assert np.isfinite(results[0][-1]).all()
    assert all(np.array_equal(a, b) for a, b in zip(*results, strict=True))


def test_its_cache_key_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREARM_COMPILE", "optimised")
    optimised = surroundings()
    monkeypatch.setenv("FOREARM_COMPILE", "quick")
    assert surroundings() == [*optimised, "quick"]


@pytest.mark.parametrize(("factor", "is_quick"), [(1.1, True), (0.9, False)])
def test_long_code_is_optimised_all_the_same(
    factor: float, is_quick: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, levels = "define <4 x double> @f(<4 x double> %x) {\n ret <4 x double> %x\n}\n", []
    machine = native._machine

    def noted(cpu: str, level: int) -> Any:
        levels.append(level)
        return machine(cpu, level)

    monkeypatch.setattr(native, "_machine", noted)
    monkeypatch.setattr(native, "LONGEST_QUICK", factor * 4 * len(text))
    for how in ("quick", "optimised"):
        monkeypatch.setenv("FOREARM_COMPILE", how)
        native.object_code(text)
    assert levels == [0 if is_quick else 3, 3]


def test_an_unknown_way_to_compile_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREARM_COMPILE", "fast")
    with pytest.raises(fa.InputError, match=r"^FOREARM_COMPILE: .*optimised, quick"):
        native.is_quick()
