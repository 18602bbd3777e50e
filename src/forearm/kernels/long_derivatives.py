"""Derivatives of inverse dynamics for long arms,
computed from inverse dynamics alone and exact up to rounding.

In the coordinate of a revolute joint the torques are a trigonometric polynomial of second degree: five values
around the circle determine its slope. In that of a prismatic joint, and in any velocity, they are polynomials
of second degree: central differences of any step are exact. So each column costs a few evaluations of inverse
dynamics, and the code does not grow with the square of n.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from forearm.arm.arm import Arm
from forearm.drives.joint import drives_of
from forearm.kernels.llvm import IRFunction, Value, constants
from forearm.kernels.solve_ir import along
from forearm.kernels.vectors import Body, Target

Stencil = list[tuple[float, float]]  # steps, and the weights of the torques at them


def _both_ways(pairs: Stencil) -> Stencil:
    return [(sign * step, sign * weight) for step, weight in pairs for sign in (1.0, -1.0)]


CIRCLE = _both_ways(
    [(2.0 * math.pi * k / 5.0, -((-1.0) ** k) / (2.0 * math.sin(math.pi * k / 5.0))) for k in (1, 2)]
)
LINE = _both_ways([(1.0, 0.5)])
AT_ONCE = 2  # vectors of columns that are perturbed side by side


@dataclass(frozen=True)
class Slopes:
    """Data for the columns of an arm's derivatives: a stencil per joint for its coordinate, all of one
    length; and viscous friction, which is not part of the rigid arm.
    """

    by_q: list[Stencil]
    viscous: list[float]

    @property
    def n(self) -> int:
        """The number of joints."""
        return len(self.viscous)

    @property
    def evaluations(self) -> int:
        """The number of torque evaluations per state."""
        return self.n * (len(self.by_q[0]) + len(LINE))


def slopes_of(arm: Arm) -> Slopes:
    """The stencils of an arm whose joints are all independent, with simple friction."""
    stencils = [CIRCLE if joint.kind == "revolute" else LINE for joint in arm.joints]
    most = max(map(len, stencils))
    padded = [s + [(0.0, 0.0)] * (most - len(s)) for s in stencils]
    return Slopes(padded, [drive.at_joint.viscous for drive in drives_of(arm)])


def slopes_text(name: str, torques: str, inertia: str, slopes: Slopes, target: Target) -> str:
    """`void name(q, qd, qdd, tau_q, tau_qd, M, i64 count)`, which calls two functions by name: the inverse
    dynamics of the rigid arm, and the inertia matrix.

    A row is one column of a state's matrices; several rows are computed side by side, one per lane of the
    torque function. The bits do not depend on the number of lanes.
    """
    return _SlopesWriter(name, torques, inertia, slopes, target).text()


@dataclass(frozen=True, eq=False)
class _ColumnRows:
    """Where the current rows are: `some` of them, each with its state, its column and its torques."""

    states: Value
    columns: Value
    some: Value
    moved: list[Value]
    tau: Value
    total: Value

    @contextmanager
    def each(self, f: IRFunction) -> Iterator[tuple[Value, Value, Value]]:
        """A loop over (row, state, column)."""
        with f.loop(0, self.some) as r:
            yield r, f.entry("i64", self.states, r), f.entry("i64", self.columns, r)


class _SlopesWriter:
    def __init__(self, name: str, torques: str, inertia: str, slopes: Slopes, target: Target) -> None:
        self.name, self.torques, self.inertia, self.slopes, self.target = (
            name,
            torques,
            inertia,
            slopes,
            target,
        )
        self.n, self.scalar = slopes.n, target.scalar
        self.rows = 1 if target.is_gpu else AT_ONCE * target.lanes
        arrays = dict.fromkeys(("q", "qd", "qdd", "tau_q", "tau_qd", "M"), "ptr")
        self.f = IRFunction(name, arrays | {"count": "i64"})
        self.body = Body(target, f=self.f)
        self.one = self.body.widened(1)

    def text(self) -> str:
        """The complete text."""
        f, n, rows = self.f, self.n, self.rows
        q, qd, qdd, tau_q, tau_qd, M, count = f.arguments
        f.call(self.inertia, q, M, count)
        self._forget(M)
        moved = [f.space(self.scalar, rows * n) for _ in range(3)]
        tau, total = (f.space(self.scalar, rows * n) for _ in range(2))
        states, columns = (f.space("i64", rows) for _ in range(2))
        every = count * n
        with f.unless(every <= 0), f.repeat(0) as turn:
            (at,) = turn.now
            left = every - at
            some = f.chosen(left < rows, left, rows)
            with f.loop(0, some) as r:
                row = at + r
                state, column = f.op("udiv", row, n), f.op("urem", row, n)
                f.put(state, states, r, "i64")
                f.put(column, columns, r, "i64")
                for source, to in zip((q, qd, qdd), moved, strict=True):
                    self._copy(f.at(source, state, self.scalar, n), f.at(to, r, self.scalar, n))
            places = _ColumnRows(states, columns, some, moved, tau, total)
            self._columns(places, 0, q, f"{self.name}_by_q", len(self.slopes.by_q[0]), tau_q, None)
            viscous = f"@{self.name}_viscous"
            self._columns(places, 1, qd, f"{self.name}_by_qd", len(LINE), tau_qd, viscous)
            after = at + some
            turn.again(after, where=after < every)
        f.ret()
        return "\n\n".join([self._tables(), f.text()])

    def _tables(self) -> str:
        """Steps and weights by joint, and viscous friction."""
        made = []
        for which, stencils in (("by_q", self.slopes.by_q), ("by_qd", [LINE] * self.n)):
            for what, kind, k in (("steps", "double", 0), ("weights", self.scalar, 1)):
                numbers = [entry[k] for stencil in stencils for entry in stencil]
                made.append(constants(f"{self.name}_{which}_{what}", kind, numbers))
        return "\n".join([*made, constants(f"{self.name}_viscous", self.scalar, self.slopes.viscous)])

    def _copy(self, source: Value, to: Value) -> None:
        f = self.f

        def move(body: Body, j: int | Value) -> None:
            lanes = body.target.lanes
            body.store(f.at(to, j, self.scalar), 0, body.load(f.at(source, j, self.scalar), 0, lanes), lanes)

        along(self.body, self.n, move)

    def _forget(self, M: Value) -> None:
        """Set the inertia matrix, which depends on q alone, to NaN where velocity or acceleration is not
        finite, like all other results.
        """
        f, one, n, scalar = self.f, self.one, self.n, self.scalar
        count, zero = f.arguments[-1], one.constant(0.0)
        with f.loop(0, count) as state:
            rows = [f.at(a, state, scalar, n) for a in f.arguments[:3]]
            with f.repeat(0, zero) as turn:
                j, total = turn.now
                unknown = total
                for row in rows:
                    unknown = one.fma(one.load(f.at(row, j, scalar), 0, 1), zero, unknown)
                after = j + 1
                turn.again(after, unknown, where=after < n)
            known = f.lane(unknown.equals(zero), 0)
            with f.unless(known), f.loop(0, n * n) as k:
                one.store(f.at(f.at(M, state, scalar, n * n), k, scalar), 0, unknown, 1)

    def _columns(
        self,
        rows: _ColumnRows,
        which: int,
        source: Value,
        table: str,
        size: int,
        out: Value,
        viscous: str | None,
    ) -> None:
        """Columns of the current rows: perturb one entry of argument number `which`, and restore it."""
        f, n, scalar, one = self.f, self.n, self.scalar, self.one
        with f.loop(0, rows.some) as r:
            self._add(f.at(rows.total, r, scalar, n), None, None)
        with f.loop(0, size) as entry:
            with rows.each(f) as (r, state, column):
                place = column * size + entry
                x = self._widened(f.entry(scalar, f.at(source, state, scalar, n), column))
                x = x + f.entry("double", f"@{table}_steps", place)
                to = f.at(f.at(rows.moved[which], r, scalar, n), column, scalar)
                f.store(self._narrowed(x), to)
            f.call(self.torques, *rows.moved, rows.tau, rows.some)
            with rows.each(f) as (r, _, column):
                place = column * size + entry
                weight = one.load(f.at(f"@{table}_weights", place, scalar), 0, 1)
                self._add(f.at(rows.total, r, scalar, n), f.at(rows.tau, r, scalar, n), weight)
        with rows.each(f) as (r, state, column):
            back = f.entry(scalar, f.at(source, state, scalar, n), column)
            f.put(back, f.at(rows.moved[which], r, scalar, n), column, scalar)
            made, there = (
                f.at(rows.total, r, scalar, n),
                f.at(f.at(out, state, scalar, n * n), column, scalar),
            )
            if viscous is not None:
                own, more = f.at(made, column, scalar), f.entry(scalar, viscous, column)
                f.store(f.load(scalar, own) + more, own)
            with f.loop(0, n) as i:
                f.store(f.entry(scalar, made, i), f.at(there, i, scalar, n))

    def _add(self, total: Value, tau: Value | None, weight: Value | None) -> None:
        """Add weighted torques to a row, or clear it."""
        f = self.f

        def add(body: Body, j: int | Value) -> None:
            lanes, place = body.target.lanes, f.at(total, j, self.scalar)
            made = body.constant(0.0)
            if tau is not None and weight is not None:
                factor = body.repeat(weight)
                torques = body.load(f.at(tau, j, self.scalar), 0, lanes)
                made = body.fma(factor, torques, body.load(place, 0, lanes))
            body.store(place, 0, made, lanes)

        along(self.body, self.n, add)

    def _widened(self, x: Value) -> Value:
        """A coordinate as a double: steps are added in double precision, and the sum is rounded once."""
        return x if self.scalar == "double" else self.f.cast("fpext", x, "double")

    def _narrowed(self, x: Value) -> Value:
        return x if self.scalar == "double" else self.f.cast("fptrunc", x, "float")
