"""Public names of forearm, for editors and type checkers; written by docs/make_stub.py."""

from forearm.errors import ForearmError as ForearmError, ForearmWarning as ForearmWarning, IgnoredWarning as IgnoredWarning, InputError as InputError, LossWarning as LossWarning, ModelError as ModelError, ModelWarning as ModelWarning, NameNotFound as NameNotFound, OutOfMemory as OutOfMemory, PartsWarning as PartsWarning, RepairWarning as RepairWarning, StepWarning as StepWarning
from forearm import checking as checking, control as control, counting as counting, drives as drives, dynamics as dynamics, identification as identification, kinematics as kinematics, reproduce as reproduce, schedules as schedules, simulation as simulation, studies as studies, trajectories as trajectories, visuals as visuals
from forearm.arm import DH as DH, Arm as Arm, Bearing as Bearing, Elasticity as Elasticity, Frame as Frame, Friction as Friction, Hand as Hand, Joint as Joint, Limits as Limits, Link as Link, Mimic as Mimic, Motor as Motor, Transmission as Transmission
from forearm.codegen.source import Source as Source
from forearm.drives import DAC as DAC
from forearm.dynamics.modes import Modes as Modes, modes as modes
from forearm.files import arms as arms, load as load
from forearm.files.mjcf.compiled import from_mujoco as from_mujoco
from forearm.files.peer_models import to_mujoco as to_mujoco, to_pinocchio as to_pinocchio
from forearm.files.pinocchio_model import from_pinocchio as from_pinocchio
from forearm.fmi.export import Fmu as Fmu
from forearm.identification.result import Identification as Identification
from forearm.kernels.batch_rollout import Rollout as Rollout
from forearm.kernels.kernel import Kernel as Kernel, compile as compile
from forearm.kernels.rollout_gradient import RolloutGradient as RolloutGradient
from forearm.kernels.rollout_summary import Summary as Summary
from forearm.kernels.traced_controller import TracedController as TracedController
from forearm.simulation import Schedule as Schedule, Simulation as Simulation, load_simulation as load_simulation
from forearm.studies import Optimum as Optimum, Study as Study, StudyResults as StudyResults, sweep as sweep
from forearm.trajectories import MotionLog as MotionLog, Plan as Plan, Request as Request, Waypoint as Waypoint, read_motion as read_motion
from forearm.viewer.door import studio as studio
from forearm.visuals import load_visuals as load_visuals
from forearm.simulation.arguments import Accuracy as _Accuracy
from typing import Any as _Any
from forearm.arm.arm import Arm as _Arm
from numpy.typing import ArrayLike as _ArrayLike
from forearm.studies.optimisation.goal import Bounds as _Bounds
from collections.abc import Callable as _Callable
from forearm.codegen.generate import CodeOptions as _CodeOptions
from forearm.simulation.arguments import Controller as _Controller
from forearm.arm.joint import Convention as _Convention
from forearm.drives.motor import DAC as _DAC
from forearm.identification.requests import Derivatives as _Derivatives
from forearm.simulation.arguments import Driving as _Driving
from forearm.identification.samples import EffortKind as _EffortKind
from forearm.simulation.arguments import Ending as _Ending
from forearm.identification.requests import ExcitationSearch as _ExcitationSearch
from forearm.identification.requests import FitModel as _FitModel
from forearm.identification.requests import FitStatistics as _FitStatistics
from forearm.simulation.arguments import Floats as _Floats
from forearm.fmi.export import Fmu as _Fmu
from forearm.fmi.export import FmuOptions as _FmuOptions
from forearm.identification.requests import FrictionChoice as _FrictionChoice
from forearm.identification.result import Identification as _Identification
from collections.abc import Iterable as _Iterable
from forearm.trajectories.path_options import Limit as _Limit
from forearm.arm.dh import LinkMasses as _LinkMasses
from typing import Literal as _Literal
from forearm.identification.requests import LogReading as _LogReading
from collections.abc import Mapping as _Mapping
from forearm.identification.requests import MotionBounds as _MotionBounds
from forearm.studies.optimisation.optimum import Optimum as _Optimum
from forearm.trajectories.path_options import PathLimits as _PathLimits
from forearm.trajectories.path_options import PathOptions as _PathOptions
from forearm.trajectories.planning import Plan as _Plan
from forearm.identification.prior import Prior as _Prior
from forearm.progress import Progress as _Progress
from forearm.kernels.batch_rollout import Rollout as _Rollout
from forearm.simulation.arguments import RowOptions as _RowOptions
from forearm.simulation.arguments import RunOptions as _RunOptions
from forearm.simulation.arguments import Sampling as _Sampling
from forearm.studies.optimisation.search import SearchOptions as _SearchOptions
from collections.abc import Sequence as _Sequence
from forearm.simulation.result import Simulation as _Simulation
from forearm.codegen.source import Source as _Source
from forearm.studies.study import Study as _Study
from forearm.kernels.rollout_summary import Summary as _Summary
from forearm.identification.requests import TorqueSensing as _TorqueSensing
from forearm.kernels.traced_controller import TracedController as _TracedController
from forearm.trajectories.planning import Wanted as _Wanted
from forearm.identification.requests import Weighting as _Weighting
import os as _os

