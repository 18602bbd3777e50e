"""Forward dynamics with elastic joints: the equations of both sides written out, and MuJoCo with rotors as
bodies.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from dynamics.cases import Array, assert_agree, simple_drives
from dynamics.elastic_cases import elastic_arms, elastic_state, with_springs
from dynamics.rotors_in_mujoco import RotorsInMujoco

import forearm as fa
from forearm import Arm, Elasticity, Friction, InputError, Joint, Motor, Transmission, dynamics
from forearm.arm.elastic import elastic_freedoms, expanded, link_side
from forearm.dynamics import elastic_forward

BALANCE = 1e-11  # of the torques, times the condition of M
MUJOCO = 1e-9  # relative: light links behind stiff springs
ARMS = elastic_arms()


def carried(joint: Joint, e: float, ed: float) -> float:
    """What a spring carries, by straight lines between the points of its curve."""
    spring = joint.elasticity
    assert spring is not None
    D, g = spring.damping, spring.half_gap
    if g:
        p = np.sign(e) * max(abs(e) - g, 0.0)
        bare = replace(joint, elasticity=replace(spring, half_gap=0.0))
        made = carried(bare, p, ed)
        return made if p * made > 0.0 else 0.0
    if spring.stiffness is not None:
        return spring.stiffness * e + D * ed
    x, y = np.array([(0.0, 0.0), *spring.curve]).T
    last = (y[-1] - y[-2]) / (x[-1] - x[-2])
    beyond = last * max(abs(e) - x[-1], 0.0)
    return float(np.sign(e) * (np.interp(abs(e), x, y) + beyond) + D * ed)


def at_motor(joint: Joint, load: float, speed: float) -> float:
    """What a load behind the gear takes at the motor, in the four quadrants, with the motor's friction."""
    N, way = abs(joint.motor.gear_ratio) if joint.motor else 1.0, np.sign(speed)
    tau = load
    if (gear := joint.transmission) is not None:
        x, y = np.array(gear.efficiency).T
        eta = float(np.interp(abs(load) / gear.rated_torque, x, y))
        tau = (load / eta if load * way > 0.0 else load * eta) + way * gear.breakaway
    if (f := joint.friction) is not None and f.side == "motor":
        dry = f.coulomb[0] if way > 0.0 else f.coulomb[1]
        if f.static is not None and f.stribeck_speed is not None:
            static = f.static[0] if way > 0.0 else f.static[1]
            dry += (static - dry) * np.exp(-((N * speed / f.stribeck_speed) ** 2))
        tau += N * (f.viscous * N * speed + dry)
    return float(tau)


@pytest.mark.parametrize("name", ["bare springs", "every drive", "rigid first", "standard", "followers"])
def test_both_sides_are_in_balance(name: str) -> None:
    """Springs by np.interp, gears and friction by their quadrants, the links by inverse dynamics. Splines
    have straight lines in their place here.
    """
    arm = _without_splines(ARMS[name])
    for seed in (1, 2):
        q, qd, theta, thetad, tau = elastic_state(arm, seed)
        qdd, thetadd = elastic_forward(arm, q, qd, theta, thetad, tau)
        pushed = dynamics.inverse(link_side(arm), q, qd, qdd)
        scale = np.abs(pushed).max() * np.linalg.cond(dynamics.inertia_matrix(link_side(arm), q))
        for j, joint in enumerate(arm.joints):
            if joint.elasticity is None:
                assert abs(pushed[j] - tau[j]) <= BALANCE * scale
                assert thetadd[j] == qdd[j]
                continue
            load = carried(joint, theta[j] - q[j], thetad[j] - qd[j])
            assert abs(pushed[j] - load) <= BALANCE * scale
            assert joint.motor is not None
            B = joint.motor.gear_ratio**2 * joint.motor.rotor_inertia
            needed = B * thetadd[j] + at_motor(joint, load, thetad[j])
            assert needed == pytest.approx(tau[j], rel=1e-12, abs=1e-10)


def _without_splines(arm: Arm) -> Arm:
    def changed(joint: Joint) -> Joint:
        gear, spring = joint.transmission, joint.elasticity
        return replace(
            joint,
            transmission=gear and replace(gear, interpolation="linear"),
            elasticity=spring and replace(spring, interpolation="linear"),
        )

    return arm.replace(tree=tuple(map(changed, arm.tree)))


