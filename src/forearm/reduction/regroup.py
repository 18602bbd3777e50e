"""Gautier and Khalil's regrouping:
moments that joint torques cannot distinguish, moved from each body to the one before it.

Mass on the axis of a revolute joint may as well belong to the body before it: m, hz and Jzz of the body
behind the joint are free. They are chosen so that three moments vanish, of that body or of its parent. A
prismatic joint cannot distinguish on which of its two bodies J is. Joint torques are preserved; forces and
moments in the joints are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from forearm.errors import ModelError
from forearm.model import Array, Scalar, Z
from forearm.reduction.chain import NO_TURN, Chain, Segment, about_x, about_z
from forearm.symbols.scalars import Values, is_zero, objects, same

T = TypeVar("T")
Choice = tuple[str, str, str]
VALUES = (str, bool, float, tuple)  # compared by equality
Kept = dict[tuple[Any, ...], Any]  # results by function and the identities of its arguments
# What vanishes: "m", "hz", "Jzz", "Ixx" and "Iyy" of the body, "before.hx" and so on of the body before it.
PLAIN: Choice = ("m", "hz", "Jzz")
SMALLEST = 1e-9  # smaller divisors are not used


def regrouped(chain: Chain, choices: dict[int, Choice], kept: Kept | None = None) -> Chain:
    """From the tips to the base; without a choice, m, hz and Jzz move to the body before.

    Results in `kept` are reused, and new ones are stored there.
    """
    kept = {} if kept is None else kept
    segments = list(chain.segments)
    ground = once(kept, _ground, chain)
    for i in reversed(range(len(segments))):
        s = segments[i]
        before = segments[s.parent] if s.parent >= 0 else ground
        segments[i], before = once(kept, _across, s, before, choices.get(i, PLAIN))
        if s.parent >= 0:
            segments[s.parent] = before
        elif s.revolute:
            ground = before
        else:  # nothing before it rotates: only its mass matters
            segments[i], ground = replace(segments[i], h=np.zeros(3)), replace(before, h=before.h + s.h)
    return replace(chain, segments=tuple(segments), grounded=ground.h)


def _ground(chain: Chain) -> Segment:
    return Segment(-1, True, NO_TURN, NO_TURN, np.zeros(3), Z, 0.0, 0.0, chain.grounded, np.zeros((3, 3)))


def once(kept: Kept, function: Callable[..., T], *given: Any) -> T:
    """The result of a function for these very objects, computed once."""
    key = (function, *(value if isinstance(value, VALUES) else id(value) for value in given))
    if key not in kept:
        kept[key] = function(*given), given  # keeps them alive, so that their identities are not reused
    made: T = kept[key][0]
    return made


def _across(s: Segment, before: Segment, choice: Choice) -> tuple[Segment, Segment]:
    """The two bodies at a joint after regrouping."""
    if s.revolute:
        return _across_turning(s, before, choice)
    return replace(s, J=np.zeros((3, 3))), replace(before, J=before.J + s.J)


def _across_turning(s: Segment, before: Segment, choice: Choice) -> tuple[Segment, Segment]:
    """The two bodies at a revolute joint, with m, hz and Jzz chosen so that three moments vanish."""
    k = direction(s)
    rows, right = zip(*(_equation(what, s, before, k) for what in choice), strict=True)
    stay = solve_three([list(row) for row in rows], list(right))
    m, hz, Jzz = (given - kept for given, kept in zip((s.m, s.h[2], s.J[2, 2]), stay, strict=True))
    l = s.l  # noqa: E741
    lk = np.outer(l, k)
    h = objects(before.h + m * l + hz * k)
    J = objects(before.J + m * np.outer(l, l) + hz * (lk + lk.T) + Jzz * np.outer(k, k))
    own_h, own_J = objects(s.h), objects(s.J)
    own_h[2], own_J[2, 2] = stay[1], stay[2]
    for what in choice:  # exactly, without rounding residue
        _vanish(what, own_h, own_J, h, J)
    return replace(s, m=stay[0], h=own_h, J=own_J), replace(before, m=before.m + m, h=h, J=J)


def direction(s: Segment) -> Array:
    """The joint's axis in the parent's axes."""
    return about_z(s.phi, about_x(s.alpha, objects(s.axis)))


def _equation(what: str, s: Segment, before: Segment, k: Array) -> tuple[tuple[Scalar, ...], Scalar]:
    """Coefficients of the remaining m, hz and Jzz,
    and the right-hand side, for the moment that shall vanish.
    """
    own = {
        "m": ((1.0, 0.0, 0.0), 0.0),
        "hz": ((0.0, 1.0, 0.0), 0.0),
        "Jzz": ((0.0, 0.0, 1.0), 0.0),
        "Ixx": ((0.0, 0.0, 1.0), -s.J[1, 1]),
        "Iyy": ((0.0, 0.0, 1.0), -s.J[0, 0]),
    }
    if what in own:
        return own[what]
    l, at = s.l, _entry(what)  # noqa: E741
    row: tuple[Scalar, ...]
    if len(at) == 1:
        row, there = (l[at[0]], k[at[0]], 0.0), before.h[at[0]]
    else:
        a, b = at
        row, there = (l[a] * l[b], l[a] * k[b] + l[b] * k[a], k[a] * k[b]), before.J[a, b]
    return row, there + s.m * row[0] + s.h[2] * row[1] + s.J[2, 2] * row[2]


def _vanish(what: str, own_h: Array, own_J: Array, h: Array, J: Array) -> None:
    if what == "Ixx":
        own_J[2, 2] = -own_J[1, 1]
    elif what == "Iyy":
        own_J[2, 2] = -own_J[0, 0]
    elif what.startswith("before."):
        at = _entry(what)
        if len(at) == 1:
            h[at[0]] = 0.0
        else:
            J[at[0], at[1]] = J[at[1], at[0]] = 0.0


def _entry(what: str) -> list[int]:
    """The index of "before.hx" in h, of "before.Jxz" in J."""
    return ["xyz".index(c) for c in what.removeprefix("before.")[1:]]


def solve_three(A: list[Values], b: Values) -> list[Any]:
    """x with A x = b, three by three over any scalar, by elimination;
    ModelError if a pivot is 0 or too small.
    """
    order = []
    for column in range(3):
        rows = [r for r in range(3) if r not in order and not is_zero(A[r][column])]
        pivot = max(
            rows, key=lambda r: abs(A[r][column]) if isinstance(A[r][column], float) else 0.0, default=None
        )
        if pivot is None or (isinstance(A[pivot][column], float) and abs(A[pivot][column]) < SMALLEST):
            raise ModelError(
                "the chosen moment does not depend on moments that can be moved across this joint.",
                "regrouping",
            )
        order.append(pivot)
        for r in range(3):
            if r not in order and not is_zero(A[r][column]):
                factor = A[r][column] / A[pivot][column]
                A[r] = [
                    0.0 if c == column else x - factor * y
                    for c, (x, y) in enumerate(zip(A[r], A[pivot], strict=True))
                ]
                b[r] = b[r] - factor * b[pivot]
    x = [0.0] * 3
    for column in (2, 1, 0):
        row = order[column]
        right = b[row]
        for c in range(column + 1, 3):
            right = right - A[row][c] * x[c]
        x[column] = right if same(A[row][column], 1.0) else right / A[row][column]
    return x