__version__: str
__all__: list[str]

def excite(
    arm: _Arm,
    duration: float,
    *,
    start: _ArrayLike | None = ...,
    after: _Sequence[_Any] = ...,
    progress: _Progress | None = ...,
    velocity: _ArrayLike | None = ...,
    acceleration: _ArrayLike | None = ...,
    torque: _ArrayLike | None = ...,
    voltage: _ArrayLike | None = ...,
    margin: float = ...,
    box: _Sequence[_Sequence[float]] | None = ...,
    basis: _Literal['fourier', 'spline'] = ...,
    harmonics: int = ...,
    criterion: _Literal['d', 'condition'] = ...,
    seed: int = ...,
    starts: int = ...,
    noise: _ArrayLike | None = ...,
    torque_side: _Literal['motor', 'link'] = ...,
    step: float = ...,
    limits: _MotionBounds | None = ...,
    search: _ExcitationSearch | None = ...,
    sensing: _TorqueSensing | None = ...,
) -> _Plan: ...

def fmu(
    arm: _Arm,
    file: str | _os.PathLike[str],
    *,
    version: int = ...,
    q0: _ArrayLike | None = ...,
    qd0: _ArrayLike | None = ...,
    parameters: _Iterable[str] = ...,
    platforms: _Iterable[str] | None = ...,
    drive: str = ...,
    step: float = ...,
    payload: bool = ...,
    options: _FmuOptions | None = ...,
) -> _Fmu: ...

def from_dh(
    name: str,
    table: _ArrayLike,
    *,
    convention: _Convention,
    joints: str | None = ...,
    limits: _ArrayLike | None = ...,
    gravity: _ArrayLike = ...,
    tool: _ArrayLike | None = ...,
    mass: _ArrayLike | None = ...,
    com: _ArrayLike | None = ...,
    inertia: _ArrayLike | None = ...,
    inertia_about: str = ...,
    links: _LinkMasses | None = ...,
) -> _Arm: ...

def generate(
    arm: _Arm,
    function: str | _Iterable[str],
    language: str = ...,
    target: str | None = ...,
    *,
    parameters: _Iterable[str] | str = ...,
    formulation: str | None = ...,
    name: str | None = ...,
    dtype: str | None = ...,
    method: str = ...,
    drive: str = ...,
    options: _CodeOptions = ...,
) -> _Source: ...

def identify(
    arm: _Arm,
    log: _Any,
    *,
    torque_side: _Literal['motor', 'link'] | None = ...,
    shift: float | None = ...,
    progress: _Progress | None = ...,
    friction: _FrictionChoice = ...,
    load: bool = ...,
    offsets: bool = ...,
    gains: bool = ...,
    payload: _Any = ...,
    total_mass: tuple[float, float] | None = ...,
    prior: float | _Prior = ...,
    columns: _Mapping[str, str] | None = ...,
    units: str | _Sequence[str] = ...,
    period: float | None = ...,
    cutoff: float | None = ...,
    derivatives: _Derivatives | None = ...,
    effort: _EffortKind | None = ...,
    confidence: float = ...,
    weighting: _Weighting = ...,
    check: bool = ...,
    model: _FitModel | None = ...,
    reading: _LogReading | None = ...,
    statistics: _FitStatistics | None = ...,
) -> _Identification: ...

