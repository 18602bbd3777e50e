"""Adaptive runs in machine code against the same in Python, which a condition that is never met asks for."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from arms import random_arm
from drives.making import loaded_arm
from sweeps import long

import forearm as fa
from forearm.simulation import Accuracy, Ending, Sampling, Schedule, adaptive
from forearm.simulation.events import EventFunction, Watch

DURATION = 0.8
TOLERANCE = 1e-6  # the default
CAREFUL = Accuracy(1e-12, 1e-13)
IN_PYTHON = Ending(until=lambda t, q, qd: -1.0)
ARMS = {
    "rigid": random_arm(3, 3, drives=False),
    "dry": random_arm(5, 2, prismatic=False).replace(gravity=(0.0, 0.0, -2.0)),
    "followers": random_arm(2, 2, mimic=True),
    "gears and bearings": loaded_arm("turning", 4, 2),
}
TIMES = np.array([0.0, 0.13, 0.31, 0.55])


def drive(arm: fa.Arm, how: str) -> dict[str, Any]:
    """Torques that move joints, leave them, and move them again."""
    rng = np.random.default_rng(arm.n)
    rows = rng.uniform(5.0, 30.0, (len(TIMES), arm.n)) * np.array([1.0, 0.001, -1.0, 0.001])[:, None]
    if how == "constant":
        return {"torque": 0.3 * rows[0]}
    if how == "sampled":
        dac = fa.DAC(period=0.02, bits=12, span=80.0)
        return {"torque": lambda t: rows[0] * np.cos(9.0 * t), "sampling": Sampling(dac=dac)}
    return {"torque": Schedule(TIMES, rows, how="hold" if how == "hold" else "linear")}


def start(arm: fa.Arm) -> tuple[Any, Any]:
    rng = np.random.default_rng(arm.n)
    return rng.uniform(-0.5, 0.5, arm.n), np.where(np.arange(arm.n) % 2, 0.0, 0.3)


def run(arm: fa.Arm, how: str, method: str, **options: Any) -> fa.Simulation:
    return fa.simulate(arm, *start(arm), DURATION, method=method, **(drive(arm, how) | options))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dp45", "dp87"])
@pytest.mark.parametrize("how", ["constant", "hold", "linear"])
@pytest.mark.parametrize("name", ARMS)
@pytest.mark.sweep(first=3)
def test_no_less_accurate_than_in_python(name: str, how: str, method: str) -> None:
    arm = ARMS[name]
    truth = run(arm, how, "dp87", accuracy=CAREFUL, ending=IN_PYTHON)
    fast, slow = run(arm, how, method), run(arm, how, method, ending=IN_PYTHON)
    # where a joint stops, a long step of dp87 is followed by a curve that is less accurate than its ends
    allowed = TOLERANCE if method == "dp45" or name == "rigid" else 1e-3
    errors = [np.abs([r.q[-1] - truth.q[-1], r.qd[-1] - truth.qd[-1]]).max() for r in (fast, slow)]
    assert errors[0] <= 2.0 * errors[1] + allowed
    assert abs(len(fast.t) - len(slow.t)) <= 2 + 0.1 * len(slow.t)
    changes = [[e for e in r.events if e.kind in ("stick", "slip")] for r in (fast, slow, truth)]
    for one, other, right in zip(*changes, strict=True):
        assert (one.kind, one.joint) == (other.kind, other.joint) == (right.kind, right.joint)
        assert abs(one.t - right.t) <= 2.0 * abs(other.t - right.t) + allowed
    assert np.array_equal(fast.t[np.isin(fast.t, TIMES)], TIMES if how != "constant" else TIMES[:1])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dry", *long(["followers", "gears and bearings"])])
def test_the_energy_balance_and_the_curve_between_steps(name: str) -> None:
    made = run(ARMS[name], "linear", "dp45", accuracy=Accuracy(1e-9, 1e-11))
    growth = sum(made.energy[part][-1] - made.energy[part][0] for part in ("kinetic", "potential"))
    size = np.abs(made.energy["kinetic"]).max() + np.abs(made.energy["supplied"]).max()
    assert made.energy["supplied"][-1] - made.energy["lost"][-1] == pytest.approx(growth, abs=1e-6 * size)
    truth = run(ARMS[name], "linear", "dp87", accuracy=CAREFUL)
    for t in np.linspace(0.05, 0.75, 13):
        assert made.at(t)[0] == pytest.approx(truth.at(t)[0], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["hold", "linear"])
def test_voltages_within_their_limits(how: Literal["hold", "linear"]) -> None:
    arm = fa.load("puma560")
    rows = np.array([[20.0, -35.0, 60.0, 9.0, -9.0, 7.0], [-50.0, 20.0, 1.0, 0.0, 20.0, 30.0]])
    volts = Schedule(np.array([0.0, 0.11]), rows, how=how)
    q, qd = np.linspace(-0.4, 0.7, 6), np.array([0.2, 0.0, -0.3, 0.0, 0.1, 0.0])
    fast, slow = (
        fa.simulate(arm, q, qd, 0.25, voltage=volts, method="dp45", ending=ending)
        for ending in (Ending(), IN_PYTHON)
    )
    assert len(fast.t) == len(slow.t)
    np.testing.assert_allclose(fast.q, slow.q, rtol=0, atol=1e-7)
    assert [(e.kind, e.joint) for e in fast.events] == [(e.kind, e.joint) for e in slow.events]


def counting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Times at which Python takes a step."""
    seen: list[float] = []
    step = adaptive._Run._step

    def counted(self: adaptive._Run, end: float) -> bool:
        seen.append(self.t)
        return step(self, end)

    monkeypatch.setattr(adaptive._Run, "_step", counted)
    return seen


