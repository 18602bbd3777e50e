"""Numeric inverse kinematics of one pose, as a GPU's thread solves it: the bits of `fa.kinematics`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from arms import posture, random_arm
from kernels.compiling import compiled

import forearm as fa
from forearm.kernels.cuda.device_reach import made
from forearm.kernels.native import host
from forearm.kernels.numeric_ik import Reacher
from forearm.kernels.numeric_ik_row import pose_text
from forearm.kernels.numeric_ik_turn import POSE
from forearm.kinematics.numerical import NumericOptions

ARM = random_arm(5, 4, prismatic=True, mimic=True)
COUNT = 5


def by_threads(T: Any, start: Any, options: NumericOptions) -> list[Any]:
    """q, error, steps, starts and 1 where solved of each pose, one after the other, as a GPU's threads do."""
    target = replace(host("float64", 1), is_gpu=True)
    text = pose_text("f", ARM, options.position_only, start is not None, target)
    reacher = Reacher(ARM, options.position_only, options.limits)
    first = None if start is None else start[:1]
    settings = reacher.arguments(first, *options.asked)[1]
    rows = [T.reshape(-1, POSE)] + ([] if start is None else [start])
    results = [np.empty((len(T), size)) for size in (ARM.n, 2, 1, 1, 1)]
    call = compiled(text, "f", len(rows) + 6, target)
    for k in range(len(T)):
        given = [np.ascontiguousarray(a[k]) for a in rows]
        call(*(a.ctypes.data for a in (*given, settings, *(r[k] for r in results))), 1)
    return results


@pytest.mark.slow
@pytest.mark.parametrize(("position_only", "limits", "is_given"), [(False, True, True), (True, False, False)])
def test_one_thread_has_the_bits_of_a_batch(position_only: bool, limits: bool, is_given: bool) -> None:
    """Starts lie far outside the limits, by turns and by less; one pose is out of reach."""
    T = fa.kinematics.forward(ARM, posture(ARM, 6, COUNT))
    T[2, :3, 3] += 40.0
    start = posture(ARM, 9, COUNT) + np.linspace(-17.0, 17.0, COUNT)[:, None] if is_given else None
    options = NumericOptions(position_only=position_only, limits=limits, starts=6, seed=3, most_steps=60)
    q, error, *work = by_threads(T, start, options)
    told: dict[str, Any] = {
        "position_only": position_only,
        "limits": limits,
        "starts": 6,
        "seed": 3,
        "most_steps": 60,
    }
    kernel: Any = fa.compile(ARM)
    for threads in (1, 2):
        found = kernel.inverse_numeric(T, start=start, threads=threads, **told)
        assert np.array_equal(found.q, q)
        assert np.array_equal(found.error, error, equal_nan=True)
        assert np.array_equal([found.steps, found.starts, found.solved], np.hstack(work).T)
    alone = kernel.inverse_numeric(T[1], start=None if start is None else start[1], **told)
    assert np.array_equal(alone.q, q[1])
    solved = work[2][:, 0] == 1.0
    assert 0 < solved.sum() < COUNT
    reached = fa.kinematics.forward(ARM, q[solved])
    assert np.abs(reached[:, :3, 3] - T[solved, :3, 3]).max() < 1e-8
    if not position_only:
        assert np.abs(reached - T[solved]).max() < 1e-8


@pytest.mark.slow
def test_poses_that_are_not_numbers_give_none() -> None:
    T = fa.kinematics.forward(ARM, posture(ARM, 6, 2))
    T[0, 1, 2] = np.nan
    q, error, *work = by_threads(T, None, NumericOptions(starts=2, most_steps=20))
    assert np.isnan(q[0]).all()
    assert np.isnan(error[0]).all()
    assert work[2][0] == 0.0
    assert np.isfinite(q[1]).all()


@pytest.mark.slow
def test_it_assembles_for_a_gpu() -> None:
    _, ptx = made(ARM, False, True)
    assert ".visible .entry entry(" in ptx
    assert re.findall(r"\.extern (?!\.shared)", ptx) == []


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ({"dtype": "float32"}, {}, r"inverse_numeric: expected a kernel for float64, got <Kernel"),
        ({"parameters": "gravity.z"}, {}, "expected a kernel for an arm without open parameters"),
        ({}, {"starts": 0}, "inverse_numeric, starts"),
    ],
)
def test_what_a_kernel_needs_for_it(given: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(fa.InputError, match=message):
        fa.compile(ARM, **given).inverse_numeric(np.eye(4), **options)
