"""The search for a plan: change one choice at a time, keep it if it saves operations, until none does.

It counts the inverse dynamics, traced and not refined: that takes about a millisecond and ranks plans like
the refined count. Forward dynamics and all else use the same plan; for derivatives, the choices of their own
recursion are searched on the planned chain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from forearm.errors import ModelError
from forearm.reduction.chain import Chain
from forearm.reduction.derivatives import DerivativeChoices, derivatives
from forearm.reduction.plan import PLAIN_PLAN, ReductionPlan, placed, planned, settled
from forearm.reduction.recursion import inverse, motion_of
from forearm.reduction.regroup import PLAIN, Kept
from forearm.symbols import Expr, Graph
from forearm.symbols.scalars import is_zero, objects

STATE = ("q", "qd", "qdd")
LONGEST = 12  # joints: longer arms keep the plain plan, as the search grows with the square of n
SLOTS = (
    ("m", "before.hx", "before.hy", "before.hz", "before.Jxz"),
    ("hz", "before.hy"),
    ("Jzz", "Ixx", "Iyy", "before.Jyy", "before.Jyz"),
)
SQUARES = ("both", "sum", "x", "y")
LARGEST = 10.0  # times the largest of its kind in the plain plan: beyond it precision would be lost


class CountedMotion:
    """The motion of a chain on a graph, and the additional cost of plans that leave it unchanged."""

    def __init__(self, chain: Chain) -> None:
        self.graph = Graph()
        self.q, self.qd, self.qdd = (self.graph.inputs(name, len(chain.segments)) for name in STATE)
        self.motion = motion_of(chain, self.q, self.qd, self.qdd)
        self.size = len(self.graph)

    def cost(self, chain: Chain) -> tuple[int, int]:
        """Multiplications and additions of the inverse dynamics together, and multiplications."""
        counts = self.graph.counts(inverse(chain, self.q, self.qd, self.qdd, known=self.motion))
        self.graph.forget(self.size)
        return counts.mul + counts.add, counts.mul


def cost(chain: Chain) -> tuple[int, int]:
    """Multiplications and additions of the inverse dynamics together, and multiplications."""
    return CountedMotion(chain).cost(chain)


@dataclass(frozen=True)
class ChainContent:
    """A chain over floats that compares equal to any other with the same numbers:
    arms read twice share one plan.
    """

    numbers: tuple[object, ...]
    chain: Chain = field(compare=False)

    @staticmethod
    def of(chain: Chain) -> ChainContent:
        """Everything that the search reads."""
        values = [getattr(s, f.name) for s in chain.segments for f in fields(s)]
        whole = (*values, chain.g, chain.grounded, chain.summed)
        return ChainContent(
            tuple(v.astype(float).tobytes() if isinstance(v, np.ndarray) else v for v in whole), chain
        )


def best_plan(
    chain: Chain, symbols: frozenset[int] = frozenset(), any_geometry: bool = False
) -> ReductionPlan:
    """The plan found by `search_plan`, cached for every chain with the same numbers."""
    return _kept_plan(ChainContent.of(chain), symbols, any_geometry)


@lru_cache(maxsize=512)
def _kept_plan(content: ChainContent, symbols: frozenset[int], any_geometry: bool) -> ReductionPlan:
    return search_plan(content.chain, symbols, any_geometry)


def search_plan(
    chain: Chain, symbols: frozenset[int] = frozenset(), any_geometry: bool = False
) -> ReductionPlan:
    """The plan found for a chain over floats.

    Segments in `symbols` hold numbers in place of symbols: their frames are not rotated or shifted by those
    numbers. With `any_geometry` lengths and twists stand for symbols too, which may be 0: no choice divides
    by them.
    """
    plan = PLAIN_PLAN
    if len(chain.segments) > LONGEST or not chain.segments:
        return plan
    start = planned(chain)
    # the chain with its frames placed, by the choices that determine it
    there = {}
    kept: Kept = {}
    counted = {}
    best, limits = cost(start), [LARGEST * size for size in _sizes(start)]
    steps = 3 * len(chain.segments) + 1
    step = last = 0
    while step - last < steps:  # until a complete round brings no improvement
        for other in _neighbours(chain, plan, step % steps, symbols, any_geometry):
            frames = (tuple(sorted(other.origins.items())), other.rolled)
            try:
                if frames not in there:
                    there[frames] = placed(chain, other)
                made = settled(there[frames], other, kept)
            except ModelError:
                continue
            squares, still = tuple(sorted(other.squares.items())), tuple(s.still for s in made.segments)
            motion = (frames, other.unit, squares, other.straight, still)
            if motion not in counted:
                counted[motion] = CountedMotion(made)
            if (score := counted[motion].cost(made)) < best and _stays_small(chain, other, limits):
                plan, best, last = other, score, step
        step += 1
    return plan


def _neighbours(
    chain: Chain, plan: ReductionPlan, step: int, symbols: frozenset[int], any_geometry: bool
) -> Iterator[ReductionPlan]:
    """Plans that differ in one choice, from the last segment to the first; finally other units."""
    last = len(chain.segments) - 1
    if step == 3 * (last + 1):
        if all(s.revolute for s in chain.segments) and not any_geometry:
            units = [(i, k) for i in range(last + 1) for k in range(3)]
            yield from (replace(plan, unit=unit) for unit in units if unit != plan.unit)
        return
    i = last - step // 3
    s = chain.segments[i]
    if step % 3 == 0 and s.revolute:
        yield from _other_choices(plan, i, s.parent >= 0 and not any_geometry)
    elif step % 3 == 1 and s.revolute:
        if is_zero(s.alpha[0]) or is_zero(s.alpha[1]):
            yield from (
                replace(plan, squares={**plan.squares, i: how})
                for how in SQUARES
                if how != plan.squares.get(i, "both")
            )
        if chain.runs()[i] != i:
            yield replace(plan, straight=plan.straight ^ {i})
        if i not in symbols and not chain.children()[i]:
            yield replace(plan, rolled=plan.rolled ^ {i})
    elif step % 3 == 2 and (s.revolute or i not in symbols):
        without = {k: how for k, how in plan.origins.items() if k != i}
        yield replace(
            plan, origins=without if i in plan.origins else {**without, i: "next" if s.revolute else "centre"}
        )


def _other_choices(plan: ReductionPlan, i: int, of_parent: bool) -> Iterator[ReductionPlan]:
    for slot, names in enumerate(SLOTS):
        for name in names:
            choice = list(plan.choices.get(i, PLAIN))
            if choice[slot] == name:
                continue
            choice[slot] = name
            if len(set(choice)) == 3 and (of_parent or not any(c.startswith("before") for c in choice)):
                yield replace(plan, choices={**plan.choices, i: (choice[0], choice[1], choice[2])})


def _stays_small(chain: Chain, plan: ReductionPlan, limits: list[float]) -> bool:
    """Whether no moment is much larger than those of the plain plan, all in SI units."""
    in_metres = planned(chain, replace(plan, unit=None))
    return all(size <= limit for size, limit in zip(_sizes(in_metres), limits, strict=True))


def _sizes(chain: Chain) -> list[float]:
    """The largest mass, first and second moment in the arm;
    if there is none of a kind, the value implied by the others.
    """
    m, h, J, l = (  # noqa: E741
        max(float(np.abs(getattr(s, name)).max()) for s in chain.segments) for name in ("m", "h", "J", "l")
    )
    length = max(1e-6, l)
    return [max(m, h / length, J / (length * length)), max(h, J / length), J]


def best_choices(chain: Chain) -> DerivativeChoices:
    """The choices of the derivatives' recursion, by one pass over the joints from the last to the first;
    default choices for long arms. Symbols in the chain are replaced by numbers.
    """
    count = len(chain.segments)
    best = DerivativeChoices(late=frozenset(i for i, on in enumerate(chain.children()) if not on))
    if count > LONGEST:
        return best
    numbers = _with_numbers(chain)
    least = _cost_of_derivatives(numbers, best)
    for i in reversed(range(count)):
        if not chain.segments[i].revolute:
            continue
        for other in (replace(best, late=best.late ^ {i}), replace(best, inside=best.inside ^ {i})):
            if (score := _cost_of_derivatives(numbers, other)) < least:
                best, least = other, score
    return best


def _cost_of_derivatives(chain: Chain, choices: DerivativeChoices) -> tuple[int, int]:
    graph = Graph()
    q, qd, qdd = (graph.inputs(name, len(chain.segments)) for name in STATE)
    counts = graph.counts(derivatives(chain, q, qd, qdd, choices))
    return counts.mul + counts.add, counts.mul


def _with_numbers(chain: Chain) -> Chain:
    """Generic numbers in place of symbols."""
    generic = np.random.default_rng(1)

    def number(x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(number(entry) for entry in x)
        if isinstance(x, np.ndarray):
            return objects([number(entry) for entry in x.flat]).reshape(x.shape)
        return 0.5 + generic.random() if isinstance(x, Expr) else x

    segments = [
        replace(
            s, **{name: number(getattr(s, name)) for name in ("phi", "alpha", "l", "offset", "m", "h", "J")}
        )
        for s in chain.segments
    ]
    return replace(chain, segments=tuple(segments), g=number(chain.g))
