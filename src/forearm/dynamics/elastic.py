"""Dynamics of arms with elastic joints: link positions q, and motor positions theta = motor angle / N.

Links: rigid torque + bearings + friction at the joint = tau_J, the torque of the spring, tau_J = f(theta - q)
+ D (thetad - qd). Motors: B thetadd + T(tau_J, sign thetad) + friction at the motor = tau. With `rotor_axis`
the rotors' spin acts on the links too.

M. W. Spong, Modeling and Control of Elastic Joint Robots, Journal of Dynamic Systems, Measurement and Control
109, 1987.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm, check_arm
from forearm.arm.drive import Elasticity
from forearm.arm.elastic import expanded, has_spinning_rotors, is_elastic, link_side
from forearm.drives.elasticity import contact_of, coupling_torque
from forearm.drives.joint import Drive, drives_of, needs_reactions, rotor_inertia
from forearm.drives.motor import voltage_of, without_constants
from forearm.dynamics.damped_springs import deflection_along, deflections, settled
from forearm.dynamics.load_friction import reactions_of
from forearm.dynamics.newton_euler import newton_euler
from forearm.dynamics.reference import forward, inverse
from forearm.dynamics.taylor import Taylor
from forearm.errors import InputError, ModelError, shorten
from forearm.kinematics.arguments import states_of
from forearm.model import model_of
from forearm.spatial import Flags, Floats
from forearm.symbols.scalars import Scalar, sign
from forearm.values import as_finite, as_floats, frozen

MOTION = ("q", "qd", "qdd", "qddd", "qdddd")


@frozen
class ElasticDrive:
    """The drive of an elastic joint: its degree of freedom, spring and motor side."""

    freedom: int
    elasticity: Elasticity
    motor: Drive

    def carried(self, e: Scalar, ed: Scalar) -> Scalar:
        """tau_J at a deflection and its rate, with backlash at the flank in contact."""
        return coupling_torque(self.elasticity, e, ed, contact_of(self.elasticity, e, ed))

    def at_motor(self, carried: Scalar, thetad: Scalar) -> Scalar:
        """T(tau_J, sign thetad) + friction at the motor."""
        return self.motor.torque(carried, None, thetad, sign(thetad))

    def without_friction(self) -> ElasticDrive:
        """The same without the motor's friction, for rotors that are bodies of the expanded arm, which
        includes it.
        """
        return replace(self, motor=replace(self.motor, friction=None))


def elastic_drives(arm: Arm, drives: Sequence[Drive] | None = None) -> list[ElasticDrive]:
    """The drives of the elastic joints, in the order of q, from the arm's drives, whose parameters may be
    symbols.
    """
    made = []
    for drive, body in zip(drives or drives_of(arm), arm.moving.bodies, strict=True):
        if body.joint.elasticity is not None:
            friction = drive.friction if drive.friction and drive.friction.side == "motor" else None
            motor = replace(drive, bearings=(), friction=friction)
            made.append(ElasticDrive(drive.freedom, body.joint.elasticity, motor))
    return sorted(made, key=lambda some: some.freedom)


def check_elastic(arm: Arm, what: str) -> None:
    """Raise an error unless there is an elastic joint."""
    check_arm(arm, what, moves=True)
    if not is_elastic(arm):
        raise InputError(
            f"{arm.name!r} has no elastic joint. Give joints a spring between motor and link: "
            "arm.with_drives(elasticity=fa.Elasticity(stiffness=1e4)).",
            what,
        )


def gaps_of(arm: Arm) -> list[str]:
    """The joints with backlash."""
    return [joint.name for joint in arm.joints if joint.elasticity and joint.elasticity.half_gap]


def is_invertible(arm: Arm) -> bool:
    """Whether a link motion determines the torques of the motors."""
    return not has_spinning_rotors(arm) and not gaps_of(arm)


def check_invertible(arm: Arm, what: str) -> None:
    """Raise an error unless a link motion determines the motor torques, without higher derivatives or a
    choice of flank.
    """
    check_elastic(arm, what)
    if has_spinning_rotors(arm):
        raise ModelError(
            f"with rotor_axis, where the spin of rotors acts on links, torques of {arm.name!r}"
            f" depend on derivatives of the motion up to order {2 * arm.n + 2}. Omit "
            "rotor_axis to use the reduced model.",
            what,
        )
    if gaps := gaps_of(arm):
        raise ModelError(
            f"with the backlash of {', '.join(gaps)} no motor torque makes a link follow a "
            "motion through a change of flank. Omit half_gap.",
            what,
        )


def elastic_forward(
    arm: Arm, q: ArrayLike, qd: ArrayLike, theta: ArrayLike, thetad: ArrayLike, tau: ArrayLike
) -> tuple[Floats, Floats]:
    """Accelerations of links and motors, (qdd, thetadd), each (n,) or (B, n). For rigid joints theta and
    thetad are not used, and thetadd is qdd.

    Args:
        arm: an arm with elastic joints.
        q, qd: joint coordinates and velocities, (n,) or (B, n).
        theta, thetad: motor positions and velocities on the joint's side, motor angle / N, (n,) or (B, n).
        tau: motor torques times gear ratio, (n,) or (B, n), N m (N).
    """
    check_elastic(arm, "elastic_forward")
    q, qd, theta, thetad, tau = states_of(arm, q=q, qd=qd, theta=theta, thetad=thetad, tau=tau)
    spins, springs = has_spinning_rotors(arm), elastic_drives(arm)
    if spins:
        springs = [spring.without_friction() for spring in springs]
    own = [s.freedom for s in springs]
    e, ed = theta[..., own] - q[..., own], thetad[..., own] - qd[..., own]
    pushed, left = np.array(tau), np.array(tau[..., own])
    for k, spring in enumerate(springs):
        carried = spring.carried(e[..., k], ed[..., k])
        pushed[..., own[k]] = carried
        left[..., k] -= spring.at_motor(carried, thetad[..., own[k]])
    if spins:
        states = ((q, theta[..., own]), (qd, thetad[..., own]), (pushed, left))
        x, xd, pushes = (np.concatenate(pair, axis=-1) for pair in states)
        made = forward(expanded(arm), x, xd, pushes)
        qdd, accelerations = made[..., : arm.n], made[..., arm.n :]
    else:
        qdd = forward(link_side(arm), q, qd, pushed)
        accelerations = left / [spring.motor.rotor for spring in springs]
    thetadd = np.array(qdd)
    thetadd[..., own] = accelerations
    known = _known(q, qd, tau, e, ed)
    return np.where(known, qdd, np.nan), np.where(known, thetadd, np.nan)


def _known(*states: Floats) -> Flags:
    """Whether all values of a state are finite, (..., 1)."""
    return np.asarray(np.isfinite(np.concatenate(states, axis=-1)).all(axis=-1, keepdims=True))


@frozen
class ElasticInverse:
    """Motor motion and torques for a link motion; every array is (n,) or (B, n), on the joint side.

    Attributes:
        tau: motor torques times gear ratio, N m (N).
        theta, thetad, thetadd: motor angle / N, rad (m), and its derivatives; q for rigid joints.
        deflection, deflection_rate: theta - q and thetad - qd.
        voltage: motor voltages, V; None if a motor's constants are unknown.
    """

    tau: Floats
    theta: Floats
    thetad: Floats
    thetadd: Floats
    deflection: Floats
    deflection_rate: Floats
    voltage: Floats | None


def elastic_inverse(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    qddd: ArrayLike,
    qdddd: ArrayLike,
    deflection: ArrayLike | None = None,
) -> ElasticInverse:
    """Torques, positions and voltages of the motors for a motion of the links, exact.

    The deflection of a joint without damping is f^-1(tau_J), and its derivatives follow from those of tau_J
    along the motion. With damping the deflection is a state, D ed = tau_J - f(e): pass it and integrate the
    `deflection_rate`, or use `elastic_inverse_along`. Dry friction follows the signs of qd and thetad; where
    the sign of qd changes, theta would have to jump.

    Args:
        arm: an arm with elastic joints, without backlash, in the reduced model (no rotor_axis).
        q, qd, qdd, qddd, qdddd: joint coordinates and their time derivatives, (n,) or (B, n).
        deflection: theta - q of joints with damping, (n,) or (B, n), rad (m), ignored for the others; None:
            the value after transients have decayed, to second order in D / K.
    """
    check_invertible(arm, "elastic_inverse")
    motion = dict(zip(MOTION, (q, qd, qdd, qddd, qdddd), strict=True))
    if deflection is None:
        states, given = states_of(arm, **motion), None
    else:
        *states, given = states_of(arm, **motion, deflection=deflection)
    loads = _loads(arm, states)
    if given is None:
        given = np.zeros_like(states[0])
        for spring in elastic_drives(arm):
            given[..., spring.freedom] = settled(spring.elasticity, loads[spring.freedom])
    return _inverted(arm, states, loads, given)


def elastic_inverse_along(
    arm: Arm,
    t: ArrayLike,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    qddd: ArrayLike,
    qdddd: ArrayLike,
    deflection: ArrayLike | None = None,
) -> ElasticInverse:
    """`elastic_inverse` along a motion, with deflections of damped joints integrated from sample to sample:
    stable for any damping and stiffness.

    Args:
        arm: an arm with elastic joints, without backlash, in the reduced model (no rotor_axis).
        t: times (T,), increasing, s.
        q, qd, qdd, qddd, qdddd: joint coordinates and their derivatives at these times, (T, n).
        deflection: initial theta - q of joints with damping (n,), rad (m); None: as in `elastic_inverse`.
    """
    check_invertible(arm, "elastic_inverse_along")
    states = states_of(arm, **dict(zip(MOTION, (q, qd, qdd, qddd, qdddd), strict=True)))
    times = as_floats(t, "t")
    if times.ndim != 1 or not len(times) or not (np.diff(times) > 0.0).all() or not np.isfinite(times).all():
        raise InputError(
            f"expected increasing times of shape (T,), in s, got {shorten(times.tolist())}.", "t"
        )
    if states[0].shape != (len(times), arm.n):
        raise InputError(
            f"for {len(times)} times the expected shape is ({len(times)}, {arm.n}), got {states[0].shape}.",
            "q",
        )
    start = None if deflection is None else as_finite(deflection, (arm.n,), "deflection")
    loads, given = _loads(arm, states), np.zeros_like(states[0])
    for spring in elastic_drives(arm):
        if spring.elasticity.damping:
            load = loads[spring.freedom]
            first = settled(spring.elasticity, (load[0][0], load[1][0], load[2][0]))
            begin = float(first if start is None else start[spring.freedom])
            given[:, spring.freedom] = deflection_along(spring.elasticity, times, load, begin)
    return _inverted(arm, states, loads, given)


def _inverted(
    arm: Arm, states: Sequence[Floats], loads: dict[int, tuple[Floats, Floats, Floats]], given: Floats
) -> ElasticInverse:
    """The solution for given spring loads, with the given deflections of damped springs."""
    q, qd, qdd = states[:3]
    e, ed, edd = (np.zeros_like(q) for _ in range(3))
    # for rigid joints; for the others it is the spring torque
    tau = inverse(link_side(arm), q, qd, qdd)
    for spring in elastic_drives(arm):
        j = spring.freedom
        e[..., j], ed[..., j], edd[..., j] = deflections(spring.elasticity, loads[j], given[..., j])
        carried = spring.at_motor(loads[j][0], qd[..., j] + ed[..., j])
        tau[..., j] = spring.motor.rotor * (qdd[..., j] + edd[..., j]) + carried
    unknown = ~_known(*states, given)
    for x in (tau, e, ed, edd):
        x[np.broadcast_to(unknown, x.shape)] = np.nan
    voltage = None if without_constants(arm) else voltage_of(arm, tau, qd + ed)
    return ElasticInverse(tau, q + e, qd + ed, qdd + edd, e, ed, voltage)


def _loads(arm: Arm, states: Sequence[Floats]) -> dict[int, tuple[Floats, Floats, Floats]]:
    """tau_J of elastic joints and its first and second time derivative, by degree of freedom."""
    rows = [np.atleast_2d(x).T for x in states]  # one row per degree of freedom
    own = [spring.freedom for spring in elastic_drives(arm)]
    drives = [d for d in drives_of(link_side(arm)) if d.freedom in own]
    # gear losses of joints that mimic others depend on the load, one state at a time
    at_once = 1 if any(d.transmission for d in drives) else max(1, rows[0].shape[1])
    starts = range(0, max(1, rows[0].shape[1]), at_once)
    found = [_load_series(arm, own, [x[:, k : k + at_once] for x in rows]) for k in starts]
    made = np.concatenate(found, axis=-1).reshape(len(own), 3, *states[0].shape[:-1])
    return {j: (made[k, 0], made[k, 1], made[k, 2]) for k, j in enumerate(own)}


def _load_series(arm: Arm, own: Sequence[int], rows: Sequence[Floats]) -> Floats:
    """The same as (e, 3, B), from rows per degree of freedom (n, B)."""
    link = link_side(arm)
    model, drives = model_of(link), drives_of(link)
    q, qd, qdd = ([Taylor(*values) for values in zip(*rows[k : k + 3], strict=True)] for k in range(3))
    joints = model.coordinates(q), model.rates(qd), model.rates(qdd)
    torques, reactions = newton_euler(model, *joints), None
    if needs_reactions(link):
        torques, reactions = reactions_of(model, *joints)
    rotors = rotor_inertia(link)  # of joints that mimic these
    total = {j: qdd[j] * float(rotors[j]) for j in own}
    for k, drive in enumerate(drives):
        if drive.freedom in total:
            rate, reaction = joints[1][k], None if reactions is None else reactions[k]
            load = drive.torque(torques[k], reaction, rate, rate.sign())
            total[drive.freedom] = total[drive.freedom] + load * drive.multiplier
    shape = rows[0].shape[1:]
    return np.array(
        [[np.broadcast_to(x, shape) for x in (y.value, y.rate, y.second)] for y in total.values()]
    )
