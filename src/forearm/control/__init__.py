"""Controllers and the sampled closed loop: tracking errors, computing cost, and cheaper ways to the
torques.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forearm.control.acceleration import AccelerationServo
    from forearm.control.actuators import Actuators
    from forearm.control.bits import bits_needed
    from forearm.control.by_name import controller_by_name
    from forearm.control.code import controller_code
    from forearm.control.comparison import Comparison, Row, compare
    from forearm.control.controller import Controller, Sample
    from forearm.control.controllers.admittance import Admittance
    from forearm.control.controllers.computed_torque import ComputedTorque
    from forearm.control.controllers.elastic import ElasticFeedForward, MotorPD, StateFeedback
    from forearm.control.controllers.feedforward import FeedForward, FeedForwardPD
    from forearm.control.controllers.gravity_compensation import GravityCompensation
    from forearm.control.controllers.hand_gains import hand_inertia
    from forearm.control.controllers.impedance import Impedance
    from forearm.control.controllers.operational_space import OperationalSpace
    from forearm.control.controllers.pd import PD, PID
    from forearm.control.controllers.simplified import Saving, counterbalanced, locked_arm, savings
    from forearm.control.elastic_gains import stable_motor_inertias, state_gains
    from forearm.control.extrapolation import FirstOrder
    from forearm.control.fixed_code import FixedPoint, fixed_point
    from forearm.control.gains import (
        Gains,
        critically_damped,
        joint_inertias,
        largest_bandwidth,
        stable_inertias,
    )
    from forearm.control.loop import run
    from forearm.control.model_error import perturbed, without_backlash, without_friction
    from forearm.control.path_length import PathLength
    from forearm.control.precomputed import Precomputed
    from forearm.control.procedures import Procedural, procedure
    from forearm.control.reference import default_motion, hold, smooth
    from forearm.control.rollout_laws import rollout_controller
    from forearm.control.sampling import natural_frequencies, period_for, sampling_period
    from forearm.control.sensors import Encoder, Sensors, Tachometer, exact_accelerations
    from forearm.control.store import Store, Stored, practise
    from forearm.simulation.controlled import Run

# Lazy imports: a name should not load machine code and planning.
_LATER = {
    "acceleration": ("AccelerationServo",),
    "actuators": ("Actuators",),
    "bits": ("bits_needed",),
    "by_name": ("controller_by_name",),
    "code": ("controller_code",),
    "elastic_gains": ("stable_motor_inertias", "state_gains"),
    "extrapolation": ("FirstOrder",),
    "fixed_code": ("FixedPoint", "fixed_point"),
    "path_length": ("PathLength",),
    "precomputed": ("Precomputed",),
    "procedures": ("Procedural", "procedure"),
    "store": ("Store", "Stored", "practise"),
    "comparison": ("Comparison", "Row", "compare"),
    "controller": ("Controller", "Sample"),
    "controllers.admittance": ("Admittance",),
    "controllers.computed_torque": ("ComputedTorque",),
    "controllers.elastic": ("ElasticFeedForward", "MotorPD", "StateFeedback"),
    "controllers.feedforward": ("FeedForward", "FeedForwardPD"),
    "controllers.gravity_compensation": ("GravityCompensation",),
    "controllers.hand_gains": ("hand_inertia",),
    "controllers.impedance": ("Impedance",),
    "controllers.operational_space": ("OperationalSpace",),
    "controllers.pd": ("PD", "PID"),
    "controllers.simplified": ("Saving", "counterbalanced", "locked_arm", "savings"),
    "gains": ("Gains", "stable_inertias", "critically_damped", "joint_inertias", "largest_bandwidth"),
    "loop": ("Run", "run"),
    "model_error": ("perturbed", "without_backlash", "without_friction"),
    "reference": ("hold", "smooth", "default_motion"),
    "rollout_laws": ("rollout_controller",),
    "sampling": ("natural_frequencies", "period_for", "sampling_period"),
    "sensors": ("Encoder", "Sensors", "Tachometer", "exact_accelerations"),
}
_WHERE = {name: module for module, names in _LATER.items() for name in names}

__all__ = [
    "PD",
    "PID",
    "AccelerationServo",
    "Actuators",
    "Admittance",
    "Comparison",
    "ComputedTorque",
    "Controller",
    "ElasticFeedForward",
    "Encoder",
    "FeedForward",
    "FeedForwardPD",
    "FirstOrder",
    "FixedPoint",
    "Gains",
    "GravityCompensation",
    "Impedance",
    "MotorPD",
    "OperationalSpace",
    "PathLength",
    "Precomputed",
    "Procedural",
    "Row",
    "Run",
    "Sample",
    "Saving",
    "Sensors",
    "StateFeedback",
    "Store",
    "Stored",
    "Tachometer",
    "bits_needed",
    "compare",
    "controller_by_name",
    "controller_code",
    "counterbalanced",
    "critically_damped",
    "default_motion",
    "exact_accelerations",
    "fixed_point",
    "hand_inertia",
    "hold",
    "joint_inertias",
    "largest_bandwidth",
    "locked_arm",
    "natural_frequencies",
    "period_for",
    "perturbed",
    "practise",
    "procedure",
    "rollout_controller",
    "run",
    "sampling_period",
    "savings",
    "smooth",
    "stable_inertias",
    "stable_motor_inertias",
    "state_gains",
    "without_backlash",
    "without_friction",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"forearm.control.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return __all__
