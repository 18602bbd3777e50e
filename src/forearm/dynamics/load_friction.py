"""Forward dynamics with load-dependent friction: an equation in qdd, solved by Newton's method.

The rigid arm's torques and the joint reactions are y0 + Y x and r0 + A x in the accelerations x, so the drive
equation d(y, r) + J x = tau has the slope D_y Y + D_r A + J, with D the partial derivatives of each drive.
Drives are smooth except at the corners of their four quadrants, where steps are shortened if they diverge.

Written over any scalar: floats give the reference solution, symbols the loops of generated code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.drives.joint import Drive, Reaction, drives_of, needs_reactions, rotors
from forearm.dynamics.energy import without_gravity
from forearm.dynamics.forward import singular
from forearm.dynamics.newton_euler import newton_euler
from forearm.errors import ModelError, shorten
from forearm.model import AT_REST, Array, Base, Model, Scalar, Vector, Wrench, model_of
from forearm.spatial import Floats
from forearm.symbols import iterate
from forearm.symbols.linear import solve_general, solve_symmetric
from forearm.symbols.scalars import Values, choose, objects
from forearm.values import frozen

Solver = Callable[[Array, Array], Any]
Load = tuple[Scalar, Reaction | None]  # the load of a joint: the rigid torque, and the reaction
CHORDS, MOST = 8, 60  # iterations with the first slope, and with a new one each
CLOSE = 1e-13  # of the sum of torques: convergence
ENOUGH = 1e-10  # of the same: a larger residual is not a solution
FAST = 0.1  # of the previous residual: as long as a step reduces it this far, the first slope is reused
SHORTEST = 1.0 / 64.0  # of a step, taken even if the residual increases: it may lead around a corner
HUGE = 1e30  # larger than any residual, also in single precision


@frozen
class Solution:
    """Accelerations, the number of iterations, and the residual of the torque equation relative to its
    largest term.

    If friction in bearings grows faster with the acceleration than inertia does, the arm is wedged: more
    torque would need less acceleration, and another motion, or none, may result from the same torque.
    """

    qdd: Floats
    iterations: int
    residual: float
    is_wedged: bool = False


@frozen
class Loads:
    """The load of each joint for accelerations x of the degrees of freedom: torques y0 + Y x, reactions r0 +
    A x (none if A is None).
    """

    y0: Array  # (N,)
    Y: Array  # (N, n)
    r0: Array  # (N, 6): force and moment at the joint's origin, axes with z along the joint axis
    A: Array | None  # (N, 6, n)

    def at(self, x: Array) -> list[tuple[Scalar, Reaction | None]]:
        """The rigid torque and the reaction of each joint."""
        torques = self.y0 + self.Y @ x
        if self.A is None:
            return [(torque, None) for torque in torques]
        carried = [r + A @ x for r, A in zip(self.r0, self.A, strict=True)]
        return [(torque, (r[:3], r[3:])) for torque, r in zip(torques, carried, strict=True)]


def reactions_of(
    model: Model, q: Vector, qd: Vector, qdd: Vector, base: Base = AT_REST, hand: Wrench | None = None
) -> tuple[Values, list[Reaction]]:
    """The rigid arm's torques, and force and moment at each joint's origin in axes with z along the joint
    axis.
    """
    felt: dict[tuple[str, int], Any] = {}
    torques = newton_euler(
        model, q, qd, qdd, base, hand, lambda symbol, link, value: felt.__setitem__((symbol, link), value)
    )
    return torques, [(b.Ra @ felt["f", i], b.Ra @ felt["n", i]) for i, b in enumerate(model.bodies)]


@frozen
class TorqueEquation:
    """The drive equation for tau in accelerations x, with friction in the given `directions`; joints are held
    where `free` is 0.
    """

    drives: Sequence[Drive]
    loads: Loads
    tau: Sequence[Scalar]
    rates: Sequence[Scalar]
    directions: Sequence[Scalar]
    free: Sequence[Scalar] | None = None
    symmetric: Solver = solve_symmetric

    @cached_property
    def rotor(self) -> Values:
        """The inertia that rotors add to each degree of freedom."""
        return rotors(self.drives, len(self.tau))

    def at(self, x: Sequence[Scalar]) -> tuple[Values, Values, Scalar]:
        """The residual of tau, the loads that drives depend on, and the sum of all torques as a scale."""
        loads, along = self.loads.at(objects(x)), zip(self.rates, self.directions, strict=True)
        drives = list(zip(self.drives, loads, along, strict=True))
        made = [drive.torque(*load, *motion) for drive, load, motion in drives]
        left = self._left(x, made)
        # at the solution no other term is much larger
        size = (1e-30 + size_of([*self.tau, *self.loads.y0])) + size_of([torque for torque, _ in loads])
        return left, [v for drive, load, _ in drives if drive.depends_on_load for v in flat(*load)], size

    @cached_property
    def still(self) -> Values:
        """The loads that drives depend on, at zero acceleration."""
        return self.at([0.0] * len(self.rotor))[1]

    def straight(self, felt: Sequence[Scalar]) -> Sequence[Scalar]:
        """The solution of the equation linearised at these loads."""
        rest = self.loads.at(np.zeros(len(self.rotor)))
        made = []
        for k, (drive, load, slopes) in enumerate(self._steepness(felt)):
            torque = drive.torque(*load, self.rates[k], self.directions[k])
            for slope, here, there in zip(slopes, flat(*load), flat(*rest[k]), strict=False):
                torque = torque + slope * (there - here)
            made.append(torque)
        return self.step(felt, self._left([0.0] * len(self.rotor), made))

    def step(self, felt: Sequence[Scalar], left: Sequence[Scalar]) -> Sequence[Scalar]:
        """The Newton step for the residual, with the slope at these loads."""
        slopes = [(drive, slopes) for drive, _, slopes in self._steepness(felt)]
        n = len(self.rotor)
        if self.loads.A is not None or len(slopes) > n:
            return self._solved(self.matrix(slopes), left, solve_general)
        # one joint per degree of freedom: row by row the slope is that of its drive times a symmetric matrix
        gentle = [1.0 / some[0] for _, some in slopes]
        M = objects(self.loads.Y)
        for j in range(n):
            M[j, j] = M[j, j] + self.rotor[j] * gentle[j]
        return self._solved(M, [g * e for g, e in zip(gentle, left, strict=True)], self.symmetric)

    def matrix(self, slopes: Sequence[tuple[Drive, Sequence[Scalar]]]) -> Array:
        """D_y Y + D_r A + J."""
        n = len(self.rotor)
        J = np.zeros((n, n), dtype=object)
        for k, (drive, (steep, *others)) in enumerate(slopes):
            row = steep * self.loads.Y[k]
            if self.loads.A is not None and drive.needs_reaction:
                for slope, A in zip(others, self.loads.A[k], strict=True):
                    row = row + slope * A
            J[drive.freedom] = J[drive.freedom] + drive.multiplier * row
        for j in range(n):
            J[j, j] = J[j, j] + self.rotor[j]
        return J

    def is_wedged(self, x: Sequence[float]) -> bool:
        """Whether more torque would need less acceleration, over floats."""
        J = self.matrix([(drive, slopes) for drive, _, slopes in self._steepness(self.at(x)[1])])
        # for many light links the determinant itself may underflow
        return bool(np.linalg.slogdet(J.astype(float))[0] <= 0.0)

    def _steepness(self, felt: Sequence[Scalar]) -> list[tuple[Drive, Load, Sequence[Scalar]]]:
        """The load and slopes of each drive; at zero acceleration for those independent of the load."""
        rest, made, at = self.loads.at(np.zeros(len(self.rotor))), [], 0
        for k, drive in enumerate(self.drives):
            load = rest[k]
            if drive.depends_on_load:
                some = felt[at : at + len(flat(*load))]
                at += len(some)
                reaction = objects(some[1:4]), objects(some[4:])
                load = (some[0], reaction if len(some) > 1 else None)
            made.append((drive, load, drive.slopes(*load, self.rates[k], self.directions[k])))
        return made

    def _left(self, x: Sequence[Scalar], made: Sequence[Scalar]) -> Values:
        given = [rotor * a for rotor, a in zip(self.rotor, x, strict=True)]
        for drive, torque in zip(self.drives, made, strict=True):
            given[drive.freedom] = given[drive.freedom] + drive.multiplier * torque
        left = [t - g for t, g in zip(self.tau, given, strict=True)]
        return left if self.free is None else [a * e for a, e in zip(self.free, left, strict=True)]

    def _solved(self, M: Array, right: Sequence[Scalar], solve: Solver) -> Sequence[Scalar]:
        if self.free is None:
            return list(solve(M, objects(right)))
        # multiply by `free` again, which scaling a row removed
        pulled = [a * e for a, e in zip(self.free, right, strict=True)]
        return list(solve(held(M, self.free), objects(pulled)))


def held(M: Array, free: Sequence[Scalar]) -> Array:
    """Replace the rows and columns of held joints (free is 0) with those of the identity."""
    n = len(free)
    made = np.empty((n, n), dtype=object)
    for i in range(n):
        for j in range(n):
            made[i, j] = M[i, j] * (free[i] * free[j]) if i != j else (M[i, i] - 1.0) * free[i] + 1.0
    return made


def flat(torque: Scalar, reaction: Reaction | None) -> Values:
    """A load as one row: the torque, followed by the reaction if there is one."""
    return [torque] if reaction is None else [torque, *reaction[0], *reaction[1]]


@frozen
class Found:
    """Accelerations, their loads, the residual, its scale, and the number of iterations."""

    x: Values
    felt: Values
    left: Scalar
    size: Scalar
    rounds: Scalar


def solved(equation: TorqueEquation, felt: Sequence[Scalar] | None = None, close: float = CLOSE) -> Found:
    """Solve the equation until the residual is at most `close` of its scale, or no step reduces it.

    Starts from the loads `felt` if they are nearly known, otherwise from those at rest, and reuses the slope
    there as long as the residual decreases well; then computes a new one per step.
    """
    n, first = len(equation.rotor), equation.still if felt is None else felt
    m = len(first)

    def state(x: Sequence[Scalar]) -> Values:
        left, loads, size = equation.at(x)
        return [*x, *loads, *left, size_of(left), size]

    def chord(s: Values) -> Values:
        """A step with the first slope, unless the residual increases."""
        *now, _, count = s
        delta = equation.step(first, now[n + m : 2 * n + m])
        new, norm = state([a + d for a, d in zip(now[:n], delta, strict=True)]), now[2 * n + m]
        return [*taken_if(new[2 * n + m], norm, new, now), norm, count + 1.0]

    def goes_fast(s: Values) -> tuple[Scalar, Scalar]:
        *_, norm, size, before, _ = s
        return close * size, choose(norm, FAST * before, norm, 0.0)

    def newton(s: Values) -> Values:
        """A fraction of a step, halved next time if the residual increases; the shortest is always taken."""
        *now, share, count = s
        delta = equation.step(now[n : n + m], now[n + m : 2 * n + m])
        new, norm = state([a + share * d for a, d in zip(now[:n], delta, strict=True)]), now[2 * n + m]
        bound = choose(SHORTEST, share, norm, HUGE)
        kept = taken_if(new[2 * n + m], bound, new, now)
        return [*kept, choose(new[2 * n + m], bound, 1.0, 0.5 * share), count + 1.0]

    def is_open(s: Values) -> tuple[Scalar, Scalar]:
        *_, norm, size, share, _ = s
        enough = choose(ENOUGH * size, norm, norm, 0.0)  # only rounding may be left
        return close * size, choose(SHORTEST, share, norm, enough)

    begun = [*state(equation.straight(first)), HUGE, 1.0]

    def left(s: Values) -> Values:
        return equation.at(s[:n])[0]

    *now, _, count = iterate(chord, begun, goes_fast, CHORDS, left, "loads, one slope")
    *now, _, count = iterate(newton, [*now, 1.0, count], is_open, MOST, left, "loads")
    return Found(now[:n], now[n : n + m], now[2 * n + m], now[2 * n + m + 1], count)


def size_of(values: Sequence[Scalar]) -> Scalar:
    """The sum of absolute values, summed in pairs so that a processor may vectorise it."""
    if len(values) == 1:
        return abs(values[0])
    half = len(values) // 2
    return size_of(values[:half]) + size_of(values[half:])


def taken_if(a: Scalar, b: Scalar, new: Sequence[Scalar], old: Sequence[Scalar]) -> Values:
    """The new values where a < b, else the old ones."""
    return [choose(a, b, x, y) for x, y in zip(new, old, strict=True)]


def solve_loaded(
    arm: Arm,
    q: Floats,
    qd: Floats,
    tau: Floats,
    base: Base = AT_REST,
    hand: Wrench | None = None,
    directions: Sequence[float] | None = None,
) -> Solution:
    """Accelerations at one state; NaN if the inputs contain NaN."""
    if not arm.n:
        return Solution(np.zeros(0), 0, 0.0)
    rates = model_of(arm).rates(qd.tolist())
    ways = np.sign(rates).tolist() if directions is None else list(directions)
    equation = TorqueEquation(drives_of(arm), loads_at(arm, q, qd, base, hand), tau.tolist(), rates, ways)
    try:
        found = solved(equation)
    except ZeroDivisionError:
        raise singular(arm, q) from None
    error = found.left / found.size
    if not np.isfinite(error):  # the inputs contain NaN
        return Solution(np.full(len(tau), np.nan), 0, np.nan)
    if error > ENOUGH:
        raise ModelError(
            f"the friction of {arm.name!r} that depends on the load left {error:.1e} of the "
            f"torque unsolved after {found.rounds:.0f} steps at q = {shorten(q.tolist())}; "
            "check for implausible coefficients or efficiencies.",
            "forward",
        )
    x = np.array(found.x, dtype=float)
    return Solution(x, int(found.rounds), error, equation.is_wedged(found.x))


def loads_at(arm: Arm, q: Floats, qd: Floats, base: Base = AT_REST, hand: Wrench | None = None) -> Loads:
    """The loads of one state over floats: at zero acceleration, and the contribution of each unit
    acceleration alone.
    """
    model = model_of(arm)
    coordinates, rest = model.coordinates(q.tolist()), [0.0] * len(model.bodies)

    def column(torques: Values, reactions: list[Reaction]) -> Floats:
        return np.column_stack([torques, [np.concatenate(r) for r in reactions]])

    first = column(*reactions_of(model, coordinates, model.rates(qd.tolist()), rest, base, hand))
    still = without_gravity(model)
    units = [
        column(*reactions_of(still, coordinates, rest, model.rates(x))) for x in np.eye(model.n).tolist()
    ]
    slopes = np.stack(units, axis=-1)
    made = (first[:, 0], slopes[:, 0], first[:, 1:], slopes[:, 1:])
    y0, Y, r0, A = (table.astype(object) for table in made)
    return Loads(y0, Y, r0, A if needs_reactions(arm) else None)
