"""Checks of size: is the centre of mass near the arm, is a link as dense as matter, are units off by a thousand."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.joint import DH
from forearm.arm.link import Link
from forearm.checking.finding import Finding

LONGEST_ARM = 60.0  # m; a long boom. Beyond it, lengths are likely in mm
SHORTEST_ARM = 1e-3  # m
DENSEST = 25_000.0  # kg/m^3; osmium has 22,600
LIGHTEST = 0.5  # kg/m^3; air has 1.2
FULL_TURNS = 2.0 * math.pi * 1.001


def magnitude_findings(arm: Arm) -> list[Finding]:
    """Lengths, angles, centres of mass and densities that look wrong by a factor rather than by a little."""
    return [*_lengths(arm), *_angles(arm), *(f for link in arm.links[1:] for f in _link(link, reach(arm)))]


def reach(arm: Arm) -> float:
    """How far any link or the hand can get at most: constant shifts along its path and strokes of sliding joints, in m."""
    far = [0.0] * len(arm.moving.bodies)
    for index, body in enumerate(arm.moving.bodies):
        far[index] = far[body.parent] if body.parent >= 0 else 0.0
        far[index] += float(np.linalg.norm(body.before[:3, 3]) + np.linalg.norm(body.after[:3, 3]))
        if body.kind == "prismatic":
            far[index] += max((abs(v) for v in body.joint.limits if math.isfinite(v)), default=0.0)
    tips = [(index, T) for index, T in arm.moving.frames.values()]
    index, T = arm.moving.frames[arm.hand.link]
    tips.append((index, T @ arm.hand.pose))
    return max((far[i] if i >= 0 else 0.0) + float(np.linalg.norm(T[:3, 3])) for i, T in tips)


def solid_density(link: Link) -> float | None:
    """The density of the solid ellipsoid with the link's mass and principal moments, kg/m^3; None where there is none.

    Its semi-axes are a_i^2 = 5 (tr(I)/2 - I_i) / m.
    """
    if link.mass <= 0.0 or not link.inertia.any():
        return None
    moments = np.linalg.eigvalsh(link.inertia)
    squares = 5.0 * (0.5 * moments.sum() - moments) / link.mass
    if squares.min() <= 1e-6 * squares.max():
        return None
    return float(link.mass / (4.0 / 3.0 * math.pi * math.sqrt(float(np.prod(squares)))))


def _lengths(arm: Arm) -> Iterator[Finding]:
    size = reach(arm)
    if size > LONGEST_ARM:
        yield Finding("warning", "units-length", arm.name, f"the arm reaches {size:.4g} m: lengths look like millimetres.")
    elif 0.0 < size < SHORTEST_ARM:
        yield Finding("warning", "units-length", arm.name, f"the arm reaches {size:.4g} m: lengths look like kilometres.")


def _angles(arm: Arm) -> Iterator[Finding]:
    for joint in arm.tree:
        place = joint.placement
        angles = (place.alpha, place.theta) if isinstance(place, DH) else tuple(place.rpy)
        largest = max(angles, key=abs)
        if abs(largest) > FULL_TURNS:
            yield Finding(
                "warning", "units-angle", joint.name,
                f"{joint.name}: an angle of {largest:.4g} rad is more than a turn: it looks like degrees; "
                'write "90 deg" in an arm file.',
            )  # fmt: skip


def _link(link: Link, size: float) -> Iterator[Finding]:
    if link.mass <= 0.0:
        return
    away = float(np.linalg.norm(link.com))
    scale = max(size, 0.05)
    if away > 30.0 * scale:
        yield Finding(
            "warning", "units-com", link.name,
            f"{link.name}: its centre of mass is {away:.4g} m from its origin, on an arm that reaches {size:.4g} m: "
            "it looks like millimetres.",
        )  # fmt: skip
    elif away > 1.5 * scale:
        yield Finding(
            "warning", "com-far", link.name,
            f"{link.name}: its centre of mass is {away:.4g} m from its origin, on an arm that reaches {size:.4g} m.",
        )  # fmt: skip
    gyration = math.sqrt(float(np.linalg.eigvalsh(link.inertia)[2]) / link.mass)
    if gyration > 30.0 * scale:
        yield Finding(
            "warning", "units-inertia", link.name,
            f"{link.name}: its radius of gyration is {gyration:.4g} m, on an arm that reaches {size:.4g} m: "
            "inertia looks like kg mm^2 or g m^2, or mass like tonnes.",
        )  # fmt: skip
        return
    density = solid_density(link)
    if density is not None and density > DENSEST:
        yield Finding(
            "warning", "density", link.name,
            f"{link.name}: a solid with this mass and inertia has {density:.3g} kg/m^3, denser than any metal: "
            "the mass looks like grams, or the inertia is too small.",
        )  # fmt: skip
    elif density is not None and density < LIGHTEST:
        yield Finding(
            "warning", "density", link.name,
            f"{link.name}: a solid with this mass and inertia has {density:.3g} kg/m^3, lighter than air: "
            "the inertia is too large (about the origin instead of the centre of mass?) or the mass too small.",
        )  # fmt: skip
