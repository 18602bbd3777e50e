"""In-place matrix inversion, and multiplication of other matrices by the inverse, as LLVM IR.

Gauss-Jordan elimination with partial pivoting. States are processed one after the other, vectors along the
rows: each entry is computed independently, so its bits do not depend on the vector width.
"""

from __future__ import annotations

from collections.abc import Callable

from forearm.kernels.llvm import IRFunction, Value
from forearm.kernels.vectors import Body, Target
from forearm.symbols.counts import Counts

PANEL = 4  # vectors of a row whose products are accumulated side by side


def solve_text(name: str, n: int, matrices: int, target: Target) -> str:
    """`void name(B..., M, i64 count)`: M becomes its inverse, each B becomes -M^-1 B; (count, n, n) each.

    A matrix that is not finite results in NaN, a singular one in infinity or NaN.
    """
    arrays = [f"B{k}" for k in range(matrices)]
    f = IRFunction(name, dict.fromkeys([*arrays, "M"], "ptr") | {"count": "i64"}, internal=True)
    *given, count = f.arguments
    work = _Solver(f, n, target)
    with f.loop(0, count) as state:
        *rows, M = (f.at(a, state, target.scalar, n * n) for a in given)
        work.invert(M)
        for B in rows:
            work.multiply(M, B)
    f.ret()
    return f.text()


def counts_of_solving(n: int, matrices: int) -> Counts:
    """Operations for one state."""
    cubes = (1 + matrices) * n**3
    return Counts(mul=cubes, add=cubes, div=n, sqrt=0, trig=0)


def along(body: Body, count: int, write: Callable[[Body, int | Value], None]) -> None:
    """Code for the entries of a row: vectors in a loop, then narrower ones for the remainder."""
    lanes = body.target.lanes
    done = count - count % lanes
    if done:
        with body.f.loop(0, done, lanes) as j:
            write(body, j)
    while done < count:
        lanes //= 2
        if count - done >= lanes:
            write(body.widened(lanes), done)
            done += lanes


