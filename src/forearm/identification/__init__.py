"""Parameters from measurements: logs compared with the arm model, payload estimation, identification of
inertia, friction and motors from logs, excitation motions, and kinematic calibration.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forearm.identification.agreement import Agreement
    from forearm.identification.calibration.calibrate import calibrate
    from forearm.identification.calibration.measurements import Measurements
    from forearm.identification.calibration.reading import read_measurements
    from forearm.identification.calibration.result import Calibration
    from forearm.identification.calibration.suggest import suggest_postures
    from forearm.identification.excitation.excite import excite
    from forearm.identification.from_logs import identify
    from forearm.identification.logs_against_model import LogComparison, compare_log
    from forearm.identification.payload.estimate import PayloadEstimate, estimate_payload
    from forearm.identification.payload.fit import Noise
    from forearm.identification.payload.from_log import payload_from_log
    from forearm.identification.payload.test_forces import canonical_tests
    from forearm.identification.prior import Prior
    from forearm.identification.result import Identification, ResidualTest, Stage, UsedLog
    from forearm.identification.signals.prepare import prepare_log

# Imported on first use, so that importing a name does not load machine code.
_LATER = {
    "agreement": ("Agreement",),
    "from_logs": ("identify",),
    "prior": ("Prior",),
    "result": ("Identification", "ResidualTest", "Stage", "UsedLog"),
    "excitation.excite": ("excite",),
    "calibration.calibrate": ("calibrate",),
    "calibration.measurements": ("Measurements",),
    "calibration.reading": ("read_measurements",),
    "calibration.result": ("Calibration",),
    "calibration.suggest": ("suggest_postures",),
    "logs_against_model": ("LogComparison", "compare_log"),
    "payload.estimate": ("PayloadEstimate", "estimate_payload"),
    "payload.fit": ("Noise",),
    "payload.from_log": ("payload_from_log",),
    "payload.test_forces": ("canonical_tests",),
    "signals.prepare": ("prepare_log",),
}
_WHERE = {name: module for module, names in _LATER.items() for name in names}

__all__ = [
    "Agreement",
    "Calibration",
    "Identification",
    "LogComparison",
    "Measurements",
    "Noise",
    "PayloadEstimate",
    "Prior",
    "ResidualTest",
    "Stage",
    "UsedLog",
    "calibrate",
    "canonical_tests",
    "compare_log",
    "estimate_payload",
    "excite",
    "identify",
    "payload_from_log",
    "prepare_log",
    "read_measurements",
    "suggest_postures",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"forearm.identification.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return __all__
