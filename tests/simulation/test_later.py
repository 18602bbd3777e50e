"""What a run computes only when it is asked for: the same numbers, whenever and in whatever order that is."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import posture, random_arm, speed

import forearm as fa
from forearm.simulation import Schedule, Simulation, load_simulation, without_inductance
from forearm.simulation.result import LATER

ARM = without_inductance(random_arm(1, 3))
START = posture(ARM, 1), speed(ARM, 1), 0.05
U = np.array([9.0, -7.0, 5.0])
LINE = Schedule(times=np.array([0.0, 0.05]), values=np.array([U, -U]), how="linear")
WAYS: dict[str, dict[str, Any]] = {
    "held": {"voltage": U},
    "straight": {"torque": LINE},
    "function": {"torque": lambda t: U * t},
    "controller": {"controller": lambda t, q, qd: U - q},
}
KINDS = pytest.mark.parametrize(
    ("kind", "method"), [("held", "rk4"), ("straight", "dp45"), ("function", "dp45"), ("controller", "rk4")]
)
METHODS = pytest.mark.parametrize("method", ["rk4", "dp45"])


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[name], b[name]) for name in a)
    return bool(a is b or np.array_equal(a, b))


def made(run: Simulation) -> list[str]:
    return [name for name in LATER if name in vars(run)]


@pytest.mark.slow
@METHODS
def test_nothing_is_computed_before_it_is_asked_for(method: str) -> None:
    run = fa.simulate(ARM, *START, voltage=U, method=method)
    assert made(run) == []
    assert run.tau is run.tau
    assert made(run) == ["tau"]
    assert run.energy is run.energy
    for array in (run.q, run.qdd, run.tau, run.voltage, run.energy["lost"], run.lost["gear"]):
        assert array is not None
        assert not array.flags.writeable
    with pytest.raises(AttributeError, match="a simulation has no attribute 'torque'"):
        run.torque  # noqa: B018


@pytest.mark.slow
@KINDS
def test_the_order_of_asking_does_not_matter(kind: str, method: str) -> None:
    orders = (LATER, LATER[::-1])
    first, second = (fa.simulate(ARM, *START, method=method, **WAYS[kind]) for _ in orders)
    for run, order in zip((first, second), orders, strict=True):
        for name in order:
            getattr(run, name)
    assert all(same(getattr(first, name), getattr(second, name)) for name in LATER)


@KINDS
def test_pickles_copies_and_files_hold_all(kind: str, method: str, tmp_path: Path) -> None:
    run = fa.simulate(ARM, *START, method=method, **WAYS[kind])
    run.save(tmp_path / "run.npz")
    others = [
        pickle.loads(pickle.dumps(run)),
        copy.copy(run),
        copy.deepcopy(run),
        load_simulation(tmp_path / "run.npz"),
    ]
    for other in others:
        assert made(other) == list(LATER)
        assert all(same(getattr(run, name), getattr(other, name)) for name in ("t", "q", "qd", *LATER))
        assert (other.events, other.message, other.status) == (run.events, run.message, run.status)


def test_what_the_caller_does_afterwards_changes_nothing() -> None:
    torque, asked = U.copy(), []

    def push(t: float) -> Any:
        asked.append(t)
        return U

    run = fa.simulate(ARM, *START, torque=torque)
    torque[:] = 99.0
    assert np.array_equal(run.tau[-1], U)
    for method in ("rk4", "dp45"):
        run = fa.simulate(ARM, *START, torque=push, method=method)
        count = len(asked)
        assert run.energy["supplied"][-1] != 0.0
        assert np.array_equal(run.tau[-1], U)
        assert len(asked) == count, "functions are asked while the run is made, never after"


@pytest.mark.slow
def test_progress_is_told() -> None:
    for method in ("rk4", "dp45", "gauss4"):
        told: list[tuple[float, float, str]] = []
        arm = ARM if method != "gauss4" else ARM.rigid()
        run = fa.simulate(
            arm, *START, method=method, progress=lambda *how_far, told=told: told.append(how_far)
        )
        done, total, what = told[-1]
        assert done == pytest.approx(run.t[-1], rel=1e-12)
        assert (total, what) == (START[-1], f"simulating {arm.name}")
        assert told == sorted(told)
        quiet = fa.simulate(arm, *START, method=method)
        assert np.array_equal(run.q, quiet.q)


def test_progress_is_told_of_a_run_that_overflows() -> None:
    told: list[float] = []
    run = fa.simulate(
        ARM,
        *START[:2],
        1.0,
        method="rk4",
        controller=lambda t, q, qd: 1e6 * qd,
        progress=lambda done, total, what: told.append(done),
    )
    assert not run.ok
    assert told[-1] == pytest.approx(run.t[-1])
