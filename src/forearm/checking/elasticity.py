"""Checks of elastic joints: springs in other units, fast oscillations, much damping, wide gaps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.drive import Elasticity, Motor
from forearm.arm.elastic import elastic_freedoms, expanded, is_elastic, link_side
from forearm.arm.joint import Joint
from forearm.checking.balancing import Balance, spread_postures
from forearm.checking.finding import Finding, warning
from forearm.drives.elasticity import curve_of, deflection_of
from forearm.dynamics.reference import inertia_matrix
from forearm.errors import located
from forearm.spatial import Floats

POSTURES = 6  # that inertias are looked at in
SOFT = {"revolute": math.radians(3.0), "prismatic": 0.02}  # rad, m: gears give a tenth of that
STIFF = {"revolute": 1e-6, "prismatic": 1e-8}  # rad, m: gears give a thousand times that
WIDE = {"revolute": math.radians(0.2), "prismatic": 2e-4}  # rad, m from the middle to a flank
DAMPED = 1.0  # damping ratio; gears have some hundredths
SAMPLED = 1000.0  # Hz, of a controller; it sees oscillations up to half of it
STEPS = 10.0  # of a simulation for one oscillation
LOOKED_AT = 200  # deflections along a curve
ROUNDING = 1e-12  # of a direction


@dataclass(frozen=True)
class SpringFigures:
    """Oscillation of one joint on its spring, the other joints locked.

    Attributes:
        joint: name of the joint.
        freedom: its index in q.
        stiffness: K, N m/rad (N/m); where it is a curve, the largest.
        link_inertia: what the spring moves on the side of the links, M_jj, kg m^2 (kg).
        rotor_inertia: what it moves on the motor's, B = N^2 J, kg m^2 (kg).
        locked_motor_hz: sqrt(K / M_jj) / 2 pi, the motor held.
        free_motor_hz: sqrt(K (1 / B + 1 / M_jj)) / 2 pi, the motor free.
        damping_ratio: D / (2 sqrt(K M_jj)), with the motor held.
    """

    joint: str
    freedom: int
    stiffness: float
    link_inertia: float
    rotor_inertia: float
    locked_motor_hz: float
    free_motor_hz: float
    damping_ratio: float


def spring_figures(arm: Arm, q: Floats) -> list[SpringFigures]:
    """The figures of each elastic joint at a posture q (n,)."""
    if not is_elastic(arm):
        return []
    links = np.diag(inertia_matrix(link_side(arm), q)).tolist()
    return [_figures(arm.joints[i], i, links[i]) for i in elastic_freedoms(arm)]


def _figures(joint: Joint, freedom: int, link: float) -> SpringFigures:
    spring, motor = _drive(joint)
    K, B = _stiffest(joint, spring), motor.reflected_inertia
    light = 1.0 / link if link > 0.0 else math.inf
    locked, free = (math.sqrt(K * mobility) / (2.0 * math.pi) for mobility in (light, 1.0 / B + light))
    ratio = 0.5 * spring.damping * math.sqrt(light / K) if spring.damping else 0.0
    return SpringFigures(joint.name, freedom, K, link, B, locked, free, ratio)


def _drive(joint: Joint) -> tuple[Elasticity, Motor]:
    assert joint.elasticity is not None
    assert joint.motor is not None  # Joint has seen to it
    return joint.elasticity, joint.motor


def _stiffest(joint: Joint, spring: Elasticity) -> float:
    if spring.stiffness is not None:
        return spring.stiffness
    with located(f"joint {joint.name!r}"):
        slope = curve_of(spring).slope()
    return float(slope.at(np.linspace(0.0, spring.curve[-1][0], LOOKED_AT)).max())


def fastest_oscillation(arm: Arm, q: Floats) -> tuple[float, int]:
    """The highest frequency of the arm on its springs with motors free, Hz, and the freedom whose spring
    swings most in it.

    Deflections e = theta - q swing by e'' = -W K e, W the mobility that they have on `expanded`.
    """
    elastic = elastic_freedoms(arm)
    n, many = arm.n, len(elastic)
    M = inertia_matrix(expanded(arm), np.concatenate([q, np.zeros(many)]))
    S = np.zeros((n + many, many))
    S[n:] = np.eye(many)
    S[list(elastic), range(many)] = -1.0
    root = np.sqrt([_stiffest(arm.joints[i], _drive(arm.joints[i])[0]) for i in elastic])
    squares, modes = np.linalg.eigh(root[:, None] * (S.T @ np.linalg.solve(M, S)) * root)
    swings = np.abs(modes[:, -1]) / root
    return math.sqrt(max(squares[-1], 0.0)) / (2.0 * math.pi), elastic[int(np.argmax(swings))]


def elasticity_findings(arm: Arm, cost: Balance) -> list[Finding]:
    """Findings on springs, damping and gaps that do not suit their joint, and on fast oscillations."""
    if not is_elastic(arm):
        return []
    postures = spread_postures(arm, POSTURES)
    seen = [spring_figures(arm, q) for q in postures]
    found: list[Finding] = []
    for of_joint in zip(*seen, strict=True):
        i = of_joint[0].freedom
        joint = arm.joints[i]
        spring, motor = _drive(joint)
        found += _static(joint, spring, float(cost.worst[i]))
        found += _damping(joint, spring, min(figures.damping_ratio for figures in of_joint))
        found += _gap(joint, spring)
        found += _carrier(arm, joint, spring, motor)
    return [*found, *_oscillations(arm, postures, seen)]


def _static(joint: Joint, spring: Elasticity, gravity: float) -> Iterator[Finding]:
    """Findings on the spring's deflection under its largest load, gap excluded."""
    effort = joint.max_effort or 0.0
    load, what = (effort, "its max_effort") if effort >= gravity else (gravity, "the largest gravity torque")
    if load <= 0.0:
        return
    given = float(deflection_of(spring, load)) - spring.half_gap
    turns = joint.kind == "revolute"
    under = f"under {load:.4g} {'N m' if turns else 'N'}, {what}, its spring gives by "
    if given > SOFT[joint.kind]:
        why = (
            f"{math.degrees(given):.4g} deg: its stiffness looks like N m/deg or N m/arcmin, which are 57.3 "
            "and 3438 N m/rad."
            if turns
            else f"{1e3 * given:.4g} mm: its stiffness looks like N/mm, which are 1000 N/m."
        )
        yield warning(joint.name, "units-stiffness", under + why)
    elif given < STIFF[joint.kind]:
        why = (
            f"{given:.2g} {'rad' if turns else 'm'}, which is negligible: check whether its stiffness is in "
            f"{'N m/rad' if turns else 'N/m'}, or leave its elasticity out."
        )
        yield warning(joint.name, "units-stiffness", under + why)


