"""Other packages doing the same work, each in a module of its own, imported only when a
benchmark asks for it.

A peer is a class made from an arm and states, whose methods return `Work`.
"""

from __future__ import annotations

import shutil
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from forearm.benchmarks.peers.casadi import FOLDER

PACKAGES = {
    "Pinocchio": "pinocchio",
    "MuJoCo": "mujoco",
    "Robotics Toolbox": "roboticstoolbox",
    "EAIK": "eaik",
    "Ruckig": "ruckig",
    "SciPy": "scipy",
    "toppra": "toppra",
}  # name: what is imported


@cache
def problem(peer: str) -> str | None:
    """Why a peer cannot be asked, and what to do; None if it can."""
    if peer == "CasADi":
        if not any(FOLDER.glob("*.c")):
            return "CasADi's C is not there: make bench-peers lets Pinocchio and CasADi write it"
        return None if shutil.which("cc") else "CasADi's C needs a C compiler called cc, which is not there"
    if find_spec(PACKAGES[peer]) is None:
        return f"{peer} is not installed: pip install 'forearm[bench]'"
    try:
        import_module(PACKAGES[peer])
    except Exception as error:  # of whatever kind: packages made for an older NumPy fail in many ways
        return f"{peer} is installed but does not import ({type(error).__name__}: {error})"
    return None


def problems() -> list[str]:
    """A line for each peer that cannot be asked."""
    return [said for peer in (*PACKAGES, "CasADi") if (said := problem(peer)) is not None]
