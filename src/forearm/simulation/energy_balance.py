"""Energy balance: supplied = kinetic + potential + stored in springs, bristles and winding inductance + lost
in bearings, gears, friction, windings and springs.

Between samples the motion is the method's dense output, or the cubic Hermite interpolant of positions and
velocities; powers are integrated by four-point Gauss quadrature.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.drives.bearings import bearing_level
from forearm.drives.elasticity import spring_energy
from forearm.drives.friction import friction_torque
from forearm.drives.joint import Drive, drives_of, needs_reactions
from forearm.drives.transmission import through
from forearm.kernels.kept import kernel_of
from forearm.kernels.rollout import Simulator
from forearm.model import model_of
from forearm.simulation.track import Course, Flow

Floats = NDArray[np.float64]
NODES, WEIGHTS = (0.5 * (v + w) for v, w in zip(np.polynomial.legendre.leggauss(4), (1.0, 0.0), strict=True))


def evaluated(course: Course) -> Callable[[str], Any]:
    """The accelerations, efforts, energies and losses of a motion at its samples by name, each computed on
    first access.

    Accelerations (T, n) are 0 for a sticking joint, and for a joint that breaks loose its initial
    acceleration; voltages are those applied, or required for the torques, None if a motor is not fully
    specified; energies (T,) and cumulative losses (T, n) are in J.
    """
    flow = cache(lambda: course.supply(course.given(), course.qd))
    sums = cache(lambda: _added_up(course, flow()))

    def qdd() -> Floats:
        found = _with_beginnings(course.simulator, course.q, course.qd, flow().u)
        return np.ascontiguousarray(found[:, : course.simulator.arm.n])

    values: dict[str, Callable[[], Any]] = {
        "qdd": qdd,
        "tau": lambda: flow().tau,
        "voltage": lambda: flow().voltage,
        "energy": lambda: sums()[0],
        "lost": lambda: sums()[1],
    }
    return lambda name: values[name]()


def _added_up(course: Course, flow: Flow) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Energies, and cumulative losses by kind. For held torques without losses the work is tau (q_new - q) to
    the last bit.
    """
    simulator, t, q, qd = course.simulator, course.t, course.q, course.qd
    coordinates, n = simulator.coordinates, simulator.arm.n
    supplied = np.zeros(len(t))
    kinds = ("bearing", "gear", "friction", "winding", *(["spring"] if coordinates.rotors else []))
    lost = {name: np.zeros((len(t), n)) for name in kinds}
    h = np.diff(t)[:, None]
    rubs = any(d.friction or d.depends_on_load for d in drives_of(simulator.arm)) or coordinates.rotors
    is_short = course.is_held and not rubs and flow.winding is None
    if is_short:
        supplied[1:] = np.cumsum(np.sum(flow.tau[:-1] * np.diff(q[:, :n], axis=0), axis=1))
    for node, weight in zip(NODES, WEIGHTS, strict=True) if len(t) > 1 and not is_short else ():
        at, rate, given = course.between(float(node))
        rate = np.where((qd[:-1] == 0.0) & (qd[1:] == 0.0) & simulator.dry, 0.0, rate)
        there = course.supply(given, rate)
        losses = _losses(simulator, at, rate, _accelerations(simulator, at, rate, there.u)) if rubs else {}
        if there.winding is not None:
            losses["winding"] = there.winding
        supplied[1:] += np.cumsum(weight * h[:, 0] * there.power)
        for name, value in losses.items():
            lost[name][1:] += np.cumsum(weight * h * value, axis=0)
    for r in coordinates.rotors:
        stored = spring_energy(r.elasticity, r.deflection(list(q.T)))
        lost["spring"][:, r.freedom] -= stored - stored[0]
    if coordinates.windings and flow.field is not None:
        supplied += flow.field - flow.field[0]
    total = sum((value.sum(axis=1) for value in lost.values()), np.zeros(len(t)))
    energy = _energies(simulator, q, qd) | {"supplied": supplied, "lost": total}
    return energy if flow.field is None else energy | {"field": flow.field}, lost


def _accelerations(simulator: Simulator, q: Floats, qd: Floats, u: Floats) -> Floats:
    """Accelerations of many states, with friction opposing the velocities, sticking coordinates fixed, and
    backlash contacts according to the deflections.
    """
    stands = (qd == 0.0) & simulator.dry
    return simulator.accelerations_of(
        q, qd, u, np.sign(qd), np.where(stands, 0.0, 1.0), _contacts(simulator, q, qd)
    )


def _contacts(simulator: Simulator, q: Floats, qd: Floats) -> Floats:
    sides = simulator.coordinates.contacts(list(q.T), list(qd.T))
    return np.ascontiguousarray(np.reshape(sides, (-1, len(q))).T, dtype=np.float64)


def _with_beginnings(simulator: Simulator, q: Floats, qd: Floats, u: Floats) -> Floats:
    """Accelerations at samples: a joint that sticks at one sample and moves at the next breaks loose there if
    its acceleration then points in the direction of motion.

    Otherwise it stuck a little longer: it broke loose between the two samples, or together with another
    joint.
    """
    made = _accelerations(simulator, q, qd, u)
    ahead = np.zeros_like(qd)
    ahead[:-1] = np.sign(qd[1:])
    begins = (qd == 0.0) & simulator.dry & (ahead != 0.0)
    while (rows := begins.any(axis=1)).any():
        way = np.where(begins, ahead, np.sign(qd))[rows]
        free = np.where((qd == 0.0) & simulator.dry & ~begins, 0.0, 1.0)[rows]
        contact = _contacts(simulator, q[rows], qd[rows])
        found = simulator.accelerations_of(q[rows], qd[rows], u[rows], way, free, contact)
        wrong = begins[rows] & ~(found * way > 0.0)
        if not wrong.any():
            made[rows] = found
            break
        begins[rows] &= ~wrong
    return made


