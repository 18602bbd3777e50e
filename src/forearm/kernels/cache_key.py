"""What machine code depends on, as text: the arm, this machine, the versions of what made it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sys
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import forearm
from forearm.arm.deviations import Deviations
from forearm.kernels.cpu import HOST, processor
from forearm.kernels.locks import making


def told(value: Any) -> Any:
    """A value as lists, text and whole numbers that are equal only where the value is, bit for bit."""
    if is_dataclass(value) and not isinstance(value, type):
        held = (getattr(value, f.name) for f in fields(value))
        # no code depends on how sure a number is
        return [type(value).__name__, *(told(x) for x in held if not isinstance(x, Deviations))]
    if isinstance(value, np.ndarray):
        return [list(value.shape), value.dtype.str, value.tobytes().hex()]
    if isinstance(value, float | np.floating):
        return float(value).hex()
    if isinstance(value, dict):
        return [[told(k), told(v)] for k, v in value.items()]
    if isinstance(value, list | tuple):
        return [told(v) for v in value]
    if isinstance(value, set | frozenset):
        return sorted(str(told(v)) for v in value)
    return value if isinstance(value, str | int | bool | None) else repr(value)


@cache
def surroundings(cpu: str = HOST) -> list[str]:
    """The processor that code is for, this Python, NumPy, llvmlite and this package as it stands on disk."""
    python = f"{sys.implementation.cache_tag} {platform.machine()} {sys.platform}"
    at = _processor() if cpu == HOST else processor(cpu).name
    return [at, python, np.__version__, _llvm(), forearm.__version__, _sources()]


def _processor() -> str:
    """The processor and what it can do, without LLVM where the system tells."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            first = file.read(1 << 16).split("\n\n")[0]
        kept = [line for line in first.splitlines() if line.split(":")[0].strip() in PROCESSOR]
        if kept and platform.machine() == "x86_64":
            return "\n".join(kept)
    except OSError:
        pass
    with making():
        import llvmlite.binding as llvm

    return f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"


PROCESSOR = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")


def _llvm() -> str:
    """llvmlite's library by size and date, without loading it."""
    found = find_spec("llvmlite")
    if found is None or not found.origin:
        return ""
    libraries = sorted((Path(found.origin).parent / "binding").glob("*llvmlite.*"))
    states = [path.stat() for path in libraries]
    return " ".join(
        f"{path.name}:{s.st_size}:{s.st_mtime_ns}" for path, s in zip(libraries, states, strict=True)
    )


def _sources() -> str:
    """A digest of those of this package's files that code depends on:
    what another state of them made is not used.

    By content, as there are installers that give all files one date.
    """
    digest, package = hashlib.sha256(), os.path.dirname(forearm.__file__)
    for room in ("", *MAKERS):
        for name in sorted(os.listdir(os.path.join(package, room))):
            if name.endswith(".py"):
                # some editors' locks
                with contextlib.suppress(OSError), open(os.path.join(package, room, name), "rb") as file:
                    digest.update(f"{room}/{name}\n".encode() + file.read())
    return digest.hexdigest()


# Rooms, and folders in them, that code comes from.
MAKERS = (
    "arm",
    "codegen",
    "control/controllers",
    "drives",
    "dynamics",
    "frameworks",
    "identification",
    "identification/excitation",
    "identification/calibration",
    "identification/payload",
    "kernels",
    "kinematics",
    "kinematics/closed_form",
    "reduction",
    "symbols",
    "trajectories",
    "trajectories/jerk_limited",
    "trajectories/shortest_time",
)
