"""Inverse dynamics with bearings and gears against the traced reactions, put together here by another way."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from arms import Array, random_arm
from drives.making import KINDS, loaded_arm, resistance
from dynamics.cases import Load, State, assert_agree, random_load, random_state

from forearm import Arm, Friction, Joint, ModelError, Transmission, dynamics

EXACT = 1e-12  # of the largest torque
FORMULATIONS = 1e-10  # what formulations differ by, as everywhere


def eta_of(gear: Transmission, load: float) -> float:
    """By straight lines; two points, so a spline is the same."""
    assert len(gear.efficiency) < 3
    x, y = np.array(gear.efficiency).T
    return float(np.interp(abs(load) / gear.rated_torque, x, y))


def dry(friction: Friction, speed: float) -> float:
    side = 0 if speed > 0.0 else 1
    level = friction.coulomb[side]
    if friction.static is not None and friction.stribeck_speed is not None:
        level += (friction.static[side] - level) * math.exp(-((speed / friction.stribeck_speed) ** 2))
    return friction.viscous * speed + (level if speed else 0.0)


def torque_of_drive(joint: Joint, rigid: float, f: Array, n: Array, rate: float) -> float:
    """What the drive of a joint gives, from the reaction in axes with z along it."""
    way = float(np.sign(rate))
    load = rigid + sum(way * resistance(bearing, f, n) for bearing in joint.bearings)
    friction, N = joint.friction, 1.0 if joint.motor is None else abs(joint.motor.gear_ratio)
    if friction is not None and friction.side == "joint":
        load += dry(friction, rate)
    if (gear := joint.transmission) is not None:
        eta = eta_of(gear, load)
        load = {1.0: load / eta, -1.0: load * eta, 0.0: load}[
            way * float(np.sign(load))
        ] + way * gear.breakaway
    if friction is not None and friction.side == "motor":
        load += N * dry(friction, N * rate)
    return load


def onto_z(axis: Array) -> Array:
    """Some turn R with R axis = z."""
    z = axis / np.linalg.norm(axis)
    x = np.cross([0.3, -0.5, 0.8], z)
    x /= np.linalg.norm(x)
    return np.array([x, np.cross(z, x), z])


def put_together(arm: Arm, state: State, load: Load) -> Array:
    """The torques from the trace of the rigid arm: reactions in the links' axes,
    turned here into the joints'.
    """
    table = dynamics.trace(arm, *state, "newton-euler", *load)
    tau = np.zeros(arm.n)
    for body in arm.moving.bodies:
        after = body.after[:3, :3]
        # at the joint, before the link's own turn
        f, n = (after @ table[body.joint.child][name] for name in "fn")
        R = onto_z(body.axis)
        rigid = float((R @ (n if body.joint.kind == "revolute" else f))[2])
        rate = body.multiplier * float(state.qd[body.freedom])
        tau[body.freedom] += body.multiplier * torque_of_drive(body.joint, rigid, R @ f, R @ n, rate)
        if body.joint.motor is not None:
            J = body.joint.motor.gear_ratio**2 * body.joint.motor.rotor_inertia
            tau[body.freedom] += body.multiplier**2 * J * float(state.qdd[body.freedom])
    return tau


def without_rails(arm: Arm) -> Arm:
    """Without linear bearings: the faces of a rail point where the joint's x axis does,
    which the truth leaves open.
    """
    return arm.replace(
        tree=tuple(dataclasses.replace(j, bearings=()) if j.kind == "prismatic" else j for j in arm.tree)
    )


@pytest.mark.parametrize(("kind", "n"), [*zip(KINDS, (6, 1, 3, 6, 3, 3, 6), strict=True), ("turning", 1)])
def test_torques_are_those_of_the_parts(kind: str, n: int) -> None:
    arm = without_rails(loaded_arm(kind, 40 + n, n))
    assert n < 6 or any(len(j.bearings) == 2 for j in arm.tree)
    for seed in range(3):
        state, load = random_state(arm, seed), random_load(seed) if seed else Load()
        found = dynamics.inverse(arm, *state, "newton-euler", *load)
        assert_agree(found, put_together(arm, state, load), EXACT)


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_rails_point_along_the_axes_of_the_convention(convention: Any) -> None:
    """With z the joint's axis already, the faces carry the forces of the joint's own
    frame, before its motion.
    """
    arm = loaded_arm(convention, 8, 4)
    slides = [b for b in arm.moving.bodies if b.joint.kind == "prismatic"]
    assert slides
    state = random_state(arm, 2)
    table = dynamics.trace(arm, *state)
    bare = arm.replace(tree=tuple(dataclasses.replace(j, bearings=(), transmission=None) for j in arm.tree))
    railed = bare.replace(
        tree=tuple(
            dataclasses.replace(j, bearings=arm.joint(j.name).bearings) if j.kind == "prismatic" else j
            for j in bare.tree
        )
    )
    added = dynamics.inverse(railed, *state) - dynamics.inverse(bare, *state)
    truth = np.zeros(arm.n)
    for body in slides:
        np.testing.assert_allclose(body.axis, [0.0, 0.0, 1.0], atol=1e-15)
        f, n = (body.after[:3, :3] @ table[body.joint.child][name] for name in "fn")
        (bearing,) = body.joint.bearings
        truth[body.freedom] = np.sign(state.qd[body.freedom]) * resistance(bearing, f, n)
    np.testing.assert_allclose(added, truth, rtol=1e-10, atol=1e-12 * np.abs(truth).max())


def test_at_rest_only_the_rigid_arm_is_felt() -> None:
    """sgn(0) = 0: no friction has a direction, and the gear passes what it must hold."""
    arm = loaded_arm("tree, followers", 5, 4)
    q, _, qdd = random_state(arm, 1)
    rest = np.zeros(arm.n)
    rigid = dynamics.inverse(arm.rigid(), q, rest, qdd)
    rotor = np.diag(dynamics.inertia_matrix(arm, q) - dynamics.inertia_matrix(arm.rigid(), q))
    assert_agree(dynamics.inverse(arm, q, rest, qdd), rigid + rotor * qdd, EXACT)
    assert np.array_equal(dynamics.gravity(arm, q), dynamics.gravity(arm.rigid(), q))


def test_a_curve_of_no_gear_is_refused_where_it_is_used() -> None:
    arm = random_arm(3, 2)
    steep = Transmission(efficiency=((0.1, 0.1), (0.12, 0.9)), rated_torque=5.0)
    arm = arm.replace(
        tree=tuple(dataclasses.replace(j, transmission=steep) if j.transmission else j for j in arm.tree)
    )
    state = random_state(arm, 1)
    for ask in (dynamics.inverse, dynamics.forward):
        with pytest.raises(ModelError, match="the input torque would decrease with load"):
            ask(arm, *state)