def test_a_flank_pushes_and_never_pulls() -> None:
    """Between the flanks link and motor are alone; damping may take away what the spring pushes, no more."""
    arm = with_springs(simple_drives(random_arm(79, 1, prismatic=False)), 1, "linear", damping=40.0)
    spring, motor = arm.joints[0].elasticity, arm.joints[0].motor
    assert spring is not None
    assert motor is not None
    arm = arm.with_drives(elasticity=replace(spring, half_gap=2e-3), friction=None)
    for e, ed in product((-5e-3, -2.1e-3, -1e-3, 0.0, 1e-3, 2.1e-3, 5e-3), (-0.4, 0.0, 0.4)):
        (qdd,), (thetadd,) = elastic_forward(arm, [0.3], [0.7], [0.3 + e], [0.7 + ed], [1.9])
        load = carried(arm.joints[0], e, ed)
        alone = dynamics.forward(link_side(arm), [0.3], [0.7], [load])[0]
        assert qdd == pytest.approx(alone, rel=1e-12)
        assert thetadd == pytest.approx((1.9 - load) / motor.reflected_inertia, rel=1e-12)
        assert load * e >= 0.0
        assert (load == 0.0) == (abs(e) <= 2e-3 or load * e <= 0.0)


def forces_of(arm: Arm, q: Array, qd: Array, theta: Array, thetad: Array, tau: Array) -> Array:
    """Generalised forces on links and rotors of an arm without friction."""
    links, rotors = tau.copy(), []
    for j in elastic_freedoms(arm):
        links[j] = carried(arm.joints[j], theta[j] - q[j], thetad[j] - qd[j])
        rotors.append(tau[j] - links[j])
    return np.concatenate([links, rotors])


AXES: dict[str, Any] = {"reduced": None, "full": (0.4, -0.7, 0.5)}


@pytest.mark.parametrize("model", AXES)
@pytest.mark.parametrize(("seed", "tree"), [(81, False), (82, True), (83, False)])
def test_mujoco_with_rotors_as_bodies(model: str, seed: int, tree: bool) -> None:
    arm = random_arm(seed, 4, tree=tree)
    arm = with_springs(simple_drives(arm), seed, "lines", 2.0, rigid=1, rotor_axis=AXES[model])
    arm = arm.with_drives(friction=None)
    peer, own = RotorsInMujoco(arm), list(elastic_freedoms(arm))
    for state in (1, 2, 3):
        q, qd, theta, thetad, tau = elastic_state(arm, state)
        found = peer.accelerations(
            np.concatenate([q, theta[own]]),
            np.concatenate([qd, 30.0 * thetad[own]]),
            forces_of(arm, q, qd, theta, 30.0 * thetad, tau),
        )
        qdd, thetadd = elastic_forward(arm, q, qd, theta, 30.0 * thetad, tau)
        assert_agree(qdd, found[: arm.n], MUJOCO)
        assert_agree(thetadd[own], found[arm.n :], MUJOCO)
        assert_agree(
            dynamics.inertia_matrix(expanded(arm), np.concatenate([q, theta[own]])),
            peer.inertia_matrix(q, theta[own]),
            MUJOCO,
        )


def test_friction_of_motors_with_spinning_rotors_is_counted_once() -> None:
    """Joints that do not turn in space: then the full model is the reduced one, but for N J thetadd on the
    link, which here is the base.
    """
    drive = {
        "motor": Motor(gear_ratio=-70.0, rotor_inertia=1.3e-4),
        "friction": Friction(side="motor", viscous=3e-3, coulomb=(0.2, -0.3)),
        "transmission": Transmission(efficiency=((0.1, 0.6), (1.0, 0.9)), rated_torque=30.0, breakaway=0.7),
    }
    arm = random_arm(84, 1, prismatic=False).with_drives(bearings=(), **drive)
    axes = (None, (0.3, 0.4, 0.5))
    reduced, full = (
        elastic_forward(
            arm.with_drives(elasticity=Elasticity(stiffness=9e3, damping=2.0, rotor_axis=axis)),
            *elastic_state(arm, 3),
        )
        for axis in axes
    )
    for a, b in zip(reduced, full, strict=True):
        assert_agree(b, a, 1e-12)


def test_batches_are_rows() -> None:
    arm = ARMS["every drive"]
    rows = [np.array(x) for x in zip(*(elastic_state(arm, k) for k in range(3)), strict=True)]
    ones = [elastic_forward(arm, *(x[k] for x in rows)) for k in range(3)]
    for many, one in zip(elastic_forward(arm, *rows), zip(*ones, strict=True), strict=True):
        assert_agree(many, np.array(one), 1e-14)


def test_what_is_not_known_is_nan_and_what_is_ignored_does_not_matter() -> None:
    arm = ARMS["rigid first"]
    state = [np.tile(x, (3, 1)) for x in elastic_state(arm, 1)]
    whole = elastic_forward(arm, *state)
    state[2][0, 0] = np.nan  # theta of a rigid joint
    state[3][1, 3] = np.inf
    found = elastic_forward(arm, *state)
    for a, b in zip(found, whole, strict=True):
        assert (a[[0, 2]] == b[[0, 2]]).all()
        assert np.isnan(a[1]).all()


def test_rigid_arms_are_refused_with_what_to_do() -> None:
    with pytest.raises(InputError, match=r"elastic_forward: 'puma560' has no elastic joint\. Give joints"):
        elastic_forward(fa.load("puma560"), *np.zeros((5, 6)))
