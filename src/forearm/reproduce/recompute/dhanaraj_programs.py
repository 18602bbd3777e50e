"""Constants of Dhanaraj's program listings from the parameters of their arms."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.joint import DH
from forearm.dynamics import bias, inertia_matrix
from forearm.files.builtin import load_builtin
from forearm.files.xacro_expressions import Evaluator, Namespace, StepBudget
from forearm.reproduce.recompute import Figures
from forearm.reproduce.recompute.dhanaraj import d4_arm
from forearm.spatial import Floats, parallel_axis, pseudo_from_inertia, rotation_x

# kg, m, kg m^2: link 3 of D.1.1 and D.1.2
PROGRAM_M3, PROGRAM_Y3, PROGRAM_MOMENTS_3 = 6.05, -0.07, (0.192, 0.0154, 0.212)
INCH = 0.0254
# The terms of the listings' sums.
ACC_11 = """
c2 s2 c3 s3
c2 s2 c3
s2^2 s3^2
s2^2 s3
s2^2
s3^2
s3
1
""".strip().splitlines()
VEL_1 = """
c2 s2 s3^2 v1 v2
c2 s2 s3^2 v1 v3
c2 s2 s3 v1 v2
c2 s2 s3 v1 v3
c2 s2 v1 v2
c2 s2 v1 v3
c2 s3 v2^2
c2 s3 v2 v3
c2 s3 v3^2
c2 v2^2
s2^2 c3 s3 v1 v2
s2^2 c3 s3 v1 v3
s2^2 c3 v1 v2
s2^2 c3 v1 v3
s2 c3 v2^2
s2 c3 v2 v3
s2 c3 v3^2
c3 s3 v1 v2
c3 s3 v1 v3
c3 v1 v2
c3 v1 v3
""".strip().splitlines()
VEL_2 = """
c2 s2 s3^2 v1^2
c2 s2 s3 v1^2
c2 s2 v1^2
c2 s3
c2
s2^2 c3 s3 v1^2
s2^2 c3 v1^2
s2 c3
c3 s3 v1^2
c3 v1^2
c3 v2 v3
c3 v3^2
""".strip().splitlines()
VEL_3 = """
c2 s2 s3^2 v1^2
c2 s2 s3 v1^2
c2 s2 v1^2
c2 s3
s2^2 c3 s3 v1^2
s2^2 c3 v1^2
s2 c3
c3 s3 v1^2
c3 v1^2
c3 v2^2
""".strip().splitlines()
# Constants of the listings D.3: each label ends with its formula in the arm's masses m3, centres x3, y3, z3,
# distances a3, d3 and gravity g; Ixx, Iyy, Izz are those of the link that the label numbers. Behind a colon
# stands what the document's signs make of it.
STANFORD = """
IF2X, m2 g
IF2X, z2 / g: -
IF2Z, m2 z2: -
LA3X, 2 / g
JM2X, (Izz - Iyy) / Ixx
JM2X, z2 / Ixx: -
JM2X, 1 / Ixx
JM2Y, (Izz - Ixx) / Iyy
JM2Y, z2 / Iyy: -
JM2Z, (Ixx - Iyy) / Izz
"""
STANFORD_3 = """
JF3X, m3 g
JF3X, 2 / g
JF3X, z3 / g: -
JF3Y, 2 m3
JF3Y, z3 / 2: -
JF3Z, 1 / g
JM3X, z3 / Ixx: -
JM2X, 1 / Ixx
JM2Y, 1 / Iyy
JM2Z, 1 / Izz
"""
STANFORD_6 = """
JM6X, (Izz - Iyy) / Ixx
JM6X, z6 / Ixx
JM5X, (Izz - Iyy) / Ixx
JM5X, y5 / Ixx: -
JM5Y, (Izz - Ixx) / Iyy
JM5Z, Ixx - Iyy
JM4X, Izz - Iyy
JM4Y, (Izz - Ixx) / Iyy
JM4Y, z4 / Iyy: -
JM4Z, Ixx - Iyy
"""
PUMA = """
LA3PX, a3 / g
LA3PX, d3 / g: -
LA3PZ, d3 / a3: -
IF2X, m2 g
IF2X, x2 / g: -
IF2Z, m2 x2: -
JM3Y, (Izz - Ixx) / Iyy
JM2X, Izz - Iyy
JM2Y, Izz - Ixx
JM2Z, (Iyy - Ixx) / Izz
JM2Z, x2 / Izz: -
JM2Z, a3 / Izz
"""
PUMA_3 = """
JF3X, m3 y3: -
JM3X, (Izz - Iyy) / Ixx
JM3X, y3 / Ixx: -
JM3Z, (Ixx - Iyy) / Izz
JM3Z, y3 / Izz: -
"""
PUMA_6 = """
JM6X, (Izz - Iyy) / Ixx
JM6X, z6 / Ixx
JM5X, Izz - Iyy
JM5Y, (Izz - Ixx) / Iyy
JM4X, Izz - Iyy
JM4Y, (Izz - Ixx) / Iyy
JM4Y, z4 / Iyy: -
JM3X, Izz - Iyy
JM3Y, a4 / Iyy: -
JM3Z, Ixx - Iyy
"""


def d_3_1() -> Figures:
    """Dhanaraj D.3.1: the Stanford arm with three joints, the wrist's mass in link 3."""
    with_wrist = sum(load_builtin("stanford").link(f"link{i}").mass for i in (3, 4, 5, 6))
    return _listed("stanford-dhanaraj3", STANFORD + STANFORD_3, m3=with_wrist)


