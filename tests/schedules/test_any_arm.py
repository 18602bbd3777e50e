"""Subtasks of arms beyond the document's: any twist, products of inertia, friction, bearings, transmissions
and rotors; against the reference dynamics, in any order and on threads.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from arms import STYLES, Style, random_arm
from schedules.square_arms import quietly, random_order, square_arm

import forearm as fa
from forearm import DH, Arm, Bearing, Friction, Joint, Motor, Transmission
from forearm.drives.joint import drives_of
from forearm.schedules.assembly import SubtaskProgram, run_tasks, subtask_work
from forearm.schedules.checking import violations
from forearm.schedules.further import FIRST_DRIVE, further_subtasks
from forearm.schedules.links import chain_of
from forearm.schedules.rule import schedule_by_rule
from forearm.schedules.subtask_code import subtask_division
from forearm.schedules.subtasks import OPERATIONS, SUBTASKS
from forearm.schedules.threaded import compiled_threads, cores
from forearm.schedules.threaded_plan import planned_threads

AGREEMENT = 1e-12  # relative to the largest torque: the same sums in another order, some with differences
BUILT_IN = ("panda", "puma560", "stanford", "cmu-dd", "ascher2")
GEAR: dict[str, Any] = {
    "efficiency": ((0.01, 0.35), (0.1, 0.55), (0.5, 0.8)),
    "rated_torque": 40.0,
    "breakaway": 1.5,
}


def turning(n: int) -> Arm:
    """Revolute joints, any twists, full tensors, no drives."""
    return random_arm(4, n, "modified", prismatic=False, fixed=False, drives=False)


def with_drives(arm: Arm, joints: Iterable[dict[str, Any]]) -> Arm:
    """The arm with motors, friction and so on of its joints, in their order."""
    extra = iter(joints)
    tree: list[Joint] = [dataclasses.replace(j, **next(extra, {})) for j in arm.tree]
    return arm.replace(tree=tuple(tree))


def assert_right(work: SubtaskProgram, seed: int = 1, orders: int = 3) -> None:
    """Torques by the tasks, in the order of the graph and in others, are those of the reference."""
    arm, rng = work.arm, np.random.default_rng([seed, work.arm.n])
    assert all(1 <= len(operations) <= OPERATIONS for operations in work.operations)
    moving = rng.uniform(-2.0, 2.0, (3, arm.n))
    for q, qd, qdd in (moving, moving * np.array([[1.0], [0.0], [1.0]]), moving * [[1.0], [1.0], [0.0]]):
        right = fa.dynamics.inverse(arm, q, qd, qdd)
        found = run_tasks(work, q, qd, qdd)
        assert np.abs(found - right).max() <= AGREEMENT * np.abs(right).max()
        for _ in range(orders):
            assert (run_tasks(work, q, qd, qdd, random_order(work.graph, rng)) == found).all()


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_arms(name: str) -> None:
    arm = quietly(name)
    assert_right(subtask_work(arm))
    assert_right(subtask_work(arm.rigid()), orders=1)


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
def test_random_arms_with_their_drives(style: Style) -> None:
    for seed, n in ((1, 1), (3, 3), (5, 6)):
        assert_right(subtask_work(random_arm(seed, n, style)), seed, orders=1)


def test_prismatic_joints_at_odd_angles() -> None:
    """Between revolute joints, one after another, and at the base; twists and angles without a right one."""
    for kinds in ("RPR", "PPR", "RPP", "PRP", "PPPR"):
        arm = square_arm(9, len(kinds), kinds)
        odd = DH(convention="modified", a=0.2, alpha=0.7, d=0.1, theta=-0.4)
        tree = [dataclasses.replace(j, placement=odd) if j.kind == "prismatic" else j for j in arm.tree]
        assert_right(subtask_work(arm.replace(tree=tuple(tree))))


def test_a_general_link_has_seventeen_further_subtasks_and_arms_of_the_document_none() -> None:
    chain = chain_of(square_arm(3, 5))
    assert all(further_subtasks(chain, i) == [] for i in range(1, 6))
    assert max(number for _, number in subtask_work(square_arm(3, 5)).layered.places) <= len(SUBTASKS)
    chain = chain_of(random_arm(2, 6, "frames", prismatic=False, fixed=False).rigid())
    assert [task.number for task in further_subtasks(chain, 3)] == list(range(44, 61))
    work = subtask_work(random_arm(2, 6, "frames", prismatic=False, fixed=False).rigid())
    middle = [number for i, number in work.layered.places if i == 4]
    assert middle.count(54) == 1
    assert len(middle) == len(set(middle)) >= 58  # of the 60 none is empty but by chance


LAWS: dict[str, dict[str, Any]] = {
    "viscous and Coulomb": {"friction": Friction(viscous=0.8, coulomb=(1.2, -0.9))},
    "motor's": {
        "friction": Friction(side="motor", viscous=1e-3, coulomb=(0.01, -0.02)),
        "motor": Motor(gear_ratio=-60.0),
    },
    "Stribeck": {"friction": Friction(coulomb=(1.0, -1.1), static=(1.6, -1.5), stribeck_speed=0.2)},
    "rotor": {"motor": Motor(gear_ratio=80.0, rotor_inertia=2e-4)},
    "journal": {"bearings": (Bearing(kind="journal", mu=0.1, radius=0.05, distance=0.2, offset=0.03),)},
    "thrust": {"bearings": (Bearing(kind="thrust", mu=0.1, radius=0.05),)},
    "transmission": {"transmission": Transmission(**GEAR)},
    "spline": {"transmission": Transmission(**GEAR, interpolation="spline")},
}


@pytest.mark.parametrize("law", LAWS)
def test_every_part_of_a_drive(law: str) -> None:
    arm = with_drives(turning(3), [LAWS[law]] * 3)
    work = subtask_work(arm)
    assert {number >= FIRST_DRIVE for _, number in work.layered.places} == {True, False}
    assert_right(work)


def test_linear_bearings_feel_the_directions_of_the_joint() -> None:
    """Also where the frame is rolled about the joint for the sake of the next link."""
    bearing = Bearing(kind="linear", mu=0.1, distance=0.2, offset=-0.05)
    for seed in range(1, 5):
        arm = random_arm(seed, 4, "frames", fixed=False, drives=False)
        drives: list[dict[str, Any]] = [
            {"bearings": (bearing,)} if joint.kind == "prismatic" else {} for joint in arm.tree
        ]
        assert_right(subtask_work(with_drives(arm, drives)))


def test_drives_wait_for_the_reaction_in_their_joint() -> None:
    """T32 and T41 to T43 come first; what rates alone determine waits for nothing."""
    everything = {name: value for law in LAWS.values() for name, value in law.items()}
    everything["bearings"] = tuple(LAWS[kind]["bearings"][0] for kind in ("journal", "thrust"))
    arm = with_drives(turning(3), [everything] * 3)
    layered = subtask_work(arm).layered
    taken = set()
    for k, earlier in enumerate(layered.graph.before):
        i, number = layered.places[k]
        if number >= FIRST_DRIVE:
            assert all(layered.places[e][0] == i for e in earlier)
            assert all(layered.layers[e] < layered.layers[k] for e in earlier)
            taken |= {layered.places[e][1] for e in earlier}
    assert 43 in taken
    assert violations(schedule_by_rule(layered, 3)) == ()


def test_no_part_of_a_drive_is_dropped() -> None:
    """Every number of every drive moves some torque."""
    arm = quietly("puma560")
    assert any(drive.friction for drive in drives_of(arm))
    q, qd, qdd = np.full((3, arm.n), 0.7)
    driven, rigid = run_tasks(subtask_work(arm), q, qd, qdd), run_tasks(subtask_work(arm.rigid()), q, qd, qdd)
    assert (np.abs(driven - rigid) > 1e-3).all()


def test_a_drive_of_many_bearings_has_clear_names() -> None:
    bearings = tuple(  # of different distances, which share no term
        Bearing(kind="journal", mu=0.01 * k, radius=0.05, distance=0.1 * k) for k in range(1, 9)
    )
    arm = with_drives(turning(2), [{"bearings": bearings}])
    work = subtask_work(arm)
    names = [task.name for task in work.graph.tasks]
    assert len(set(names)) == len(names)
    assert "1.100" in names
    assert_right(work)


@pytest.mark.slow
@pytest.mark.skipif(cores() < 2, reason="threads that wait for each other need a core each")
@pytest.mark.parametrize("name", ["stanford", "random"])
def test_schedules_of_subtasks_run_on_threads(name: str) -> None:
    arm = random_arm(3, 5, "frames") if name == "random" else quietly(name)
    work = subtask_work(arm)
    division = subtask_division(work)
    assert all(division.places)
    q, qd, qdd = np.random.default_rng(5).uniform(-2.0, 2.0, (3, 6, arm.n))
    right = fa.dynamics.inverse(arm, q, qd, qdd)
    for processors in (1, 2):
        schedule = schedule_by_rule(work.layered, processors)
        found = compiled_threads(planned_threads(division, schedule))(q, qd, qdd)["tau"]
        assert np.abs(found - right).max() <= AGREEMENT * np.abs(right).max()
