"""Target processors:
this machine's own, or a microarchitecture level, for identical bits on many machines.
"""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from forearm.errors import InputError
from forearm.values import check_choice

HOST, GENERIC, VARIABLE = "host", "generic", "FOREARM_CPU"
# Features that each level adds to the one before, by LLVM's names, as defined by the x86-64 psABI.
LEVELS = {
    "x86-64": (),
    "x86-64-v2": ("cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"),
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
    "x86-64-v4": ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
}
CPU, DEVICE = "cpu", re.compile("cpu|cuda(:[0-9]{1,4})?")
NAMES = (HOST, GENERIC, *LEVELS)


@dataclass(frozen=True)
class Processor:
    """A processor as described to LLVM;
    `width` is that of its vectors in bytes, `fused` whether it has fused multiply-add.
    """

    name: str
    features: str
    width: int
    fused: bool


def chosen(cpu: str | None = None) -> str:
    """The target processor: as given, as set by FOREARM_CPU, or this machine's own."""
    where, name = ("compile, cpu", cpu) if cpu is not None else (VARIABLE, os.environ.get(VARIABLE) or HOST)
    return check_choice(name, NAMES, where)


@cache
def processor(cpu: str) -> Processor:
    """A processor by its name; InputError if this machine cannot run its code."""
    import llvmlite.binding as llvm

    has = llvm.get_host_cpu_features()
    if not llvm.get_default_triple().startswith("x86_64"):
        if cpu in LEVELS:
            raise InputError(
                f"{cpu} does not belong to this machine's architecture, {platform.machine()}.",
                "compile",
                "cpu",
            )
        # All Arm cores have fused multiply-add, which LLVM does not list among their features.
        name, features = (llvm.get_host_cpu_name(), has.flatten()) if cpu == HOST else (GENERIC, "")
        return Processor(name, features, 16, True)
    if cpu == HOST:
        return Processor(llvm.get_host_cpu_name(), has.flatten(), _width(has), bool(has.get("fma")))
    level = "x86-64" if cpu == GENERIC else cpu
    names = list(LEVELS)[: list(LEVELS).index(level) + 1]
    takes = {feature: True for name in names for feature in LEVELS[name]}
    if missing := [feature for feature in takes if not has.get(feature)]:
        raise InputError(
            f"this machine cannot run code for {cpu}: it lacks {', '.join(missing)}; choose a "
            "lower level, or host.",
            "compile",
            "cpu",
        )
    return Processor(level, "", _width(takes), bool(takes.get("fma")))


def _width(features: Any) -> int:
    return 64 if features.get("avx512f") else 32 if features.get("avx") else 16


def check_device(device: str) -> str:
    """The checked name of a device; whether the device exists is determined on first use."""
    if isinstance(device, str) and DEVICE.fullmatch(device):
        return device
    return check_choice(device, (CPU, "cuda", "cuda:1"), "compile, device")