def d_3_2() -> Figures:
    """Dhanaraj D.3.2: the Stanford arm with six joints."""
    return _listed("stanford-dhanaraj6", STANFORD + STANFORD_6)


def d_3_3() -> Figures:
    """Dhanaraj D.3.3: the PUMA with three joints."""
    return _listed("puma560-dhanaraj3", PUMA + PUMA_3)


def d_3_4() -> Figures:
    """Dhanaraj D.3.4: the PUMA with six joints."""
    return _listed("puma560-dhanaraj6", PUMA + PUMA_6)


def _listed(name: str, listing: str, **other_values: float) -> Figures:
    """The constants of a listing from the parameters of a built-in arm."""
    arm = load_builtin(name)
    names = {"g": float(np.linalg.norm(arm.gravity))}
    for i in range(1, arm.n + 1):
        link, row = arm.link(f"link{i}"), _dh(arm, i)
        names |= {f"m{i}": link.mass, f"a{i}": row.a, f"d{i}": row.d}
        names |= {f"{axis}{i}": x for axis, x in zip("xyz", link.com.tolist(), strict=True)}
    names |= other_values
    evaluator = Evaluator(StepBudget(), lambda space, name: space.values[name])
    figures = {}
    for line in filter(None, listing.splitlines()):
        label, _, sign = line.partition(": ")
        subroutine, formula = label.split(", ")
        moments = np.diag(arm.link(f"link{subroutine[2]}").inertia).tolist()
        known = names | dict(zip(("Ixx", "Iyy", "Izz"), moments, strict=True))
        product = re.sub(r"(?<=[a-z0-9]) (?=[a-z])", " * ", formula)
        figures[label] = float(str(evaluator.evaluate(f"{sign}({product})", Namespace(values=known))))
    return figures


def d_1() -> Figures:
    """Dhanaraj D.1.1, D.1.3: first moments, J from the moments of Table 2.6, lengths in inches."""
    programs, tables = load_builtin("puma560-dhanaraj3"), load_builtin("puma560-akb")
    third = np.diag(PROGRAM_MOMENTS_3) + parallel_axis(PROGRAM_M3, np.array([0.0, PROGRAM_Y3, 0.0]))
    about_origin = {1: tables.link("link1").inertia, 2: tables.link("link2").inertia_about_origin, 3: third}
    two = programs.link("link2")
    return {
        f"D.1.1, j{i}({k},{k})": x
        for i, inertia in about_origin.items()
        for k, x in enumerate(np.diag(pseudo_from_inertia(inertia)), start=1)
    } | {
        "D.1.1, j2(1,4) = m2 x2": two.mass * two.com[0],
        "D.1.1, j3(2,4) = m3 y3": PROGRAM_M3 * PROGRAM_Y3,
        "D.1.1, m3, links 3 to 6": sum(tables.link(f"link{i}").mass for i in (3, 4, 5, 6)),
        "D.1.3, f in the comment": 17.0 * INCH,
        "D.1.3, g, against d2 + d3 of Table 2.1": sum(_dh(programs, i).d for i in (2, 3)),
    }


