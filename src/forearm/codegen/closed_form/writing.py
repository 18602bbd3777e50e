"""From polynomials to sums for readers:
first the terms with rates, collected by their products, then the rest.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from forearm.codegen.closed_form.collecting import collected, factored, over_common
from forearm.codegen.closed_form.polynomial import Polynomial, Powers, Ring, Wave
from forearm.codegen.closed_form.shortening import shortest
from forearm.codegen.closed_form.sums import MOST_TERMS, NOISE, Factors, NoClosedForm, Sum, Symbol, Term, Trig
from forearm.codegen.program import Ref

# terms of the normal form of an equation, which is longer than its written form
MOST_WAVES = 4 * MOST_TERMS
MOST_ALIKE = 2 * MOST_TERMS  # those of them that differ only in their wave


def written(ring: Ring, values: list[Polynomial], rates: set[str]) -> tuple[Sum, ...]:
    """Polynomials as sums; terms are collected by products of `rates`, names of inputs."""
    noise = NOISE * max((abs(c) for value in values for c in value.values()), default=0.0)
    kept = [{key: c for key, c in value.items() if abs(c) > noise} for value in values]
    squared = {ring.symbols[s] for value in kept for _, powers in value for s, p in powers if p > 1}
    outer = {i for i, symbol in enumerate(ring.symbols) if isinstance(symbol, Ref) and symbol.name in rates}
    # equations that are too long are detected early
    largest_first = sorted(range(len(kept)), key=lambda i: -len(kept[i]))
    made = {i: _written(ring, kept[i], noise, outer, squared) for i in largest_first}
    return tuple(made[i] for i in range(len(kept)))


def _written(ring: Ring, value: Polynomial, noise: float, outer: set[int], squared: set[Symbol]) -> Sum:
    alike = Counter(powers for _, powers in value)
    if len(value) > MOST_WAVES or max(alike.values(), default=0) > MOST_ALIKE:
        raise NoClosedForm
    groups: dict[Powers, dict[Powers, dict[Wave, float]]] = defaultdict(lambda: defaultdict(dict))
    for (wave, powers), c in value.items():
        outside, inside = (tuple(x for x in powers if (x[0] in outer) is there) for there in (True, False))
        groups[outside][inside][wave] = c
    made: list[Term] = []
    count = 0
    for outside in sorted(groups, key=lambda powers: _rank(ring, powers)):
        terms = [
            Term(c, _factors(ring, powers) + tuple((_trig(ring, wave), p) for wave, p in product))
            for powers in sorted(groups[outside], key=_reading_order)
            for product, c in sorted(
                shortest(groups[outside][powers], noise).items(), key=lambda item: (len(item[0]), item[0])
            )
        ]
        count += len(terms)
        if count > MOST_TERMS:
            raise NoClosedForm
        made += collected(_factors(ring, outside), factored(terms, squared))
    return over_common(tuple(made))


def _rank(ring: Ring, powers: Powers) -> tuple[object, ...]:
    """qdd before other inputs before qd before none, then by joints."""
    names = {ring.symbols[s].name for s, _ in powers}
    kind = 3 if not names else 0 if "qdd" in names else 2 if names == {"qd"} else 1
    return kind, _reading_order(powers)


def _reading_order(powers: Powers) -> list[int]:
    return [s for s, p in powers for _ in range(abs(p))]


def _factors(ring: Ring, powers: Powers) -> Factors:
    return tuple((ring.symbols[s], p) for s, p in powers)


def _trig(ring: Ring, wave: Wave) -> Trig:
    sine, angle = wave
    made = []
    for s, c in angle:
        symbol = ring.symbols[s]
        assert isinstance(symbol, Ref)
        made.append((symbol, c * ring.units[symbol]))
    return Trig(sine, tuple(made))
