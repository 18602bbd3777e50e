"""Subtasks beyond the 43, three operations each: for twists other than right angles, and products of inertia.

Dhanaraj 4.3.1 says that subtasks for an arbitrary configuration can be made, and gives neither. A twist is a
rotation apart from the joint's own; products of inertia multiply elements of lambda:
N.x = ... - lambda31 Ixy + lambda21 Ixz + (lambda22 - lambda33) Iyz, and so on in turns. Dhanaraj (2.41).
"""

from __future__ import annotations

from forearm.model import Array, Scalar
from forearm.portable import total
from forearm.schedules.formulas import AXES, ChainState, Compute, Made, Three, Values, along_axes, vector
from forearm.schedules.links import SubtaskChain
from forearm.schedules.subtasks import Subtask, beside, rows

FIRST_DRIVE = 61  # number of the first subtask of a drive
PAIRS = ((0, 1), (0, 2), (1, 2))  # of axes, in the order of SubtaskLink.products


def further_subtasks(chain: SubtaskChain, i: int) -> list[Subtask]:
    """The subtasks of link i beyond the 43, numbered 44 to 60; none where its twist and the next link's are
    right angles and its tensor is diagonal.
    """
    made = []
    if not chain.links[i - 1].is_square:
        made += TWISTED_FORWARD
    if i < len(chain) and not chain.links[i].is_square:
        made += TWISTED_BACKWARD
    return made if chain.links[i - 1].is_diagonal else made + FULL_TENSOR


def _twisted(part: int, v: str, own: bool) -> Compute:
    """Components of axes^T v, v of the link before or its own: x and y, or z."""

    def compute(motion: ChainState, values: Values, i: int) -> Made:
        return _half(part, v, motion.at(i)[0].axes.T, vector(values, v, i if own else i - 1))

    return compute


def _untwisted(part: int, v: str) -> Compute:
    """Components of axes v, v of this link passed on by the next: x and y, or z."""

    def compute(motion: ChainState, values: Values, i: int) -> Made:
        return _half(part, v, motion.at(i + 1)[0].axes, vector(values, v, i))

    return compute


def _half(part: int, name: str, R: Array, v: Three) -> Made:
    return {f"{name}*.{AXES[k]}": _sum_of(R[k].tolist(), v) for k in ((0, 1), (2,))[part]}


def _sum_of(row: list[float], v: Three) -> Scalar:
    return total(x if share == 1.0 else share * x for x, share in zip(v, row, strict=True) if share != 0.0)


def diagonal_differences(_: ChainState, values: Values, i: int) -> Made:
    """T54: lambda22 - lambda33, lambda33 - lambda11, lambda11 - lambda22, differences of squares of w."""
    x, y, z = (values[f"lambda.{axis}{axis}", i] for axis in AXES)
    return along_axes("d", (y - z, z - x, x - y))


def products_moment(k: int) -> Compute:
    """T55 to T57: what products of inertia add to component k of N, term by term."""

    def compute(motion: ChainState, values: Values, i: int) -> Made:
        products = motion.at(i)[0].products.tolist()
        of = {pair: products[PAIRS.index(pair)] for pair in PAIRS}
        a, b = (k + 1) % 3, (k + 2) % 3
        I_ka, I_kb, I_ab = (of[min(pair), max(pair)] for pair in ((k, a), (k, b), (a, b)))
        name = AXES[k]
        return {
            f"e.{name}1": -I_ka * values[f"lambda.{AXES[b]}{name}", i],
            f"e.{name}2": I_kb * values[f"lambda.{AXES[a]}{name}", i],
            f"e.{name}3": I_ab * values[f"d.{name}", i],
        }

    return compute


def whole_moment(k: int) -> Compute:
    """T58 to T60: component k of N."""

    def compute(_: ChainState, values: Values, i: int) -> Made:
        name = AXES[k]
        return {f"N.{name}": values[f"N'.{name}", i] + total(values[f"e.{name}{j}", i] for j in (1, 2, 3))}

    return compute


TWISTED_FORWARD = [
    *rows(44, "1", "R(twist)^T w(i-1)", 1, beside(-1, 1, 2, 3), [_twisted(k, "w", False) for k in (0, 1)]),
    *rows(46, "2", "R(twist)^T alpha(i-1)", 2, beside(-1, 6), [_twisted(k, "alpha", False) for k in (0, 1)]),
    *rows(48, "3", "R(twist)^T a''", 5, beside(0, 15, 16, 17), [_twisted(k, "a''", True) for k in (0, 1)]),
]
TWISTED_BACKWARD = [
    *rows(50, "7", "R(twist) f'", 2, beside(0, 30, 31), [_untwisted(k, "f'") for k in (0, 1)]),
    *rows(52, "8", "R(twist) n'''", 3, beside(0, 39, 40), [_untwisted(k, "n'''") for k in (0, 1)]),
]
FULL_TENSOR = [
    *rows(54, "6", "differences of lambda 11, 22, 33", 1, beside(0, 9), [diagonal_differences]),
    *rows(
        55, "6", "products of I and lambda", 1, beside(0, 10, 11, 54), [products_moment(k) for k in range(3)]
    ),
    *(
        Subtask(58 + k, "6", "N, with products of inertia", 1, beside(0, 27 + k, 55 + k), whole_moment(k))
        for k in range(3)
    ),
]
