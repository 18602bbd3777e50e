"""Inverse kinematics as code: the branches of the reference, in C, Python,
on the graph and in machine code.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import Array
from codegen.running import run
from kinematics.closed_form.wrist_arms import many

import forearm as fa
from forearm.codegen.functions import FUNCTIONS, named_outputs
from forearm.codegen.generate import program_for
from forearm.codegen.tracing import Tracing
from forearm.reduction.symbolic import chosen_parameters
from forearm.symbols import evaluate

CLOSE = 1e-7  # rad and m: what a lost bit costs near a singular pose
PUMA_ROWS = [
    (0.0, math.pi / 2, 0.67, 0.0), (0.43, 0.0, 0.0, 0.0), (0.02, -math.pi / 2, 0.15, 0.0),
    (0.0, math.pi / 2, 0.43, 0.0), (0.0, -math.pi / 2, 0.0, 0.0), (0.0, 0.0, 0.1, 0.0),
]  # fmt: skip
ARMS = ("puma560-akb", "stanford", "ur5")


def arm_of(name: str) -> fa.Arm:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fa.load(name)


def poses(arm: fa.Arm, count: int, seed: int) -> Array:
    """Of postures within the limits."""
    rng = np.random.default_rng(seed)
    low, high = np.array([(max(j.limits.lower, -3.0), min(j.limits.upper, 3.0)) for j in arm.joints]).T
    return fa.kinematics.forward(arm, rng.uniform(low, high, (count, arm.n)))


def assert_same_branches(found: Array, truth: Array) -> None:
    """Two sets of branches, in any order, angles modulo whole turns; NaN stands for none."""
    found, truth = (rows[~np.isnan(rows).any(axis=1)] for rows in (found, truth))
    assert len(found) == len(truth)
    for row in truth:
        apart = np.abs(np.remainder(found - row + np.pi, 2.0 * np.pi) - np.pi).max(axis=1)
        assert apart.min() < CLOSE


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
@pytest.mark.sweep(first=2)
def test_the_kernel_finds_the_branches_of_the_reference(name: str) -> None:
    arm = arm_of(name)
    T = poses(arm, 60, 1)
    T[7] = np.nan
    T[11, :3, 3] += 9.0  # out of reach
    found = fa.compile(arm).inverse_kinematics(T)
    assert found.shape == (60, 8, arm.n)
    assert np.array_equal(found, fa.compile(arm).inverse_kinematics(T, threads=2), equal_nan=True)
    np.testing.assert_allclose(fa.compile(arm).inverse_kinematics(T[5]), found[5], atol=1e-12)
    assert np.isnan(found[[7, 11]]).all()
    there = sorted(set(range(60)) - {7, 11})
    truth = many(arm, T[there])
    assert truth.reachable.all()
    for k, q in zip(there, truth.q, strict=True):
        assert_same_branches(found[k], q)
        kept = found[k][~np.isnan(found[k]).any(axis=1)]
        np.testing.assert_allclose(
            fa.kinematics.forward(arm, kept), np.broadcast_to(T[k], (len(kept), 4, 4)), atol=CLOSE
        )
        assert all(
            j.limits.lower - CLOSE <= x <= j.limits.upper + CLOSE
            for q in kept
            for j, x in zip(arm.joints, q, strict=True)
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "ends", [(0.0, math.inf), (-math.inf, 0.0), (-900.0, math.inf), (100.0, 106.0), (-40.0, -31.0)]
)
@pytest.mark.sweep(first=2)
def test_limits_that_are_open_or_turns_away(ends: tuple[float, float]) -> None:
    """Joints 1 and 6 within any range: the reference's branches, with the reference's whole turns."""
    arm = fa.from_dh("turned", PUMA_ROWS, convention="standard", limits=[ends, *[(-3.0, 3.0)] * 4, ends])
    T = poses(fa.from_dh("free", PUMA_ROWS, convention="standard", limits=[(-3.0, 3.0)] * 6), 30, 5)
    found, truth = fa.compile(arm).inverse_kinematics(T), many(arm, T)
    assert truth.valid.sum() > 30
    for made, q in zip(found, truth.q, strict=True):
        assert_same_branches(made, q)
        kept, q = (rows[~np.isnan(rows).any(axis=1)] for rows in (made, q))
        assert all(np.abs(q - row).max(axis=1).min() < CLOSE for row in kept)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["puma560-akb", "ur5"])
@pytest.mark.parametrize("digits", [8, 7, 6])
@pytest.mark.sweep
def test_poses_with_few_digits(name: str, digits: int) -> None:
    """What the reference takes as a rotation the kernel does too; what is none has no branch."""
    arm = arm_of(name)
    T = np.round(poses(arm, 50, 6), digits)
    found = fa.compile(arm).inverse_kinematics(T)
    truth = many(arm, T)
    assert truth.reachable.sum() >= 48  # rounding may put a pose at the edge out of reach
    for made, q in zip(found, truth.q, strict=True):
        assert_same_branches(made, q)
    mirrored, stretched = T.copy(), T.copy()
    mirrored[:, :3, 0] *= -1.0
    stretched[:, :3, :3] *= 1.0 + 3e-5
    for none in (mirrored, stretched):
        assert np.isnan(fa.compile(arm).inverse_kinematics(none)).all()


@pytest.mark.slow
def test_at_singular_poses_branches_meet_and_are_all_there() -> None:
    """The wrist straight, the arm stretched to its last bit: what exists is found, though several times."""
    arm = arm_of("puma560-akb")
    stretched = float(np.arctan2(-0.0203, 0.4331)) + np.pi / 2
    for q in ([0.3, -0.4, 0.5, 0.6, 0.0, 0.7], [0.1, 0.2, stretched, 0.3, 0.4, 0.5]):
        T = fa.kinematics.forward(arm, np.array(q))
        found = fa.compile(arm).inverse_kinematics(T)
        kept = found[~np.isnan(found).any(axis=1)]
        assert len(kept) >= 4
        assert np.abs(fa.kinematics.forward(arm, kept) - T).max() < CLOSE


def test_the_graph_by_itself() -> None:
    arm = arm_of("ur5")
    tracing = Tracing(arm, {})
    results: Any = named_outputs(FUNCTIONS["inverse_kinematics"], tracing)
    T = poses(arm, 3, 4)
    given = {f"T[{k}]": T.reshape(-1, 16)[:, k] for k in range(16)}
    with np.errstate(invalid="ignore"):
        made = np.moveaxis(evaluate(tracing.graph, results, given)["q_branches"], -1, 0)
    for k in range(3):
        assert_same_branches(made[k], fa.kinematics.inverse(arm, T[k]).q)


def test_what_cannot_be_written_is_refused() -> None:
    arm = arm_of("puma560")
    kernel, single = fa.compile(arm), fa.compile(arm, dtype="float32")
    no_form = r"'panda': there is no closed form, as it has 7 joints.*inverse_numeric"
    shape = r"T: expected poses of shape \(4, 4\) or \(B, 4, 4\), got"
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: fa.generate(arm_of("panda"), "inverse_kinematics"), no_form),
        (
            lambda: fa.generate(arm, "inverse_kinematics", parameters="all"),
            "does not support open parameters",
        ),
        (lambda: single.inverse_kinematics(np.eye(4)), "which needs float64"),
        (lambda: single.fused(["inverse_kinematics"]), "which needs float64"),
        (lambda: single.counts["numeric_inverse_kinematics"], "needs float64"),
        (lambda: kernel.inverse_kinematics(np.eye(3)), shape),
        (lambda: kernel.inverse_kinematics(np.zeros((2, 16))), shape),
    ]
    for ask, said in refused:
        with pytest.raises((fa.ModelError, fa.InputError), match=said):
            ask()
    for name, there in (("panda", False), ("puma560", True)):
        counts = fa.compile(arm_of(name)).counts
        assert ("inverse_kinematics" in list(counts)) is there
        assert len(counts) == len(list(counts))


def near(arm: fa.Arm, count: int, seed: int) -> tuple[Array, Array]:
    """Postures within the limits, and poses a little way from them."""
    rng = np.random.default_rng(seed)
    low, high = np.array([(max(j.limits.lower, -3.0), min(j.limits.upper, 3.0)) for j in arm.joints]).T
    q = rng.uniform(0.9 * low + 0.1 * high, 0.1 * low + 0.9 * high, (count, arm.n))
    return q, fa.kinematics.forward(arm, q + 0.05 * (high - low) * rng.uniform(-1.0, 1.0, q.shape))


def test_the_kernel_of_the_steps_leads_there_too() -> None:
    """In one function with gravity there, as kernels take any function to generate."""
    arm = arm_of("panda")
    q, T = near(arm, 20, 6)
    function = fa.compile(arm).fused(["numeric_inverse_kinematics", "gravity"])
    found, error, gravity = function(q, T.reshape(-1, 16)).values()
    truth = fa.kinematics.inverse_numeric(arm, T, start=q, starts=1)
    assert np.array_equal(error.max(axis=1) < 1e-9, truth.solved)
    assert np.abs(found - truth.q)[truth.solved].max() < CLOSE
    assert np.abs(gravity - fa.dynamics.gravity(arm, q)).max() < CLOSE


def test_steps_that_lead_nowhere_say_what_is_left() -> None:
    arm = arm_of("ur5")
    T = fa.kinematics.forward(arm, np.full(6, 0.3))
    T[0, 3] += 3.0
    tracing = Tracing(arm, {})
    results: Any = named_outputs(FUNCTIONS["numeric_inverse_kinematics"], tracing)
    given = {f"T[{k}]": T.flat[k] for k in range(16)} | {f"q[{j}]": 0.2 for j in range(6)}
    made = evaluate(tracing.graph, results, given)
    e = T - fa.kinematics.forward(arm, np.array(made["q_found"], dtype=float))
    assert made["error"][0] == pytest.approx(np.linalg.norm(e[:3, 3]))
    assert made["error"][0] > 1.0


def test_steps_from_or_to_what_is_not_known_are_nan(tmp_path: Path) -> None:
    arm = arm_of("ur5")
    program = program_for(arm, "numeric_inverse_kinematics")
    q = np.full(6, 0.3)
    T = fa.kinematics.forward(arm, q + 0.1)
    for k, (name, place) in enumerate((("q", 2), ("T", 1), ("T", 7))):
        given = {"q": q.copy(), "T": T.copy()}
        given[name].flat[place] = np.nan
        folder = tmp_path / str(k)
        folder.mkdir()
        with np.errstate(invalid="ignore"):
            made = run(program, "python", folder, given)
        assert all(np.isnan(array).all() for array in made.values())


def test_steps_of_an_arm_whose_geometry_is_given_with_each_call(tmp_path: Path) -> None:
    arm = arm_of("puma560")
    program = program_for(arm, "numeric_inverse_kinematics", ["joint2"])
    q = np.array([0.1, 0.6, -0.4, 0.3, 0.8, 0.2])
    T = fa.kinematics.forward(arm, q + 0.05)
    p = np.array(list(chosen_parameters(arm, ["joint2"]).values()))
    found, _ = run(program, "python", tmp_path, {"q": q, "T": T}, p).values()
    assert np.abs(fa.kinematics.forward(arm, found) - T).max() < CLOSE
