"""The functions that compute the documents' figures anew, each giving {label: value}. Named by the items in `printed`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.arm.dh import from_dh
from forearm.arm.drive import Bearing, Transmission
from forearm.drives.bearings import bearing_friction
from forearm.drives.transmission import through
from forearm.dynamics import closed_form, precision_study
from forearm.files.builtin import load_builtin
from forearm.symbols import Graph

Figures = dict[str, float]


def mata_masses() -> Figures:
    """Mata 5.1: the mass of bar 2 from that of bar 1 at equal density."""
    bar1 = load_builtin("ascher2").link("link1")
    length1, length2, width = 0.02, 2.0, 0.02
    density = bar1.mass / (length1 * width * width)
    return {"m2": density * length2 * width * width}


def mata_table_5() -> Figures:
    """Mata Table 5: single against double precision over a turn of joint 2 in steps of 2 degrees."""
    arm = load_builtin("ascher2")
    postures = np.array([[0.0, math.radians(2.0 * k)] for k in range(180)])
    study = precision_study(arm, postures)
    names = {"ABA": "articulated-body", "CRBA": "composite-body", "GA": "gibbs-appell"}
    figures: Figures = {}
    for short, method in names.items():
        figures[f"{short} max"], figures[f"{short} mean"] = study.difference(method, 1)
    return figures


def mata_line() -> Figures:
    """Mata 5.2: how long the straight path is and how long 0.1 m/s takes for it."""
    length = math.dist((0.50, 0.00, 0.05), (0.62, 0.30, 0.11))
    return {"duration": length / 0.1}


def d4_arm(m3: float) -> Arm:
    """The positioning arm of Dhanaraj D.4 with 10 kg at the tip, rotor inertias in the links, as decoded."""
    return from_dh(
        "d4",
        [(0.0, 0.0, 0.0, 0.0), (0.0, -math.pi / 2, 0.2435, 0.0), (0.4318, 0.0, -0.0934, 0.0)],
        convention="modified",
        mass=[0.0, 17.4, m3],
        com=[(0.0, 0.0, 0.0), (-0.068, 0.0, 0.0), (0.0, -0.2954, 0.0)],
        inertia=[np.diag([0.0, 0.0, 1.49]), np.diag([0.13, 0.524, 5.249]), np.diag([2.05651, 0.0154, 2.90651])],
        gravity=(0.0, 0.0, -9.8),
    )


def dhanaraj_d4_inertia() -> Figures:
    """Dhanaraj D.4, subroutine acccoeff: its constants, read off our inertia matrix at postures of right angles."""

    def D(q2: float, q3: float) -> NDArray[np.float64]:
        return closed_form(d4_arm(16.04), [0.0, math.radians(q2), math.radians(q3)]).D

    zero, up = D(0.0, 0.0), D(0.0, 90.0)
    slope22, slope23 = up[1, 1] - zero[1, 1], up[1, 2] - zero[1, 2]
    return {
        "ac(2,2) factor": float(slope22),
        "ac(2,2) constant": float(zero[1, 1] / slope22),
        "ac(2,3) factor": float(slope23),
        "ac(2,3) constant": float(zero[1, 2] / slope23),
        "ac(3,3)": float(zero[2, 2]),
        "ac(1,3) factor": float(-zero[0, 2]),
        "ac(1,2) constant": float(D(90.0, 0.0)[0, 1] / -zero[0, 2]),
    }


def dhanaraj_d4_velocity() -> Figures:
    """Dhanaraj D.4, subroutine velcoeff: gravity's constants and that of v2 v3, from an arm with its other m3."""
    zero = closed_form(d4_arm(16.05), [0.0, 0.0, 0.0])
    right = closed_form(d4_arm(16.05), [0.0, 0.0, math.radians(90.0)])
    factor = 6.883283  # the document's common factor; the constants below are ours over it
    return {
        "vc(2), c2": float(zero.c[1] / factor),
        "vc(2), c2 s3": float((right.c[1] - zero.c[1]) / factor),
        "vc(2), c3 v2 v3": float(2.0 * zero.h[1, 1, 2] / factor),
        "vc(3), c3 v2^2": float(zero.h[2, 1, 1] / factor),
    }