def _damping(joint: Joint, spring: Elasticity, ratio: float) -> Iterator[Finding]:
    if ratio > DAMPED:
        text = (
            f"a damping of {spring.damping:.4g} lets its spring creep back, with a damping ratio of "
            f"{ratio:.3g} where gears have some hundredths: see whether it is friction of the joint, or of "
            "the motor."
        )
        yield warning(joint.name, "elastic-damping", text)


def _gap(joint: Joint, spring: Elasticity) -> Iterator[Finding]:
    if spring.half_gap > WIDE[joint.kind]:
        text = (
            f"a half_gap of {spring.half_gap:.4g} rad is {math.degrees(spring.half_gap):.4g} deg of play to "
            "either side: it looks like degrees or arcminutes (2.9e-4 rad)."
            if joint.kind == "revolute"
            else f"a half_gap of {spring.half_gap:.4g} m to either side: it looks like millimetres."
        )
        yield warning(joint.name, "backlash", text)


def _carrier(arm: Arm, joint: Joint, spring: Elasticity, motor: Motor) -> Iterator[Finding]:
    """A rotor that spins on a moving body is a part of it, and of its inertia."""
    if spring.rotor_axis is None:
        return
    index, T = arm.moving.frames[joint.parent]
    if index < 0:
        return
    axis = T[:3, :3] @ joint.before[:3, :3] @ np.array(spring.rotor_axis)
    moments, directions = np.linalg.eigh(arm.moving.bodies[index].inertia)
    along = axis @ directions
    along[np.abs(along) < ROUNDING] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):  # I - J a a^T has no negative moment up to this J
        most = float(1.0 / np.nansum(along**2 / np.maximum(moments, 0.0)))
    if most < motor.rotor_inertia:
        text = (
            f"its rotor has {motor.rotor_inertia:.4g} kg m^2 about its rotor_axis, of which {joint.parent}, "
            f"which carries it, has room for {most:.4g}: a link's inertia includes the rotors on it, at rest."
        )
        yield warning(joint.name, "rotor-carrier", text)


def _oscillations(arm: Arm, postures: Floats, seen: list[list[SpringFigures]]) -> Iterator[Finding]:
    """Findings on oscillations faster than a controller samples, and the step that resolves them."""
    if any(figures.link_inertia <= 0.0 for row in seen for figures in row):
        return  # a joint that moves nothing, reported by another check
    try:
        fastest, freedom = max(fastest_oscillation(arm, q) for q in postures)
    except np.linalg.LinAlgError:  # the same, of another joint
        return
    if fastest <= 0.5 * SAMPLED:
        return
    highest = {row[0].joint: max(figures.free_motor_hz for figures in row) for row in zip(*seen, strict=True)}
    fast = {name: f for name, f in highest.items() if f > 0.5 * SAMPLED}
    named = ", ".join(f"{name} {f:.4g} Hz" for name, f in fast.items())
    text = (
        f"springs oscillate faster than {0.5 * SAMPLED:g} Hz, which a controller at {SAMPLED / 1e3:g} kHz "
        "cannot sample"
        f"{f': {named} with the other joints held' if fast else ''}. The fastest oscillation, mostly of "
        f"{arm.joints[freedom].name}, has {fastest:.4g} Hz; a simulation in fixed steps follows it with "
        f"{1.0 / (STEPS * fastest):.2g} s or less."
    )
    yield Finding("note", "elastic-frequency", ", ".join(fast) or arm.joints[freedom].name, text)
