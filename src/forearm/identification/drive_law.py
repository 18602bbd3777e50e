"""The drive's contribution to the joint torque, with its parameters as unknowns: the law of `drives.joint`
traced, with exact derivatives by the load and by every drive parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from forearm.arm.drive import Bearing, Transmission
from forearm.codegen.functions import Traced, traced_formula
from forearm.drives.bearings import BearingLaw
from forearm.drives.friction import FrictionLaw
from forearm.drives.joint import Drive
from forearm.drives.transmission import TransmissionLaw
from forearm.kernels.traced_function import TracedFunction, compile_function
from forearm.spatial import Floats
from forearm.symbols import Expr, gradient
from forearm.symbols.scalars import Scalar

VISCOUS = "friction.viscous"
COULOMB = ("friction.coulomb.positive", "friction.coulomb.negative")
STATIC = ("friction.static.positive", "friction.static.negative")
STRIBECK_SPEED = "friction.stribeck_speed"
LOSS = "transmission.loss"
ROTOR = "motor.rotor_inertia"
OFFSET = "offset"
NONLINEAR = (STRIBECK_SPEED, LOSS)


@dataclass(frozen=True)
class LawStructure:
    """The drive parameters of a joint that a sensor on one side of the gear can show.

    Attributes:
        side: side of its friction, "joint" or "motor".
        friction: the kinds of friction present.
        bearings: bearings of the joint, with unknown coefficients.
        transmission: transmission of the joint, with an unknown factor on its losses.
        has_rotor: whether the rotor inertia is observable.
    """

    side: Literal["joint", "motor"]
    friction: Literal["none", "viscous", "coulomb", "stribeck"]
    bearings: tuple[Bearing, ...]
    transmission: Transmission | None
    has_rotor: bool

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of the drive parameters, without the joint's name."""
        names: tuple[str, ...] = ()
        if self.friction != "none":
            names += (VISCOUS,)
        if self.is_dry:
            names += COULOMB
        if self.friction == "stribeck":
            names += (*STATIC, STRIBECK_SPEED)
        names += tuple(f"bearing{k + 1}.mu" for k in range(len(self.bearings)))
        names += (LOSS,) if self.transmission is not None else ()
        return (*names, *((ROTOR,) if self.has_rotor else ()), OFFSET)

    @property
    def is_dry(self) -> bool:
        """Whether it has Coulomb friction."""
        return self.friction in ("coulomb", "stribeck")

    @property
    def is_linear(self) -> bool:
        """Whether efforts are linear in the drive parameters and the load together."""
        return self.friction != "stribeck" and self.transmission is None

    @property
    def loads(self) -> int:
        """Number of load components needed: the torque, and the reaction wrench if there are bearings."""
        return 7 if self.bearings else 1


def evaluate_law(
    structure: LawStructure, load: Floats, motion: Floats, ratio: float, values: Floats
) -> tuple[Floats, Floats, Floats]:
    """The effort (T,), and its derivatives by the rigid torque (T,) and by the drive parameters (T, k).

    Args:
        structure: the drive parameters present.
        load: rigid torque, and reaction force and moment if needed, (T, 1 or 7).
        motion: qd, qdd and the direction of motion, (T, 3).
        ratio: |N| of the gear.
        values: the drive parameters (k,).
    """
    given = np.tile(np.append(values, ratio), (len(motion), 1))
    law = _compiled(structure)
    effort, by_load, by_figures = law(load, motion, given, threads=1)
    return effort[:, 0], by_load[:, 0], by_figures


@lru_cache(maxsize=64)
def _compiled(structure: LawStructure) -> TracedFunction:
    return compile_function(lambda: _traced(structure), "drive_law", key=("drive law", structure))


def _traced(structure: LawStructure) -> Traced:
    sizes = {"load": structure.loads, "motion": 3, "figures": len(structure.figures) + 1}

    def formula(load: list[Expr], motion: list[Expr], figures: list[Expr]) -> dict[str, list[Scalar]]:
        *unknown, ratio = figures
        qd, qdd, direction = motion
        named = dict(zip(structure.figures, unknown, strict=True))
        reaction = (np.array(load[1:4], dtype=object), np.array(load[4:], dtype=object))
        drive = _drive(structure, named, ratio)
        effort = drive.torque(load[0], reaction if structure.bearings else None, qd, direction)
        effort = effort + drive.rotor * qdd + named[OFFSET]
        slopes = gradient(load[0].graph, effort, [load[0], *unknown])
        return {"effort": [effort], "by_load": slopes[:1], "by_figures": slopes[1:]}

    return traced_formula(formula, sizes)


def _drive(structure: LawStructure, named: Mapping[str, Scalar], ratio: Scalar) -> Drive:
    law = None
    if structure.friction != "none":
        coulomb = tuple(named.get(name, 0.0) for name in COULOMB)
        static = tuple(named[name] for name in STATIC) if STRIBECK_SPEED in named else None
        law = FrictionLaw(structure.side, named[VISCOUS], coulomb, static, named.get(STRIBECK_SPEED))
    bearings = tuple(
        BearingLaw(b.kind, named[f"bearing{k + 1}.mu"], b.radius, b.distance, b.offset)
        for k, b in enumerate(structure.bearings)
    )
    gear = None
    if structure.transmission is not None:
        gear = TransmissionLaw(structure.transmission, named[LOSS])
    rotor = ratio * ratio * named[ROTOR] if structure.has_rotor else 0.0
    return Drive(0, 1.0, ratio, law, bearings, gear, rotor)