def dhanaraj_puma_inertias() -> Figures:
    """Dhanaraj D.2, D.3.4: Table 2.6 moved from the centre of mass to the link's origin, rotor inertia added to Izz."""
    arm = load_builtin("puma560-akb")
    figures: Figures = {}
    for i, rotor in enumerate((4.71, 0.83, 0.20, 0.179, 0.193), start=2):
        about_origin = arm.link(f"link{i}").inertia_about_origin
        for k, axis in enumerate("XYZ"):
            figures[f"I{axis}{axis}{i}"] = float(about_origin[k, k] + (rotor if axis == "Z" else 0.0))
    return figures


def dhanaraj_table_3_5() -> Figures:
    """Dhanaraj Table 3.5: friction of joints added, then through the transmissions."""
    rows = (
        (1.2140, 1.7803, 0.4543, 6.3, 97.6, 1.0), (-15.6364, -0.3281, 0.5619, 5.5, 186.4, -1.0),
        (-0.8042, 0.1241, 0.3458, 2.6, 89.4, 1.0),
    )  # fmt: skip
    figures: Figures = {}
    for link, (basic, friction, eta, breakaway, most, way) in enumerate(rows, start=1):
        out = basic + friction
        gear = Transmission(efficiency=((abs(out) / most, eta),), rated_torque=most, breakaway=breakaway)
        given = float(through(gear, out, way))
        figures |= {f"total at joint, link {link}": out, f"input torque, link {link}": given}
        figures[f"transmission friction, link {link}"] = given - out
    return figures


def dhanaraj_table_3_3() -> Figures:
    """Dhanaraj Table 3.3: the operations of our friction model, traced for one joint."""
    figures: Figures = {}
    for name, bearing in (
        ("journal bearing", Bearing(kind="journal", mu=0.1, radius=0.08, distance=0.2)),
        ("linear bearing", Bearing(kind="linear", mu=0.1, distance=0.2)),
    ):
        graph = Graph()
        f, n = (np.array([graph.input(f"{v}[{k}]") for k in range(3)], dtype=object) for v in "fn")
        counts = graph.counts(bearing_friction(bearing, f, n, graph.input("way")))
        figures |= {f"{name}, multiplications": counts.mul, f"{name}, additions": counts.add}
    graph = Graph()
    gear = Transmission(efficiency=((0.0, 0.3), (1.0, 0.9)), rated_torque=97.6, breakaway=6.3)
    counts = graph.counts(through(gear, graph.input("load"), graph.input("way")))
    return figures | {"transmission, linear, multiplications": counts.mul, "transmission, linear, additions": counts.add}


def waters_savings() -> Figures:
    """Waters IV: the improvements that his printed counts amount to."""
    from forearm.counting.printed import printed

    figures = {figure["id"]: figure["printed"] for figure in printed()["figure"]}
    (naive,), (recorded,), (recorded_a,) = (figures[f"waters-{x}"] for x in ("naive-m", "recorded-m", "recorded-a"))
    m, a = figures["waters-recursive"]
    return {
        "every value recorded": naive / recorded,
        "recurrences": (64 * recorded + 16 * recorded_a) / (64 * m + 16 * a),
        "overall": naive / figures["waters-final"][0],
    }


def silver_ratios() -> Figures:
    """Silver 1.4: total operations of our recursions on a general chain of six turning joints, over each other."""
    from forearm.counting.counts import count
    from forearm.counting.models import chain

    names = ("lagrange-hollerbach-4x4", "lagrange-hollerbach", "newton-euler")
    counts = [count(chain(6), name) for name in names]
    big, small, plain = (c.mul + c.add for c in counts)
    return {"4x4 over Newton-Euler": big / plain, "3x3 over Newton-Euler": small / plain, "4x4 over 3x3": big / small}


def silver_uicker() -> Figures:
    """Silver 1.2: our Uicker form on dense matrices, six links, multiplications and additions together."""
    from forearm.counting.printed import compare

    (uicker,) = (c for c in compare() if c.id == "dhanaraj-1.1-uicker")
    assert uicker.by_convention is not None
    return {"operations": float(sum(uicker.by_convention))}