def optimise(
    study: _Study,
    minimise: str | None = ...,
    maximise: str | None = ...,
    *,
    subject_to: _Mapping[str, _Bounds] | None = ...,
    evaluations: int = ...,
    seed: int = ...,
    tolerance: float = ...,
    start: _Mapping[str, _Any] | None = ...,
    polish: bool = ...,
    threads: int | None = ...,
    progress: _Progress | None = ...,
    options: _SearchOptions = ...,
) -> _Optimum: ...

def plan(
    arm: _Arm,
    request: _Wanted,
    *,
    snap: _ArrayLike | bool | None = ...,
    duration: float | None = ...,
    dac: _DAC | None = ...,
    step: float = ...,
    acceleration: _Limit = ...,
    velocity: _Limit = ...,
    torque: _Limit = ...,
    current: _Limit = ...,
    voltage: _Limit = ...,
    jerk: _Limit = ...,
    path_jerk: float | None = ...,
    hand_speed: _Limit = ...,
    hand_acceleration: _Limit = ...,
    limits: _PathLimits | None = ...,
) -> _Plan: ...

def simulate(
    arm: _Arm,
    q0: _ArrayLike,
    qd0: _ArrayLike,
    duration: float,
    *,
    torque: _Driving | None = ...,
    voltage: _Driving | None = ...,
    controller: _Controller | _TracedController | _Callable[..., _Any] | None = ...,
    step: float = ...,
    effort_limits: bool = ...,
    progress: _Progress | None = ...,
    method: str = ...,
    continued: _Simulation | None = ...,
    motor0: _ArrayLike | None = ...,
    dac: _DAC | None = ...,
    record: int = ...,
    rtol: float = ...,
    atol: float = ...,
    stops: bool = ...,
    until: _Callable[[float, _Floats, _Floats], float | bool] | None = ...,
    options: _RunOptions = ...,
    sampling: _Sampling = ...,
    accuracy: _Accuracy = ...,
    ending: _Ending = ...,
) -> _Simulation: ...

def simulate_many(
    arm: _Arm,
    q0: _ArrayLike,
    qd0: _ArrayLike,
    duration: float,
    *,
    torque: _Driving | None = ...,
    voltage: _Driving | None = ...,
    controller: _Controller | _TracedController | _Callable[..., _Any] | None = ...,
    step: float = ...,
    effort_limits: bool = ...,
    progress: _Progress | None = ...,
    method: str = ...,
    parameters: _Mapping[str, _ArrayLike] | None = ...,
    record: int | None = ...,
    summaries: str | _Summary | _Sequence[str | _Summary] = ...,
    dtype: str = ...,
    device: str = ...,
    threads: int | None = ...,
    check_steps: bool = ...,
    options: _RowOptions = ...,
) -> _Rollout: ...

def time_optimal(
    arm: _Arm,
    path: _Any,
    *,
    dac: _DAC | None = ...,
    step: float = ...,
    progress: _Progress | None = ...,
    acceleration: _Limit = ...,
    velocity: _Limit = ...,
    torque: _Limit = ...,
    current: _Limit = ...,
    voltage: _Limit = ...,
    jerk: _Limit = ...,
    path_jerk: float | None = ...,
    hand_speed: _Limit = ...,
    hand_acceleration: _Limit = ...,
    continuity: int = ...,
    tolerance: float | None = ...,
    duration: float | None = ...,
    points: int = ...,
    start_speed: float = ...,
    end_speed: float = ...,
    payload: tuple[float, float] | None = ...,
    payload_com: tuple[float, float, float] = ...,
    limits: _PathLimits | None = ...,
    options: _PathOptions | None = ...,
) -> _Plan: ...
