"""The machine of the measurements: processor, vectors, versions."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from forearm.benchmarks.roofline import vector_bytes

PACKAGES = ("numpy", "llvmlite", "pin", "mujoco", "roboticstoolbox-python")


def machine() -> dict[str, Any]:
    """Processor, cores, vector width in bits, and versions; a package that is not installed is None."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "vector_bits": 8 * vector_bytes(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def device_machine(index: int) -> dict[str, Any]:
    """A GPU: its name, its properties, and the CUDA version of its driver."""
    from forearm.kernels.cuda.driver import driver

    device = driver().device(index)
    return {
        "name": device.name,
        "capability": list(device.capability),
        "memory": device.memory,
        "processors": device.processors,
        "clock": device.clock,
        "cuda": ".".join(map(str, driver().version)),
    }