@pytest.mark.parametrize("how", ["constant", "hold", "linear", "sampled"])
def test_python_takes_no_step_where_nothing_happens(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = counting(monkeypatch)
    assert len(run(ARMS["rigid"], how, "dp45").t) > 10
    assert not seen
    assert len(run(ARMS["rigid"], how, "dp45", ending=IN_PYTHON).t) > 10
    assert len(seen) > 10


def test_python_takes_few_steps_where_joints_stand_or_move(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = counting(monkeypatch)
    made = run(ARMS["dry"], "hold", "dp45")
    assert any(event.kind == "stick" for event in made.events)
    assert len(seen) < 0.1 * len(made.t)


def test_a_limit_is_found_where_it_is() -> None:
    arm = fa.load("puma560").rigid()
    made = fa.simulate(arm, np.zeros(6), np.zeros(6), 5.0, method="dp45", ending=Ending(stops=True))
    (event,) = made.events
    joint = arm.joints[[j.name for j in arm.joints].index(event.joint or "")]
    q = made.q[-1, list(arm.joints).index(joint)]
    assert joint.limits is not None
    assert min(abs(q - limit) for limit in joint.limits) < 1e-9
    assert made.t[-1] == event.t < 5.0


def test_more_steps_than_are_taken_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(ARMS["rigid"], "linear", "dp45")
    told: list[float] = []
    monkeypatch.setattr(adaptive, "AT_ONCE", 3)
    parts = run(ARMS["rigid"], "linear", "dp45", progress=lambda done, total, what: told.append(done))
    assert told == sorted(set(told))
    assert len(told) >= (len(parts.t) - 1) / 3
    assert told[-1] == DURATION
    # a step that was rejected last before Python looked may grow at once
    np.testing.assert_allclose(parts.q[-1], whole.q[-1], rtol=0, atol=1e-6)


def test_the_limit_on_steps_holds_in_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptive, "MOST_STEPS", 7)
    made = run(ARMS["rigid"], "constant", "dp45")
    assert not made.ok
    assert "maximum number of steps, 7, reached" in made.message
    assert len(made.t) <= 8
    few = run(ARMS["rigid"], "constant", "dp45", ending=IN_PYTHON)
    assert few.status is fa.simulation.Status.TOO_MANY_STEPS
    assert "maximum number of steps, 7, reached" in few.message


def test_crossings_that_steps_did_not_see_are_found_where_they_end() -> None:
    def state(x: float) -> Any:
        return np.array([[x], [0.0]])

    def g(t: float, q: Any, qd: Any) -> Any:
        return q[0]

    watch = Watch([EventFunction("end", g, -1, terminal=True), EventFunction("fall", g)], 0.0, state(0.0))
    assert watch.follow(1.0, state(2.0)) == []
    hits = watch.follow(2.0, state(-1e-9))
    assert [(hit.name, hit.t, hit.direction) for hit in hits] == [("fall", 2.0, -1), ("end", 2.0, -1)]
    assert [hit.name for hit in watch.follow(3.0, state(1.0))] == ["fall"]
