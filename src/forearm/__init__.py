"""forearm: the dynamics of robot arms, from a description to verified numbers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from forearm.errors import (
    ForearmError,
    ForearmWarning,
    IgnoredWarning,
    InputError,
    LossWarning,
    ModelError,
    ModelWarning,
    NameNotFound,
    OutOfMemory,
    PartsWarning,
    RepairWarning,
    StepWarning,
)

if TYPE_CHECKING:
    from forearm import (
        checking,
        control,
        counting,
        drives,
        dynamics,
        identification,
        kinematics,
        reproduce,
        schedules,
        simulation,
        studies,
        trajectories,
        visuals,
    )
    from forearm.arm import (
        DH,
        Arm,
        Bearing,
        Elasticity,
        Frame,
        Friction,
        Hand,
        Joint,
        Limits,
        Link,
        Mimic,
        Motor,
        Transmission,
        from_dh,
    )
    from forearm.codegen.generate import generate
    from forearm.codegen.source import Source
    from forearm.drives import DAC
    from forearm.dynamics.modes import Modes, modes
    from forearm.files import arms, load
    from forearm.files.mjcf.compiled import from_mujoco
    from forearm.files.peer_models import to_mujoco, to_pinocchio
    from forearm.files.pinocchio_model import from_pinocchio
    from forearm.fmi.export import Fmu, fmu
    from forearm.identification import excite
    from forearm.identification.from_logs import identify
    from forearm.identification.result import Identification
    from forearm.kernels.batch_rollout import Rollout
    from forearm.kernels.kernel import Kernel, compile
    from forearm.kernels.rollout_gradient import RolloutGradient
    from forearm.kernels.rollout_summary import Summary
    from forearm.kernels.traced_controller import TracedController
    from forearm.simulation import Schedule, Simulation, load_simulation, simulate, simulate_many
    from forearm.studies import Optimum, Study, StudyResults, optimise, sweep
    from forearm.trajectories import MotionLog, Plan, Request, Waypoint, plan, read_motion, time_optimal
    from forearm.viewer.door import studio
    from forearm.visuals import load_visuals

__version__ = "0.1.0"

__all__ = [
    "DAC",
    "DH",
    "Arm",
    "Bearing",
    "Elasticity",
    "Fmu",
    "ForearmError",
    "ForearmWarning",
    "Frame",
    "Friction",
    "Hand",
    "Identification",
    "IgnoredWarning",
    "InputError",
    "Joint",
    "Kernel",
    "Limits",
    "Link",
    "LossWarning",
    "Mimic",
    "ModelError",
    "ModelWarning",
    "Modes",
    "MotionLog",
    "Motor",
    "NameNotFound",
    "Optimum",
    "OutOfMemory",
    "PartsWarning",
    "Plan",
    "RepairWarning",
    "Request",
    "Rollout",
    "RolloutGradient",
    "Schedule",
    "Simulation",
    "Source",
    "StepWarning",
    "Study",
    "StudyResults",
    "Summary",
    "TracedController",
    "Transmission",
    "Waypoint",
    "__version__",
    "arms",
    "checking",
    "compile",
    "control",
    "counting",
    "drives",
    "dynamics",
    "excite",
    "fmu",
    "from_dh",
    "from_mujoco",
    "from_pinocchio",
    "generate",
    "identification",
    "identify",
    "kinematics",
    "load",
    "load_simulation",
    "load_visuals",
    "modes",
    "optimise",
    "plan",
    "read_motion",
    "reproduce",
    "schedules",
    "simulate",
    "simulate_many",
    "simulation",
    "studies",
    "studio",
    "sweep",
    "time_optimal",
    "to_mujoco",
    "to_pinocchio",
    "trajectories",
    "visuals",
]

# Imported when first used, so that `import forearm` costs little: rooms, and the names that live in them.
_ROOMS = (
    "checking",
    "control",
    "counting",
    "drives",
    "dynamics",
    "identification",
    "kinematics",
    "reproduce",
    "schedules",
    "simulation",
    "studies",
    "trajectories",
    "visuals",
)
_OF_ARM = (
    "DH", "Arm", "Bearing", "Elasticity", "Frame", "Friction", "Hand", "Joint", "Limits", "Link", "Mimic",
    "Motor", "Transmission", "from_dh",
)  # fmt: skip
_LATER = {
    **{room: room for room in (*_ROOMS, "arm")},
    "DAC": "drives",
    **dict.fromkeys(_OF_ARM, "arm"),
    **dict.fromkeys(("arms", "load"), "files"),
    "from_mujoco": "files.mjcf.compiled",
    "from_pinocchio": "files.pinocchio_model",
    "to_mujoco": "files.peer_models",
    "to_pinocchio": "files.peer_models",
    **dict.fromkeys(("Source", "generate"), "codegen"),
    **dict.fromkeys(("Kernel", "compile"), "kernels"),
    **dict.fromkeys(("Identification", "identify"), "identification"),
    **dict.fromkeys(("Fmu", "fmu"), "fmi.export"),
    "Rollout": "kernels.batch_rollout",
    "RolloutGradient": "kernels.rollout_gradient",
    "Summary": "kernels.rollout_summary",
    "TracedController": "kernels.traced_controller",
    **dict.fromkeys(("MotionLog", "Plan", "Request", "Waypoint", "plan", "read_motion"), "trajectories"),
    "time_optimal": "trajectories",
    "excite": "identification",
    **dict.fromkeys(("Modes", "modes"), "dynamics"),
    "studio": "viewer.door",
    "load_visuals": "visuals",
    **dict.fromkeys(("Optimum", "Study", "StudyResults", "optimise", "sweep"), "studies"),
    **dict.fromkeys(("Schedule", "Simulation", "load_simulation", "simulate", "simulate_many"), "simulation"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'forearm' has no attribute {name!r}")
    room = import_module(f"forearm.{_LATER[name]}")
    found = globals()[name] = room if _LATER[name] == name else getattr(room, name)
    return found


def __dir__() -> list[str]:
    return __all__
