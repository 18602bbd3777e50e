"""Constants of Dhanaraj's program listings from the parameters of their arms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.joint import DH
from forearm.dynamics import bias, inertia_matrix
from forearm.files.builtin import load_builtin
from forearm.reproduce.recompute import Figures
from forearm.reproduce.recompute.dhanaraj import d4_arm
from forearm.spatial import Floats, parallel_axis, pseudo_from_inertia, rotation_x

# kg, m, kg m^2: link 3 of D.1.1 and D.1.2
PROGRAM_M3, PROGRAM_Y3, PROGRAM_MOMENTS_3 = 6.05, -0.07, (0.192, 0.0154, 0.212)
INCH = 0.0254
ACC_11 = ("c2 s2 c3 s3", "c2 s2 c3", "s2^2 s3^2", "s2^2 s3", "s2^2", "s3^2", "s3", "1")
VEL_1 = (
    "c2 s2 s3^2 v1 v2", "c2 s2 s3^2 v1 v3", "c2 s2 s3 v1 v2", "c2 s2 s3 v1 v3", "c2 s2 v1 v2", "c2 s2 v1 v3",
    "c2 s3 v2^2", "c2 s3 v2 v3", "c2 s3 v3^2", "c2 v2^2", "s2^2 c3 s3 v1 v2", "s2^2 c3 s3 v1 v3",
    "s2^2 c3 v1 v2", "s2^2 c3 v1 v3", "s2 c3 v2^2", "s2 c3 v2 v3", "s2 c3 v3^2", "c3 s3 v1 v2", "c3 s3 v1 v3",
    "c3 v1 v2", "c3 v1 v3",
)  # fmt: skip
VEL_2 = (
    "c2 s2 s3^2 v1^2", "c2 s2 s3 v1^2", "c2 s2 v1^2", "c2 s3", "c2", "s2^2 c3 s3 v1^2", "s2^2 c3 v1^2",
    "s2 c3", "c3 s3 v1^2", "c3 v1^2", "c3 v2 v3", "c3 v3^2",
)  # fmt: skip
VEL_3 = (
    "c2 s2 s3^2 v1^2",
    "c2 s2 s3 v1^2",
    "c2 s2 v1^2",
    "c2 s3",
    "s2^2 c3 s3 v1^2",
    "s2^2 c3 v1^2",
    "s2 c3",
    "c3 s3 v1^2",
    "c3 v1^2",
    "c3 v2^2",
)


@dataclass(frozen=True)
class LinkInertia:
    """Mass, centre of mass and principal moments of a link, as in the listings."""

    m: float
    x: float
    y: float
    z: float
    xx: float
    yy: float
    zz: float


def d_3_1() -> Figures:
    """Dhanaraj D.3.1: the Stanford arm with three joints."""
    arm = load_builtin("stanford-dhanaraj3")
    g, two, three = _g(arm), _body(arm, 2), _body(arm, 3)
    with_wrist = sum(_body(load_builtin("stanford"), i).m for i in (3, 4, 5, 6))
    return _shoulder_of_stanford(arm) | {
        "JF3X, m3 g": with_wrist * g,
        "JF3X, 2 / g": 2.0 / g,
        "JF3X, z3 / g": -three.z / g,
        "JF3Y, 2 m3": 2.0 * with_wrist,
        "JF3Y, z3 / 2": -three.z / 2.0,
        "JF3Z, 1 / g": 1.0 / g,
        "JM3X, z3 / Ixx": -three.z / three.xx,
        "JM2X, 1 / Ixx": 1.0 / two.xx,
        "JM2Y, 1 / Iyy": 1.0 / two.yy,
        "JM2Z, 1 / Izz": 1.0 / two.zz,
    }


def d_3_2() -> Figures:
    """Dhanaraj D.3.2: the Stanford arm with six joints."""
    arm = load_builtin("stanford-dhanaraj6")
    four, five, six = (_body(arm, i) for i in (4, 5, 6))
    return _shoulder_of_stanford(arm) | {
        "JM6X, (Izz - Iyy) / Ixx": (six.zz - six.yy) / six.xx,
        "JM6X, z6 / Ixx": six.z / six.xx,
        "JM5X, (Izz - Iyy) / Ixx": (five.zz - five.yy) / five.xx,
        "JM5X, y5 / Ixx": -five.y / five.xx,
        "JM5Y, (Izz - Ixx) / Iyy": (five.zz - five.xx) / five.yy,
        "JM5Z, Ixx - Iyy": five.xx - five.yy,
        "JM4X, Izz - Iyy": four.zz - four.yy,
        "JM4Y, (Izz - Ixx) / Iyy": (four.zz - four.xx) / four.yy,
        "JM4Y, z4 / Iyy": -four.z / four.yy,
        "JM4Z, Ixx - Iyy": four.xx - four.yy,
    }


def d_3_3() -> Figures:
    """Dhanaraj D.3.3: the PUMA with three joints."""
    arm = load_builtin("puma560-dhanaraj3")
    three = _body(arm, 3)
    return _shoulder_of_puma(arm) | {
        "JF3X, m3 y3": -three.m * three.y,
        "JM3X, (Izz - Iyy) / Ixx": (three.zz - three.yy) / three.xx,
        "JM3X, y3 / Ixx": -three.y / three.xx,
        "JM3Z, (Ixx - Iyy) / Izz": (three.xx - three.yy) / three.zz,
        "JM3Z, y3 / Izz": -three.y / three.zz,
    }


def d_3_4() -> Figures:
    """Dhanaraj D.3.4: the PUMA with six joints."""
    arm = load_builtin("puma560-dhanaraj6")
    three, four, five, six = (_body(arm, i) for i in (3, 4, 5, 6))
    return _shoulder_of_puma(arm) | {
        "JM6X, (Izz - Iyy) / Ixx": (six.zz - six.yy) / six.xx,
        "JM6X, z6 / Ixx": six.z / six.xx,
        "JM5X, Izz - Iyy": five.zz - five.yy,
        "JM5Y, (Izz - Ixx) / Iyy": (five.zz - five.xx) / five.yy,
        "JM4X, Izz - Iyy": four.zz - four.yy,
        "JM4Y, (Izz - Ixx) / Iyy": (four.zz - four.xx) / four.yy,
        "JM4Y, z4 / Iyy": -four.z / four.yy,
        "JM3X, Izz - Iyy": three.zz - three.yy,
        "JM3Y, a4 / Iyy": -_dh(arm, 4).a / three.yy,
        "JM3Z, Ixx - Iyy": three.xx - three.yy,
    }


def d_1() -> Figures:
    """Dhanaraj D.1.1, D.1.3: first moments, J from the moments of Table 2.6, lengths in inches."""
    two, tables = _body(load_builtin("puma560-dhanaraj3"), 2), load_builtin("puma560-akb")
    third = np.diag(PROGRAM_MOMENTS_3) + parallel_axis(PROGRAM_M3, np.array([0.0, PROGRAM_Y3, 0.0]))
    about_origin = {1: tables.link("link1").inertia, 2: tables.link("link2").inertia_about_origin, 3: third}
    figures: Figures = {}
    for i, inertia in about_origin.items():
        figures |= {
            f"D.1.1, j{i}({k},{k})": float(x)
            for k, x in enumerate(np.diag(pseudo_from_inertia(inertia)), start=1)
        }
    return figures | {
        "D.1.1, j2(1,4) = m2 x2": two.m * two.x,
        "D.1.1, j3(2,4) = m3 y3": PROGRAM_M3 * PROGRAM_Y3,
        "D.1.1, m3, links 3 to 6": sum(_body(tables, i).m for i in (3, 4, 5, 6)),
        "D.1.3, f in the comment": 17.0 * INCH,
        "D.1.3, g, against d2 + d3 of Table 2.1": sum(
            _dh(load_builtin("puma560-dhanaraj3"), i).d for i in (2, 3)
        ),
    }


def d_4_inertia() -> Figures:
    """Dhanaraj D.4, acccoeff: every constant of ac(1,1), by fitting the terms to our inertia matrix."""

    def element(q: Floats, qd: Floats) -> float:
        return float(inertia_matrix(d4_arm(16.04), q)[0, 0])

    return _over_first("ac(1,1)", ACC_11, element)


def d_4_velocity() -> Figures:
    """Dhanaraj D.4, velcoeff: every constant, by fitting the terms to our bias torques."""
    figures: Figures = {}
    for k, terms in enumerate((VEL_1, VEL_2, VEL_3)):

        def element(q: Floats, qd: Floats, k: int = k) -> float:
            return float(bias(d4_arm(16.05), q, qd)[k])

        figures |= _over_first(f"vc({k + 1})", terms, element)
    return figures


def parameters_of_puma() -> Figures:
    """Dhanaraj Tables 2.1, 2.5, 2.6: parameters of the built-in arms puma560-akb and puma560-dhanaraj6."""
    arm, programs = load_builtin("puma560-akb"), load_builtin("puma560-dhanaraj6")
    figures = _dh_table(arm)
    for i in range(1, arm.n + 1):
        link = arm.link(f"link{i}")
        figures |= _mass_table(i, link.mass, np.array(link.com), np.diag(link.inertia))
        listed = float(programs.link(f"link{i}").inertia[2][2])
        figures[f"I motor, link {i}"] = listed - float(link.inertia_about_origin[2, 2])
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


def _shoulder_of_stanford(arm: Arm) -> Figures:
    two, g = _body(arm, 2), _g(arm)
    return {
        "IF2X, m2 g": two.m * g,
        "IF2X, z2 / g": -two.z / g,
        "IF2Z, m2 z2": -two.m * two.z,
        "LA3X, 2 / g": 2.0 / g,
        "JM2X, (Izz - Iyy) / Ixx": (two.zz - two.yy) / two.xx,
        "JM2X, z2 / Ixx": -two.z / two.xx,
        "JM2X, 1 / Ixx": 1.0 / two.xx,
        "JM2Y, (Izz - Ixx) / Iyy": (two.zz - two.xx) / two.yy,
        "JM2Y, z2 / Iyy": -two.z / two.yy,
        "JM2Z, (Ixx - Iyy) / Izz": (two.xx - two.yy) / two.zz,
    }


def _shoulder_of_puma(arm: Arm) -> Figures:
    two, three, g = _body(arm, 2), _body(arm, 3), _g(arm)
    elbow = _dh(arm, 3)
    return {
        "LA3PX, a3 / g": elbow.a / g,
        "LA3PX, d3 / g": -elbow.d / g,
        "LA3PZ, d3 / a3": -elbow.d / elbow.a,
        "IF2X, m2 g": two.m * g,
        "IF2X, x2 / g": -two.x / g,
        "IF2Z, m2 x2": -two.m * two.x,
        "JM3Y, (Izz - Ixx) / Iyy": (three.zz - three.xx) / three.yy,
        "JM2X, Izz - Iyy": two.zz - two.yy,
        "JM2Y, Izz - Ixx": two.zz - two.xx,
        "JM2Z, (Iyy - Ixx) / Izz": (two.yy - two.xx) / two.zz,
        "JM2Z, x2 / Izz": -two.x / two.zz,
        "JM2Z, a3 / Izz": elbow.a / two.zz,
    }


def _body(arm: Arm, i: int) -> LinkInertia:
    link = arm.link(f"link{i}")
    return LinkInertia(link.mass, *map(float, link.com), *map(float, np.diag(link.inertia)))


def _g(arm: Arm) -> float:
    return float(np.linalg.norm(arm.gravity))


def _dh(arm: Arm, i: int) -> DH:
    placement = arm.joint(f"joint{i}").placement
    assert isinstance(placement, DH)
    return placement


def _dh_table(arm: Arm) -> Figures:
    figures: Figures = {}
    for i in range(1, arm.n + 1):
        row = _dh(arm, i)
        figures |= {f"alpha / pi, link {i}": row.alpha / np.pi, f"a, link {i}": row.a, f"d, link {i}": row.d}
    return figures


def _mass_table(i: int, mass: float, com: Floats, moments: Floats) -> Figures:
    figures = {f"mass, link {i}": float(mass)}
    figures |= {f"{axis}, link {i}": float(com[k]) for k, axis in enumerate("xyz")}
    return figures | {f"I{axis}{axis}, link {i}": float(moments[k]) for k, axis in enumerate("xyz")}


def _over_first(name: str, terms: Sequence[str], element: Callable[[Floats, Floats], float]) -> Figures:
    """Coefficients of the terms relative to the first, and the first, by least squares over random states."""
    rng = np.random.default_rng(4)
    states = rng.uniform(-2.0, 2.0, (4 * len(terms), 2, 3))
    A = np.array([[_term(term, q, qd) for term in terms] for q, qd in states])
    b = np.array([element(q, qd) for q, qd in states])
    found = np.linalg.lstsq(A, b, rcond=None)[0]
    assert np.abs(A @ found - b).max() < 1e-9 * np.abs(b).max(), f"{name}: these terms are not all there is"
    return {f"{name}, factor": float(found[0])} | {
        f"{name}, {term}": float(c / found[0]) for term, c in zip(terms[1:], found[1:], strict=True)
    }


def _term(term: str, q: Floats, qd: Floats) -> float:
    known = {f"{f}{k + 1}": float(of(q[k])) for k in range(3) for f, of in (("c", np.cos), ("s", np.sin))}
    known |= {f"v{k + 1}": float(v) for k, v in enumerate(qd)} | {"1": 1.0}
    value = 1.0
    for word in term.split():
        symbol, _, power = word.partition("^")
        value *= known[symbol] ** int(power or 1)
    return value
