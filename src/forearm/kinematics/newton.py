"""Newton's inverse kinematics over any scalar: the pose error, the damped step, its acceptance, and
termination.

Damped least squares: dq = J^T (J J^T + damping)^-1 e, or (J^T J + damping)^-1 J^T e if that matrix is
smaller. The damping is a fraction of e.e, so that close to a solution these are Newton's steps. Joints at a
limit that would be pushed beyond it have `free` 0, and their columns of J are omitted.

Tables are rows of scalars; an array whose last axis counts poses also works.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from forearm.portable import total
from forearm.symbols import iterate
from forearm.symbols.linear import solve_symmetric
from forearm.symbols.scalars import Scalar, choose, hinge, maximum, minimum, root
from forearm.values import frozen

Array = np.ndarray[Any, Any]
Values = Sequence[Scalar]
Rows = Sequence[Values]
Hand = Callable[[Values], tuple[Rows, Rows]]  # pose (4, 4) and Jacobian (6, n) at q

TERMS = 10  # of the arctangent series with arguments up to tan(pi / 8): 1e-9 relative error of the angle
HALF_TURN = 1e-10  # replaces 1 + trace for a rotation by pi, which shows no axis
# The damping is a fraction of the squared error: multiplied by these after a step that improved, or did not,
# within bounds.
DAMPING = 0.1  # initially; the first step already reduces it
LESS, MORE = 0.5, 4.0
LEAST, MOST = 1e-4, 1e3
NEVER_SINGULAR = 1e-14  # damping at a solution, above the rounding of J J^T
LONGEST = 1.0  # rad or m per step: limit of the linearisation
SHORTER = 0.25  # factor on a rejected step for the next attempt
SHORTEST = 1e-6  # of a step: if that does not improve, only rounding is left
SLOW = 0.8  # of the squared error: a step that leaves more is slow
PATIENCE = 8.0  # consecutive slow steps that end a run
STEPS = 400  # of a run without bounds: rarely reached except near singularities
HUGE = 1e300  # larger than any squared error


@frozen
class Bounds:
    """Joint bounds, infinite if open, and which joints are periodic in whole turns."""

    lower: Values
    upper: Values
    periodic: Sequence[bool]


@frozen
class PoseTask:
    """A target pose of the hand: the first three rows of `target`, or its position only without `attitude`.

    It is solved when the squared errors are less than `square`. A run ends after `patience` consecutive slow
    steps, and after `most` in total, if given.
    """

    hand: Hand
    target: Rows
    attitude: bool
    square: Scalar
    patience: Scalar = PATIENCE
    bounds: Bounds | None = None
    most: Scalar | None = None

    def if_solved(self, squares: Values, x: Scalar, y: Scalar) -> Scalar:
        """x if no error is too large, else y."""
        for square in squares:
            x = choose(square, self.square, x, y)
        return x

    def within(self, q: Values) -> list[Scalar]:
        """q within the bounds: shifted by a whole turn if that is inside, otherwise clipped."""
        if self.bounds is None:
            return list(q)
        joints = zip(q, self.bounds.lower, self.bounds.upper, self.bounds.periodic, strict=True)
        return [_within(x, low, high, periodic) for x, low, high, periodic in joints]

    def free(self, q: Values, slope: Values) -> list[Scalar]:
        """0 for each joint at a bound that would move beyond it, 1 for others."""
        if self.bounds is None:
            return [1.0] * len(q)
        joints = zip(q, slope, self.bounds.lower, self.bounds.upper, strict=True)
        return [choose(way, 0.0, _less(low, x), _less(x, high)) for x, way, low, high in joints]


@frozen
class NewtonState:
    """State of a run between two steps: the best configuration `q` so far and its squared errors, the step
    from there, the fraction of it to try next, the damping fraction, and counts of slow and of all steps.
    """

    q: list[Scalar]
    dq: list[Scalar]
    squares: list[Scalar]
    share: Scalar
    damping: Scalar
    slow: Scalar
    steps: Scalar

    @staticmethod
    def begun(q: Values, attitude: bool) -> NewtonState:
        """Initial state, before the first step, which only evaluates the start."""
        squares = [HUGE, 0.0] if attitude else [HUGE]
        return NewtonState(list(q), [0.0] * len(q), squares, 1.0, DAMPING, 0.0, 0.0)

    @property
    def flat(self) -> list[Scalar]:
        """All values as one list."""
        return [*self.q, *self.dq, *self.squares, self.share, self.damping, self.slow, self.steps]

    @staticmethod
    def of(flat: Sequence[Scalar], n: int) -> NewtonState:
        """Inverse of `packed`, with n joints."""
        values = list(flat)
        return NewtonState(values[:n], values[n : 2 * n], values[2 * n : -4], *values[-4:])


def step(task: PoseTask, state: NewtonState) -> NewtonState:
    """Try the step; accept it if it reduces the error or solves the task, else try a shorter one next."""
    tried = task.within([x + state.share * d for x, d in zip(state.q, state.dq, strict=True)])
    pose, J = task.hand(tried)
    e, squares = pose_error(task.target, pose, task.attitude)
    cost, before = total(squares, 0.0), total(state.squares, 0.0)
    rank = task.if_solved(squares, -1.0, cost)  # solving the task takes precedence

    def taken(new: Values, old: Values) -> list[Scalar]:
        return [choose(rank, before, x, y) for x, y in zip(new, old, strict=True)]

    less, more = maximum(LESS * state.damping, LEAST), minimum(MORE * state.damping, MOST)
    share, damping = taken([1.0, less], [SHORTER * state.share, more])
    J = J[: len(e)]
    slope = [_product(column, e) for column in _columns(J)]
    free = task.free(tried, slope)
    dq = _shortened(least_squares(J, e, slope, free, damping * cost + NEVER_SINGULAR))
    return NewtonState(
        taken(tried, state.q),
        taken(dq, state.dq),
        taken(squares, state.squares),
        share,
        damping,
        choose(cost, SLOW * before, 0.0, state.slow + 1.0),
        state.steps + 1.0,
    )


def goes_on(task: PoseTask, state: NewtonState) -> tuple[Scalar, Scalar]:
    """a, b with a < b as long as the task is not solved and another step may improve."""
    left = state.share if task.most is None else choose(state.steps, task.most, state.share, 0.0)
    in_time = choose(state.slow, task.patience, left, 0.0)
    return SHORTEST, task.if_solved(state.squares, 0.0, in_time)


def run(task: PoseTask, start: Values, most: int) -> NewtonState:
    """Result of at most `most` steps from a start."""
    n = len(start)
    made = iterate(
        lambda s: step(task, NewtonState.of(s, n)).flat,
        NewtonState.begun(start, task.attitude).flat,
        lambda s: goes_on(task, NewtonState.of(s, n)),
        most,
        title="Newton's steps",
    )
    return NewtonState.of(made, n)


def run_nearby(
    hand: Hand, target: Rows, start: Values, attitude: bool, patience: Scalar, directions: Rows | None = None
) -> tuple[list[Scalar], list[Scalar]]:
    """The configuration reached by improving steps from a start, ignoring bounds, and its squared errors.
    Joints move only along directions (n, r), if given.
    """
    if directions is None:
        made = run(PoseTask(hand, target, attitude, 0.0, patience), start, STEPS)
        return made.q, made.squares
    columns = _columns(directions)

    def at(z: Values) -> list[Scalar]:
        return [x + _product(row, z) for x, row in zip(start, directions, strict=True)]

    def moved(z: Values) -> tuple[Rows, Rows]:
        pose, J = hand(at(z))
        return pose, [[_product(row, column) for column in columns] for row in J]

    task = PoseTask(moved, target, attitude, 0.0, patience)
    made = run(task, [0.0] * len(columns), STEPS)
    return at(made.q), made.squares


def full_step(hand: Hand, target: Rows, q: Values, attitude: bool) -> list[Scalar]:
    """The configuration after a whole step, even if the error grows: in a curved valley, steps that must
    improve become short.
    """
    pose, J = hand(q)
    e, _ = pose_error(target, pose, attitude)
    J = J[: len(e)]
    slope = [_product(column, e) for column in _columns(J)]
    dq = _shortened(least_squares(J, e, slope, [1.0] * len(q), NEVER_SINGULAR))
    return [x + d for x, d in zip(q, dq, strict=True)]


def pose_error(wanted: Rows, pose: Rows, attitude: bool) -> tuple[list[Scalar], list[Scalar]]:
    """Error from a pose to the target, m and rad in base axes: displacement and rotation vector, and the
    squares of both. Without `attitude` the displacement only.
    """
    e = [wanted[i][3] - pose[i][3] for i in range(3)]
    squares = [_product(e, e)]
    if attitude:
        turn, square = rotation_error([[_product(a[:3], b[:3]) for b in pose[:3]] for a in wanted[:3]])
        e, squares = [*e, *turn], [*squares, square]
    return e, squares


def rotation_error(R: Rows) -> tuple[list[Scalar], Scalar]:
    """The rotation vector angle x axis of a rotation matrix, (3,), and angle^2, without an arctangent.

    With v = vee(R - R^T) / 2 = sin(a) axis and c = cos(a/2), which 1 + trace gives, t = tan(a/8) has t^2 =
    (1 - c4) / (1 + c4), c4 = cos(a/4), and a / sin(a/2) = 2 (1 + t^2)^2 / (1 - t^2) (1 - t^2/3 + t^4/5 -
    ...). Next to pi, where v vanishes and the vector with it, the square is made up to pi^2, so that half a
    turn is never taken for none.
    """
    trace = R[0][0] + R[1][1] + R[2][2]
    v = [0.5 * (R[2][1] - R[1][2]), 0.5 * (R[0][2] - R[2][0]), 0.5 * (R[1][0] - R[0][1])]
    c = 0.5 * root(HALF_TURN + hinge((1.0 - HALF_TURN) + trace))
    c4 = root(0.5 + 0.5 * c)
    t2 = (1.0 - c4) / (1.0 + c4)
    series = 0.0
    for k in reversed(range(TERMS)):
        series = series * t2 + (-1.0 if k % 2 else 1.0) / (2 * k + 1)
    wide = 1.0 + t2
    scale = wide * wide * series / ((1.0 - t2) * c)
    vector = [x * scale for x in v]
    return vector, _product(vector, vector) + (math.pi * math.pi / HALF_TURN) * hinge(
        (HALF_TURN - 1.0) - trace
    )


def least_squares(J: Rows, e: Values, slope: Values, free: Values, damping: Scalar) -> list[Scalar]:
    """dq with the least |J dq - e|^2 + damping |dq|^2 over the free joints; slope = J^T e."""
    freed = [[x * f for x, f in zip(row, free, strict=True)] for row in J]
    columns = _columns(freed)
    if len(slope) < len(e):
        right = _vector([f * s for f, s in zip(free, slope, strict=True)])
        return list(solve_symmetric(_gram(columns, columns, damping), right))
    y = list(solve_symmetric(_gram(freed, J, damping), _vector(e)))
    return [_product(column, y) for column in columns]


def _gram(a: Rows, b: Rows, damping: Scalar) -> Array:
    """The symmetric matrix a b^T + damping."""
    made = np.empty((len(a), len(a)), dtype=object)
    for i in range(len(a)):
        for j in range(i + 1):
            made[i, j] = made[j, i] = _product(a[i], b[j])
        made[i, i] = made[i, i] + damping
    return made


def _shortened(dq: Values) -> list[Scalar]:
    """The step, scaled so that no joint moves by more than LONGEST."""
    longest = reduce(lambda most, d: maximum(abs(d), most), dq, LONGEST)
    return [LONGEST / longest * d for d in dq]


def _within(x: Scalar, low: Scalar, high: Scalar, periodic: bool) -> Scalar:
    """x shifted by a whole turn if that leads inside, or clipped to the exceeded bound."""
    made = x
    if not _is_open(low):
        up = x + math.tau if periodic else low
        made = choose(x, low, up if _is_open(high) else choose(high, up, low, up), made)
    if not _is_open(high):
        down = x - math.tau if periodic else high
        made = choose(high, x, down if _is_open(low) else choose(down, low, high, down), made)
    return made


def _less(a: Scalar, b: Scalar) -> Scalar:
    """1 where a < b, 0 elsewhere."""
    return 1.0 if _is_open(a) or _is_open(b) else choose(a, b, 1.0, 0.0)


def _is_open(bound: Scalar) -> bool:
    """Whether a bound is known to be absent."""
    return isinstance(bound, float) and math.isinf(bound)


def _product(a: Values, b: Values) -> Scalar:
    return total([x * y for x, y in zip(a, b, strict=True)], 0.0)


def _columns(rows: Rows) -> list[Values]:
    return [list(column) for column in zip(*rows, strict=True)]


def _vector(values: Values) -> Array:
    made = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):
        made[k] = value
    return made
