"""Friction of Dhanaraj's chapter 3: Tables 3.3 and 3.5, and the case study of 3.5 on an assumed motion."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import reduce

import numpy as np

from forearm.arm.drive import Bearing, Transmission
from forearm.counting.quantities import per_quantity
from forearm.drives.bearings import bearing_friction
from forearm.drives.transmission import efficiency, through
from forearm.dynamics import inverse
from forearm.reproduce.friction_study import LOADS, TABLE_3_4, arm, fitted, gears, study, without_gears
from forearm.reproduce.recompute import Figures, by_words, divisions_too
from forearm.symbols import Graph
from forearm.symbols.counts import Counts
from forearm.symbols.recorder import Recorder

WORDS = ("multiplications", "additions")
# coefficients of an efficiency curve, none of them 0 or 1
PIECES = {"linear": (0.6, 0.3), "cubic": (0.2, -0.7, 1.1, 0.3)}
LOW_FRICTION = 0.05  # friction coefficient below which 3.4 neglects joint friction

AT = 0.6  # s, the time of Table 3.5
PARTS = {
    "basic": "basic",
    "joint friction": "joint",
    "total at joint": "at_joint",
    "transmission friction": "transmission",
    "input torque": "total",
}


def table_3_3() -> Figures:
    """Dhanaraj Table 3.3: operations of 3.3 and 3.4 as written and of one case of Table 3.2, alone and added
    to a joint of Table 2.9.
    """
    parts = {"journal bearing": _journal_as_written(), "linear bearing": _linear_as_written()}
    parts |= {f"transmission, {how}": _one_case(coefficients) for how, coefficients in PIECES.items()}
    figures = by_words(parts, WORDS)
    for kind, bearing in (("revolute", "journal bearing"), ("prismatic", "linear bearing")):
        rigid = sum(per_quantity(kind).values(), Counts())
        whole = {f"{kind}, {how}": rigid + parts[bearing] + parts[f"transmission, {how}"] for how in PIECES}
        figures |= by_words({f"{kind}, without friction": rigid}, WORDS)
        figures |= by_words(whole, [f"total {word}" for word in WORDS])
    gears_alone = parts["transmission, linear"].operations
    return figures | {
        "more for a turning joint, linear": parts["journal bearing"].operations + gears_alone,
        "more without joint friction": gears_alone,
    }


def table_3_3_traced() -> Figures:
    """Dhanaraj Table 3.3: operations of our branch-free friction model, traced for one joint."""
    graph = Graph()
    f, n = (graph.inputs(name, 3) for name in "fn")
    way = graph.input("way")
    journal = Bearing(kind="journal", mu=0.1, radius=0.08, distance=0.2)
    linear = Bearing(kind="linear", mu=0.1, distance=0.2)
    gear = Transmission(efficiency=((0.0, 0.3), (1.0, 0.9)), rated_torque=97.6, breakaway=6.3)
    results = {
        "journal bearing": bearing_friction(journal, f, n, way),
        "linear bearing": bearing_friction(linear, f, n, way),
        "transmission, linear": through(gear, graph.input("load"), way),
    }
    return by_words({name: graph.counts(result) for name, result in results.items()}, WORDS)


def _journal_as_written() -> Counts:
    """Multiplications (with the division by d) and additions of 3.3 as written, without sign and roots."""
    graph = Recorder()
    mu, r, d, fx, fy, nx, ny = graph.inputs("x", 7)
    squares = [(0.5 * d * f + way * n) ** 2 for way in (-1, 1) for f, n in ((fx, ny), (fy, nx))]
    roots = [(squares[0] + squares[1]).sqrt(), (squares[2] + squares[3]).sqrt()]
    return divisions_too(graph.counts(mu * r / d * (roots[0] + roots[1])))


def _linear_as_written() -> Counts:
    """The same for 3.4, without absolute values."""
    graph = Recorder()
    mu, d, fx, fy, nx, ny = graph.inputs("x", 6)
    sizes = [0.5 * d * f + way * n for way in (-1, 1) for f, n in ((fx, ny), (fy, nx))]
    return divisions_too(graph.counts(mu / d * (sizes[0] + sizes[1] + sizes[2] + sizes[3])))


def _one_case(coefficients: Sequence[float]) -> Counts:
    """Case 1 of Table 3.2 with a polynomial efficiency by Horner's rule, without the division by it."""
    graph = Recorder()
    load = graph.input("load")
    ratio = load * 0.01
    eta = reduce(lambda value, c: value * ratio + c, coefficients)
    return graph.counts(load / eta + 6.3)


