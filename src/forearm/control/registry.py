"""Which controllers there are, and how each is made for a comparison:
by name, on the arm and motion at hand.
"""

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
from forearm.control.controller import Controller
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
from forearm.trajectories.continuous_snap.derivatives import HasDerivatives
from forearm.trajectories.planning import Plan
from forearm.values import chosen

Floats = NDArray[np.float64]
DISTANCE = 0.2  # m from the axes to the counterweights


@dataclass(frozen=True, eq=False)
class Setting:
    """What controllers are made for: the arm that they believe in, the motion, how stiff they may
    be, how they are asked; and on which side sensors are, None where that is not known.
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
        """What the inertias are of M_jj, (n,)."""
        return np.asarray(self.inertias / joint_inertias(self.arm))


@dataclass(frozen=True, eq=False)
class ControllerTrial:
    """A controller ready to run: what it believes, what must be done to the plant for it,
    and which joints (n,) it moves.

    `stiffness` is the share of w^2 M_jj that its feedback has, the least of any joint;
    NaN where it has none or is not known. Accelerometers are read only for one that `sees_accelerations`.
    """

    controller: Controller
    arm: Arm
    alter: Callable[[Arm], Arm] = field(default=lambda plant: plant)
    moved: NDArray[np.bool_] | None = None
    stiffness: float = math.nan
    note: str = ""
    sees_accelerations: bool = False


def trials(setting: Setting, asked: Iterable[str | Controller] | None) -> list[tuple[str, ControllerTrial]]:
    """Those asked for, by name or ready made; all that suit the arm and the motion unless some are."""
    known = available(setting)
    if asked is None:
        return [(name, make(setting)) for name, make in known.items() if name not in left_out(setting)]
    known |= ASKED_FOR
    if isinstance(asked, str):
        raise InputError(f"controllers: expected a list, got {shorten(asked)}. Take [{asked!r}].")
    made = []
    for one in asked:
        if not isinstance(one, str):
            made.append((str(one.name), ControllerTrial(one, setting.arm, sees_accelerations=True)))
        else:
            check_elastic_name(one, setting.arm)
            made.append((one, chosen(known, one, "controllers for this arm and motion")(setting)))
    return made


def available(setting: Setting) -> dict[str, Callable[[Setting], ControllerTrial]]:
    """Makers by name: all that suit the arm and the motion, or say what they need else."""
    found = dict(CLASSICAL)
    if without_friction(setting.arm) == setting.arm:
        found = {name: make for name, make in found.items() if not name.endswith("no friction")}
    if not setting.arm.is_serial:
        del found["computed torque, own link only"]
    if setting.reference.still.any() and not setting.reference.still.all():
        found["computed torque, still joints locked"] = _locked
    return found | IN_HAND_SPACE | OTHERS | (ELASTIC if is_elastic(setting.arm) else {})


def left_out(setting: Setting) -> dict[str, str]:
    """Controllers of elastic joints that sensors or motion do not suit, with what they need."""
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
    """Refuse a controller of elastic joints for an arm that has none."""
    if name in ELASTIC and not is_elastic(arm):
        raise InputError(
            f"controller {name!r}: it is for elastic joints, and {arm.name!r} has none; give them springs "
            "([joint.elasticity] of the arm file, arm.with_drives(elasticity=...)), or take another."
        )


def _made(cls: Callable[..., Any], **given: Any) -> Callable[[Setting], ControllerTrial]:
    """From the arm, the motion where it is for one, and what it takes of bandwidth,
    inertias, period and delay.
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
    """By inertias less than M_jj, or by a bandwidth that was held back; NaN for a spring of the hand."""
    if "inertias" in takes:
        return float(s.shares.min())
    if "stiffness" in takes:
        return math.nan
    return (
        float(getattr(controller, "bandwidth", s.bandwidth) / s.bandwidth) ** 2
        if "bandwidth" in takes
        else math.nan
    )


def _elastic(cls: Callable[..., Any]) -> Callable[[Setting], ControllerTrial]:
    """Along the motion, with the springs of an arm that its links' motion says everything about."""
    plain = _made(cls)

    def make(s: Setting) -> ControllerTrial:
        if is_invertible(s.arm):
            return plain(s)
        springs = [joint.elasticity for joint in s.arm.joints if joint.elasticity is not None]
        missing = ["backlash"] * any(e.half_gap for e in springs)
        missing += ["spinning rotors"] * any(e.rotor_axis is not None for e in springs)
        note = f"its model is without {' and '.join(missing)}"
        return replace(plain(replace(s, arm=without_backlash(s.arm))), note=note)

    return make


def _counterbalanced(s: Setting) -> ControllerTrial:
    found = weights_of(s.arm, DISTANCE)
    weights = found.counterweights
    believed = with_counterweights(s.arm, weights)
    controller = ComputedTorque(believed, bandwidth=s.bandwidth, dropped="no-gravity")
    hopeless = ", ".join(name for name, _ in found.hopeless)
    note = f"no fixed weight can balance {hopeless}, whose gravity stays and is left out" if hopeless else ""
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


CLASSICAL: dict[str, Callable[[Setting], ControllerTrial]] = {
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
# Springs, dampers and accelerations of the hand in the place of joints.
IN_HAND_SPACE: dict[str, Callable[[Setting], ControllerTrial]] = {
    "impedance": _made(Impedance),
    "impedance, feed-forward": _made(Impedance, feedforward=True, velocity_terms=True),
    "operational space": _made(OperationalSpace),
}
# Compared only when asked for: without a force an admittance is operational space, and what is wanted is
# nothing to gravity compensation.
ASKED_FOR: dict[str, Callable[[Setting], ControllerTrial]] = {
    "admittance": _made(Admittance),
    "gravity compensation": _made(GravityCompensation),
}
# Ways of getting the force without computing all of it at each sample.
OTHERS: dict[str, Callable[[Setting], ControllerTrial]] = {
    "acceleration servo": _made(AccelerationServo),
    "acceleration servo, seen by tachometers": _made(AccelerationServo, seen_by="tachometers"),
    "acceleration servo, seen by encoders": _made(AccelerationServo, seen_by="encoders"),
    "path length": _made(PathLength),
    "first order": _made(FirstOrder),
    "precomputed": _made(Precomputed),
    "stored trajectories": _made(Stored),
    "procedure": _made(Procedural),
}
# Of arms with elastic joints, which know of the motors behind springs,
ELASTIC: dict[str, Callable[[Setting], ControllerTrial]] = {
    "PD on motors": _made(MotorPD),
    "elastic feed-forward": _elastic(ElasticFeedForward),
    "state feedback": _elastic(StateFeedback),
}
# and where sensors must be for them.
TOLD: dict[str, tuple[Side, ...]] = {
    "PD on motors": ("motor", "both"),
    "elastic feed-forward": ("motor", "both"),
    "state feedback": ("both",),
}
