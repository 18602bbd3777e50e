"""Compiled inverse dynamics compared with NumPy, alternating runs timed now: one state, and a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from forearm.arm.arm import Arm
from forearm.benchmarks.timing import BenchmarkRow, Work, beside
from forearm.codegen.functions import FUNCTIONS, trace
from forearm.codegen.tracing import Tracing
from forearm.dynamics import inverse
from forearm.kernels.kernel import compile as compile_arm
from forearm.spatial import Floats
from forearm.symbols import evaluate
from forearm.tables import Report, number

# states; compiled code is called so often one by one too, or a run would be too short to time
FEW, MANY = 100, 20_000
REPEATS = 7


def speed_rows(arm: Arm) -> tuple[BenchmarkRow, ...]:
    """Times of one state: the compiled kernel by one thread, beside clear NumPy code and the
    kernel's operations in NumPy.
    """
    states = np.random.default_rng(1).uniform(-1.0, 1.0, (3, MANY, arm.n))
    kernel, vectorised = compile_arm(arm), _numpy_code(arm)
    kernel.inverse_dynamics(*states[:, 0])  # the method that is taken below is then the compiled one itself

    def fast(q: Floats, qd: Floats, qdd: Floats) -> Floats:
        return kernel.inverse_dynamics(q, qd, qdd, threads=1)

    def clear(q: Floats, qd: Floats, qdd: Floats) -> Floats:
        return inverse(arm, q, qd, qdd)

    ours = _one_by_one("forearm, compiled", kernel.inverse_dynamics, states)
    few = states[:, :FEW]
    return (
        beside("one state per call", ours, _one_by_one("Newton-Euler in plain NumPy", clear, few), REPEATS),
        beside(
            "one state per call", ours, _one_by_one("the same operations in NumPy", vectorised, few), REPEATS
        ),
        beside(
            f"{MANY:,} states per call",
            _together("forearm, compiled", fast, states),
            _together("the same operations in NumPy, whole columns", vectorised, states),
            REPEATS,
        ),
    )


def speed_report(rows: Sequence[BenchmarkRow]) -> Report:
    """The times side by side."""
    cells = [
        [
            row.name,
            row.peer or "-",
            micro(row.peer_seconds),
            micro(row.seconds),
            times(row.ratio),
            f"{row.agreement:.0e}",
        ]
        for row in rows
    ]
    return Report(["", "NumPy", "NumPy, us", "forearm, us", "ratio", "largest difference"], cells)


def _numpy_code(arm: Arm) -> Callable[..., Floats]:
    """The same operations one by one over NumPy's columns: what a careful user of NumPy could reach."""
    traced = trace(Tracing(arm, {}), [FUNCTIONS["inverse_dynamics"]])
    names = [[f"{a.name}[{j}]" for j in range(arm.n)] for a in traced.inputs]

    def found(*states: Floats) -> Floats:
        given = {
            name: state[..., j]
            for state, row in zip(states, names, strict=True)
            for j, name in enumerate(row)
        }
        return np.stack(evaluate(traced.graph, list(traced.results["tau"]), given), axis=-1)

    return found


def _one_by_one(who: str, work: Callable[..., Floats], states: Floats) -> Work:
    rows = [tuple(state) for state in states.transpose(1, 0, 2)]

    def run() -> None:
        for row in rows:
            work(*row)

    return Work(who, run, len(rows), lambda: np.array([work(*row) for row in rows[:FEW]]))


def micro(seconds: float | None) -> str:
    """A time in microseconds, so that a column compares at a glance."""
    return number(None if seconds is None else 1e6 * seconds, 3)


def times(ratio: float | None) -> str:
    """A ratio without an exponent, however large."""
    return number(ratio, 3) if ratio is None or ratio < 100.0 else f"{ratio:,.0f}"


def _together(who: str, work: Callable[..., Floats], states: Floats) -> Work:
    return Work(who, lambda: work(*states), states.shape[1], lambda: work(*states))
