"""Which processors code is compiled for: this one, or all of a level, for the same bits on many machines."""

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
# What each level has beyond the one before, by LLVM's names, as the x86-64 psABI defines them.
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
    """What LLVM is told of a processor; `width` is that of its vectors in bytes, `fused` its multiply-add."""

    name: str
    features: str
    width: int
    fused: bool


def chosen(cpu: str | None = None) -> str:
    """The processor asked for: as given, as FOREARM_CPU says, or this machine's own."""
    where, name = ("compile, cpu", cpu) if cpu is not None else (VARIABLE, os.environ.get(VARIABLE) or HOST)
    return check_choice(name, NAMES, where)


@cache
def processor(cpu: str) -> Processor:
    """What is known of a processor by its name; one whose code this machine cannot run is refused."""
    import llvmlite.binding as llvm

    has = llvm.get_host_cpu_features()
    if not llvm.get_default_triple().startswith("x86_64"):
        if cpu in LEVELS:
            raise InputError(f"compile, cpu: {cpu} is not of this machine's family, {platform.machine()}.")
        # Arm's cores all have fused multiply-add, and LLVM does not list it among their features.
        name, features = (llvm.get_host_cpu_name(), has.flatten()) if cpu == HOST else (GENERIC, "")
        return Processor(name, features, 16, True)
    if cpu == HOST:
        return Processor(llvm.get_host_cpu_name(), has.flatten(), _width(has), bool(has.get("fma")))
    level = "x86-64" if cpu == GENERIC else cpu
    names = list(LEVELS)[: list(LEVELS).index(level) + 1]
    takes = {feature: True for name in names for feature in LEVELS[name]}
    if missing := [feature for feature in takes if not has.get(feature)]:
        raise InputError(
            f"compile, cpu: this machine cannot run code for {cpu}, as it has no {', '.join(missing)}; "
            "take a lower level, or host."
        )
    return Processor(level, "", _width(takes), bool(takes.get("fma")))


def _width(features: Any) -> int:
    return 64 if features.get("avx512f") else 32 if features.get("avx") else 16


def check_device(device: str) -> str:
    """The name of a device; whether it is there is found out when it is needed."""
    if isinstance(device, str) and DEVICE.fullmatch(device):
        return device
    return check_choice(device, (CPU, "cuda", "cuda:1"), "compile, device")
