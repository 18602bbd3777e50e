"""Where the energy went: supplied = kinetic + potential + lost in bearings, gears, friction and windings.

Between two samples the motion is what the method has there, or Hermite's cubic of positions and velocities; powers are added up
by Gauss's rule of four points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.drives.bearings import bearing_level
from forearm.drives.friction import friction_torque
from forearm.drives.joint import Drive, drives_of, needs_reactions
from forearm.drives.motor import constants_of
from forearm.drives.transmission import through
from forearm.kernels.kernel import compile as compile_arm
from forearm.kernels.rolling import Roller
from forearm.model import model_of

Floats = NDArray[np.float64]
NODES, WEIGHTS = (0.5 * (v + w) for v, w in zip(np.polynomial.legendre.leggauss(4), (1.0, 0.0), strict=True))


@dataclass(frozen=True, eq=False)
class Books:
    """Accelerations at the samples, energies (T,) in J, and what was lost so far by kind (T, n)."""

    qdd: Floats
    energy: dict[str, Floats]
    lost: dict[str, Floats]


# For each of Gauss's points: q, qd (T - 1, n) and what drives the arm there.
Between = Callable[[float], tuple[Floats, Floats, Floats]]


def energy_books(
    roller: Roller, t: Floats, q: Floats, qd: Floats, u: Floats, between: Between,
    torque: Callable[[Floats, Floats], Floats], voltage: bool, held: bool,
) -> Books:  # fmt: skip
    """The books of samples (T, n) driven by u; `between(s)` is the motion at the share s of each interval.

    `held`: u does not change between samples, so that without losses what a torque supplies is tau (q_new - q).
    """
    arm = roller.arm
    qdd = _accelerations(roller, q, qd, u)
    kinetic, potential = _energies(arm, q, qd)
    supplied = np.zeros(len(t))
    lost = {name: np.zeros((len(t), arm.n)) for name in ("bearing", "gear", "friction", "winding")}
    h = np.diff(t)[:, None]
    rubs = any(d.friction or d.depends_on_load for d in drives_of(arm))
    is_short = held and not rubs and not voltage
    if is_short:
        supplied[1:] = np.cumsum(np.sum(u[:-1] * np.diff(q, axis=0), axis=1))
    for node, weight in zip(NODES, WEIGHTS, strict=True) if len(t) > 1 and not is_short else ():
        at, rate, given = between(float(node))
        rate = np.where((qd[:-1] == 0.0) & (qd[1:] == 0.0) & roller.dry, 0.0, rate)
        tau = torque(given, rate)
        power = np.sum(tau * rate, axis=1)
        losses = _losses(arm, at, rate, _accelerations(roller, at, rate, given)) if rubs else {}
        if voltage:
            c = constants_of(arm)
            losses["winding"] = c.R * (tau / c.K) ** 2
            power = power + losses["winding"].sum(axis=1)
        supplied[1:] += np.cumsum(weight * h[:, 0] * power)
        for name, value in losses.items():
            lost[name][1:] += np.cumsum(weight * h * value, axis=0)
    total = sum((value.sum(axis=1) for value in lost.values()), np.zeros(len(t)))
    energy = {"kinetic": kinetic, "potential": potential, "supplied": supplied, "lost": total}
    return Books(qdd, energy, lost)


def _accelerations(roller: Roller, q: Floats, qd: Floats, u: Floats) -> Floats:
    """With friction against the velocities, and joints that stand held."""
    stands = (qd == 0.0) & roller.dry
    return roller.accelerations_of(q, qd, u, np.sign(qd), np.where(stands, 0.0, 1.0))


def _energies(arm: Arm, q: Floats, qd: Floats) -> tuple[Floats, Floats]:
    both = compile_arm(arm).fused(["kinetic_energy", "potential_energy"])(np.ascontiguousarray(q), np.ascontiguousarray(qd))
    return both["kinetic"][:, 0], both["potential"][:, 0]


def hermite(q: Floats, qd: Floats, h: Floats, s: float) -> tuple[Floats, Floats]:
    """Hermite's cubic between samples a time h apart, (T - 1, 1), and its derivative, at the share s."""
    q0, q1, v0, v1 = q[:-1], q[1:], qd[:-1], qd[1:]
    d = q1 - q0
    at = q0 + s * (h * v0 + s * (3.0 * d - h * (2.0 * v0 + v1) + s * (h * (v0 + v1) - 2.0 * d)))
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = v0 + s * (2.0 * (3.0 * d / h - 2.0 * v0 - v1) + 3.0 * s * (v0 + v1 - 2.0 * d / h))
    return at, np.where(h > 0.0, rate, v0)


def _losses(arm: Arm, q: Floats, qd: Floats, qdd: Floats) -> dict[str, Floats]:
    """Power lost in each freedom's bearings, gear and friction, (T, n)."""
    model = model_of(arm)
    made = {name: np.zeros_like(q) for name in ("bearing", "gear", "friction")}
    rates = np.array(model.rates(list(qd.T)))  # (N, T)
    torques, reactions = _rigid(arm, q, qd, qdd)
    for k, drive in enumerate(drives_of(arm)):
        load, way = torques[k], np.sign(rates[k])
        for name, torque in _parts(drive, load, None if reactions is None else reactions[k], rates[k], way):
            made[name][:, drive.freedom] += torque * rates[k]
    return made


def _parts(drive: Drive, load: Floats, reaction: Any, rate: Floats, way: Floats) -> list[tuple[str, Floats]]:
    """What each part of a drive adds to the torque, in the order in which the torque passes them."""
    made: list[tuple[str, Floats]] = []
    for bearing in drive.bearings:
        made.append(("bearing", way * bearing_level(bearing, *reaction)))
        load = load + made[-1][1]
    rubbed = friction_torque(drive.at_joint, rate, way) if drive.friction is not None else np.zeros_like(load)
    if drive.friction is not None and drive.friction.side == "joint":
        load = load + rubbed
    if drive.transmission is not None:
        made.append(("gear", through(drive.transmission, load, way) - load))
    return [*made, ("friction", rubbed)]


def _rigid(arm: Arm, q: Floats, qd: Floats, qdd: Floats) -> tuple[list[Floats], Any]:
    """The rigid arm's torques at each joint (N) of (T,), and reactions of ((3, T), (3, T)) where they are needed."""
    model = model_of(arm)
    if not needs_reactions(arm) and not model.has_followers:
        return list(compile_arm(arm.rigid()).inverse_dynamics(q, qd, qdd).T), None
    states = (np.ascontiguousarray(v) for v in (q, qd, qdd))
    about_links = compile_arm(arm.rigid()).fused(["reactions"])(*states)["wrench"]
    torques, reactions = [], []
    for body, wrench in zip(model.bodies, about_links.transpose(1, 2, 0), strict=True):
        f, n = wrench[:3], wrench[3:] + np.cross(body.s, wrench[:3], axisb=0, axisc=0)
        reactions.append((body.Ra @ f, body.Ra @ n))
        torques.append(reactions[-1][1 if body.revolute else 0][2])
    return torques, reactions
