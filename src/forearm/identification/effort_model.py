"""Efforts as functions of the unknowns: base parameters and drive parameters.

effort_i = law_i(Y_i base, qd_i, qdd_i; figures_i), whose derivatives are columns of a least-squares problem.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.drive import Friction, Transmission
from forearm.arm.joint import Joint
from forearm.drives.friction import friction_torque
from forearm.drives.joint import drives_of
from forearm.dynamics.reference import inertial_parameters
from forearm.errors import ModelError
from forearm.identification.drive_law import (
    COULOMB,
    LOSS,
    NONLINEAR,
    OFFSET,
    ROTOR,
    STATIC,
    STRIBECK_SPEED,
    VISCOUS,
    LawStructure,
    evaluate_law,
)
from forearm.identification.regressor import base_regressor, joint_reactions
from forearm.identification.samples import EffortKind, Samples
from forearm.reduction.base import BaseParameters, base_parameters
from forearm.spatial import Floats
from forearm.values import frozen

FrictionKind = Literal["none", "viscous", "coulomb", "stribeck"]
# assumed gear ratio if the file has none
FIRST_GEAR = Transmission(efficiency=((0.0, 0.9),), rated_torque=1.0)
LEAST_EFFICIENCY = 0.05  # of a gear
FIRST_SPEED = 0.1  # rad/s (m/s) on the joint side: initial guess of the Stribeck speed


@frozen
class EffortModel:
    """Efforts on one side of the gears as functions of x = (base parameters, drive parameters).

    Attributes:
        arm: the arm; its geometry is assumed exact, its masses load the bearings.
        base: its base parameters; `base.arm` is an arm of the same geometry.
        laws: drive laws of the joints.
        ratios: gear ratios |N| (n,).
        torque_side: "motor" or "link".
    """

    arm: Arm
    base: BaseParameters
    laws: tuple[LawStructure, ...]
    ratios: Floats
    torque_side: str

    @cached_property
    def figures(self) -> tuple[tuple[int, str], ...]:
        """Joint index and drive-parameter index of each unknown after the base parameters."""
        return tuple((i, figure) for i, law in enumerate(self.laws) for figure in law.figures)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns."""
        figures = [f"{self.arm.joints[i].name}.{figure}" for i, figure in self.figures]
        return (*self.base.names, *figures)

    def place(self, joint: int, figure: str) -> int | None:
        """Index of a drive parameter among the unknowns; None if the joint has none."""
        figures = self.laws[joint].figures
        return self.places[joint].start + figures.index(figure) if figure in figures else None

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """Indices of each joint's drive parameters among the unknowns."""
        ends = np.cumsum([len(self.base), *(len(law.figures) for law in self.laws)]).tolist()
        return tuple(slice(a, b) for a, b in pairwise(ends))

    @property
    def width(self) -> int:
        """Width of a row: base parameters plus the largest number of drive parameters of a joint."""
        return len(self.base) + max(len(law.figures) for law in self.laws)

    @property
    def is_linear(self) -> bool:
        """Whether efforts are linear in the unknowns."""
        return all(law.is_linear for law in self.laws)

    @property
    def is_dry(self) -> list[bool]:
        """Per joint, whether its effort jumps at a velocity reversal."""
        return [law.is_dry or bool(law.bearings) or law.transmission is not None for law in self.laws]

    @cached_property
    def nonlinear(self) -> tuple[int, ...]:
        """The unknowns in which efforts are nonlinear."""
        p = len(self.base)
        return tuple(p + k for k, (_, figure) in enumerate(self.figures) if figure in NONLINEAR)

    def columns(self, s: Samples, x: Floats) -> tuple[Floats, Floats | None]:
        """d effort / d x of every sample and joint, packed (T, n, width): base parameters, then the joint's
        own drive parameters; and efforts (T, n), None if they equal the columns times x.
        """
        q, qd, qdd = (np.ascontiguousarray(a) for a in (s.q, s.qd, s.qdd))
        p, n = len(self.base), self.arm.n
        C = np.zeros((len(q), n, self.width))
        C[:, :, :p] = base_regressor(self.base.arm)(q, qd, qdd)
        rigid = C[:, :, :p] @ x[:p]
        has_bearings = any(law.bearings for law in self.laws)
        reactions = joint_reactions(self.arm)(q, qd, qdd) if has_bearings else None
        bodies = [body.joint.name for body in self.arm.moving.bodies]
        efforts = np.zeros((len(q), n))
        for i, (law, place) in enumerate(zip(self.laws, self.places, strict=True)):
            load = rigid[:, i : i + 1]
            if law.bearings:
                assert reactions is not None
                load = np.concatenate([load, reactions[:, bodies.index(self.arm.joints[i].name)]], axis=1)
            motion = np.stack([qd[:, i], qdd[:, i], np.sign(qd[:, i])], axis=1)
            ratio = float(self.ratios[i])
            efforts[:, i], by_load, by_figures = evaluate_law(law, load, motion, ratio, x[place])
            if not law.is_linear:
                C[:, i, :p] *= by_load[:, None]
            C[:, i, p : p + by_figures.shape[1]] = by_figures
        return C, None if self.is_linear else efforts

    def efforts(self, s: Samples, x: Floats) -> Floats:
        """Efforts at the unknowns x (T, n)."""
        C, made = self.columns(s, x)
        return (self.times(C, x) if made is None else made) + self.known(s)

    def of(self, arm: Arm) -> EffortModel:
        """The same model of an arm with other parameters."""
        return replace(self, arm=arm, base=_base_of(arm, self.base))

    def times(self, C: Floats, x: Floats) -> Floats:
        """Columns times the unknowns, each joint with its own drive parameters (T, n)."""
        p = len(self.base)
        made = C[:, :, :p] @ x[:p]
        for i, place in enumerate(self.places):
            made[:, i] += C[:, i, p : p + place.stop - place.start] @ x[place]
        return made

    def known(self, s: Samples) -> Floats | float:
        """The known part of efforts (T, n): drives of mimic joints."""
        total: Floats | float = 0.0
        if self.torque_side == "link":
            return total
        for drive, body in zip(drives_of(self.arm), self.arm.moving.bodies, strict=True):
            does_something = drive.friction is not None or drive.depends_on_load or drive.rotor != 0.0
            if body.joint.mimic is None or not does_something:
                continue
            if drive.depends_on_load:
                raise ModelError(
                    f"joint {body.joint.name!r} mimics another and has load-dependent "
                    "friction; remove its bearings and transmission from the arm.",
                    "identify",
                )
            rate = drive.multiplier * s.qd[:, drive.freedom]
            made = np.zeros_like(s.qd)
            made[:, drive.freedom] = drive.multiplier * friction_torque(drive.at_joint, rate, np.sign(rate))
            made[:, drive.freedom] += drive.multiplier**2 * drive.rotor * s.qdd[:, drive.freedom]
            total = total + made
        return total

    def values(self) -> Floats:
        """The unknowns' values in the arm file, 0 if it has none, with initial guesses of nonlinear drive
        parameters.
        """
        made = self.base.values.tolist()
        for joint, law, ratio in zip(self.arm.joints, self.laws, self.ratios.tolist(), strict=True):
            values = _values(joint, law, ratio)
            made += [values[figure] for figure in law.figures]
        return np.array(made)


