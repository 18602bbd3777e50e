"""Gravity: whether the arm is balanced, the largest gravity torque of each joint, and
the counterweights that would cancel it.

Waters IV, counterbalancing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.arm.change import merged
from forearm.arm.joint import Limits
from forearm.arm.link import Link
from forearm.checking.finding import Finding
from forearm.kinematics.arguments import as_coordinates
from forearm.kinematics.poses import body_poses
from forearm.reading.fields import ArrayField, NameField
from forearm.records import declared, physical, record
from forearm.spatial import Floats, combine_bodies, cross, inverse_pose
from forearm.values import check_number

STARTS = 24  # the best samples of each joint, from which the search climbs
CORNERS = 16  # configurations at the limits, also starting points
SWEEPS = 40
SETTLED = 1e-11  # relative gain below which a sweep is the last
STRIDES = (1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
LONGEST_CLIMB = 8  # joints; longer arms are sampled instead
SAMPLES = 4000  # configurations sampled first
LEVEL = 1e-12  # sine of the angle below which directions count as equal
BALANCED = 1e-9  # of mass x gravity x (distance of the centre + 1 m): less is rounding


@record
class Counterweight:
    """A point mass on a link that cancels the gravity torque at its joint."""

    joint: str = declared(NameField("name of the joint"))
    link: str = declared(NameField("name of the link that carries it"))
    mass: float = physical("mass", "kg", minimum=0.0)
    position: Floats = declared(ArrayField((3,), "in the link's frame", "m"))
    moment: float = physical(
        "what must be cancelled, mass times distance from the axis: half the distance takes twice the mass",
        "kg m",
        minimum=0.0,
    )


@record
class Balance:
    """Largest gravity torque of each joint, and counterweights that cancel it.

    Attributes:
        worst: largest torque (force) of gravity (n,), N m (N).
        postures: joint coordinates (n, n) at which it is reached, a row per joint.
        balanced: (n,), whether gravity exerts no torque there.
        climbed: False where the worst case was sampled and not climbed to.
        counterweights: masses that cancel it.
        hopeless: joints that fixed counterweights cannot balance, and why.
    """

    worst: Floats
    postures: Floats
    balanced: NDArray[np.bool_]
    climbed: bool
    counterweights: tuple[Counterweight, ...]
    hopeless: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        for array in (self.worst, self.postures, self.balanced):
            array.flags.writeable = False


def balance(arm: Arm, distance: float = 0.2) -> Balance:
    """Largest gravity torques of an arm, and counterweights that cancel them.

    Args:
        arm: the arm.
        distance: of the counterweights from the axes, m.
    """
    distance = check_number(distance, "balance, distance", above=0.0)
    worst, postures, climbed = _worst_cases(arm)
    scale = sum(b.mass * (np.linalg.norm(b.com) + 1.0) for b in arm.moving.bodies) * np.linalg.norm(
        arm.gravity
    )
    weights, hopeless = _counterweights(arm, distance)
    return Balance(
        worst=worst,
        postures=postures,
        balanced=worst <= BALANCED * scale,
        climbed=climbed,
        counterweights=weights,
        hopeless=hopeless,
    )


def gravity_torque(arm: Arm, q: Floats) -> Floats:
    """What each joint must supply against gravity: dU/dq, U = -sum of m g . c; (n,) or (B, n).

    The same as `fa.dynamics.gravity` of the rigid arm, for whole batches at once:
    climbing asks for thousands.
    """
    q = as_coordinates(arm, q)
    poses = body_poses(arm, q)
    bodies = arm.moving.bodies
    # Mass and first moment behind each body, gathered from the tips inwards, in base axes.
    mass = [b.mass for b in bodies]
    moment = [b.mass * (W[..., :3, :3] @ b.com + W[..., :3, 3]) for b, W in zip(bodies, poses, strict=True)]
    torque = np.zeros_like(q)
    for index in range(len(bodies) - 1, -1, -1):
        body = bodies[index]
        T = body.joint_frame(poses[index])
        z, p = T[..., :3, :3] @ body.axis, T[..., :3, 3]
        moved = cross(z, moment[index] - mass[index] * p) if body.kind == "revolute" else mass[index] * z
        torque[..., body.freedom] -= body.multiplier * (moved @ arm.gravity)
        if body.parent >= 0:
            mass[body.parent] += mass[index]
            moment[body.parent] = moment[body.parent] + moment[index]
    return torque


def with_counterweights(arm: Arm, weights: tuple[Counterweight, ...]) -> Arm:
    """The arm with point masses fixed to its links.

    Args:
        arm: the arm.
        weights: the point masses.
    """
    for weight in weights:
        point = Link(name=weight.link, mass=weight.mass, com=weight.position)
        arm = arm.with_link(merged(arm.link(weight.link), point, np.eye(4)))
    return arm


def gravity_findings(arm: Arm, found: Balance) -> list[Finding]:
    """A warning for joints that cannot hold gravity; a note on the largest gravity torques."""
    findings = []
    for i, joint in enumerate(arm.joints):
        if joint.max_effort and found.worst[i] > joint.max_effort:
            posture = ", ".join(f"{v:.3g}" for v in found.postures[i])
            unit = "N m" if joint.kind == "revolute" else "N"
            text = (
                f"{joint.name}: gravity alone needs {found.worst[i]:.4g} {unit} at q = {posture}, "
                f"more than its max_effort of {joint.max_effort:g} {unit}."
            )
            findings.append(Finding("warning", "gravity-effort", joint.name, text))
    heavy = [f"{j.name} {found.worst[i]:.4g}" for i, j in enumerate(arm.joints) if not found.balanced[i]]
    least = "" if found.climbed else " (at least: sampled, not climbed to)"
    text = (
        f"largest gravity torques{least}, N m (N): " + ", ".join(heavy)
        if heavy
        else "the arm is balanced: gravity exerts no torque"
    )
    findings.append(Finding("note", "gravity", arm.name, f"{text}."))
    return findings


def _worst_cases(arm: Arm) -> tuple[Floats, Floats, bool]:
    n = arm.n
    if n == 0 or not arm.gravity.any():
        return np.zeros(n), np.zeros((n, n)), True
    lower, upper = _ranges(arm)
    spread = _spread(n, SAMPLES)
    samples = lower + (upper - lower) * np.vstack([spread, np.rint(spread[:CORNERS])])  # and some corners
    torques = np.abs(gravity_torque(arm, samples))
    worst, postures = np.max(torques, axis=0), samples[np.argmax(torques, axis=0)]
    endless = any(j.kind == "prismatic" and not all(map(math.isfinite, j.limits)) for j in arm.joints)
    climbed = n <= LONGEST_CLIMB and not endless and not any(b.joint.mimic for b in arm.moving.bodies)
    if climbed:
        best = np.argsort(torques, axis=0)[-STARTS:].T
        starts = np.array([np.vstack([samples[rows], samples[SAMPLES:]]) for rows in best])
        worst, postures = _climb(arm, starts, lower, upper)
    return worst, postures, climbed


def spread_postures(arm: Arm, count: int) -> Floats:
    """So many postures (count, n), evenly spread over the ranges of the joints."""
    lower, upper = _ranges(arm)
    return np.asarray(lower + (upper - lower) * _spread(arm.n, count))


def _spread(n: int, count: int) -> Floats:
    """Points of a cube without a random generator: multiples of square roots, modulo 1."""
    return np.modf(np.outer(np.arange(1, count + 1), np.sqrt(np.arange(2, n + 2) + 0.5)))[0]


def _ranges(arm: Arm) -> tuple[Floats, Floats]:
    """The ends (n,) of the joints' ranges to look through."""
    ranges = np.array([_range(j.limits, j.kind) for j in arm.joints]).reshape(arm.n, 2)
    return ranges[:, 0], ranges[:, 1]


