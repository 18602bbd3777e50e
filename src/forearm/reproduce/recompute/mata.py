"""Mata 2, 3, 5.1, and the duration of the path of 5.2."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.dh import from_dh
from forearm.arm.joint import DH
from forearm.dynamics import bias, gibbs, inertia_by_sum, inertia_matrix, inverse, trace, variant
from forearm.dynamics.newton_euler import newton_euler
from forearm.dynamics.precision import PrecisionStudy, Single, precision_study
from forearm.dynamics.reference import INERTIA, INVERSE
from forearm.files.builtin import load_builtin
from forearm.model import model_of
from forearm.reproduce.recompute import Figures, apart
from forearm.spatial import Floats, tilde


def masses() -> Figures:
    """Mata 5.1: the mass of bar 2 at the density of bar 1."""
    bar1 = load_builtin("ascher2").link("link1")
    length1, length2, width = 0.02, 2.0, 0.02
    density = bar1.mass / (length1 * width * width)
    return {"m2": density * length2 * width * width}


def bars() -> Figures:
    """Mata 5.1: dimensions of the built-in arm; the width from Izz = m (length^2 + width^2) / 12 of bar 1."""
    arm = load_builtin("ascher2")
    bar1 = arm.link("link1")
    length1, length2 = (float(joint.placement.a) for joint in arm.joints if isinstance(joint.placement, DH))
    return {
        "width, m": math.sqrt(12.0 * float(bar1.inertia[2, 2]) / bar1.mass - length1**2),
        "length 1, m": length1,
        "length 2, m": length2,
        "mass 1, kg": bar1.mass,
        "gravity along y, m/s^2": -float(arm.gravity[1]),
    }


def equations() -> Figures:
    """Mata (5)-(22): relative residuals of torques, moments and inertia matrices on the PUMA."""
    arm = load_builtin("puma560-akb").rigid()
    q, qd, qdd = np.random.default_rng(2002).uniform(-1.0, 1.0, (3, arm.n))
    tau, D = inverse(arm, q, qd, qdd), inertia_matrix(arm, q)
    of = gibbs(arm, q, qd, qdd)
    link3 = trace(arm, q, qd, qdd, formulation="gibbs-appell")["link3"]
    w, wd, Omega, t = (np.array(link3[name]) for name in ("w", "wd", "Omega", "t"))
    tensor = arm.link("link3").inertia
    J = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    return {
        "(5), gradient of G against Newton-Euler": apart(of.gradient, tau),
        "(8), (13), sums of projections": apart(variant(arm, "gibbs-appell-sum", q, qd, qdd), tau),
        "(10), moment against Euler's": apart(t, tensor @ wd + np.cross(w, tensor @ w)),
        "(10), skew tensor": apart(tilde(t), Omega @ J - (Omega @ J).T),
        "(12), Omega": apart(Omega, tilde(wd) + tilde(w) @ tilde(w)),
        "(14)-(16), 4.1": apart(inverse(arm, q, qd, qdd, formulation="gibbs-appell"), tau),
        "(17), D qdd + bias": apart(D @ qdd + bias(arm, q, qd), tau),
        "(19), Hessian of G": apart(of.hessian, D),
        "(21), plain sum": apart(inertia_by_sum(arm, q), D),
        "(22), 4.2": apart(inertia_matrix(arm, q, method="gibbs-appell"), D),
    }


def turn() -> Figures:
    """Mata 5.1: the angle covered by 180 configurations two degrees apart."""
    _, study = sweep()
    return {"turn, degrees": math.degrees((study.q[1, 1] - study.q[0, 1]) * len(study.q))}


@cache
def sweep() -> tuple[Arm, PrecisionStudy]:
    """Mata 5.1: the two bars, and their forward dynamics over a turn of joint 2 in steps of 2 degrees.

    As in the document: modified Denavit-Hartenberg frames and Gauss-Jordan elimination.
    """
    bars = load_builtin("ascher2")
    links = [bars.link(name) for name in ("link1", "link2")]
    lengths = [joint.placement.a for joint in bars.joints if isinstance(joint.placement, DH)]
    arm = from_dh(
        bars.name,
        [(0.0, 0.0, 0.0, 0.0), (lengths[0], 0.0, 0.0, 0.0)],
        convention="modified",
        mass=[link.mass for link in links],
        com=[(0.5 * length, 0.0, 0.0) for length in lengths],
        inertia=[link.inertia for link in links],
        gravity=bars.gravity,
    )
    postures = np.array([[0.0, math.radians(2.0 * k)] for k in range(180)])
    study = precision_study(arm, postures)
    eliminated = {name: _eliminated(arm, name, postures) for name in ("composite-body", "gibbs-appell")}
    return arm, replace(study, single=study.single | eliminated)


def _eliminated(arm: Arm, method: str, postures: Floats) -> Floats:
    """Accelerations (B, n) at rest without torque in single precision: inertia matrix, bias, Gauss-Jordan."""
    small, rest = model_of(arm).map(Single), [Single(0.0)] * arm.n
    rows = []
    for posture in postures:
        q = [Single(x) for x in posture]
        right = [-x for x in INVERSE.get(method, newton_euler)(small, q, rest, [0.0] * arm.n)]
        rows.append([float(x) for x in gauss_jordan(INERTIA[method](small, q), right)])
    return np.array(rows)


def gauss_jordan(M: Any, right: list[Any]) -> list[Any]:
    """M^-1 right over any scalar type, by Gauss-Jordan elimination with partial pivoting."""
    rows = [[*row, x] for row, x in zip(M, right, strict=True)]
    for c in range(len(rows)):
        pivot = max(range(c, len(rows)), key=lambda r: abs(float(rows[r][c])))
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows[c] = [x / rows[c][c] for x in rows[c]]
        for r in range(len(rows)):
            if r != c:
                rows[r] = [x - rows[r][c] * y for x, y in zip(rows[r], rows[c], strict=True)]
    return [row[-1] for row in rows]


def table_5() -> Figures:
    """Mata Table 5: single against double precision over that turn."""
    _, study = sweep()
    names = {"ABA": "articulated-body", "CRBA": "composite-body", "GA": "gibbs-appell"}
    return {
        f"{short} {word}": value
        for short, method in names.items()
        for word, value in zip(("max", "mean"), study.difference(method, 1), strict=True)
    }


def line() -> Figures:
    """Mata 5.2: the duration of the straight path at 0.1 m/s."""
    from forearm.reproduce.recompute.puma_line import END, SPEED, START

    return {"duration": math.dist(START, END) / SPEED}