def effort_model(
    arm: Arm,
    torque_side: str,
    friction: FrictionKind | None,
    *,
    has_load: bool = False,
    rotors: bool = True,
    base: BaseParameters | None = None,
) -> EffortModel:
    """Build the effort model with its unknowns.

    Args:
        arm: the arm; its kinds of friction are unknowns too.
        torque_side: "motor" or "link".
        friction: kinds of friction for every joint; None: "coulomb", plus those of the arm.
        has_load: whether every joint on the motor side has losses proportional to its load.
        rotors: whether rotors of joints without a motor are unknowns too.
        base: base parameters of an arm of the same geometry, whose regressor is compiled already.
    """
    laws = tuple(_structure(j, torque_side, friction, has_load, rotors) for j in arm.joints)
    ratios = np.array([abs(j.motor.gear_ratio) if j.motor else 1.0 for j in arm.joints])
    own = base_parameters(arm) if base is None else _base_of(arm, base)
    return EffortModel(arm, own, laws, ratios, torque_side)


def _base_of(arm: Arm, base: BaseParameters) -> BaseParameters:
    """The base parameters of another arm of the same geometry."""
    standard = inertial_parameters(arm)
    return replace(base, standard=standard, values=base.of(standard))


def _structure(
    joint: Joint, torque_side: str, friction: FrictionKind | None, has_load: bool, rotors: bool
) -> LawStructure:
    own = joint.friction
    side = own.side if own is not None else "joint"
    kind: FrictionKind = friction or "coulomb"
    if friction is None and own is not None and own.static is not None:
        kind = "stribeck"
    if torque_side == "link":
        hidden = side == "motor"
        return LawStructure(side, "none" if hidden else kind, joint.bearings, None, has_rotor=False)
    gear = joint.transmission or (FIRST_GEAR if has_load else None)
    return LawStructure(side, kind, joint.bearings, gear, rotors or joint.motor is not None)


