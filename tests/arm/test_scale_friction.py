"""Friction times a factor: what depends on it alone scales, the rest stays."""

from __future__ import annotations

from typing import Any

import numpy as np
from arms import random_arm
from refusals import refused

import forearm as fa


def test_friction_of_the_joints_scales_and_nothing_else() -> None:
    arm = fa.load("puma560")
    q, qd, qdd = np.random.default_rng(1).uniform(-1, 1, (3, arm.n))
    smooth, rough = arm.scale_friction(0.0), arm.scale_friction(2.5)
    tau, without, more = (fa.dynamics.inverse(a, q, qd, qdd) for a in (arm, smooth, rough))
    np.testing.assert_allclose(more - without, 2.5 * (tau - without), rtol=1e-12)
    assert np.abs(tau - without).min() > 0.01
    assert arm.scale_friction(1.0) == arm
    assert smooth.joints[0].motor == arm.joints[0].motor
    bare = random_arm(1, 3, drives=False)
    assert bare.scale_friction(3.0) == bare
    with refused(".*scale_friction, factor"):
        bare.scale_friction(-1.0)


def test_static_friction_scales_with_its_speed_kept() -> None:
    arm = random_arm(1)
    halved = arm.scale_friction(0.5)
    for joint, scaled in zip(arm.joints, halved.joints, strict=True):
        old: Any = joint.friction
        new: Any = scaled.friction
        assert new.stribeck_speed == old.stribeck_speed
        assert new.static == tuple(0.5 * x for x in old.static)
        assert scaled.transmission == joint.transmission
