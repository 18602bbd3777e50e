"""Numbers in Dhanaraj's prose and small tables: rates, orders, sums, savings, times of machines."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from forearm.control import sampling_period
from forearm.counting.cost import general
from forearm.counting.counts import Convention, count_generated, run
from forearm.counting.luh import count_luh
from forearm.counting.matrices import run_matrices
from forearm.counting.models import GenericChain, chain
from forearm.counting.polynomial import Polynomial, fit
from forearm.counting.printed import compare_table29, printed
from forearm.counting.quantities import MIDDLE, per_quantity
from forearm.dynamics.modified_newton_euler import gyroscopic_moment
from forearm.files.builtin import load_builtin
from forearm.kinematics import jacobian
from forearm.reproduce.recompute import Figures, by_words
from forearm.reproduce.recompute.mata_counts import value
from forearm.schedules.printed import GENERAL, STANFORD, load, printed_times
from forearm.schedules.rule import schedule_by_rule
from forearm.schedules.subtasks import OPERATIONS
from forearm.symbols import Graph
from forearm.symbols.counts import Counts
from forearm.symbols.recorder import Recorder

LINKS = 6
# Rows of Table 1.1 and the formulation counted for each
TABLE_1_1 = {
    "Uicker/Kahn": "lagrange-uicker",
    "Hollerbach 4x4": "lagrange-hollerbach-4x4",
    "Hollerbach 3x3": "lagrange-hollerbach",
    "Newton-Euler": "newton-euler",
}
DENSE = ("Uicker/Kahn", "Hollerbach 4x4")  # counted with every entry of every 4x4 matrix
CITED = "Newton-Euler"  # from Luh, whose accounting is known
ARM_PROGRAM, METHOD_I = (152, 249), (208, 152)  # Table 2.10, PUMA with six joints
SAVED = (30.0, 40.0)  # %, chapter 5
D_3 = {
    "D.3.1": "stanford-dhanaraj3",
    "D.3.2": "stanford-dhanaraj6",
    "D.3.3": "puma560-dhanaraj3",
    "D.3.4": "puma560-dhanaraj6",
}


def sampling() -> Figures:
    """Dhanaraj 1.1: sampling rates for natural frequencies of 5 and 10 Hz."""
    return {f"samples a second for {f} Hz": 1.0 / sampling_period(2.0 * math.pi * f) for f in (5, 10)}


def machine_times() -> Figures:
    """Dhanaraj 1.1, 1.2.3, 4.1: time on an 8086, speed-up of Luh and Lin, and rate, from Table 4.8."""
    times = printed_times()
    own, luh = times["Dhanaraj 1990"], times["Luh and Lin 1982"]
    operation = own[1] / (OPERATIONS * load(STANFORD).graph.total)  # ms
    return {
        "Lagrange on an 8086, ms": operation * sum(_rows()["Uicker/Kahn"]["printed"]),
        "Luh and Lin's speed-up": luh[1] / luh[6],
        "samples a second": 1000.0 / min(own.values()),
    }


def table_1_1_sums() -> Figures:
    """Dhanaraj Table 1.1: its formulas at n = 6 and the totals of its columns."""
    words = ("multiplications", "additions")
    return {
        f"{name}, {word}": value(text, LINKS)
        for name, entry in _rows().items()
        for word, text in zip(words, entry["formula"], strict=True)
    } | {f"{name}, total": sum(entry["printed"]) for name, entry in _rows().items()}


def table_1_1_formulas() -> Figures:
    """Dhanaraj Table 1.1: coefficients in n of our counts; 4x4 matrices are counted as dense, Newton-Euler as
    Luh counts it.
    """
    figures: Figures = {}
    for name, formulation in TABLE_1_1.items():
        if name == CITED:
            by = _fitted(count_luh)
        elif name in DENSE:
            by = _fitted(partial(_dense, formulation))
        else:
            by = general(formulation).mul, general(formulation).add
        for polynomial, what in zip(by, ("multiplications", "additions"), strict=True):
            figures |= {f"{name}, {what}, n^{k}": c for k, c in enumerate(polynomial.coefficients)}
    return figures


def orders() -> Figures:
    """Dhanaraj 1.2.1: the order in n of each formulation's operations."""
    return {name: general(formulation).degree for name, formulation in TABLE_1_1.items()}