def table_3_5() -> Figures:
    """Dhanaraj Table 3.5: joint friction added, then the transmissions with the efficiencies it implies."""
    printed = ((1.2140, 1.7803, 1.0), (-15.6364, -0.3281, -1.0), (-0.8042, 0.1241, 1.0))
    figures: Figures = {}
    for link, ((basic, friction, way), (_, _, breakaway, most), (_, eta)) in enumerate(
        zip(printed, TABLE_3_4, LOADS, strict=True), start=1
    ):
        out = basic + friction
        gear = Transmission(efficiency=((abs(out) / most, eta),), rated_torque=most, breakaway=breakaway)
        given = through(gear, out, way)
        figures |= {f"total at joint, link {link}": out, f"input torque, link {link}": given}
        figures[f"transmission friction, link {link}"] = given - out
    return figures


def figure_3_4() -> Figures:
    """Dhanaraj Fig. 3.4: efficiency of the case study's gears at the loads of Table 3.5."""
    factor, exponent = fitted()
    return {"factor": factor, "exponent": exponent} | {
        f"efficiency, link {link}": efficiency(gear, load * gear.rated_torque)
        for link, (gear, (load, _)) in enumerate(zip(gears(), LOADS, strict=True), start=1)
    }


def case_study() -> Figures:
    """Dhanaraj 3.5: every torque of Table 3.5 on the assumed motion."""
    found = study()
    (row,) = np.flatnonzero(np.isclose(found.motion.t, AT))
    return {
        f"{label}, link {link + 1}": getattr(found, part)[row, link]
        for label, part in PARTS.items()
        for link in range(3)
    }


def least_joint_friction() -> Figures:
    """Dhanaraj 3.2, 3.3: lower bound mu r m g of the friction in joints 2 and 3 under the weight they carry,
    independent of d.
    """
    links = arm().links
    g = float(np.linalg.norm(arm().gravity))
    behind = {link: sum(body.mass for body in links if body.name >= f"link{link}") for link in (2, 3)}
    return {
        f"joint friction, link {link}": TABLE_3_4[link - 1][0] * TABLE_3_4[link - 1][1] * mass * g
        for link, mass in behind.items()
    }


def statements() -> Figures:
    """Dhanaraj 3.5: for each statement, the share of the instants of motion at which it holds."""
    found = study()
    moving = np.abs(found.motion.qd) > 0.0
    along = np.sign(found.basic) * found.total  # total torque in the direction of the dynamic torque
    same = moving & (found.basic * found.motion.qd > 0.0)
    opposite = moving & (found.basic * found.motion.qd < 0.0)
    return {
        "joint friction below transmission friction": _share(
            np.abs(found.joint) < np.abs(found.transmission), moving
        ),
        "region I, same directions: total below dynamic": _share(along < np.abs(found.basic), same),
        "region II, opposite: total above dynamic": _share(along > np.abs(found.basic), opposite),
        "friction over dynamic torque, mean": np.abs(found.total - found.basic).mean()
        / np.abs(found.basic).mean(),
    }


def quadrants() -> Figures:
    """Dhanaraj 3.4, Fig. 3.5: input torques against output torques, in magnitude, from a tenth of the rated
    torque to all of it.
    """
    holds: dict[str, list[bool]] = {}
    for gear in gears():
        for out in np.linspace(0.1, 1.0, 91) * gear.rated_torque:
            for point, load in (("A", out), ("B", -out)):
                for way, word in ((1.0, "positive"), (-1.0, "negative")):
                    given = abs(through(gear, load, way))
                    drives = load * way > 0.0
                    relation = "above" if drives else "below"
                    holds.setdefault(f"point {point}, {word} velocity: input {relation} output", []).append(
                        (given > out) == drives
                    )
    return {label: np.mean(found) for label, found in holds.items()}


def low_friction() -> Figures:
    """Dhanaraj 3.4: share of the joints in all friction of the case study with mu = 0.05, %."""
    driven = arm()
    bearings = [dataclasses.replace(joint.bearings[0], mu=LOW_FRICTION) for joint in driven.tree]
    tree = tuple(
        dataclasses.replace(joint, bearings=(b,)) for joint, b in zip(driven.tree, bearings, strict=True)
    )
    smooth, motion = driven.replace(tree=tree), study().motion
    rigid, at_joint, whole = (
        inverse(of, motion.q, motion.qd, motion.qdd) for of in (driven.rigid(), without_gears(smooth), smooth)
    )
    return {
        "joints' share of all friction at 0.05, %": 100.0
        * float(np.abs(at_joint - rigid).sum() / np.abs(whole - rigid).sum())
    }


def _share(holds: np.ndarray, among: np.ndarray) -> float:
    return float(holds[among].mean())
