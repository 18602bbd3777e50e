"""Checks of magnitude: position of the centre of mass, density, units wrong by a factor of 1000."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.dh import MOST_RADIANS
from forearm.arm.joint import DH
from forearm.arm.link import Link
from forearm.checking.finding import Finding, warning

LONGEST_ARM = 60.0  # m; a long boom. Beyond it, lengths are likely in mm
SHORTEST_ARM = 1e-3  # m
DENSEST = 25_000.0  # kg/m^3; osmium has 22,600
LIGHTEST = 0.5  # kg/m^3; air has 1.2
STRONGEST_GRAVITY = 100.0  # m/s^2; Jupiter has 25


def magnitude_findings(arm: Arm) -> list[Finding]:
    """Lengths, gravity, angles, centres of mass and densities that look wrong by a factor
    rather than by a little.
    """
    size = reach(arm)
    return [
        *_lengths(arm, size),
        *_gravity(arm),
        *_angles(arm),
        *(f for link in arm.links[1:] for f in _link(link, size)),
    ]


def reach(arm: Arm) -> float:
    """How far any link or the hand can get at most: constant shifts along its path and strokes
    of sliding joints, in m.
    """
    far = [0.0] * len(arm.moving.bodies)
    for index, body in enumerate(arm.moving.bodies):
        far[index] = far[body.parent] if body.parent >= 0 else 0.0
        far[index] += float(np.linalg.norm(body.before[:3, 3]) + np.linalg.norm(body.after[:3, 3]))
        if body.kind == "prismatic":
            far[index] += max((abs(v) for v in body.joint.limits if math.isfinite(v)), default=0.0)
    index, T = arm.moving.frames[arm.hand.link]
    tips = [*arm.moving.frames.values(), (index, T @ arm.hand.pose)]
    return max((far[i] if i >= 0 else 0.0) + float(np.linalg.norm(T[:3, 3])) for i, T in tips)


def solid_density(link: Link) -> float | None:
    """The density of the solid ellipsoid with the link's mass and principal moments, kg/m^3;
    None where there is none.

    Its semi-axes are a_i^2 = 5 (tr(I)/2 - I_i) / m.
    """
    if link.mass <= 0.0 or not link.inertia.any():
        return None
    moments = np.linalg.eigvalsh(link.inertia)
    squares = 5.0 * (0.5 * moments.sum() - moments) / link.mass
    if squares.min() <= 1e-6 * squares.max():
        return None
    return float(link.mass / (4.0 / 3.0 * math.pi * math.sqrt(float(np.prod(squares)))))


def _lengths(arm: Arm, size: float) -> Iterator[Finding]:
    if size > LONGEST_ARM:
        yield Finding(
            "warning",
            "units-length",
            arm.name,
            f"the arm reaches {size:.4g} m: lengths look like millimetres.",
        )
    elif 0.0 < size < SHORTEST_ARM:
        yield Finding(
            "warning",
            "units-length",
            arm.name,
            f"the arm reaches {size:.4g} m: lengths look like kilometres.",
        )


def _gravity(arm: Arm) -> Iterator[Finding]:
    size = float(np.linalg.norm(arm.gravity))
    if size > STRONGEST_GRAVITY:
        yield Finding(
            "warning", "units-gravity", arm.name, f"gravity is {size:.4g} m/s^2: it looks like mm/s^2."
        )


def _angles(arm: Arm) -> Iterator[Finding]:
    for joint in arm.tree:
        place = joint.placement
        angles = (place.alpha, place.theta) if isinstance(place, DH) else tuple(place.rpy)
        largest = max(angles, key=abs)
        if abs(largest) > MOST_RADIANS:
            text = (
                f"an angle of {largest:.4g} rad is more than a turn: it looks like degrees; write "
                '"90 deg" in an arm file.'
            )
            yield warning(joint.name, "units-angle", text)


def _link(link: Link, size: float) -> Iterator[Finding]:
    """`size` is how far the arm reaches, in m."""
    if link.mass <= 0.0:
        return
    scale = max(size, 0.05)
    away = float(np.linalg.norm(link.com))
    text = f"its centre of mass is {away:.4g} m from its origin, on an arm that reaches {size:.4g} m"
    if away > 30.0 * scale:
        yield warning(link.name, "units-com", f"{text}: it looks like millimetres.")
    elif away > 1.5 * scale:
        yield warning(link.name, "com-far", f"{text}.")
    gyration = math.sqrt(float(np.linalg.eigvalsh(link.inertia)[2]) / link.mass)
    if gyration > 30.0 * scale:
        text = f"its radius of gyration is {gyration:.4g} m, on an arm that reaches {size:.4g} m"
        yield warning(
            link.name, "units-inertia", f"{text}: inertia looks like kg mm^2 or g m^2, or mass like tonnes."
        )
        return
    density = solid_density(link)
    text = f"a solid with this mass and inertia has {density:.3g} kg/m^3" if density is not None else ""
    if density is not None and density > DENSEST:
        why = "denser than any metal: the mass looks like grams, or the inertia is too small."
        yield warning(link.name, "density", f"{text}, {why}")
    elif density is not None and density < LIGHTEST:
        why = (
            "the inertia is too large (about the origin instead of the centre of mass?) "
            "or the mass too small."
        )
        yield warning(link.name, "density", f"{text}, lighter than air: {why}")
