"""Registry of controllers: constructors by name for a comparison on a given arm and motion."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.arm.elastic import is_elastic
from forearm.checking.balancing import with_counterweights
from forearm.control.acceleration import AccelerationServo
from forearm.control.controller import Controller, check_controller
from forearm.control.controllers.admittance import Admittance
from forearm.control.controllers.computed_torque import ComputedTorque
from forearm.control.controllers.elastic import ElasticFeedForward, MotorPD, StateFeedback
from forearm.control.controllers.feedforward import FeedForward, FeedForwardPD
from forearm.control.controllers.gravity_compensation import GravityCompensation
from forearm.control.controllers.impedance import Impedance
from forearm.control.controllers.operational_space import OperationalSpace
from forearm.control.controllers.pd import PD, PID
from forearm.control.controllers.simplified import locked_arm, weights_of
from forearm.control.extrapolation import FirstOrder
from forearm.control.gains import joint_inertias
from forearm.control.model_error import without_backlash, without_friction
from forearm.control.path_length import PathLength
from forearm.control.precomputed import Precomputed
from forearm.control.procedures import Procedural
from forearm.control.reference import Reference
from forearm.control.sensors import Side
from forearm.control.store import Stored
from forearm.dynamics.elastic import is_invertible
from forearm.errors import InputError, shorten
from forearm.spatial import Floats
from forearm.trajectories.continuous_snap.derivatives import HasDerivatives
from forearm.trajectories.planning import Plan
from forearm.values import chosen

DISTANCE = 0.2  # m from the axes to the counterweights


@dataclass(frozen=True, eq=False)
class Setting:
    """Settings for making controllers: the model of the arm, the motion, gains, timing of the loop; and the
    side on which sensors are, None if unknown.
    """

    arm: Arm
    motion: Any
    reference: Reference
    bandwidth: float
    inertias: Floats
    period: float
    delay: int = 0
    side: Side | None = None

    @property
    def shares(self) -> Floats:
        """Inertias as a share of M_jj, (n,)."""
        return np.asarray(self.inertias / joint_inertias(self.arm))


@dataclass(frozen=True, eq=False)
class ControllerTrial:
    """A controller ready to run: its model, the required change of the plant, and the joints (n,) it moves.

    `stiffness` is the feedback stiffness as a share of w^2 M_jj, the smallest of any joint; NaN if there is
    none or it is unknown. Accelerometers are read only if `sees_accelerations`.
    """

    controller: Controller
    arm: Arm
    alter: Callable[[Arm], Arm] = field(default=lambda plant: plant)
    moved: NDArray[np.bool_] | None = None
    stiffness: float = math.nan
    note: str = ""
    sees_accelerations: bool = False


Maker = Callable[[Setting], ControllerTrial]


def trials(setting: Setting, asked: Iterable[str | Controller] | None) -> list[tuple[str, ControllerTrial]]:
    """The requested controllers, by name or as objects; by default all that suit the arm and the motion."""
    known = available(setting)
    if asked is None:
        return [(name, make(setting)) for name, make in known.items() if name not in left_out(setting)]
    known |= ASKED_FOR
    if isinstance(asked, str) or not isinstance(asked, Iterable):
        raise InputError(f"expected a list of names or controllers, got {shorten(asked)}.", "controllers")
    made = []
    for one in asked:
        if not isinstance(one, str):
            check_controller(one, "controllers")
            made.append((str(one.name), ControllerTrial(one, setting.arm, sees_accelerations=True)))
        else:
            check_elastic_name(one, setting.arm)
            made.append((one, chosen(known, one, "controllers, for this arm and motion")(setting)))
    return made


def available(setting: Setting) -> dict[str, Maker]:
    """Constructors by name: all that suit the arm and the motion; others state what they need."""
    found = dict(CLASSICAL)
    if without_friction(setting.arm) == setting.arm:
        found = {name: make for name, make in found.items() if not name.endswith("no friction")}
    if not setting.arm.is_serial:
        del found["computed torque, own link only"]
    if setting.reference.still.any() and not setting.reference.still.all():
        found["computed torque, still joints locked"] = _locked
    return found | IN_HAND_SPACE | OTHERS | (ELASTIC if is_elastic(setting.arm) else {})


def left_out(setting: Setting) -> dict[str, str]:
    """Controllers of elastic joints that do not suit the sensors or the motion, with what they need."""
    if not is_elastic(setting.arm):
        return {}
    motion = setting.motion.motion if isinstance(setting.motion, Plan) else setting.motion
    found = {}
    for name in ELASTIC:
        if setting.side is not None and setting.side not in TOLD[name]:
            found[name] = f"needs sensors on {' or '.join(TOLD[name])}"
        elif name != "PD on motors" and not isinstance(motion, HasDerivatives):
            found[name] = "needs a motion with continuous snap"
    return found


def check_elastic_name(name: str, arm: Arm) -> None:
    """Refuse a controller of elastic joints for a rigid arm."""
    if name in ELASTIC and not is_elastic(arm):
        raise InputError(
            f"it is for elastic joints, and {arm.name!r} has none; add springs "
            "([joint.elasticity] of the arm file, arm.with_drives(elasticity=...)), or "
            "choose another controller.",
            f"controller {name!r}",
        )


def _made(cls: Callable[..., Any], **given: Any) -> Maker:
    """A constructor from the arm, the motion if required, and the bandwidth, inertias, period and delay if
    accepted.
    """
    takes = inspect.signature(cls).parameters

    def make(s: Setting) -> ControllerTrial:
        usual = {"bandwidth": s.bandwidth, "inertias": s.inertias, "period": s.period, "delay": s.delay}
        named = {key: value for key, value in usual.items() if key in takes} | given
        controller = cls(s.arm, s.motion, **named) if "motion" in takes else cls(s.arm, **named)
        sees = getattr(controller, "seen_by", None) == "accelerometers"
        return ControllerTrial(
            controller, s.arm, stiffness=_stiffness(s, controller, takes), sees_accelerations=sees
        )

    return make


def _stiffness(s: Setting, controller: Any, takes: Mapping[str, Any]) -> float:
    """Stiffness from reduced inertias, or from a reduced bandwidth; NaN for a Cartesian spring."""
    if "inertias" in takes:
        return float(s.shares.min())
    if "stiffness" in takes:
        return math.nan
    return (
        float(getattr(controller, "bandwidth", s.bandwidth) / s.bandwidth) ** 2
        if "bandwidth" in takes
        else math.nan
    )


def _elastic(cls: Callable[..., Any]) -> Maker:
    """A constructor of a controller along the motion, with a model whose motor motion follows from the
    links'.
    """
    plain = _made(cls)

    def make(s: Setting) -> ControllerTrial:
        if is_invertible(s.arm):
            return plain(s)
        springs = [joint.elasticity for joint in s.arm.joints if joint.elasticity is not None]
        missing = ["backlash"] * any(e.half_gap for e in springs)
        missing += ["spinning rotors"] * any(e.rotor_axis is not None for e in springs)
        note = f"its model omits {' and '.join(missing)}"
        return replace(plain(replace(s, arm=without_backlash(s.arm))), note=note)

    return make


def _counterbalanced(s: Setting) -> ControllerTrial:
    found = weights_of(s.arm, DISTANCE)
    weights = found.counterweights
    believed = with_counterweights(s.arm, weights)
    controller = ComputedTorque(believed, bandwidth=s.bandwidth, dropped="no-gravity")
    hopeless = ", ".join(name for name, _ in found.hopeless)
    note = (
        f"no fixed weight can balance {hopeless}; their gravity remains and is not modelled"
        if hopeless
        else ""
    )
    return ControllerTrial(
        controller, believed, lambda plant: with_counterweights(plant, weights), stiffness=1.0, note=note
    )


def _locked(s: Setting) -> ControllerTrial:
    still, q = s.reference.still, s.reference.q[0]
    believed = locked_arm(s.arm, still, q)
    return ControllerTrial(
        ComputedTorque(believed, bandwidth=s.bandwidth),
        believed,
        lambda plant: locked_arm(plant, still, q),
        ~still,
        1.0,
    )


CLASSICAL: dict[str, Maker] = {
    "feed-forward": _made(FeedForward),
    "feed-forward, no friction": _made(FeedForward, friction=False),
    "PD": _made(PD, gravity=False),
    "PD + gravity": _made(PD),
    "PID + gravity": _made(PID),
    "feed-forward + PD": _made(FeedForwardPD),
    "feed-forward + PD, no friction": _made(FeedForwardPD, friction=False),
    "computed torque": _made(ComputedTorque),
    "computed torque, no friction": _made(ComputedTorque, friction=False),
    "computed torque, no velocity terms": _made(ComputedTorque, dropped="no-velocity-terms"),
    "computed torque, own link only": _made(ComputedTorque, dropped="own-link-only"),
    "computed torque, counterbalanced": _counterbalanced,
}
# Operational-space controllers.
IN_HAND_SPACE: dict[str, Maker] = {
    "impedance": _made(Impedance),
    "impedance, feed-forward": _made(Impedance, feedforward=True, velocity_terms=True),
    "operational space": _made(OperationalSpace),
}
# Compared on request only: without a force, admittance equals operational space, and gravity compensation
# ignores the reference.
ASKED_FOR: dict[str, Maker] = {
    "admittance": _made(Admittance),
    "gravity compensation": _made(GravityCompensation),
}
# Cheaper ways to the torques than a full evaluation at each sample.
OTHERS: dict[str, Maker] = {
    "acceleration servo": _made(AccelerationServo),
    "acceleration servo, seen by tachometers": _made(AccelerationServo, seen_by="tachometers"),
    "acceleration servo, seen by encoders": _made(AccelerationServo, seen_by="encoders"),
    "path length": _made(PathLength),
    "first order": _made(FirstOrder),
    "precomputed": _made(Precomputed),
    "stored trajectories": _made(Stored),
    "procedure": _made(Procedural),
}
# Controllers of arms with elastic joints that model the motors behind springs,
ELASTIC: dict[str, Maker] = {
    "PD on motors": _made(MotorPD),
    "elastic feed-forward": _elastic(ElasticFeedForward),
    "state feedback": _elastic(StateFeedback),
}
# and the sides on which they need sensors.
TOLD: dict[str, tuple[Side, ...]] = {
    "PD on motors": ("motor", "both"),
    "elastic feed-forward": ("motor", "both"),
    "state feedback": ("both",),
}