def _values(joint: Joint, law: LawStructure, ratio: float) -> dict[str, float]:
    """The drive parameters of a joint in the arm file."""
    f, motor, gear, unit = (
        joint.friction or Friction(side=law.side),
        joint.motor,
        joint.transmission,
        law.transmission,
    )
    loss = float(gear is not None)
    if gear is not None and unit is not None and gear != unit:  # as a multiple of the model's
        eta, of_unit = (min(at for _, at in one.efficiency) for one in (gear, unit))
        loss = (1.0 - eta) / (1.0 - of_unit) if of_unit < 1.0 else 0.0
    return {
        VISCOUS: f.viscous,
        **dict(zip(COULOMB, f.coulomb, strict=True)),
        **dict(zip(STATIC, f.static or f.coulomb, strict=True)),
        STRIBECK_SPEED: f.stribeck_speed or FIRST_SPEED * (ratio if law.side == "motor" else 1.0),
        **{f"bearing{k + 1}.mu": b.mu for k, b in enumerate(joint.bearings)},
        LOSS: loss,
        ROTOR: motor.rotor_inertia if motor else 0.0,
        OFFSET: 0.0,
    }


def largest_loss(unit: Transmission) -> float:
    """The factor on a gear's losses that leaves it the least efficiency."""
    return (1.0 - LEAST_EFFICIENCY) / max(1.0 - min(eta for _, eta in unit.efficiency), 1e-12)


@frozen
class EffortScale:
    """Conversion from measured efforts to torques, motor torque times gear ratio: y = factor effort +
    by_speed qd.

    Attributes:
        kind: "tau", "current" or "voltage".
        factor: (n,).
        by_speed: (n,), the back-EMF term of voltages.
        of_current: (n,), torque per current if a log has currents as well as voltages; else None.
    """

    kind: EffortKind
    factor: Floats
    by_speed: Floats
    of_current: Floats | None = None

    def torque(self, s: Samples) -> Samples:
        """The samples with torques as efforts."""
        if self.kind == "tau":
            return s
        effort = s.effort * self.factor + s.qd * self.by_speed
        if self.of_current is not None and s.current is not None:
            effort = s.current * self.of_current
        return replace(s, effort=effort)


def effort_scale(kind: EffortKind, K: Floats, R: Floats) -> EffortScale:
    """The conversion to torque by N Kt (N m / A) and R (ohm) of the motors."""
    if kind == "tau":
        return EffortScale(kind, np.ones(len(K)), np.zeros(len(K)))
    if kind == "current":
        return EffortScale(kind, K, np.zeros(len(K)))
    return EffortScale(kind, K / R, -K * K / R)
