"""Forward dynamics where friction depends on the load: the equation solved, the steps it took,
and where it has no answer.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from arms import Array, random_arm
from drives.making import KINDS, loaded_arm, with_efficiency
from dynamics.cases import FORWARD, Load, assert_agree, awkward_states, random_load, random_state

import forearm as fa
from forearm import Arm, Bearing, Friction, InputError, Link, ModelError, Transmission, dynamics
from forearm.dynamics import load_friction

MOST_STEPS = 30  # a step that is halved counts each time
RESIDUAL = 1e-12  # of the largest torque
GEAR = Transmission(efficiency=((0.1, 0.8),), rated_torque=90.0)
# What torques may be wrong by, of the largest: accelerations are wrong by the inverse of the slope d
# tau / d qdd times that.
ROUND_TRIP = 1e-12


def slope(arm: Arm, q: Array, qd: Array, qdd: Array, load: Load) -> Array:
    """d tau / d qdd by differences; straight but at corners."""
    h = 1e-4 * (1.0 + float(np.abs(qdd).max()))
    ends = [
        [dynamics.inverse(arm, q, qd, qdd + way * e, "newton-euler", *load) for way in (h, -h)]
        for e in np.eye(arm.n)
    ]
    return np.array([(a - b) / (2.0 * h) for a, b in ends]).T


def assert_came_back(found: Array, arm: Arm, q: Array, qd: Array, qdd: Array, tau: Array, load: Load) -> None:
    """Accelerations as near to those that the torques were made from as rounding allows."""
    rigid = dynamics.inverse(arm.rigid(), q, qd, qdd, "newton-euler", *load)
    wrong = ROUND_TRIP * max(float(np.abs(tau).max()), float(np.abs(rigid).max()))
    most = wrong * float(np.linalg.norm(np.linalg.inv(slope(arm, q, qd, qdd, load)), np.inf))
    assert np.abs(found - qdd).max() <= most + 1e-12 * np.abs(qdd).max()


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 4, 6])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sweep
def test_there_and_back(kind: str, n: int) -> None:
    for seed in range(3):
        arm = loaded_arm(kind, 50 + seed, n)
        arm = with_efficiency(arm, seed) if seed else arm
        q, qd, qdd = random_state(arm, seed)
        load = random_load(seed) if seed else Load()
        tau = dynamics.inverse(arm, q, qd, qdd, "newton-euler", *load)
        report = dynamics.forward_report(arm, q, qd, tau, *load)
        assert_came_back(report.qdd, arm, q, qd, qdd, tau, load)
        assert report.iterations <= MOST_STEPS
        assert report.residual <= RESIDUAL
    assert np.array_equal(dynamics.forward(arm, q, qd, tau, "articulated-body", *load), report.qdd)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["turning", "chain", "tree, followers"])
def test_back_and_there_for_any_torque(kind: str) -> None:
    """Torques that no motion was made for, awkward states among them:
    what comes out needs just these torques.
    """
    arm = with_efficiency(loaded_arm(kind, 5, 3), 1)
    rng = np.random.default_rng(0)
    states = awkward_states(arm)
    if kind != "turning":
        states.pop("many turns")  # what slides would stand 600 m out, where any bearing wedges
    sizes = (0.0, 0.1, 10.0, 1000.0)
    for k, state in enumerate(states.values()):
        for size in (sizes[k % 4], sizes[(k + 2) % 4]):
            tau = size * rng.normal(size=arm.n)
            report = dynamics.forward_report(arm, state.q, state.qd, tau)
            needed = dynamics.inverse(arm, state.q, state.qd, report.qdd)
            weight = dynamics.bias(arm.rigid(), state.q, state.qd)
            assert np.abs(needed - tau).max() <= 1e-11 * np.abs([tau, weight, needed]).max()
            assert report.iterations <= MOST_STEPS
            assert report.residual <= RESIDUAL


@pytest.mark.slow
def test_gears_alone_have_one_answer() -> None:
    """More load needs more torque, and M is positive definite:
    very bad gears on chains and trees come back.
    """
    rng = np.random.default_rng(3)
    gear = Transmission(efficiency=((0.01, 0.03), (1.0, 0.5)), rated_torque=200.0, breakaway=2.0)
    for seed in range(6):
        arm = random_arm(seed, 4, tree=bool(seed % 2)).with_drives(bearings=(), transmission=gear)
        q, qd, _ = random_state(arm, seed)
        qdd = rng.normal(size=arm.n) * 10.0 ** rng.uniform(-2.0, 2.0)
        tau = dynamics.inverse(arm, q, qd, qdd)
        report = dynamics.forward_report(arm, q, qd, tau)
        assert_came_back(report.qdd, arm, q, qd, qdd, tau, Load())
        assert report.iterations <= MOST_STEPS


@pytest.mark.slow
def test_bearings_that_wedge_leave_several_motions_for_one_torque() -> None:
    """Supports millimetres apart: friction outgrows what overcomes it, and d tau / d qdd turns
    over (Painleve's paradox).

    What is found solves the equation; where it is not the motion that the torque was made from, the two lie
    on slopes of opposite orientation, so neither is a rounding of the other.
    """
    others = 0
    for seed in (2, 6):
        arm = random_arm(seed, 4)
        for number in (1, 2):
            (q, qd, qdd), load = random_state(arm, number), random_load(number)
            tau = dynamics.inverse(arm, q, qd, qdd, "newton-euler", *load)
            found = dynamics.forward_report(arm, q, qd, tau, *load)
            assert found.residual <= RESIDUAL
            assert_agree(dynamics.inverse(arm, q, qd, found.qdd, "newton-euler", *load), tau, 1e-10)
            if np.abs(found.qdd - qdd).max() > 1e-6 * np.abs(qdd).max():
                others += 1
                signs = [np.sign(np.linalg.det(slope(arm, q, qd, x, load))) for x in (qdd, found.qdd)]
                assert signs[0] == -signs[1]
                assert found.is_wedged == (signs[1] <= 0.0)
    assert others


def rail(mu: float) -> Bearing:
    return Bearing(kind="linear", mu=mu, distance=0.04)


def test_a_drawer_that_jams() -> None:
    """One sliding joint pushed across its axis: tau = (m - s 2 mu m l / d) a beyond the
    point where it wedges.

    A link of 2 kg with its centre 0.5 m beside the rail: accelerating it tilts it, and supports 0.04
    m apart at mu = 0.3 rub 2 mu m l / d = 7.5 m per unit of acceleration. Moving forwards, no
    forward push makes it faster.
    """
    arm = random_arm(9, 1, drives=False, fixed=False).rigid()
    last = dataclasses.replace(arm.joints[0], kind="prismatic")
    moved = Link(name=last.child, mass=2.0, com=last.after[:3, :3].T @ np.array([0.5, 0.0, 0.0]))
    arm = arm.replace(tree=(last,), links=(arm.links[0], moved), gravity=(0.0, 0.0, 0.0))
    jams, mild = (arm.with_drives(bearings=(rail(mu),)) for mu in (0.3, 0.03))
    q, qd = np.array([0.1]), np.array([1.0])
    slower, none, faster = dynamics.inverse(jams, q, qd, np.array([[-1.0], [0.0], [1.0]]))
    assert none[0] == pytest.approx(0.0, abs=1e-12)
    assert slower[0] > 0.0  # it takes a push forwards to slow down no more than this
    assert faster[0] > 0.0
    for tau in (slower, faster):
        report = dynamics.forward_report(jams, q, qd, tau)
        assert report.is_wedged == (report.qdd[0] < 0.0)
        assert dynamics.inverse(jams, q, qd, report.qdd) == pytest.approx(tau, rel=1e-10)
    assert not dynamics.forward_report(mild, q, qd, np.array([-1.0])).is_wedged  # 2 mu l / d = 0.75
    with pytest.raises(ModelError, match=r"left .* of the torque unsolved after 6. steps.*implausible coeff"):
        dynamics.forward(jams, q, qd, np.array([-5.0]))  # nothing needs a pull


def test_every_method_solves_the_same_equation() -> None:
    arm = loaded_arm("chain", 4, 3)
    q, qd, qdd = random_state(arm, 1)
    tau = dynamics.inverse(arm, q, qd, qdd)
    answers = [dynamics.forward(arm, q, qd, tau, method) for method in FORWARD]
    assert all(np.array_equal(a, answers[0]) for a in answers)


def test_where_friction_is_simple_the_report_takes_one_step() -> None:
    arm = random_arm(4, 4).with_drives(bearings=(), transmission=None)
    q, qd, qdd = random_state(arm, 1)
    report = dynamics.forward_report(arm, q, qd, dynamics.inverse(arm, q, qd, qdd))
    assert report.iterations == 1
    assert_agree(report.qdd, qdd, 1e-11)


def test_what_is_not_known_gives_nan_in_its_row() -> None:
    arm = loaded_arm("chain", 6, 3)
    q, qd, qdd = (np.array(rows) for rows in zip(*(random_state(arm, k) for k in range(4)), strict=True))
    q[2, 0] = np.nan
    tau = dynamics.inverse(arm, q, qd, qdd)
    found = dynamics.forward(arm, q, qd, np.where(np.isnan(tau), 0.0, tau))
    assert np.isnan(found).all(axis=1).tolist() == [False, False, True, False]
    assert_agree(found[[0, 1, 3]], qdd[[0, 1, 3]], 1e-9)
    for hand in ([np.nan, 0.0, 0.0], [0.0, np.inf, 0.0]):
        assert np.isnan(dynamics.forward(arm, q[0], qd[0], qdd[0], "articulated-body", hand)).all()
        report = dynamics.forward_report(arm, q[0], qd[0], qdd[0], hand)
        assert np.isnan([*report.qdd, report.residual]).all()
        assert report.iterations == 0
    with pytest.raises(InputError, match=r"forward_report: expected one state of shape \(3,\), got \(4, 3\)"):
        dynamics.forward_report(arm, q, qd, qdd)


def test_a_joint_that_moves_nothing_is_told() -> None:
    """A singular matrix, as without friction: an error that names the arm and the remedy."""
    arm = random_arm(30, 2, prismatic=False, fixed=False, drives=False).with_drives(transmission=GEAR)
    arm = arm.with_link(Link(name=arm.links[-1].name))
    for ask in (dynamics.forward, dynamics.forward_report):
        with pytest.raises(
            ModelError, match=r"^forward dynamics of 'random30': .* singular .*\. Give the links"
        ):
            ask(arm, *random_state(arm, 1))


def test_directions_of_joints_that_are_about_to_move() -> None:
    """At rest a direction can be given: then the answer is the limit of a motion that way, ever slower."""
    arm = loaded_arm("chain", 6, 3)
    q, _, tau = random_state(arm, 1)
    ways, rest = np.array([1.0, -1.0, 1.0]), np.zeros(3)
    at_rest = load_friction.solve_loaded(arm, q, rest, tau, directions=ways.tolist())
    assert_agree(at_rest.qdd, dynamics.forward(arm, q, 1e-12 * ways, tau), 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("where", [(0,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("kind", ["gear", "bearing"])
@pytest.mark.sweep(first=1)
def test_drives_of_different_kinds_on_one_arm(kind: str, where: tuple[int, ...]) -> None:
    """Some joints with friction that depends on the load, others with plain friction:
    kernel and reference agree.
    """
    journal = Bearing(kind="journal", mu=0.02, radius=0.03, distance=0.2)
    part: dict[str, Any] = {"transmission": GEAR} if kind == "gear" else {"bearings": (journal,)}
    arm = random_arm(31, 3, prismatic=False, fixed=False, drives=False)
    arm = arm.with_drives(friction=Friction(viscous=0.3, coulomb=(0.4, -0.5)))
    arm = arm.with_drives({arm.joints[k].name: part for k in where})
    kernel = fa.compile(arm)
    for number in range(3):
        q, qd, qdd = random_state(arm, number)
        tau = dynamics.inverse(arm, q, qd, qdd)
        assert_came_back(kernel.forward_dynamics(q, qd, tau), arm, q, qd, qdd, tau, Load())
        assert_came_back(dynamics.forward(arm, q, qd, tau), arm, q, qd, qdd, tau, Load())


@pytest.mark.slow
def test_no_torque_at_all() -> None:
    """Free fall: through a gear of some efficiency no torque is none, and the rigid arm's
    accelerations come out, at rest and in motion.
    """
    rigid = random_arm(32, 3, fixed=False).rigid()
    arm, none = rigid.with_drives(transmission=GEAR), np.zeros(3)
    kernel = fa.compile(arm)
    for moving in (0.0, 1.0):
        q, qd, _ = random_state(arm, 3)
        truth = dynamics.forward(rigid, q, moving * qd, none)
        assert_agree(dynamics.forward(arm, q, moving * qd, none), truth, 1e-9)
        assert_agree(kernel.forward_dynamics(q, moving * qd, none), truth, 1e-9)
