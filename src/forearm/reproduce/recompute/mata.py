"""Mata 5.1 and what 5.2 says of its path."""

from __future__ import annotations

import math

import numpy as np

from forearm.arm.arm import Arm
from forearm.dynamics.precision import PrecisionStudy, precision_study
from forearm.files.builtin import load_builtin
from forearm.reproduce.recompute import Figures


def masses() -> Figures:
    """Mata 5.1: the mass of bar 2 from that of bar 1 at equal density."""
    bar1 = load_builtin("ascher2").link("link1")
    length1, length2, width = 0.02, 2.0, 0.02
    density = bar1.mass / (length1 * width * width)
    return {"m2": density * length2 * width * width}


def sweep() -> tuple[Arm, PrecisionStudy]:
    """Mata 5.1: the two bars, and forward dynamics over a turn of joint 2 in steps of 2 degrees."""
    arm = load_builtin("ascher2")
    postures = np.array([[0.0, math.radians(2.0 * k)] for k in range(180)])
    return arm, precision_study(arm, postures)


def table_5() -> Figures:
    """Mata Table 5: single against double precision in that turn."""
    _, study = sweep()
    names = {"ABA": "articulated-body", "CRBA": "composite-body", "GA": "gibbs-appell"}
    figures: Figures = {}
    for short, method in names.items():
        figures[f"{short} max"], figures[f"{short} mean"] = study.difference(method, 1)
    return figures


def line() -> Figures:
    """Mata 5.2: how long the straight path is and how long 0.1 m/s takes for it."""
    from forearm.reproduce.recompute.puma_line import END, SPEED, START

    return {"duration": math.dist(START, END) / SPEED}