def _range(limits: Limits, kind: str) -> tuple[float, float]:
    """The range to look through: a turn or a metre where a side is open."""
    whole = 2.0 * math.pi if kind == "revolute" else 1.0
    lower, upper = limits
    if not math.isfinite(lower) and not math.isfinite(upper):
        return -0.5 * whole, 0.5 * whole
    return (
        upper - whole if not math.isfinite(lower) else lower,
        lower + whole if not math.isfinite(upper) else upper,
    )


def _climb(arm: Arm, starts: Floats, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """For each joint i raise |tau_i| from its starts (n, S, n), one coordinate at a time: it is
    A cos q + B sin q + C in each angle and linear in each slide. All joints climb together, as a batch costs
    little more than a posture; those that gain no more have arrived.
    """
    q, climbing = starts.copy(), np.arange(arm.n)
    best = np.abs(_torques(arm, climbing, [q])[0])
    for _ in range(SWEEPS):
        here, high = q[climbing], best[climbing]
        for k, joint in enumerate(arm.joints):
            candidates = [np.full(high.shape, lower[k]), np.full(high.shape, upper[k])]
            if joint.kind == "revolute":
                turns = [_with(here, k, angle) for angle in (0.0, 0.5 * np.pi, np.pi)]
                f0, f1, f2 = _torques(arm, climbing, turns)
                peak = np.arctan2(f1 - 0.5 * (f0 + f2), 0.5 * (f0 - f2))
                for angle in (peak, peak + np.pi):
                    turned = lower[k] + np.mod(angle - lower[k], 2.0 * np.pi)
                    candidates.append(np.where(turned <= upper[k], turned, here[..., k]))
            _take_better(arm, climbing, here, high, [_with(here, k, candidate) for candidate in candidates])
        # A sweep along the axes zigzags up a slanting ridge: go on along the whole sweep, in growing strides.
        start = q[climbing]
        way = here - start
        strides = [np.clip(start + stride * way, lower, upper) for stride in STRIDES]
        _take_better(arm, climbing, here, high, strides)
        gains = np.any(high - best[climbing] > SETTLED * high, axis=1)
        q[climbing], best[climbing] = here, high
        climbing = climbing[gains]
        if not len(climbing):
            break
    top = np.argmax(best, axis=1)
    return np.max(best, axis=1), q[np.arange(arm.n), top]


def _take_better(arm: Arm, climbing: NDArray[np.intp], q: Floats, best: Floats, tries: list[Floats]) -> None:
    """Move each start in `q` to where it was tried, if |tau_i| is larger there; `best` is kept in step."""
    for tried, value in zip(tries, np.abs(_torques(arm, climbing, tries)), strict=True):
        better = value > best
        q[better], best[better] = tried[better], value[better]


def _torques(arm: Arm, climbing: NDArray[np.intp], postures: list[Floats]) -> Floats:
    """tau_i of several batches (m, S, n), a row for each joint i that is climbing, asked for at once."""
    all_of_them = np.stack(postures)
    found = gravity_torque(arm, all_of_them.reshape(-1, arm.n)).reshape(all_of_them.shape)
    chosen: Floats = np.take_along_axis(found, climbing[None, :, None, None], axis=-1)[..., 0]
    return chosen


def _with(q: Floats, k: int, value: float | Floats) -> Floats:
    changed = q.copy()
    changed[..., k] = value
    return changed


def _counterweights(
    arm: Arm, distance: float
) -> tuple[tuple[Counterweight, ...], tuple[tuple[str, str], ...]]:
    """From the tips inwards: what is balanced about its own axis is a fixed point for the joint before it."""
    if not arm.gravity.any():
        return (), ()
    bodies = arm.moving.bodies
    level = _level_joints(arm)
    load = [[(b.mass, b.com, np.zeros((3, 3)))] for b in bodies]
    # why the load on a body cannot be balanced by a fixed weight
    moves: list[str | None] = [None] * len(bodies)
    weights: list[Counterweight] = []
    hopeless: list[tuple[str, str]] = []
    for index in range(len(bodies) - 1, -1, -1):
        body, reason = bodies[index], moves[index]
        mass, com, _ = combine_bodies(load[index])
        com = (body.after @ np.append(com, 1.0))[:3]
        along = com @ body.axis
        off = com - along * body.axis
        if body.kind == "prismatic":
            if mass > 0.0 and not level[index]:
                hopeless.append((body.joint.name, "a prismatic joint carries its load directly"))
            reason = f"{body.joint.name} moves the load along a line" if mass > 0.0 else reason
        elif level[index]:
            pass  # gravity does no work here, and every joint before it is level too
        elif reason is not None:
            hopeless.append((body.joint.name, reason))
        elif mass * float(np.linalg.norm(off)) > BALANCED * mass:
            moment = mass * float(np.linalg.norm(off))
            position = com - off - off / np.linalg.norm(off) * distance
            in_link = inverse_pose(body.after) @ np.append(position, 1.0)
            weights.append(
                Counterweight(
                    joint=body.joint.name,
                    link=body.joint.child,
                    mass=moment / distance,
                    position=in_link[:3],
                    moment=moment,
                )
            )
            mass += moment / distance
        if body.parent >= 0:
            point = body.before @ np.append(along * body.axis, 1.0)
            load[body.parent].append((mass, point[:3], np.zeros((3, 3))))
            moves[body.parent] = moves[body.parent] or reason
    return tuple(weights[::-1]), tuple(hopeless[::-1])


def _level_joints(arm: Arm) -> list[bool]:
    """For each joint whether gravity does no work at it in any configuration.

    That is so if every joint before it is prismatic or revolute about the direction of gravity, and it is
    itself revolute about this direction or prismatic across it.
    """
    down = arm.gravity / np.linalg.norm(arm.gravity)
    upright: list[bool] = []  # whether the body keeps its tilt
    level: list[bool] = []
    for body, W in zip(arm.moving.bodies, body_poses(arm, np.zeros(arm.n)), strict=True):
        axis = body.joint_frame(W)[:3, :3] @ body.axis
        keeps = body.parent < 0 or upright[body.parent]
        about = float(np.linalg.norm(np.cross(axis, down))) <= LEVEL
        level.append(keeps and (about if body.kind == "revolute" else abs(float(axis @ down)) <= LEVEL))
        upright.append(keeps and (about or body.kind == "prismatic"))
    return level
