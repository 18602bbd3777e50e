"""Checks of LuGre friction: bristle deflection, natural frequency and damping."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from forearm.arm.arm import Arm
from forearm.arm.elastic import link_side
from forearm.arm.joint import Joint
from forearm.arm.moving import MovingBody
from forearm.checking.balancing import spread_postures
from forearm.checking.elasticity import POSTURES, SAMPLED, STEPS
from forearm.checking.finding import Finding, warning
from forearm.dynamics.reference import inertia_matrix
from forearm.spatial import Floats

FAR = {"revolute": math.radians(1.0), "prismatic": 1e-3}  # rad, m: bristles slip before that
DAMPED = 2.0  # damping ratio of bristles; 1 is what is usually chosen


@dataclass(frozen=True)
class BristleFigures:
    """The bristles of a joint, on the side of the gear that its friction is said on.

    Attributes:
        joint: name of the joint.
        side: "joint" or "motor".
        stiffness, damping: sigma0, N m/rad (N/m), and sigma1, N m s/rad (N s/m).
        slip: how far they bend before they slip forwards and backwards, coulomb / sigma0, rad (m).
    """

    joint: str
    side: str
    stiffness: float
    damping: float
    slip: tuple[float, float]


def bristle_figures(arm: Arm) -> list[BristleFigures]:
    """The figures of each joint with LuGre's friction."""
    made = []
    for joint in arm.tree:
        f = joint.friction
        if f is not None and f.bristle_stiffness is not None:
            forwards, backwards = (level / f.bristle_stiffness for level in f.coulomb)
            figures = (f.side, f.bristle_stiffness, f.bristle_damping, (forwards, backwards))
            made.append(BristleFigures(joint.name, *figures))
    return made


def bristle_findings(arm: Arm) -> list[Finding]:
    """Findings on bristles that do not suit their joint."""
    rough = {figures.joint: figures for figures in bristle_figures(arm)}
    if not rough:
        return []
    links = inertia_matrix(link_side(arm), spread_postures(arm, POSTURES))
    found: list[Finding] = []
    for body in arm.moving.bodies:
        if figures := rough.get(body.joint.name):
            moved = _moved(body, figures.side, links[:, body.freedom, body.freedom])
            found += [*_slip(body.joint, figures), *_swing(figures, moved)]
    return found


def _moved(body: MovingBody, side: str, links: Floats) -> tuple[float, float]:
    """The least and the most inertia that bristles stop, on their own side, kg m^2 (kg).

    `links` are that of the freedom in several postures, with the rotor of a rigid drive.
    """
    motor = body.joint.motor if side == "motor" else None
    if motor is not None and body.joint.elasticity is not None:
        return motor.rotor_inertia, motor.rotor_inertia
    across = (body.multiplier * (1.0 if motor is None else motor.gear_ratio)) ** 2 or math.inf
    return float(links.min()) / across, float(links.max()) / across


def _slip(joint: Joint, figures: BristleFigures) -> Iterator[Finding]:
    bent = max(map(abs, figures.slip))
    slides = joint.kind == "prismatic" and figures.side == "joint"
    if bent <= FAR["prismatic" if slides else "revolute"]:
        return
    far = f"{1e3 * bent:.4g} mm" if slides else f"{math.degrees(bent):.4g} deg"
    of_motor = " of the motor" if figures.side == "motor" else ""
    text = (
        f"its bristles bend by {far}{of_motor} before they slip, coulomb / bristle_stiffness: see whether "
        f"bristle_stiffness is in {'N/m' if slides else 'N m/rad'}, on the {figures.side}'s side."
    )
    yield warning(joint.name, "bristle-slip", text)


def _swing(figures: BristleFigures, moved: tuple[float, float]) -> Iterator[Finding]:
    """sqrt(sigma0 / m) of what sticks, and the damping ratio sigma1 / (2 sqrt(sigma0 m))."""
    least, most = moved
    if least <= 0.0:
        return  # a joint that moves nothing, reported by another check
    critical = 2.0 * math.sqrt(figures.stiffness * most)
    if figures.damping > DAMPED * critical:
        text = (
            f"a bristle_damping of {figures.damping:.4g} is a damping ratio of "
            f"{figures.damping / critical:.3g} where the joint sticks; 1 has {critical:.4g}. See whether it "
            "is viscous friction."
        )
        yield warning(figures.joint, "bristle-damping", text)
    highest = math.sqrt(figures.stiffness / least) / (2.0 * math.pi)
    if highest > 0.5 * SAMPLED:
        text = (
            f"{figures.joint}: it oscillates on its bristles at {highest:.4g} Hz, faster than the "
            f"{0.5 * SAMPLED:g} Hz that a controller at {SAMPLED / 1e3:g} kHz sees; a simulation in fixed "
            f"steps follows it with {1.0 / (STEPS * highest):.2g} s or less."
        )
        yield Finding("note", "bristle-frequency", figures.joint, text)
