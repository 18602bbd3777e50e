"""What Dhanaraj's prose and small tables say in numbers: rates, orders, sums, savings,
and times of machines.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from forearm.control import sampling_period
from forearm.counting.cost import general
from forearm.counting.counts import count
from forearm.counting.matrices import run_matrices
from forearm.counting.models import chain
from forearm.counting.polynomial import fit
from forearm.counting.printed import compare_table29, printed
from forearm.counting.quantities import per_quantity
from forearm.dynamics import trace
from forearm.files.builtin import load_builtin
from forearm.kinematics import jacobian
from forearm.reproduce.recompute import Figures
from forearm.schedules.printed import GENERAL, STANFORD, load, printed_times
from forearm.schedules.rule import schedule_by_rule
from forearm.schedules.subtasks import OPERATIONS
from forearm.symbols import Graph
from forearm.symbols.recorder import Recorder

LINKS = 6
# Rows of Table 1.1: name, and the formulation whose operations we count.
TABLE_1_1 = {
    "Uicker/Kahn": "lagrange-uicker",
    "Hollerbach 4x4": "lagrange-hollerbach-4x4",
    "Hollerbach 3x3": "lagrange-hollerbach",
    "Newton-Euler": "newton-euler",
}
DENSE = ("Uicker/Kahn", "Hollerbach 4x4")  # counted with every entry of every 4x4 matrix
ARM_PROGRAM, METHOD_I = (152, 249), (208, 152)  # Table 2.10, PUMA with six joints
SAVED = (30.0, 40.0)  # %, chapter 5
D_3 = {
    "D.3.1": "stanford-dhanaraj3",
    "D.3.2": "stanford-dhanaraj6",
    "D.3.3": "puma560-dhanaraj3",
    "D.3.4": "puma560-dhanaraj6",
}


def sampling() -> Figures:
    """Dhanaraj 1.1: how often to sample for a natural frequency of 5 and of 10 Hz."""
    figures = {f"samples a second for {f} Hz": 1.0 / sampling_period(2.0 * math.pi * f) for f in (5, 10)}
    return {"samples in a swing": figures["samples a second for 5 Hz"] / 5.0} | figures


def machine_times() -> Figures:
    """Dhanaraj 1.1, 1.2.3, 4.1: what the times of Table 4.8 make of an 8086, of Luh and Lin's
    speed-up, and of a rate.
    """
    times = printed_times()
    own, luh = times["Dhanaraj 1990"], times["Luh and Lin 1982"]
    operation = own[1] / (OPERATIONS * load(STANFORD).graph.total)  # ms
    return {
        "Lagrange on an 8086, ms": operation * float(sum(_sums()["Uicker/Kahn"])),
        "Luh and Lin's speed-up": luh[1] / luh[6],
        "samples a second": 1000.0 / min(own.values()),
    }


def table_1_1_sums() -> Figures:
    """Dhanaraj Table 1.1: its own formulas for six links, and the totals of its columns."""
    figures: Figures = {}
    formulas = {
        figure["id"]: figure for figure in printed()["figure"] if figure["place"] == "Dhanaraj Table 1.1"
    }
    for name, figure in zip(TABLE_1_1, formulas.values(), strict=True):
        mul, add = (float(_value(formula, LINKS)) for formula in figure["formula"])
        figures |= {
            f"{name}, multiplications": mul,
            f"{name}, additions": add,
            f"{name}, total": float(sum(_sums()[name])),
        }
    return figures


def table_1_1_formulas() -> Figures:
    """Dhanaraj Table 1.1: coefficients of n of our own counts, 4x4 matrices dense
    where the row is of such.
    """
    figures: Figures = {}
    for name, formulation in TABLE_1_1.items():
        by = _dense(formulation) if name in DENSE else (general(formulation).mul, general(formulation).add)
        for polynomial, what in zip(by, ("multiplications", "additions"), strict=True):
            figures |= {f"{name}, {what}, n^{k}": float(c) for k, c in enumerate(polynomial.coefficients)}
    return figures


def orders() -> Figures:
    """Dhanaraj 1.2.1: with which power of n the operations of a formulation grow."""
    return {name: float(general(formulation).degree) for name, formulation in TABLE_1_1.items()}


def newton_euler_steps() -> Figures:
    """Dhanaraj 1.2.3, 4.3.1: the equations of Table 2.3, and the operations of the
    smallest and the largest.
    """
    q = np.full(3, 0.3)
    noted = trace(load_builtin("chain3"), q, q, q, formulation="newton-euler")["link2"]
    costs = per_quantity("revolute", "newton-euler")
    sums = {symbol: c.mul + c.add for symbol, c in costs.items()} | {"tau": 0}
    joined = {symbol: cost for symbol, cost in sums.items() if symbol not in ("lambda", "f_in", "f")}
    joined["f"] = sums["f"] + sums["f_in"]
    return {
        "equations": float(len(set(noted) - {"f_in", "v"})),
        "operations, smallest": float(min(joined.values())),
        "operations, largest": float(max(joined.values())),
    }


def freedoms() -> Figures:
    """Dhanaraj 2.2.1: the fewest joints of a generic chain whose hand can move and turn every way."""
    for n in range(1, 12):
        if np.linalg.matrix_rank(jacobian(load_builtin(f"chain{n}"), np.full(n, 0.4))) == 6:
            return {"joints": float(n)}
    raise AssertionError("no chain has a Jacobian of rank 6")


def reformulated() -> Figures:
    """Dhanaraj 2.3.2: operations of Coriolis terms, of lambda of a prismatic joint at right angles and of
    gyroscopic moments.
    """
    turning = per_quantity("revolute")
    graph = Graph()
    R = np.round(load_builtin("stanford-dhanaraj6").joint("joint3").before[:3, :3])
    before = np.array([[graph.input(f"lambda[{i}, {k}]") for k in range(3)] for i in range(3)], dtype=object)
    carried = graph.counts([x for row in _product(_product(R.T, before), R) for x in row])
    return {
        "Coriolis term, multiplications": float(turning["alpha"].mul - turning["w"].mul),
        "lambda of the Stanford arm's joint 3, operations": float(carried.mul + carried.add),
        "gyroscopic moment, multiplications": float(turning["N"].mul - 3),
    }


def swelling() -> Figures:
    """Dhanaraj 2.4: operations of his example, values kept and one put into another,
    everything done as written.
    """
    graph = Recorder()
    b, c, d, f = (graph.input(x) for x in "bcdf")
    a = b + c
    e = c * a + d
    written = {"kept": e * f + c * a, "put in": (c * (b + c) + d) * f + c * (b + c)}
    counts = {name: graph.counts(result) for name, result in written.items()}
    return {
        f"{name}, {what}": float(value)
        for name, c in counts.items()
        for what, value in (("multiplications", c.mul), ("additions", c.add))
    }


def flops() -> Figures:
    """Dhanaraj 2.5, 5.1: operations of a joint by Table 2.9 as we count it,
    and whether 30 to 40 % are saved.
    """
    ours = {c.id: sum(c.ours) for c in compare_table29()}
    theirs = {c.id: sum(c.printed) for c in compare_table29()}
    figures: Figures = {}
    for kind in ("revolute", "prismatic"):
        plain, modified = f"total {kind}_II", f"total {kind}_I"
        figures |= {f"{kind}, conventional": float(ours[plain]), f"{kind}, modified": float(ours[modified])}
        for whose, table in (("printed totals", theirs), ("our counts", ours)):
            saved = 100.0 * (1.0 - table[modified] / table[plain])
            figures[f"{kind}, 30 to 40 % saved, by {whose}"] = float(SAVED[0] <= saved <= SAVED[1])
    return figures


def arm_program() -> Figures:
    """Dhanaraj 2.5: how much more ARM takes for the PUMA with six joints, by the printed counts."""
    return {"more operations, %": 100.0 * (sum(ARM_PROGRAM) / sum(METHOD_I) - 1.0)}


def listings() -> Figures:
    """Dhanaraj D.3: operations of our modified recursion on the arms of the four programs."""
    counts = {name: count(load_builtin(arm), "modified-newton-euler") for name, arm in D_3.items()}
    return {f"{name}, total": float(c.mul + c.add) for name, c in counts.items()}


def parallel_operations() -> Figures:
    """Abstract, 4.3.1, 4.6: operations one after another with as many processors as
    there are tasks in a layer.
    """
    levels = schedule_by_rule(load(GENERAL), load(GENERAL).concurrency).length
    return {
        "operations of six links, by 12n + 9": OPERATIONS * levels,
        "operations of six links, by 4n + 3": OPERATIONS * levels,
    }


def _sums() -> dict[str, tuple[int, int]]:
    """Multiplications and additions of Table 1.1 as printed."""
    rows = [figure["printed"] for figure in printed()["figure"] if figure["place"] == "Dhanaraj Table 1.1"]
    return {name: (mul, add) for name, (mul, add) in zip(TABLE_1_1, rows, strict=True)}


def _value(formula: str, n: int) -> Fraction:
    """A formula such as 32 1/2 n^4 - 128 at n."""
    total, sign, number, power = Fraction(0), 1, Fraction(0), 0
    for word in [*formula.split(), "+"]:
        if word in "+-":
            total += sign * number * Fraction(n) ** power
            sign, number, power = (1 if word == "+" else -1), Fraction(0), 0
        elif word.startswith("n"):
            power = int(word[2:] or 1)
        else:
            number += Fraction(word)
    return total


def _dense(formulation: str) -> tuple[Any, Any]:
    """Polynomials of multiplications and additions with every entry of every 4x4 matrix generic."""
    known: dict[int, Any] = {}

    def at(n: int) -> Any:
        if n not in known:
            known[n] = run_matrices(chain(n), formulation).scalars()
        return known[n]

    return fit(lambda n: at(n).mul), fit(lambda n: at(n).add)


def _product(A: Any, B: Any) -> Any:
    return [[sum((A[i][j] * B[j][k] for j in range(3)), start=0.0) for k in range(3)] for i in range(3)]
