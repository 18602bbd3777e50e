"""Every branch of every decoupling: found again, complete, and agreeing with EAIK,
Dhanaraj and a numeric search.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kinematics.closed_form.wrist_arms import (
    RIGHT,
    Array,
    apart,
    dh_arm,
    many,
    misses,
    one,
    same_sets,
    wrist_arm,
)

import forearm as fa
from forearm import Arm
from forearm.kinematics import forward, inverse, inverse_numeric
from forearm.kinematics.closed_form.branches import solve
from forearm.kinematics.closed_form.recognition import branches_of, geometry_of
from forearm.kinematics.closed_form.solve import _one
from forearm.kinematics.closed_form.solver import solver_of
from forearm.symbols import Graph, evaluate

# What the hand may be off at a branch, m and entries of the rotation: 1e-10 is promised, rounding is left.
EXACT = 1e-11
# What a joint may differ by between two ways to the same branch:
# rounding over the distance from a singular posture.
SAME = 1e-6
RECORDED = json.loads((Path(__file__).parents[2] / "data" / "eaik.json").read_text(encoding="utf-8"))
BUILT_IN = (
    "puma560",
    "puma560-akb",
    "puma560-dhanaraj6",
    "stanford",
    "stanford-dhanaraj6",
    "stanford-dhanaraj3",
    "ur5",
    "ur10",
)
PLACES: dict[str, dict[str, tuple[float | None, float | None]]] = {
    "generic": {},
    "1 and 2 meet": {"lengths": (0.0, 1.0)},
    "2 and 3 meet": {"lengths": (1.0, 0.0)},
    "1 and 2 parallel": {"twists": (0.0, None)},
    "2 and 3 parallel": {"twists": (None, 0.0)},
    "2 and 3 opposed": {"twists": (RIGHT, math.pi)},
    "right angles": {"twists": (RIGHT, RIGHT)},
    "elbow": {"twists": (-RIGHT, 0.0)},
    "skew wrist": {"twists": (RIGHT, None), "wrist": (1.0, -1.3)},
}


def assert_found(arm: Arm, q: Array) -> None:
    """Each posture is among the branches of its pose, and each branch leads to the pose."""
    T = forward(arm, q)
    batch = many(arm, T, limits=False)
    assert batch.reachable.all()
    for k in range(len(q)):
        branches = batch.q[k, batch.valid[k]]
        assert apart(arm, branches, q[k]).min() < SAME
        assert misses(arm, branches, T[k]) < EXACT


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_arms(name: str) -> None:
    arm = fa.load(name)
    assert_found(arm, np.random.default_rng(1).uniform(-3.0, 3.0, (30, arm.n)))
    assert geometry_of(arm).uses_roots_only


@pytest.mark.parametrize("kinds", ["".join(k) for k in itertools.product("RP", repeat=3)])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.sweep
def test_three_joints_of_any_kind_under_a_wrist(kinds: str, place: str) -> None:
    arm = wrist_arm(7, kinds, **PLACES[place])  # type: ignore[arg-type]
    q = np.random.default_rng(2).uniform(-2.5, 2.5, (20, 6))
    J = fa.kinematics.jacobian(arm, q)
    if np.linalg.svd(J, compute_uv=False)[:, -1].max() < 1e-9:
        with pytest.raises(fa.ModelError, match="do not move the hand in all directions"):
            inverse(arm, np.eye(4))
        return
    assert_found(arm, q)


@pytest.mark.parametrize("shape", ["standard", "modified", "frames"])
def test_geometry_is_read_from_the_axes_however_they_are_described(shape: str, tmp_path: Path) -> None:
    """The same arm through DH rows, modified DH rows and URDF has the same branches."""
    arm = fa.load("puma560-akb" if shape == "modified" else "puma560")
    if shape == "frames":
        arm.rigid().to_urdf(tmp_path / "arm.urdf")
        arm = fa.load(tmp_path / "arm.urdf")
    q = np.array([0.3, -0.7, 0.4, 0.9, -0.8, 1.7])
    assert len(one(arm, forward(arm, q), limits=False).q) == 8


@pytest.mark.parametrize("recorded", RECORDED["arms"], ids=lambda arm: arm["name"])
def test_branches_are_those_of_eaik(recorded: dict[str, list[dict[str, list[list[float]]]]]) -> None:
    arm = dh_arm(recorded["rows"], "RRRRRR")  # type: ignore[arg-type]
    for asked in recorded["poses"]:
        T = np.vstack([asked["T"], [0.0, 0.0, 0.0, 1.0]])
        found = one(arm, T, limits=False)
        assert found.reachable
        assert same_sets(arm, found.q, np.array(asked["q"]), 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kinds", "place"),
    [("RRR", "generic"), ("RRP", "generic"), ("PRR", "generic"), ("RPR", "2 and 3 parallel")],
)
def test_no_solution_is_missing(kinds: str, place: str) -> None:
    """A numeric search from many postures finds the branches of the quartic and nothing else."""
    arm = wrist_arm(11, kinds, **PLACES[place])  # type: ignore[arg-type]
    assert not geometry_of(arm).uses_roots_only
    rng = np.random.default_rng(4)
    for _ in range(3):
        T = forward(arm, rng.uniform(-1.5, 1.5, 6))
        branches = one(arm, T, limits=False)
        starts = np.concatenate([branches.q + 0.1, rng.uniform(-3.0, 3.0, (150, 6))])
        search = inverse_numeric(
            arm, np.repeat(T[None], len(starts), axis=0), start=starts, starts=1, limits=False
        )
        distance = apart(arm, search.q[search.solved][:, None], branches.q[None])
        assert distance.min(axis=1).max() < SAME
        assert (distance.min(axis=0) < SAME).all()


def test_dhanaraj_formulas() -> None:
    """The program of Dhanaraj D.1.3, its geometry (0.127, 0.4318, a3 = 0), as printed:
    two times two branches of a position.
    """
    e = f = 17.0 * 0.0254
    g = 5.0 * 0.0254
    arm = fa.load("puma560-dhanaraj3")
    joints = [arm.tree[0], arm.tree[1], arm.tree[2]]
    rows = [(0.0, 0.0, 0.0), (0.0, -RIGHT, 0.0), (e, 0.0, g)]
    tree = []
    for joint, (a, alpha, d) in zip(joints, rows, strict=True):
        placement = fa.DH(convention="modified", a=a, alpha=alpha, d=d)
        made = fa.Joint(
            name=joint.name, kind=joint.kind, parent=joint.parent, child=joint.child, placement=placement
        )
        tree.append(made)
    hand = np.eye(4)
    hand[1, 3] = f
    arm = arm.rigid().replace(tree=tuple(tree), hand=hand)
    for q in np.random.default_rng(3).uniform(-2.0, 2.0, (20, 3)):
        T = forward(arm, q)
        px, py, pz = T[:3, 3]
        printed = []
        for side, bend in itertools.product((1.0, -1.0), repeat=2):
            q1 = math.atan2(-px, py) + math.atan2(side * math.sqrt(px**2 + py**2 - g**2), g)
            k = e**2 + f**2 + g**2 - px**2 - py**2 - pz**2
            q3 = math.atan2(k, bend * math.sqrt(4 * e**2 * f**2 - k**2))
            c1, s1, c3, s3 = math.cos(q1), math.sin(q1), math.cos(q3), math.sin(q3)
            across = px * c1 + py * s1
            q2 = math.atan2(-across * f * c3 - pz * (e - f * s3), across * (e - f * s3) - pz * f * c3)
            printed.append([q1, q2, q3])
        found = one(arm, T)
        assert same_sets(arm, found.q, np.array(printed), SAME)
        assert "only the hand's position was used" in found.message


def test_parallel_axes_that_point_against_each_other() -> None:
    """A UR arm whose third axis is turned round."""
    rows = [
        (RIGHT, 0.0, 0.09),
        (math.pi, 0.42, 0.0),
        (math.pi, 0.39, 0.02),
        (RIGHT, 0.0, 0.11),
        (-RIGHT, 0.0, 0.09),
        (0.0, 0.0, 0.08),
    ]
    arm = dh_arm(rows, "RRRRRR", fa.load("ur5").hand.pose)
    assert geometry_of(arm).kind == "axes 2, 3, 4 parallel, 5 and 6 meet"
    assert_found(arm, np.random.default_rng(5).uniform(-3.0, 3.0, (30, 6)))


@pytest.mark.slow
def test_axes_that_only_nearly_meet_are_made_good() -> None:
    """Right angles written with five digits, as URDF files have them: branches of the arm as it is."""
    rough = round(RIGHT, 4)
    rows = [
        (rough, 0.02, 0.4),
        (0.0, 0.43, 0.1),
        (-rough, 0.02, 0.1),
        (rough, 1e-6, 0.43),
        (-rough, 0.0, 2e-6),
        (0.0, 0.0, 0.1),
    ]
    arm = dh_arm(rows, "RRRRRR")
    assert 1e-7 < geometry_of(arm).miss < 1e-4
    assert_found(arm, np.random.default_rng(6).uniform(-3.0, 3.0, (60, 6)))


@pytest.mark.parametrize(
    ("name", "most"), [("puma560", 400), ("stanford", 350), ("ur5", 300), ("stanford-dhanaraj3", 100)]
)
def test_the_same_formulas_over_expressions(name: str, most: int) -> None:
    """Traced on the graph, `solve` gives the numbers it gives over arrays; what all branches cost are exact
    counts of the traced program, none beyond which a kernel was planned.
    """
    arm, graph = fa.load(name), Graph()
    geometry = geometry_of(arm)
    entries = [[graph.input(f"T{i}{j}") for j in range(4)] for i in range(3)]
    traced = solve(geometry, [*entries, [0.0, 0.0, 0.0, 1.0]])
    counts = graph.counts(traced)
    assert counts.mul + counts.add <= most
    assert counts.trig <= 20
    for T in forward(arm, np.random.default_rng(7).uniform(-1.0, 1.0, (5, arm.n))):
        values = {f"T{i}{j}": float(T[i, j]) for i in range(3) for j in range(4)}
        expected = branches_of(geometry, T[None])[0]
        assert np.abs(np.array(evaluate(graph, traced, values)) - expected).max() < 1e-9
        assert np.abs(np.array(solve(geometry, T.tolist())) - expected).max() < 1e-9  # and over plain floats


def nearly_meeting(arm: fa.Arm, size: float) -> fa.Arm:
    """The arm with every length and twist off by so much, as files round them: its axes meet no more."""
    rng = np.random.default_rng(0)
    tree = []
    for joint in arm.tree:
        off = dict(zip(("a", "d", "alpha"), size * rng.normal(size=3), strict=True))
        assert isinstance(joint.placement, fa.DH)
        given = {name: getattr(joint.placement, name) + float(x) for name, x in off.items()}
        tree.append(dataclasses.replace(joint, placement=dataclasses.replace(joint.placement, **given)))
    return arm.replace(tree=tuple(tree))


def stretched(arm: fa.Arm, q: Array) -> Array:
    """The postures with the least joint 3 above -2 where the hand loses a direction, by bisection."""

    def side(q3: Array) -> Array:
        J = fa.kinematics.jacobian(arm, np.column_stack([q[:, :2], q3, q[:, 3:]]))
        return np.asarray(np.sign(np.linalg.det(J)))

    tried = np.linspace(-2.0, 2.0, 60)
    sides = np.array([side(np.full(len(q), x)) for x in tried])
    lower = tried[np.argmax(sides[1:] != sides[:-1], axis=0)]
    upper, first = lower + tried[1] - tried[0], side(lower)
    for _ in range(50):
        middle = 0.5 * (lower + upper)
        lower, upper = (
            np.where(side(middle) == first, middle, lower),
            np.where(side(middle) == first, upper, middle),
        )
    return np.column_stack([q[:, :2], lower, q[:, 3:]])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), [("puma", 2e-6), ("ur", 2e-5 / 3)])
def test_no_branch_hides_behind_what_axes_miss(name: str, size: float) -> None:
    """Beside the stretched elbow of an arm that misses by micrometres, where its own posture was lost."""
    ur = [(RIGHT, 0.0, 0.09), (0.0, -0.42, 0.0), (0.0, -0.39, 0.0), (RIGHT, 0.0, 0.11), (-RIGHT, 0.0, 0.09)]
    exact = fa.load("puma560") if name == "puma" else dh_arm([*ur, (0.0, 0.0, 0.08)], "RRRRRR")
    arm = nearly_meeting(exact, size)
    rng = np.random.default_rng(17)
    q = stretched(arm, rng.uniform(-1.5, 1.5, (40, 6)))
    q[:, 2] += 10.0 ** rng.uniform(-3.0, -2.0, 40) * rng.choice([-1.0, 1.0], 40)
    T = forward(arm, q)
    found = many(arm, T, limits=False)
    for posture, pose_, branches, valid in zip(q, T, found.q, found.valid, strict=True):
        assert apart(arm, branches[valid], posture).min() < 1e-5
        assert misses(arm, branches[valid], pose_) < 1e-9
        pairs = apart(arm, branches[valid][:, None], branches[valid]) + np.eye(valid.sum())
        assert pairs.min() > 1e-6  # each once
    # There both elbows are uncertain, and the message says so; elsewhere every branch is certain.
    assert (found.certain < found.valid.sum(axis=1)).mean() > 0.5
    here = one(arm, T[np.argmin(found.certain)], limits=False)
    assert here.certain == found.certain.min() < len(here.q)
    assert f"; {here.certain} of them certain, {len(here.q) - here.certain} found beside" in here.message
    for who, posture in ((arm, np.array([0.1, -1.0, 1.2, 0.4, 0.8, 0.6])), (exact, q[0])):
        plain = one(who, forward(who, posture), limits=False)
        assert plain.certain == len(plain.q)
        assert "certain" not in plain.message


@pytest.mark.slow
def test_where_all_branches_end_beside_a_pose_newtons_steps_from_around_it_find_it() -> None:
    """The elbow folded and the wrist straight, of an arm whose axes nearly meet."""
    arm = nearly_meeting(fa.load("puma560"), 1e-5)
    rng = np.random.default_rng(3)
    q = rng.uniform(-2.0, 2.0, (60, 6))
    q[:, 2], q[:, 4] = 1.62 + 0.01 * rng.normal(size=60), 0.005 * rng.normal(size=60)
    T = forward(arm, q)
    found = many(arm, T, limits=False)
    assert found.reachable.all()
    first = [row[valid][0] for row, valid in zip(found.q, found.valid, strict=True)]
    np.testing.assert_allclose(forward(arm, np.array(first)), T, rtol=0.0, atol=1e-8)


def test_a_regular_pose_is_told_by_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """One pose takes machine code alone, and says what the closer look at many says."""
    arm = fa.load("ur5")
    T = forward(
        arm,
        [
            [0.1, -1.0, 1.2, 0.4, 0.8, 0.6],
            [2.0, -0.7, -1.5, 1.1, -1.3, -2.4],
            [-1.0, -2.0, 1.9, 0.2, 2.1, 0.5],
        ],
    )
    options: list[dict[str, Any]] = [{}, {"limits": False}, {"near": np.full(6, 0.3)}]
    solver = solver_of(arm)
    closer = [[_one(solver, row[None], True, False, None) for row in T]]
    closer += [[_one(solver, row[None], False, False, None) for row in T]]
    closer += [[_one(solver, row[None], True, False, options[2]["near"]) for row in T]]
    monkeypatch.setattr("forearm.kinematics.closed_form.solve._one", lambda *_: pytest.fail("a closer look"))
    for option, wanted in zip(options, closer, strict=True):
        for row, long_way in zip(T, wanted, strict=True):
            short = one(arm, row, **option)
            assert (short.message, short.certain) == (long_way.message, long_way.certain)
            np.testing.assert_allclose(short.q, long_way.q, rtol=0.0, atol=1e-12)