def _energies(simulator: Simulator, q: Floats, qd: Floats) -> dict[str, Floats]:
    """Kinetic energy, rotors included, gravitational energy, and energy of springs and bristles."""
    c = simulator.coordinates
    m = c.mechanics.n
    both = kernel_of(c.mechanics).fused(["kinetic_energy", "potential_energy"])(
        np.ascontiguousarray(q[:, :m]), np.ascontiguousarray(qd[:, :m])
    )
    kinetic = both["kinetic"][:, 0]
    for rotor in c.alone:
        kinetic = kinetic + 0.5 * rotor.inertia * qd[:, rotor.place] ** 2
    energies = {"kinetic": kinetic, "potential": both["potential"][:, 0]}
    if c.rotors:
        x = list(q.T)
        energies["spring"] = np.sum([spring_energy(r.elasticity, r.deflection(x)) for r in c.rotors], axis=0)
    if c.bristles:
        bent = [0.5 * b.law.stiffness * qd[:, b.place] ** 2 for b in c.bristles]
        energies["bristle"] = np.sum(bent, axis=0)
    return energies


def _losses(simulator: Simulator, q: Floats, qd: Floats, qdd: Floats) -> dict[str, Floats]:
    """Power lost in each joint's bearings, gear, friction and spring, (T, n)."""
    c = simulator.coordinates
    arm, m = c.mechanics, c.mechanics.n
    model, shape = model_of(arm), (len(q), c.n)
    kinds = ("bearing", "gear", "friction", *(["spring"] if c.rotors else []))
    made = {name: np.zeros(shape) for name in kinds}
    rates = np.array(model.rates(list(qd[:, :m].T)))  # (N, T)
    torques, reactions = _rigid(arm, q[:, :m], qd[:, :m], qdd[:, :m])
    bristles = {b.body: b for b in c.bristles}
    for k, drive in enumerate(drives_of(arm)):
        load, way, rate = torques[k], np.sign(rates[k]), rates[k]
        rubbed = bristles[k].law.torque(rate, qd[:, bristles[k].place]) if k in bristles else None
        reaction = None if reactions is None else reactions[k]
        for name, torque in _parts(drive, load, reaction, rate, way, rubbed):
            made[name][:, c.joint_of[drive.freedom]] += torque * rate
    for b in c.bristles:  # energy stored in bending them is not lost
        speed, z = b.multiplier * qd[:, b.on], qd[:, b.place]
        if b.body is None:
            made["friction"][:, c.joint_of[b.place]] += b.law.torque(speed, z) * speed
        made["friction"][:, c.joint_of[b.place]] -= b.law.stiffness * z * b.law.rate(speed, z)
    _rotor_losses(simulator, q, qd, made)
    return made


def _rotor_losses(simulator: Simulator, q: Floats, qd: Floats, made: dict[str, Floats]) -> None:
    """Add the power into the springs, and the losses of the gears behind them and of rotors decoupled from
    links.
    """
    c, x, xd = simulator.coordinates, list(q.T), list(qd.T)
    contact = c.contacts(x, xd)
    for r in c.rotors:
        rate, torque = xd[r.place], r.torque(x, xd, contact)
        made["spring"][:, r.freedom] += torque * r.deflection(xd)  # the stored part is subtracted at the end
        made["gear"][:, r.freedom] += (r.at_motor(torque, np.sign(rate)) - torque) * rate
    for r in c.alone:
        if r.friction is not None and r.friction.bristle_stiffness is None:
            made["friction"][:, r.freedom] += (
                friction_torque(r.friction, xd[r.place], np.sign(xd[r.place])) * xd[r.place]
            )


def _parts(
    drive: Drive, load: Floats, reaction: Any, rate: Floats, way: Floats, rubbed: Floats | None
) -> list[tuple[str, Floats]]:
    """Contribution of each element of a drive to the torque, in order from load to motor; `rubbed` is the
    friction of bristles, if any.
    """
    parts: list[tuple[str, Floats]] = []
    for bearing in drive.bearings:
        parts.append(("bearing", way * bearing_level(bearing, *reaction)))
        load = load + parts[-1][1]
    if rubbed is None:
        rubbed = friction_torque(drive.at_joint, rate, way) if drive.friction is not None else 0.0 * load
    if drive.friction is not None and drive.friction.side == "joint":
        load = load + rubbed
    if drive.transmission is not None:
        parts.append(("gear", through(drive.transmission, load, way) - load))
    return [*parts, ("friction", rubbed)]


def _rigid(arm: Arm, q: Floats, qd: Floats, qdd: Floats) -> tuple[list[Floats], Any]:
    """Torques of the rigid arm at each joint (N) of (T,), and the reactions ((3, T), (3, T)) where needed."""
    model = model_of(arm)
    if not needs_reactions(arm) and not model.has_followers:
        return list(kernel_of(arm.rigid()).inverse_dynamics(q, qd, qdd).T), None
    states = (np.ascontiguousarray(v) for v in (q, qd, qdd))
    about_links = kernel_of(arm.rigid()).fused(["reactions"])(*states)["wrench"]
    torques, reactions = [], []
    for body, wrench in zip(model.bodies, about_links.transpose(1, 2, 0), strict=True):
        f, n = wrench[:3], wrench[3:] + np.cross(body.s, wrench[:3], axisb=0, axisc=0)
        reactions.append((body.Ra @ f, body.Ra @ n))
        torques.append(reactions[-1][1 if body.revolute else 0][2])
    return torques, reactions
