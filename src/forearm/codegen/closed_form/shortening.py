"""Sums of waves as shorter sums of products, by identities applied as long as they shorten.

cos u + cos v = 2 cos a cos b with a, b = (u + v) / 2, (u - v) / 2, likewise for sines and differences, and
c^2 + s^2 = 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from forearm.codegen.closed_form.polynomial import CACHED, FLAT, Angle, Wave, combined, signed
from forearm.portable import total

Product = tuple[tuple[Wave, int], ...]  # waves with their exponents
Writing = dict[Product, float]
# reading cost of a term, and of an angle in it like q2 + q3, or like 2 q2 - q3
TERM, PLAIN, ODD, EACH = 10, 4, 10, 1


def shortest(waves: dict[Wave, float], noise: float) -> Writing:
    """A sum of waves with as few and as simple products of waves as the identities yield."""
    made: Writing = {(((wave, 1),) if wave != FLAT else ()): c for wave, c in waves.items()}
    while True:
        trades = sorted(_trades(made, noise), key=lambda trade: trade.key)
        touched: set[Product] = set()
        for trade in trades:
            if touched.isdisjoint(trade.after):
                touched.update(trade.after)
                for product, c in trade.after.items():
                    if abs(c) > noise:
                        made[product] = c
                    else:
                        made.pop(product, None)
        if not trades:
            return made


@dataclass(frozen=True)
class Trade:
    """New coefficients of some products; the smaller the key, the better."""

    after: Writing
    key: tuple[int, float, tuple[Product, ...]]


def _trades(made: Writing, noise: float) -> Iterator[Trade]:
    """All uses of an identity that make the result shorter,
    on one term or on two that differ in one factor.
    """
    alike: dict[tuple[object, ...], list[tuple[Product, Product]]] = defaultdict(list)
    for product in made:
        for (sine, angle), power in product:
            odd = frozenset(s for s, c in angle if c % 2)
            for p, kind in ((1, (sine, odd)), (2, angle))[:power]:
                part = (((sine, angle), p),)
                rest = combined(product, part, -1)
                alike[rest, kind].append((rest, part))
    for parts in alike.values():
        for i, (rest, f) in enumerate(parts):
            for g in ((), *(part for _, part in parts[i + 1 :])):
                for zero in _zeros(f, g):
                    for target in (h for h in (f, g) if h in zero):
                        amount = made.get(combined(rest, target), 0.0) / zero[target]
                        if amount and (
                            trade := _trade(
                                made, {combined(rest, h): -amount * c for h, c in zero.items()}, noise
                            )
                        ):
                            yield trade


def _trade(made: Writing, change: Writing, noise: float) -> Trade | None:
    after = {product: made.get(product, 0.0) + c for product, c in change.items()}
    gain = sum(_cost(product) * ((product in made) - (abs(c) > noise)) for product, c in after.items())
    return Trade(after, (-gain, total(map(abs, after.values())), tuple(sorted(after)))) if gain > 0 else None


@lru_cache(maxsize=CACHED)
def _zeros(f: Product, g: Product) -> tuple[Writing, ...]:
    """Identities between two waves, or a wave and 1, or their squares, as sums equal to zero."""
    ((sine, u), power), ((_, v), _) = f[0], g[0] if g else (FLAT, 1)
    if power == 2:
        return ({(((False, u), 2),): 1.0, (((True, u), 2),): 1.0, (): -1.0},)
    twice_a, twice_b = combined(u, v), combined(u, v, -1)
    if any(c % 2 for _, c in twice_a):
        return ()
    a, b = (tuple((s, c // 2) for s, c in angle) for angle in (twice_a, twice_b))
    made = []
    for sign in (1.0, -1.0):
        # cos u + cos v = 2 cos a cos b, cos u - cos v = -2 sin a sin b,
        # sin u + sin v = 2 sin a cos b, sin u - sin v = 2 cos a sin b
        kinds = (sign > 0.0, sign < 0.0) if sine else (sign < 0.0, sign < 0.0)
        (first, ca), (second, cb) = signed(kinds[0], a, 1.0), signed(kinds[1], b, 1.0)
        zero = {
            f: 1.0,
            combined(((first, 1),), ((second, 1),)): (2.0 if kinds == (True, True) else -2.0) * ca * cb,
        }
        if g or not sine:
            zero[g] = sign
        made.append(zero)
    return tuple(made)


@lru_cache(maxsize=CACHED)
def _cost(product: Product) -> int:
    return TERM + sum(_cost_of_angle(angle) + EACH * (p > 1) for (_, angle), p in product)


def _cost_of_angle(angle: Angle) -> int:
    if all(c == 1 for _, c in angle):
        return PLAIN + EACH * (len(angle) - 1)
    return ODD + sum(EACH + abs(c) for _, c in angle)
