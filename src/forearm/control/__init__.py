"""Controllers and the sampled closed loop: tracking errors, computing cost, and cheaper ways to the
torques.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forearm.control.acceleration import AccelerationServo as AccelerationServo
    from forearm.control.actuators import Actuators as Actuators
    from forearm.control.bits import bits_needed as bits_needed
    from forearm.control.by_name import controller_by_name as controller_by_name
    from forearm.control.code import controller_code as controller_code
    from forearm.control.comparison import Comparison as Comparison
    from forearm.control.comparison import Row as Row
    from forearm.control.comparison import compare as compare
    from forearm.control.controller import Controller as Controller
    from forearm.control.controller import Sample as Sample
    from forearm.control.controllers.admittance import Admittance as Admittance
    from forearm.control.controllers.computed_torque import ComputedTorque as ComputedTorque
    from forearm.control.controllers.elastic import ElasticFeedForward as ElasticFeedForward
    from forearm.control.controllers.elastic import MotorPD as MotorPD
    from forearm.control.controllers.elastic import StateFeedback as StateFeedback
    from forearm.control.controllers.feedforward import FeedForward as FeedForward
    from forearm.control.controllers.feedforward import FeedForwardPD as FeedForwardPD
    from forearm.control.controllers.gravity_compensation import GravityCompensation as GravityCompensation
    from forearm.control.controllers.hand_gains import hand_inertia as hand_inertia
    from forearm.control.controllers.impedance import Impedance as Impedance
    from forearm.control.controllers.operational_space import OperationalSpace as OperationalSpace
    from forearm.control.controllers.pd import PD as PD
    from forearm.control.controllers.pd import PID as PID
    from forearm.control.controllers.simplified import Saving as Saving
    from forearm.control.controllers.simplified import counterbalanced as counterbalanced
    from forearm.control.controllers.simplified import locked_arm as locked_arm
    from forearm.control.controllers.simplified import savings as savings
    from forearm.control.elastic_gains import stable_motor_inertias as stable_motor_inertias
    from forearm.control.elastic_gains import state_gains as state_gains
    from forearm.control.extrapolation import FirstOrder as FirstOrder
    from forearm.control.fixed_code import FixedPoint as FixedPoint
    from forearm.control.fixed_code import fixed_point as fixed_point
    from forearm.control.gains import Gains as Gains
    from forearm.control.gains import critically_damped as critically_damped
    from forearm.control.gains import joint_inertias as joint_inertias
    from forearm.control.gains import largest_bandwidth as largest_bandwidth
    from forearm.control.gains import stable_inertias as stable_inertias
    from forearm.control.loop import run as run
    from forearm.control.model_error import perturbed as perturbed
    from forearm.control.model_error import without_backlash as without_backlash
    from forearm.control.model_error import without_friction as without_friction
    from forearm.control.path_length import PathLength as PathLength
    from forearm.control.precomputed import Precomputed as Precomputed
    from forearm.control.procedures import Procedural as Procedural
    from forearm.control.procedures import procedure as procedure
    from forearm.control.reference import default_motion as default_motion
    from forearm.control.reference import hold as hold
    from forearm.control.reference import smooth as smooth
    from forearm.control.rollout_laws import rollout_controller as rollout_controller
    from forearm.control.sampling import natural_frequencies as natural_frequencies
    from forearm.control.sampling import period_for as period_for
    from forearm.control.sampling import sampling_period as sampling_period
    from forearm.control.sensors import Encoder as Encoder
    from forearm.control.sensors import Sensors as Sensors
    from forearm.control.sensors import Tachometer as Tachometer
    from forearm.control.sensors import exact_accelerations as exact_accelerations
    from forearm.control.store import Store as Store
    from forearm.control.store import Stored as Stored
    from forearm.control.store import practise as practise
    from forearm.simulation.controlled import Run as Run

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

__all__ = sorted(_WHERE)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"forearm.control.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return __all__
