"""forearm: the dynamics of robot arms, from a description to verified numbers."""

from importlib import import_module
from types import ModuleType

from forearm.arm import (
    DH,
    Arm,
    Bearing,
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
from forearm.errors import (
    ForearmError,
    ForearmWarning,
    IgnoredWarning,
    InputError,
    LossWarning,
    ModelError,
    ModelWarning,
    NameNotFound,
    PartsWarning,
)
from forearm.files import arms, load

__version__ = "0.1.0"

__all__ = [
    "DH",
    "Arm",
    "Bearing",
    "ForearmError",
    "ForearmWarning",
    "Frame",
    "Friction",
    "Hand",
    "IgnoredWarning",
    "InputError",
    "Joint",
    "Limits",
    "Link",
    "LossWarning",
    "Mimic",
    "ModelError",
    "ModelWarning",
    "Motor",
    "NameNotFound",
    "PartsWarning",
    "Transmission",
    "__version__",
    "arms",
    "checking",
    "from_dh",
    "kinematics",
    "load",
]

# Rooms that are reached as attributes (`fa.kinematics.forward`) and imported when first used.
_ROOMS = ("checking", "kinematics")


def __getattr__(name: str) -> ModuleType:
    if name in _ROOMS:
        return import_module(f"forearm.{name}")
    raise AttributeError(f"module 'forearm' has no attribute {name!r}")