def d_4_inertia() -> Figures:
    """Dhanaraj D.4, acccoeff: every constant of ac(1,1), by fitting the terms to our inertia matrix."""

    return _over_first("ac(1,1)", ACC_11, lambda q, _: inertia_matrix(d4_arm(16.04), q)[0, 0])


def d_4_velocity() -> Figures:
    """Dhanaraj D.4, velcoeff: every constant, by fitting the terms to our bias torques."""
    figures: Figures = {}
    for k, terms in enumerate((VEL_1, VEL_2, VEL_3)):
        figures |= _over_first(f"vc({k + 1})", terms, lambda q, qd, k=k: bias(d4_arm(16.05), q, qd)[k])
    return figures


def parameters_of_puma() -> Figures:
    """Dhanaraj Tables 2.1, 2.5, 2.6: parameters of the built-in arms puma560-akb and puma560-dhanaraj6."""
    arm, programs = load_builtin("puma560-akb"), load_builtin("puma560-dhanaraj6")
    figures = _dh_table(arm)
    for i in range(1, arm.n + 1):
        link = arm.link(f"link{i}")
        figures |= _mass_table(i, link.mass, link.com, np.diag(link.inertia))
        listed = programs.link(f"link{i}").inertia[2, 2]
        figures[f"I motor, link {i}"] = listed - link.inertia_about_origin[2, 2]
    return figures


def parameters_of_stanford() -> Figures:
    """Dhanaraj Tables 2.2, 2.7, 2.8: twists and offset of stanford-dhanaraj6; mass properties of stanford,
    rotated into his frames.
    """
    arm = load_builtin("stanford")
    figures = _dh_table(load_builtin("stanford-dhanaraj6"))
    for i, joint in enumerate(arm.joints, start=1):
        link = arm.link(f"link{i}")
        # frame i of the standard convention lies behind the twist, his in front of it
        R = np.round(rotation_x(_dh(arm, i).alpha))
        figures |= _mass_table(i, link.mass, R @ link.com, np.diag(R @ link.inertia @ R.T))
        assert joint.motor is not None
        figures[f"I motor, link {i}"] = joint.motor.rotor_inertia
    return figures


def _dh(arm: Arm, i: int) -> DH:
    placement = arm.joint(f"joint{i}").placement
    assert isinstance(placement, DH)
    return placement


def _dh_table(arm: Arm) -> Figures:
    rows = [(i, _dh(arm, i)) for i in range(1, arm.n + 1)]
    figures = {f"alpha / pi, link {i}": row.alpha / np.pi for i, row in rows}
    return figures | {f"{name}, link {i}": getattr(row, name) for i, row in rows for name in "ad"}


def _mass_table(i: int, mass: float, com: Floats, moments: Floats) -> Figures:
    figures = {f"mass, link {i}": mass}
    figures |= {f"{axis}, link {i}": x for axis, x in zip("xyz", com, strict=True)}
    return figures | {f"I{axis}{axis}, link {i}": x for axis, x in zip("xyz", moments, strict=True)}


def _over_first(name: str, terms: Sequence[str], element: Callable[..., Any]) -> Figures:
    """Coefficients of the terms relative to the first, and the first, by least squares over random states."""
    rng = np.random.default_rng(4)
    states = rng.uniform(-2.0, 2.0, (4 * len(terms), 2, 3))
    A = np.array([[_term(term, q, qd) for term in terms] for q, qd in states])
    b = np.array([element(q, qd) for q, qd in states])
    found = np.linalg.lstsq(A, b, rcond=None)[0]
    assert np.abs(A @ found - b).max() < 1e-9 * np.abs(b).max(), f"{name}: these terms are not all there is"
    return {f"{name}, factor": found[0]} | {
        f"{name}, {term}": c / found[0] for term, c in zip(terms[1:], found[1:], strict=True)
    }


def _term(term: str, q: Floats, qd: Floats) -> float:
    known = {"1": 1.0}
    for name, values in (("c", np.cos(q)), ("s", np.sin(q)), ("v", qd)):
        known |= {f"{name}{k}": value for k, value in enumerate(values.tolist(), start=1)}
    factors = (word.partition("^") for word in term.split())
    return math.prod(known[symbol] ** int(power or 1) for symbol, _, power in factors)
