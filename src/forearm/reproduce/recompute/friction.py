"""Friction of Dhanaraj's chapter 3: Tables 3.3 and 3.5, and the case study of 3.5 on a motion of our own."""

from __future__ import annotations

import numpy as np

from forearm.arm.drive import Bearing, Transmission
from forearm.drives.bearings import bearing_friction
from forearm.drives.transmission import efficiency, through
from forearm.reproduce.friction_study import LOADS, TABLE_3_4, Study, arm, fitted, gears, study
from forearm.reproduce.recompute import Figures
from forearm.symbols import Graph

AT = 0.6  # s, the time of Table 3.5
PARTS = {
    "basic": "basic", "joint friction": "joint", "total at joint": "at_joint", "transmission friction": "transmission",
    "input torque": "total",
}  # fmt: skip


def table_3_3() -> Figures:
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


def table_3_5() -> Figures:
    """Dhanaraj Table 3.5: friction of joints added, then through the transmissions."""
    printed = ((1.2140, 1.7803, 1.0), (-15.6364, -0.3281, -1.0), (-0.8042, 0.1241, 1.0))
    figures: Figures = {}
    for link, ((basic, friction, way), (_, _, breakaway, most), (_, eta)) in enumerate(
        zip(printed, TABLE_3_4, LOADS, strict=True), start=1
    ):
        out = basic + friction
        gear = Transmission(efficiency=((abs(out) / most, eta),), rated_torque=most, breakaway=breakaway)
        given = float(through(gear, out, way))
        figures |= {f"total at joint, link {link}": out, f"input torque, link {link}": given}
        figures[f"transmission friction, link {link}"] = given - out
    return figures


def figure_3_4() -> Figures:
    """Dhanaraj Fig. 3.4: the efficiency of the gears that the case study has, at the loads of Table 3.5."""
    factor, exponent = fitted()
    figures = {"factor": factor, "exponent": exponent}
    for link, (gear, (load, _)) in enumerate(zip(gears(), LOADS, strict=True), start=1):
        figures[f"efficiency, link {link}"] = float(efficiency(gear, load * gear.rated_torque))
    return figures


def case_study() -> Figures:
    """Dhanaraj 3.5: every torque of Table 3.5, on the motion that is assumed."""
    found = study()
    (row,) = np.flatnonzero(np.isclose(found.motion.t, AT))
    return {
        f"{label}, link {link + 1}": float(getattr(found, part)[row, link])
        for label, part in PARTS.items()
        for link in range(3)
    }


def least_joint_friction() -> Figures:
    """Dhanaraj 3.2, 3.3: what joints 2 and 3 rub at least, lying under the weight behind them: mu r m g, whatever d is."""
    links = arm().links
    g = float(np.linalg.norm(arm().gravity))
    figures: Figures = {}
    for link in (2, 3):
        mu, radius, _, _ = TABLE_3_4[link - 1]
        behind = sum(body.mass for body in links if body.name >= f"link{link}")
        figures[f"joint friction, link {link}"] = mu * radius * behind * g
    return figures


def statements() -> Figures:
    """Dhanaraj 3.5: shares of the moving instants of the assumed motion at which what the text says is so."""
    found = study()
    moving = np.abs(found.motion.qd) > 0.0
    along = np.sign(found.basic) * found.total  # the total, in the direction of the dynamic torque
    same = moving & (found.basic * found.motion.qd > 0.0)
    opposite = moving & (found.basic * found.motion.qd < 0.0)
    return {
        "joint friction below transmission friction": _share(np.abs(found.joint) < np.abs(found.transmission), moving),
        "region I, same directions: total below dynamic": _share(along < np.abs(found.basic), same),
        "region II, opposite: total above dynamic": _share(along > np.abs(found.basic), opposite),
        "friction over dynamic torque, mean": _mean_ratio(found),
    }


def _share(holds: np.ndarray, among: np.ndarray) -> float:
    return float(holds[among].mean())


def _mean_ratio(found: Study) -> float:
    return float(np.abs(found.total - found.basic).mean() / np.abs(found.basic).mean())