class _Solver:
    """The code for one matrix at a time, within a function."""

    def __init__(self, f: IRFunction, n: int, target: Target) -> None:
        self.f, self.n, self.scalar = f, n, target.scalar
        self.swaps = f.space("i64", n)
        self.wide, self.alone = Body(target, f=f), Body(target, f=f).widened(1)
        self.panel = f.space(target.scalar, n * min(n, PANEL * target.lanes))

    def at(self, M: Value, row: int | Value, column: int | Value = 0) -> Value:
        """Address of an entry."""
        return self.f.at(self.f.at(M, row, self.scalar, self.n), column, self.scalar)

    def invert(self, M: Value) -> None:
        """Replace the matrix by its inverse."""
        f, n = self.f, self.n
        unknown = self._unknown(M)
        with f.loop(0, n) as k:
            self._swap_rows(M, k, self._pivot(M, k))
            self._eliminate(M, k)
        with f.loop(n - 1, -1, -1) as k:
            other = f.entry("i64", self.swaps, k)
            with f.unless(other.equals(k)), f.loop(0, n) as i:
                self._swap(self.alone, self.at(M, i, k), self.at(M, i, other))
        with f.loop(0, n) as i:

            def spoil(body: Body, j: int | Value) -> None:
                lanes, place = body.target.lanes, self.at(M, i, j)
                sum_ = body.load(place, 0, lanes) + body.repeat(unknown)
                body.store(place, 0, sum_, lanes)

            along(self.wide, n, spoil)

    def _unknown(self, M: Value) -> Value:
        """0 where all entries are finite, else NaN."""
        f, body = self.f, self.alone
        zero = body.constant(0.0)
        with f.repeat(0, zero) as turn:
            place, total = turn.now
            entry = body.load(f.at(M, place, self.scalar), 0, 1)
            after, sum_ = place + 1, body.fma(entry, zero, total)
            turn.again(after, sum_, where=after < self.n * self.n)
        return sum_

    def _pivot(self, M: Value, k: Value) -> Value:
        """The row, from the k-th on, with the largest entry in column k; stored."""
        f, body = self.f, self.alone
        with f.repeat(k, k, body.constant(-1.0)) as turn:
            i, best, largest = turn.now
            size = body.call("fabs", body.load(self.at(M, i, k), 0, 1))
            more = size > largest
            row = f.chosen(f.lane(more, 0), i, best)
            after, size = i + 1, body.chosen(more, size, largest)
            turn.again(after, row, size, where=after < self.n)
        f.put(row, self.swaps, k, "i64")
        return row

    def _swap_rows(self, M: Value, k: Value, other: Value) -> None:
        f = self.f
        with f.unless(other.equals(k)):
            one, two = self.at(M, k), self.at(M, other)
            along(
                self.wide,
                self.n,
                lambda body, j: self._swap(body, f.at(one, j, self.scalar), f.at(two, j, self.scalar)),
            )

    def _swap(self, body: Body, a: Value, b: Value) -> None:
        lanes = body.target.lanes
        one, two = body.load(a, 0, lanes), body.load(b, 0, lanes)
        body.store(a, 0, two, lanes)
        body.store(b, 0, one, lanes)

    def _eliminate(self, M: Value, k: Value) -> None:
        """Divide the pivot row by the pivot, and subtract multiples of it from all other rows so that column
        k becomes a unit vector.
        """
        f, alone = self.f, self.alone
        one = alone.constant(1.0)
        row, pivot = self.at(M, k), self.at(M, k, k)
        factor = alone.op("fdiv", one, alone.load(pivot, 0, 1))
        alone.store(pivot, 0, one, 1)

        def scale(body: Body, j: int | Value) -> None:
            lanes, place = body.target.lanes, f.at(row, j, self.scalar)
            body.store(place, 0, body.load(place, 0, lanes) * body.repeat(factor), lanes)

        along(self.wide, self.n, scale)
        with f.loop(0, self.n) as i, f.unless(i.equals(k)):
            other, entry = self.at(M, i), self.at(M, i, k)
            minus = -alone.load(entry, 0, 1)
            alone.store(entry, 0, alone.constant(0.0), 1)

            def take(body: Body, j: int | Value) -> None:
                lanes, place = body.target.lanes, f.at(other, j, self.scalar)
                own, from_row = body.load(place, 0, lanes), body.load(f.at(row, j, self.scalar), 0, lanes)
                body.store(place, 0, body.fma(body.repeat(minus), from_row, own), lanes)

            along(self.wide, self.n, take)

    def multiply(self, M: Value, B: Value) -> None:
        """B becomes -M B, a few columns at a time, which are copied first."""
        f, n, lanes = self.f, self.n, self.wide.target.lanes
        width = PANEL * lanes
        done = n - n % width
        if done:
            with f.loop(0, done, width) as start:
                self._panel(self.wide, M, B, start, PANEL)
        while done < n:
            vectors = min(PANEL, (n - done) // lanes)
            if vectors:
                self._panel(self.wide.widened(lanes), M, B, done, vectors)
            done += vectors * lanes
            lanes //= 2

    def _panel(self, body: Body, M: Value, B: Value, start: int | Value, vectors: int) -> None:
        """This many vectors of each row, from a column on."""
        f, n, lanes = self.f, self.n, body.target.lanes
        width = vectors * lanes
        with f.loop(0, n) as k:
            source, to = self.at(B, k, start), f.at(self.panel, k, self.scalar, width)
            body.keep(to, body.vectors(source, vectors))
        with f.loop(0, n) as i:
            row = self.at(M, i)
            zeros = [body.constant(0.0)] * vectors
            with f.repeat(0, *zeros) as turn:
                k, *sums = turn.now
                minus = body.repeat(-self.alone.load(f.at(row, k, self.scalar), 0, 1))
                others = body.vectors(f.at(self.panel, k, self.scalar, width), vectors)
                sums = [body.fma(minus, b, s) for b, s in zip(others, sums, strict=True)]
                after = k + 1
                turn.again(after, *sums, where=after < n)
            body.keep(self.at(B, i, start), list(sums))
