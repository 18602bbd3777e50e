"""The 43 subtasks of a link, three operations each, with their precedence. Dhanaraj 4.3.1, Table 4.1.

Corrected: x and z of lambda 21 and lambda 32 in T10, T4 and T5 follow T6 of the link before (printed T0),
T41 to T43 follow T33 to T40 (printed T40 to T40).
"""

from __future__ import annotations

from forearm.schedules.formulas import (
    AXES,
    Compute,
    down,
    inertial_force,
    inertial_moment,
    joint_force,
    joint_moment,
    lambda_diagonal,
    lambda_differences,
    lambda_sums,
    lever_moment,
    mixed_products,
    passed,
    products,
    rate_and_coriolis,
    squares,
    summed,
    with_coriolis,
)
from forearm.values import frozen

Place = tuple[int, int]  # a link, counted from 1, and the number of one of its subtasks
After = tuple[tuple[int, int], ...]
OPERATIONS = 3  # of every subtask, if nothing is 0
LAST_FORWARD = 25
FORWARD_STEPS = ("1", "2", "2A", "3", "4")
FORWARD_LAYERS, BACKWARD_LAYERS = 6, 3


@frozen
class Subtask:
    """One row of Table 4.1: number, step of the algorithm, what it computes, and its predecessors.

    `after` pairs numbers with 0 for the same link, -1 for the link before, +1 for the next link.
    `layer` counts from the first of the link's forward or backward recursion (Figs. 4.7, 4.8).
    """

    number: int
    step: str
    makes: str
    layer: int
    after: After
    compute: Compute

    @property
    def forward(self) -> bool:
        """Whether it belongs to the forward recursion."""
        return self.step in FORWARD_STEPS


def beside(shift: int, *numbers: int) -> After:
    """Predecessors in the link before (-1), in the same (0) or in the next one (1)."""
    return tuple((number, shift) for number in numbers)


def rows(
    first: int, step: str, makes: str, layer: int, after: After, computes: list[Compute]
) -> list[Subtask]:
    """Subtasks of one kind, numbered from the first."""
    return [Subtask(first + k, step, makes, layer, after, compute) for k, compute in enumerate(computes)]


SUBTASKS: tuple[Subtask, ...] = (
    *rows(1, "1", "w = R^T w(i-1)", 1, beside(-1, 1, 2, 3), [down(k, "w", "w", "w", "w'") for k in (0, 1)]),
    *rows(3, "1", "w.z + qd, c", 2, beside(0, 1, 2), [rate_and_coriolis]),
    *rows(4, "2", "alpha' = R^T alpha(i-1)", 2, beside(-1, 6),
        [down(k, "alpha", "alpha'", "alpha") for k in (0, 1)]),
    *rows(6, "2", "alpha = alpha' + c", 3, beside(0, 3, 4, 5), [with_coriolis]),
    *rows(7, "2A", "k", 3, beside(0, 1, 2, 3), [mixed_products]),
    *rows(8, "2A", "w^2", 3, beside(0, 1, 2, 3), [squares]),
    *rows(9, "2A", "lambda 11, 22, 33", 4, beside(0, 8), [lambda_diagonal]),
    *rows(10, "2A", "lambda 21, 13, 32 = k + alpha", 4, beside(0, 6, 7), [lambda_sums]),
    *rows(11, "2A", "lambda 12, 31, 23 = k - alpha", 4, beside(0, 6, 7), [lambda_differences]),
    *rows(12, "3", "products of lambda(i-1) p(i-1)", 3, beside(-1, 9, 10, 11),
        [products(r, "e", True) for r in AXES]),
    *rows(
        15, "3", "a'' = a(i-1) + lambda p", 4, (*beside(-1, 18, 19), *beside(0, 12, 13, 14)),
        [summed(r, "e", "a''", True) for r in AXES],
    ),
    *rows(18, "3", "a = R^T a''", 5, beside(0, 15, 16, 17),
        [down(k, "a''", "a", "a'", own=True) for k in (0, 1)]),
    *rows(20, "4", "products of lambda s", 5, beside(0, 9, 10, 11), [products(r, "h", False) for r in AXES]),
    *rows(23, "4", "ac = a + lambda s", 6, beside(0, 18, 19, 20, 21, 22),
        [summed(r, "h", "ac", False) for r in AXES]),
    *rows(26, "5", "F = m ac", 1, beside(0, 23, 24, 25), [inertial_force]),
    *rows(27, "6", "N = I alpha + D k", 1, beside(0, 6, 7), [inertial_moment(k) for k in range(3)]),
    *rows(30, "7", "f' = R f(i+1)", 1, beside(1, 32), [passed(k, "f", "f'") for k in (0, 1)]),
    *rows(32, "7", "f = F + f'", 2, beside(0, 26, 30, 31), [joint_force]),
    *rows(33, "8", "n' = p x f'", 2, beside(0, 30, 31), [lever_moment(k, "f'", "n'") for k in range(3)]),
    *rows(36, "8", "n'' = s x F", 2, beside(0, 26), [lever_moment(k, "F", "n''") for k in range(3)]),
    *rows(39, "8", "n''' = R n(i+1)", 2, beside(1, 41, 42, 43), [passed(k, "n", "n'''") for k in (0, 1)]),
    *rows(
        41, "8", "n = N + n' + n'' + n'''", 3, beside(0, 27, 28, 29, *range(33, 41)),
        [joint_moment(k) for k in range(3)],
    ),
)  # fmt: skip
