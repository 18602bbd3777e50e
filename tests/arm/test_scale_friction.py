"""Friction times a factor: what depends on it alone scales, the rest stays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from arms import random_arm
from refusals import refused

import forearm as fa

GEARED = Path(__file__).parents[1] / "data" / "geared.toml"


def test_friction_of_the_joints_scales_and_nothing_else() -> None:
    arm = fa.load("puma560")
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.uniform(-1, 1, (3, arm.n))
    smooth, rough = arm.scale_friction(0.0), arm.scale_friction(2.5)
    tau, without, more = (fa.dynamics.inverse(a, q, qd, qdd) for a in (arm, smooth, rough))
    np.testing.assert_allclose(more - without, 2.5 * (tau - without), rtol=1e-12)
    assert np.abs(tau - without).min() > 0.01
    assert arm.scale_friction(1.0) == arm
    assert smooth.joints[0].motor == arm.joints[0].motor


def test_static_friction_scales_with_its_speed_kept() -> None:
    for joint, scaled in zip(fa.load(GEARED).joints, fa.load(GEARED).scale_friction(0.5).joints, strict=True):
        if joint.friction is None or joint.friction.static is None:
            continue
        assert scaled.friction is not None
        assert scaled.friction.stribeck_speed == joint.friction.stribeck_speed
        assert scaled.friction.static == tuple(0.5 * x for x in joint.friction.static)
        assert scaled.transmission == joint.transmission
        return
    pytest.fail("the arm must have a joint with static friction")


def test_an_arm_without_friction_stays_as_it_is() -> None:
    arm = random_arm(1, 3, drives=False)
    assert arm.scale_friction(3.0) == arm
    with refused(".*scale_friction, factor"):
        arm.scale_friction(-1.0)
