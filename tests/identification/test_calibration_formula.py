"""The pose of a hand as a formula of its geometry: the arm that has the values, differences, screw axes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from arms import every_kind, random_arm
from identification.measured_arms import Floats, noisy, small_arm, truth_of

import forearm as fa
from forearm.errors import InputError
from forearm.identification.calibration.alignment import (
    base_and_hand_of_poses,
    base_and_point,
    base_of_points,
    base_of_poses,
)
from forearm.identification.calibration.hand_formula import flat_poses, hand_frame, residual_function
from forearm.identification.calibration.observability import random_postures
from forearm.identification.calibration.unknowns import SIX, unknowns_of, with_values
from forearm.spatial import pose, pose_xyz_rpy, rotation_rpy

pytestmark = pytest.mark.filterwarnings("ignore::forearm.errors.ModelWarning")
EVERY = {"base": SIX, "hand": SIX}


def test_the_formula_is_the_arm_that_has_the_values() -> None:
    rng = np.random.default_rng(3)
    for arm in (*every_kind(2), *every_kind(5), small_arm()):
        found = unknowns_of(arm, None, EVERY)
        values = dict(
            zip(found.names, (found.start + 0.1 * rng.normal(size=len(found.names))).tolist(), strict=True)
        )
        moved = [values[f"base.{part}"] for part in SIX]
        q = random_postures(arm, 3)
        expected = pose_xyz_rpy(moved[:3], moved[3:]) @ fa.kinematics.forward(with_values(arm, values), q)
        frame = hand_frame(arm, list(q.T), values)
        axes = np.array([[np.broadcast_to(v, 3) for v in axis] for axis in frame.axes])
        assert np.abs(np.moveaxis(axes, 2, 0).swapaxes(1, 2) - expected[:, :3, :3]).max() < 1e-12
        assert np.abs(np.array(frame.origin).T - expected[:, :3, 3]).max() < 1e-12


def test_beta_stays_beside_the_table() -> None:
    arm = small_arm()
    tilted = with_values(arm, {"joint2.beta": 0.02, "joint2.a": 0.3})
    assert [joint.name for joint in tilted.tree][:3] == ["joint1", "joint2_beta", "joint2"]
    assert isinstance(tilted.joint("joint2").placement, fa.DH)
    assert tilted.n == arm.n
    assert tilted.mass == arm.mass
    assert with_values(arm, {"joint2.beta": 0.0}) == arm
    assert "joint2.beta" in unknowns_of(tilted, "dh", {}).names
    again = with_values(tilted, {"joint2.beta": 0.01})
    q = [0.1, 0.2, -0.3, 0.1]
    once = fa.kinematics.forward(with_values(arm, {"joint2.beta": 0.03, "joint2.a": 0.3}), q)
    assert fa.kinematics.forward(again, q) == pytest.approx(once, abs=1e-12)
    assert len(again.tree) == len(tilted.tree)


def test_a_joint_called_hand_is_refused() -> None:
    link, joint = fa.Link(name="link0"), small_arm().joints[0]
    links, tree = (link, fa.Link(name="link1")), (dataclasses.replace(joint, name="hand"),)
    arm = fa.Arm(name="odd", links=links, tree=tree)
    with pytest.raises(InputError, match="joint name 'hand' is reserved"):
        unknowns_of(arm, None, EVERY)


def differences(
    arm: fa.Arm, names: tuple[str, ...], start: Floats, q: Floats, measured: Floats, is_pose: bool
) -> Floats:
    function, step = residual_function(arm, names, is_pose), 1e-6
    columns = []
    for k in range(len(names)):
        up, down = start.copy(), start.copy()
        up[k] += step
        down[k] -= step
        columns.append((function(q, up, measured)[0] - function(q, down, measured)[0]) / (2.0 * step))
    return np.array(columns).T


@pytest.mark.slow
@pytest.mark.parametrize("is_pose", [True, False])
def test_slopes_are_those_of_differences(is_pose: bool) -> None:
    arm = small_arm() if is_pose else random_arm(3, 2, "frames")
    found = unknowns_of(arm, None, EVERY if is_pose else {"base": SIX, "hand": SIX[:3]})
    rng = np.random.default_rng(1)
    values = found.start + 0.02 * rng.normal(size=len(found.names))
    function = residual_function(arm, found.names, is_pose)
    for q in random_postures(arm, 3):
        T = fa.kinematics.forward(arm, q)
        measured = flat_poses(noisy(T[None], 1, 0.05, 0.3))[0] if is_pose else T[:3, 3]
        slopes = function(q, values, measured)[1]
        assert np.abs(slopes - differences(arm, found.names, values, q, measured, is_pose)).max() < 1e-8


def test_devices_and_targets_are_found_in_closed_form() -> None:
    truth = truth_of(random_arm(2, 4, "modified"), "offsets", 12, size=0.0, base=np.eye(4))
    F = truth.poses
    for seed in range(5):
        rng = np.random.default_rng(seed)
        B, H = (pose(rotation_rpy(rng.uniform(-3.0, 3.0, 3)), rng.normal(size=3)) for _ in range(2))
        assert base_of_poses(B @ F, F) == pytest.approx(B, abs=1e-12)
        assert base_of_points((B @ F)[:, :3, 3], F[:, :3, 3]) == pytest.approx(B, abs=1e-9)
        found = base_and_hand_of_poses(B @ F @ H, F)
        assert found[0] == pytest.approx(B, abs=1e-10)
        assert found[1] == pytest.approx(H, abs=1e-10)
        h = 0.1 * H[:3, 3]
        base, point = base_and_point((B @ F @ pose(p=h))[:, :3, 3], F)
        assert base == pytest.approx(B, abs=1e-6)
        assert point == pytest.approx(h, abs=1e-6)