def newton_euler_steps() -> Figures:
    """Dhanaraj 1.2.3, 4.3.1: the operations of the smallest and of the largest equation of Table 2.3."""
    convention = Convention(dense=True, everything=True)
    by = run(GenericChain("RRRRR", inertia="diagonal"), "newton-euler", "inverse", convention).by_quantity()
    sums = {symbol: c.mul + c.add for (symbol, link), c in by.items() if link == MIDDLE}
    joined = {symbol: cost for symbol, cost in sums.items() if symbol not in ("f_in", "v")}
    joined["f"] += sums["f_in"]
    return {"operations, smallest": min(joined.values()), "operations, largest": max(joined.values())}


def freedoms() -> Figures:
    """Dhanaraj 2.2.1: the fewest joints of a generic chain whose Jacobian has rank 6."""
    for n in range(1, 12):
        if np.linalg.matrix_rank(jacobian(load_builtin(f"chain{n}"), np.full(n, 0.4))) == 6:
            return {"joints": n}
    raise AssertionError("no chain has a Jacobian of rank 6")


def reformulated() -> Figures:
    """Dhanaraj 2.3.2: operations of the Coriolis term, of lambda at a prismatic joint with a right-angled
    twist, and of the gyroscopic moment.
    """
    turning = per_quantity("revolute")
    graph = Graph()
    R = np.round(load_builtin("stanford-dhanaraj6").joint("joint3").before[:3, :3])
    before = graph.inputs("lambda", 3, 3)
    carried = graph.counts(R.T @ before @ R)
    body, recorder = GenericChain("R", inertia="diagonal").model().bodies[0], Recorder()
    gyroscopic = recorder.counts(
        list(gyroscopic_moment(body, recorder.inputs("w", 3), recorder.inputs("k", 3)))
    )
    return {
        "Coriolis term, multiplications": turning["alpha"].mul - turning["w"].mul,
        "lambda of the Stanford arm's joint 3, operations": carried.mul + carried.add,
        "gyroscopic moment, multiplications": gyroscopic.mul,
    }


def swelling() -> Figures:
    """Dhanaraj 2.4: operations of his example as written, with intermediate values stored and substituted."""
    graph = Recorder()
    b, c, d, f = (graph.input(x) for x in "bcdf")
    a = b + c
    e = c * a + d
    written = {"kept": e * f + c * a, "put in": (c * (b + c) + d) * f + c * (b + c)}
    counts = {name: graph.counts(result) for name, result in written.items()}
    return by_words(counts, ("multiplications", "additions"))


def flops() -> Figures:
    """Dhanaraj 2.5, 5.1: our counts for a joint of Table 2.9, and whether 30 to 40 % are saved."""
    ours = {c.id: sum(c.ours) for c in compare_table29()}
    theirs = {c.id: sum(c.printed) for c in compare_table29()}
    figures: Figures = {}
    for kind in ("revolute", "prismatic"):
        plain, modified = f"total {kind}_II", f"total {kind}_I"
        figures |= {f"{kind}, conventional": ours[plain], f"{kind}, modified": ours[modified]}
        for whose, table in (("printed totals", theirs), ("our counts", ours)):
            saved = 100.0 * (1.0 - table[modified] / table[plain])
            figures[f"{kind}, 30 to 40 % saved, by {whose}"] = SAVED[0] <= saved <= SAVED[1]
    return figures


def arm_program() -> Figures:
    """Dhanaraj 2.5: how many more operations ARM takes for the PUMA, by the printed counts."""
    return {"more operations, %": 100.0 * (sum(ARM_PROGRAM) / sum(METHOD_I) - 1.0)}


def listings() -> Figures:
    """Dhanaraj D.3: operations of generated code by the modified recursion, for the programs' arms."""
    counts = {name: count_generated(load_builtin(arm), "modified-newton-euler") for name, arm in D_3.items()}
    return {f"{name}, total": c.mul + c.add for name, c in counts.items()}


def parallel_operations() -> Figures:
    """Dhanaraj, abstract, 4.3.1, 4.6: sequential operations with one processor per task of a layer."""
    levels = schedule_by_rule(load(GENERAL), load(GENERAL).concurrency).length
    return {
        "operations of six links, by 12n + 9": OPERATIONS * levels,
        "operations of six links, by 4n + 3": OPERATIONS * levels,
    }


def _rows() -> dict[str, dict[str, Any]]:
    """The printed rows of Table 1.1."""
    rows = [entry for entry in printed()["figure"] if entry["place"] == "Dhanaraj Table 1.1"]
    return dict(zip(TABLE_1_1, rows, strict=True))


def _dense(formulation: str, n: int) -> Counts:
    return run_matrices(chain(n), formulation).scalars()


def _fitted(count: Callable[[int], Counts]) -> tuple[Polynomial, Polynomial]:
    """Polynomials of multiplications and additions in n."""
    at = cache(count)
    return fit(lambda n: at(n).mul), fit(lambda n: at(n).add)
