"""Runs that go on from the end of another, to the bit; and both as one."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import posture, random_arm, speed
from one_joint import beam, block
from simulation.making import RUBBING, kinds

import forearm as fa
from forearm.drives import DAC
from forearm.simulation import (
    Ending,
    Sampling,
    Schedule,
    Simulation,
    joined,
    load_simulation,
    without_inductance,
)


def same(a: Simulation, b: Simulation, rows: slice) -> bool:
    names = ("t", "q", "qd", "qdd", "tau")
    return all(np.array_equal(getattr(a, name)[rows], getattr(b, name)) for name in names)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["torque", "voltage", "schedule", "controller", "callable"])
@pytest.mark.parametrize("seed", [1, 6])
@pytest.mark.sweep(first=4)
def test_going_on_gives_the_bits_of_one_run(kind: str, seed: int, tmp_path: Path) -> None:
    arm = without_inductance(random_arm(seed, 3))
    start = posture(arm, seed), speed(arm, seed)
    u = np.random.default_rng(seed).uniform(-20.0, 20.0, 3)
    table = Schedule(times=np.array([0.0, 0.013, 0.05]), values=np.array([u, -u, 2.0 * u]))
    ways: dict[str, dict[str, Any]] = {
        "torque": {"torque": u},
        "voltage": {"voltage": u},
        "schedule": {"voltage": table, "sampling": Sampling(DAC(period=5e-3))},
        "controller": {"controller": lambda t, q, qd: u * math.cos(30.0 * t) - q},
        "callable": {"torque": lambda t: u * math.cos(30.0 * t)},
    }
    given = ways[kind]
    whole = fa.simulate(arm, *start, 0.1, **given)
    first = fa.simulate(arm, *start, 0.037, **given)
    assert kinds(whole), "joints stand"
    first.save(tmp_path / "first.npz")
    for before in (first, load_simulation(tmp_path / "first.npz")):
        second = fa.simulate(arm, *start, 0.063, continued=before, **given)
        third = fa.simulate(arm, *start, 0.0, continued=second, **given)
        assert same(whole, first, slice(0, 38)) or kind == "controller", "which is not asked at the end"
        assert np.array_equal(whole.q[:38], first.q)
        assert same(whole, second, slice(37, None))
        assert np.array_equal(whole.q[-1:], third.q)


def test_going_on_after_an_end_before_time_begins_at_the_last_sample() -> None:
    arm = block(friction=RUBBING)
    first = fa.simulate(arm, [0.0], [1.0], 2.0, ending=Ending(until=lambda t, q, qd: float(q[0]) - 0.1))
    assert first.t[-1] < 0.2
    second = fa.simulate(arm, [0.0], [0.0], 0.5, continued=first)
    assert second.t[0] == first.t[-1]
    assert np.array_equal(second.q[0], first.q[-1])
    whole = fa.simulate(arm, [0.0], [1.0], 1.0)
    assert np.array_equal(second.q[-1], whole.q[len(first.t) + len(second.t) - 2])


def test_another_arm_is_not_gone_on_with() -> None:
    first = fa.simulate(block(), [0.0], [1.0], 0.1)
    renamed = block().replace(name="the same", notes="by another name")
    assert fa.simulate(renamed, [0.0], [0.0], 0.1, continued=first).q[0] == first.q[-1]
    for other in (block(friction=RUBBING), beam(), block().with_payload(mass=0.1)):
        with pytest.raises(
            fa.InputError,
            match=r"whose parameters are not those of 'one'\. Start a new one from its last q and qd",
        ):
            fa.simulate(other, [0.0], [0.0], 0.1, continued=first)


def test_a_damaged_checkpoint_and_one_of_another_moment_are_refused() -> None:
    first = fa.simulate(block(friction=RUBBING), [0.0], [1.0], 0.1)
    assert first.checkpoint is not None
    fields = {f: getattr(first, f) for f in first.__dataclass_fields__}
    names = ("q", "qd", "friction_sign", "is_free", "t", "origin", "done", "step")
    wrongs = (np.zeros((1, 5)), np.array([[math.nan]]), "x", [["x"]], None)
    damage: list[tuple[str, Any, str]]
    damage = [(name, wrong, "simulate, continued: ") for name in names for wrong in wrongs]
    moments = {"t": 0.2, "q": [[0.5]], "qd": [[0.3]], "origin": 1.0, "done": 99}
    damage += [(name, x, "is damaged; simulate from the start again") for name, x in moments.items()]
    for name, wrong, text in damage:
        bad = Simulation(**fields | {"checkpoint": first.checkpoint | {name: wrong}})
        with pytest.raises(fa.InputError, match=text):
            fa.simulate(first.arm, [0.0], [0.0], 0.1, continued=bad)


def test_only_what_goes_on_is_joined() -> None:
    push: dict[str, Any] = {"torque": [2.0]}
    first = fa.simulate(block(), [0.0], [1.0], 0.1, **push)
    second = fa.simulate(block(), [0.0], [0.0], 0.1, continued=first, **push)
    both = joined(first, second)
    whole = fa.simulate(block(), [0.0], [1.0], 0.2, **push)
    assert np.array_equal(both.q, whole.q)
    assert np.array_equal(both.qdd, whole.qdd)
    assert both.energy["supplied"] == pytest.approx(whole.energy["supplied"], rel=1e-12)
    assert both.status is second.status
    third = fa.simulate(block(), [0.0], [0.0], 0.1, continued=second)
    for other in (third, first, fa.simulate(fa.load("ascher2"), [0.0, 0.0], [0.0, 0.0], 0.1)):
        with pytest.raises(fa.InputError, match=r"joined: <Simulation of .* does not continue <Simulation"):
            joined(first, other)
