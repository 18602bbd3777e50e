"""Runs that end before their time: limits, conditions, numbers that are none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arms import posture, random_arm, speed
from one_joint import block
from simulation.making import RIGID, kinds

import forearm as fa
from forearm.simulation import Accuracy, Ending, Sampling, Status


def two_blocks() -> fa.Arm:
    """Blocks on two level tables of one base: m q'' = tau for each."""
    one = block()
    joint, (table, load) = one.tree[0], one.links
    joints = tuple(replace(joint, name=name, child=f"{name} block") for name in ("first", "second"))
    links = [replace(load, name=j.child) for j in joints]
    return fa.Arm(name="two", links=(table, *links), tree=joints, gravity=one.gravity)


@pytest.mark.parametrize("method", ["rk4", "dp45"])
def test_it_ends_at_a_limit(method: str) -> None:
    run = fa.simulate(
        block(), [2.0], [0.5], 9.0, ending=Ending(stops=True), method=method, accuracy=Accuracy(1e-9)
    )
    (event,) = run.events
    assert (event.kind, event.joint, event.text) == ("stop", "way", "way is at its limit")
    assert event.t == run.t[-1] == pytest.approx(2.0, abs=1e-8 if method == "dp45" else 1.1e-3)
    assert run.message == f"way is at its limit, at {event.t:g} s"
    from_the_limit = fa.simulate(block(), [3.0], [0.5], 9.0, ending=Ending(stops=True), method=method)
    assert from_the_limit.t[-1] <= 1e-3
    beyond = fa.simulate(block(), [3.1], [0.5], 9.0, ending=Ending(stops=True), method=method)
    assert (len(beyond.t), kinds(beyond)) == (1, [("stop", "way")])
    assert beyond.status is Status.EVENT
    back = fa.simulate(block(), [3.0], [-0.5], 1.0, ending=Ending(stops=True), method=method)
    assert back.message == "the end was reached"


@pytest.mark.parametrize("method", ["rk4", "dp45"])
def test_it_ends_where_a_condition_passes_zero(method: str) -> None:
    run = fa.simulate(
        block(), [0.0], [1.0], 9.0, ending=Ending(until=lambda t, q, qd: float(q[0]) - 0.5), method=method
    )
    assert kinds(run) == [("condition", None)]
    assert run.t[-1] == pytest.approx(0.5, abs=1.1e-3 if method == "rk4" else 1e-9)
    never = fa.simulate(
        block(), [0.0], [1.0], 1.0, ending=Ending(until=lambda t, q, qd: 1.0 + float(q[0])), method=method
    )
    assert never.message == "the end was reached", "it was past zero from the start"


@pytest.mark.parametrize("method", ["rk4", "dp45"])
def test_what_leaves_all_numbers_ends_with_time_and_joint(method: str) -> None:
    with np.errstate(all="ignore"):
        run = fa.simulate(
            RIGID,
            [0.0] * 3,
            [0.0] * 3,
            1.0,
            controller=lambda t, q, qd: np.clip(1e9 * qd**3 + 1.0, -1e300, 1e300),
            method=method,
        )
    if method == "rk4":
        event = run.events[-1]
        assert event.kind == "diverged"
        assert event.joint in [j.name for j in RIGID.joints]
        assert f"{event.joint} overflowed; use a shorter step, at {event.t:g} s" == run.message
    assert run.t[-1] < 1.0
    assert run.message != "the end was reached"
    assert np.isfinite(run.q).all()
    assert run.checkpoint is not None
    assert np.array_equal(run.checkpoint["q"][0], run.q[-1])


@pytest.mark.parametrize("record", [1, 7])
def test_the_joint_that_went_first_is_named(record: int) -> None:
    """Two blocks that know nothing of each other, the second driven without measure:
    all numbers of the first stay finite.
    """
    arm = two_blocks()
    push = [0.0, 1e306]
    run = fa.simulate(
        arm, [0.0, 0.0], [5.0, 0.0], 900.0, torque=push, step=1.0, sampling=Sampling(record=record)
    )
    event = run.events[-1]
    assert (event.kind, event.joint) == ("diverged", "second")
    exact = fa.simulate(arm, [0.0, 0.0], [5.0, 0.0], 900.0, torque=push, step=1.0).events[-1].t
    assert event.t == exact, "to the step, however few samples are kept"
    assert run.t[-1] <= event.t - 1.0


def test_of_joints_that_went_together_the_fastest_is_named() -> None:
    for fast in (0, 1):
        push = np.where(np.arange(2) == fast, 1.01e306, 1e306)  # both go in one step
        run = fa.simulate(two_blocks(), [0.0, 0.0], [0.0, 0.0], 900.0, torque=push, step=1.0)
        assert run.events[-1].joint == ("first", "second")[fast]


@pytest.mark.parametrize("method", ["rk4", "dp45", "midpoint"])
def test_a_joint_that_passes_its_limit_is_told_of(method: str) -> None:
    arm = block()
    low, high = arm.joints[0].limits
    run = fa.simulate(arm, [high - 0.1], [0.5], 1.0, method=method)
    assert kinds(run) == [("limit", "way")]
    assert run.ok
    assert run.t[-1] == 1.0
    (event,) = run.events
    assert event.text == f"way is beyond its upper limit, {high:.6g} m"
    assert run.at(event.t)[0] == pytest.approx(high, abs=0.5 * (run.t[1] if method == "rk4" else 1.0))
    assert run.at(event.t)[0] > high
    (event,) = fa.simulate(arm, [low - 0.1], [0.0], 0.1, method=method).events
    assert (event.t, event.text) == (0.0, f"way is beyond its lower limit, {low:.6g} m")
    assert kinds(fa.simulate(arm, [high - 0.1], [0.5], 1.0, ending=Ending(stops=True))) == [("stop", "way")]


@pytest.mark.parametrize("method", ["rk4", "dp45"])
def test_how_it_ended_is_a_status(method: str) -> None:
    well = fa.simulate(block(), [0.0], [1.0], 0.1, method=method)
    assert (well.status, well.ok, well.checked()) == (Status.END, True, well)
    stopped = fa.simulate(block(), [2.9], [1.0], 9.0, ending=Ending(stops=True), method=method)
    assert (stopped.status, stopped.ok) == (Status.EVENT, True)


@pytest.mark.slow
def test_a_jam_under_way_is_told_from_numbers_that_grow() -> None:
    arm = random_arm(7, 3)
    start, torque, ends = (posture(arm, 7), speed(arm, 7)), np.random.default_rng(7).uniform(-40, 40, 3), []
    for method in ("rk4", "dp45"):
        run = fa.simulate(arm, *start, 0.3, torque=torque, method=method)
        assert (run.status, run.ok) == (Status.JAMMED, False)
        assert ("jammed", None) in kinds(run)
        assert run.message.startswith("no acceleration exists: load-dependent friction jams the arm, at ")
        with pytest.raises(fa.ForearmError, match=f"by {method}: no acc.*check the load-dependent friction"):
            run.checked()
        with pytest.raises(fa.InputError, match=r"continued: that run failed: .*Start a new one before that"):
            fa.simulate(arm, *start, 0.1, continued=run, method=method)
        ends.append(run.t[-1])
    assert 0.0 < ends[0] == pytest.approx(ends[1], abs=1.1e-3)
    with np.errstate(all="ignore"):
        fast = fa.simulate(arm, start[0], [0.0, 1e200, 0.0], 0.1, torque=torque, method="rk4")
    assert fast.status is Status.DIVERGED


@pytest.mark.parametrize("method", ["rk4", "dp45"])
def test_it_ends_at_the_limit_of_a_joint_that_follows(method: str) -> None:
    """A second block goes twice as far as the first, and has no more than 2 m to go."""
    one = block()
    joint, (table, load) = one.tree[0], one.links
    mimic = fa.Mimic(joint="way", multiplier=2.0, offset=0.5)
    behind = replace(joint, name="behind", child="other", mimic=mimic, limits=fa.Limits(-9.0, 2.0))
    other = replace(load, name="other")
    arm = fa.Arm(name="two", links=(table, load, other), tree=(joint, behind), gravity=one.gravity)
    run = fa.simulate(
        arm, [0.0], [0.5], 9.0, ending=Ending(stops=True), method=method, accuracy=Accuracy(1e-9)
    )
    assert kinds(run) == [("stop", "way")]
    assert run.q[-1, 0] == pytest.approx(0.75, abs=1e-8 if method == "dp45" else 1e-3)
    assert run.t[-1] == pytest.approx(1.5, abs=1e-8 if method == "dp45" else 1.1e-3)
