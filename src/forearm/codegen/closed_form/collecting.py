"""Factor common parts of terms out of a bracket."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from forearm.codegen.closed_form.sums import PARAMETER, Factor, Factors, FunctionCall, Sum, Symbol, Term
from forearm.codegen.program import Ref


def collected(factors: Factors, terms: Sum) -> Sum:
    """factors (terms)"""
    if not factors:
        return terms
    if len(terms) == 1:
        return (replace(terms[0], factors=terms[0].factors + factors),)
    sign = _main_sign(terms)
    return (Term(sign, factors, tuple(replace(t, coefficient=sign * t.coefficient) for t in terms)),)


def over_common(terms: Sum) -> Sum:
    """Factor out a denominator common to all terms."""
    common = (
        {f: p for f, p in terms[0].factors if isinstance(f, FunctionCall) and f.name == "inverse"}
        if len(terms) > 1
        else {}
    )
    common = {f: p for f, p in common.items() if all((f, p) in t.factors for t in terms)}
    if not common:
        return terms
    inside: list[Term] = []
    for t in terms:
        left = replace(t, factors=tuple(x for x in t.factors if x[0] not in common))
        plain = left.bracket and not left.factors
        inside += (
            [replace(x, coefficient=t.coefficient * x.coefficient) for x in left.bracket] if plain else [left]
        )
    return (Term(1.0, tuple(common.items()), tuple(inside)),)


def factored(terms: list[Term], squared: set[Symbol]) -> Sum:
    """Factor out what terms have in common, the most frequent first: g (m (x^2 + y^2) + I).

    Only functions, and parameters that are nowhere squared, such as masses:
    x^2 + 2 a x reads better than x (x + 2 a).
    """
    held = Counter(f for t in terms for f, p in t.factors if p > 0 and _is_outer(f) and f not in squared)
    for factor, _ in sorted(held.items(), key=lambda item: -item[1]):
        holders = [i for i, t in enumerate(terms) if not t.bracket and factor in dict(t.factors)]
        if len(holders) > 1:
            bracket = _taken_out([terms[i] for i in holders], squared)
            terms = [bracket if i == holders[0] else t for i, t in enumerate(terms) if i not in holders[1:]]
    return tuple(terms)


def _is_outer(factor: Factor) -> bool:
    return isinstance(factor, FunctionCall) or (isinstance(factor, Ref) and factor.name == PARAMETER)


def _taken_out(terms: list[Term], squared: set[Symbol]) -> Term:
    """The terms as their common factors times a bracket."""
    powers = [dict(t.factors) for t in terms]
    common: dict[Factor, int] = {}
    for factor, _ in terms[0].factors:
        least, most = min(x.get(factor, 0) for x in powers), max(x.get(factor, 0) for x in powers)
        if least == most or (factor not in squared and least > 0):
            common[factor] = least
    sizes = {abs(t.coefficient) for t in terms}
    size = (sizes.pop() if len(sizes) == 1 else 1.0) * _main_sign(terms)
    inside = []
    for t in terms:
        kept = tuple((f, p - common.get(f, 0)) for f, p in t.factors if p != common.get(f, 0))
        inside.append(Term(t.coefficient / size, kept))
    return Term(size, tuple(common.items()), factored(inside, squared))


def _main_sign(terms: Iterable[Term]) -> float:
    """The sign of most terms."""
    return -1.0 if sum(math.copysign(1.0, t.coefficient) for t in terms) < 0.0 else 1.0
