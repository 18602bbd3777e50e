"""Cost as a function of n: polynomials through the exact counts, and the cost of one more joint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from forearm.counting.counts import METHODS, count
from forearm.counting.matrices import MatrixCounts, count_matrices
from forearm.counting.models import GenericChain, chain
from forearm.counting.polynomial import Polynomial, fit
from forearm.symbols.counts import Counts

# Largest n plotted for the expensive methods; the others are plotted to LAST.
FARTHEST = {"lagrange-naive": 8, "lagrange-uicker": 16, "lagrange-stored": 30}
LAST = 100


@dataclass(frozen=True)
class General:
    """Operations of a generic chain of n revolute joints: polynomials for n >= `start`."""

    mul: Polynomial
    add: Polynomial
    div: Polynomial
    start: int
    counted: dict[int, Counts]  # below `start`

    def at(self, n: int) -> Counts:
        """The counts for n joints, without sines and cosines."""
        if n < self.start:
            return self.counted[n]
        return Counts(self.mul(n), self.add(n), self.div(n))

    @property
    def degree(self) -> int:
        """The order in n."""
        return max(self.mul.degree, self.add.degree)


@cache
def general(name: str, function: str = "inverse") -> General:
    """The polynomials in n of a method's operations, fitted to exact counts.

    Args:
        name: one of `dynamics.formulations()[function]`.
        function: "inverse", "inertia_matrix" or "forward".
    """
    known = {}

    def at(n: int) -> Counts:
        if n not in known:
            known[n] = count(chain(n), name, function)
        return known[n]

    mul, add, div = fit(lambda n: at(n).mul), fit(lambda n: at(n).add), fit(lambda n: at(n).div)
    start = max(p.start for p in (mul, add, div))
    return General(mul, add, div, start, {n: replace(at(n), trig=0) for n in range(1, start)})


@cache
def general_matrices(name: str) -> tuple[Polynomial, Polynomial]:
    """The polynomials of m and a for a method on 4x4 matrices."""
    known = {}

    def at(n: int) -> MatrixCounts:
        if n not in known:
            known[n] = count_matrices(chain(n), name)
        return known[n]

    return fit(lambda n: at(n).m), fit(lambda n: at(n).a)


@cache
def per_joint(name: str, function: str = "inverse") -> dict[str, Counts]:
    """The operations added by a seventh joint in the middle of a generic arm, by joint type."""
    before = count(chain(6), name, function)
    return {
        kind: count(GenericChain(f"RRR{letter}RRR"), name, function) - before
        for kind, letter in (("revolute", "R"), ("prismatic", "P"))
    }


def curves(of: Callable[[str], General]) -> dict[str, tuple[list[int], list[int]]]:
    """For every inverse method, n and mul + add of the generic chain, counted for small n and then by the
    polynomial.
    """
    made = {}
    for name in METHODS["inverse"]:
        by, last = of(name), FARTHEST.get(name, LAST)
        places = list(range(1, last + 1))
        counts = [by.at(n) for n in places]
        made[name] = (places, [c.mul + c.add for c in counts])
    return made
