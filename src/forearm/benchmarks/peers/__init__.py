"""Other packages doing the same work, each in a separate module, imported only when a benchmark needs it.

A peer is a class constructed from an arm and states, whose methods return `Work`.
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
}  # name: module to import


@cache
def problem(peer: str) -> str | None:
    """Why a peer is unavailable, and what to do; None if it is available."""
    if peer == "CasADi":
        if not any(FOLDER.glob("*.c")):
            return "CasADi's C is missing: run make bench-peers to have Pinocchio and CasADi write it"
        return None if shutil.which("cc") else "CasADi's C needs a C compiler called cc, which was not found"
    if find_spec(PACKAGES[peer]) is None:
        return f"{peer} is not installed: pip install 'forearm[bench]'"
    try:
        import_module(PACKAGES[peer])
    except Exception as error:  # any exception: packages built for an older NumPy fail in many ways
        return f"{peer} is installed but does not import ({type(error).__name__}: {error})"
    return None


def wanted(peer: str, peers: bool) -> bool:
    """Whether a peer is available, where peers are asked for."""
    return peers and problem(peer) is None


def problems() -> list[str]:
    """A line for each unavailable peer."""
    return [said for peer in (*PACKAGES, "CasADi") if (said := problem(peer)) is not None]
