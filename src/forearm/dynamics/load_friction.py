"""Forward dynamics where friction depends on the load: an equation in qdd, solved by Newton's method.

The rigid arm's torques and the reactions in its joints are y0 + Y x and r0 + A x in the accelerations x, so
that what drives must give, d(y, r) + J x = tau, has the slope D_y Y + D_r A + J with the partial
derivatives D of each drive. Drives are smooth but at the corners of their four quadrants, where steps are
shortened if they lead astray.

It is written over any scalar: floats give the reference answer, symbols the loops of generated code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.drives.joint import Drive, Reaction, drives_of, needs_reactions, rotors
from forearm.dynamics.energy import without_gravity
from forearm.dynamics.forward import singular
from forearm.dynamics.newton_euler import newton_euler
from forearm.errors import ModelError, shorten
from forearm.model import AT_REST, Array, Base, Model, Scalar, Vector, Wrench
from forearm.symbols import iterate
from forearm.symbols.linear import solve_general, solve_symmetric
from forearm.symbols.scalars import choose

Floats = NDArray[np.float64]
Solver = Callable[[Array, Array], Any]
Load = tuple[Scalar, Reaction | None]  # what a joint is loaded with: the rigid torque, and the reaction
CHORDS, MOST = 8, 60  # steps with the first slope, and with a new one each
CLOSE = 1e-13  # of the torques that were added up: then it is solved
ENOUGH = 1e-10  # of them: more than this at the end is no answer
FAST = 0.1  # of what was left: as long as a step leaves less, it goes on with the first slope
SHORTEST = 1.0 / 64.0  # of a step, which is taken even if it leaves more: it may lead around a corner
HUGE = 1e30  # more than is ever left, in single precision too


@dataclass(frozen=True)
class Solution:
    """Accelerations, how many steps they took, and what is left of the torques' equation,
    relative to its largest term.

    Where friction in bearings grows faster with the acceleration than inertia does, the arm is wedged: more
    torque would need less acceleration, and another motion, or none, may answer to the same torque.
    """

    qdd: Floats
    iterations: int
    residual: float
    is_wedged: bool = False


@dataclass(frozen=True, eq=False)
class Loads:
    """What accelerations x of the freedoms load each joint with:
    torques y0 + Y x, reactions r0 + A x (none if A is None).
    """

    y0: Array  # (N,)
    Y: Array  # (N, n)
    r0: Array  # (N, 6): force and moment at the joint's origin, axes with z along it
    A: Array | None  # (N, 6, n)

    def at(self, x: Array) -> list[tuple[Scalar, Reaction | None]]:
        """For each joint the rigid torque and the reaction."""
        torques = self.y0 + self.Y @ x
        if self.A is None:
            return [(torque, None) for torque in torques]
        carried = [r + A @ x for r, A in zip(self.r0, self.A, strict=True)]
        return [(torque, (r[:3], r[3:])) for torque, r in zip(torques, carried, strict=True)]


def reactions_of(
    model: Model, q: Vector, qd: Vector, qdd: Vector, base: Base = AT_REST, hand: Wrench | None = None
) -> tuple[list[Scalar], list[Reaction]]:
    """The rigid arm's torques, and force and moment at each joint's origin in axes with z along the joint."""
    felt: dict[tuple[str, int], Any] = {}
    torques = newton_euler(
        model, q, qd, qdd, base, hand, lambda symbol, link, value: felt.__setitem__((symbol, link), value)
    )
    return torques, [(b.Ra @ felt["f", i], b.Ra @ felt["n", i]) for i, b in enumerate(model.bodies)]


@dataclass(frozen=True, eq=False)
class TorqueEquation:
    """What drives must give, tau, as an equation in accelerations x, with friction in given `directions`;
    joints are held where `free` is 0.
    """

    drives: Sequence[Drive]
    loads: Loads
    tau: Sequence[Scalar]
    rates: Sequence[Scalar]
    directions: Sequence[Scalar]
    free: Sequence[Scalar] | None = None
    symmetric: Solver = solve_symmetric

    @cached_property
    def rotor(self) -> list[Scalar]:
        """What rotors add to the inertia of each freedom."""
        return rotors(self.drives, len(self.tau))

    def at(self, x: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar], Scalar]:
        """What is left of tau, the loads that drives depend on, and the sum of all torques as a scale."""
        loads, along = self.loads.at(np.array(x, dtype=object)), zip(self.rates, self.directions, strict=True)
        drives = list(zip(self.drives, loads, along, strict=True))
        made = [drive.torque(*load, *motion) for drive, load, motion in drives]
        left = self._left(x, made)
        # at the solution no other term is much larger
        size = (1e-30 + size_of([*self.tau, *self.loads.y0])) + size_of([torque for torque, _ in loads])
        return left, [v for drive, load, _ in drives if drive.depends_on_load for v in flat(*load)], size

    @cached_property
    def still(self) -> list[Scalar]:
        """The loads that drives depend on, without acceleration."""
        return self.at([0.0] * len(self.rotor))[1]

    def straight(self, felt: Sequence[Scalar]) -> Sequence[Scalar]:
        """The solution if drives were straight from these loads on."""
        rest = self.loads.at(np.zeros(len(self.rotor)))
        made = []
        for k, (drive, load, slopes) in enumerate(self._steepness(felt)):
            torque = drive.torque(*load, self.rates[k], self.directions[k])
            for slope, here, there in zip(slopes, flat(*load), flat(*rest[k]), strict=False):
                torque = torque + slope * (there - here)
            made.append(torque)
        return self.step(felt, self._left([0.0] * len(self.rotor), made))

    def step(self, felt: Sequence[Scalar], left: Sequence[Scalar]) -> Sequence[Scalar]:
        """The change of x that takes away what is left, by the slope at these loads."""
        slopes = [(drive, slopes) for drive, _, slopes in self._steepness(felt)]
        n = len(self.rotor)
        if self.loads.A is not None or len(slopes) > n:
            return self._solved(self.matrix(slopes), left, solve_general)
        # each freedom has one joint: row by row the slope is that of its drive times a symmetric matrix
        gentle = [1.0 / some[0] for _, some in slopes]
        M = np.array(self.loads.Y, dtype=object)
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
        # of many light links the determinant itself may round to 0
        return bool(np.linalg.slogdet(J.astype(float))[0] <= 0.0)

    def _steepness(self, felt: Sequence[Scalar]) -> list[tuple[Drive, Load, Sequence[Scalar]]]:
        """For each drive its load, and its slopes there; for those that do not depend on it, without
        acceleration.
        """
        rest, made, at = self.loads.at(np.zeros(len(self.rotor))), [], 0
        for k, drive in enumerate(self.drives):
            load = rest[k]
            if drive.depends_on_load:
                some = felt[at : at + len(flat(*load))]
                at += len(some)
                reaction = np.array(some[1:4], dtype=object), np.array(some[4:], dtype=object)
                load = (some[0], reaction if len(some) > 1 else None)
            made.append((drive, load, drive.slopes(*load, self.rates[k], self.directions[k])))
        return made

    def _left(self, x: Sequence[Scalar], made: Sequence[Scalar]) -> list[Scalar]:
        given: list[Scalar] = [rotor * a for rotor, a in zip(self.rotor, x, strict=True)]
        for drive, torque in zip(self.drives, made, strict=True):
            given[drive.freedom] = given[drive.freedom] + drive.multiplier * torque
        left = [t - g for t, g in zip(self.tau, given, strict=True)]
        return left if self.free is None else [a * e for a, e in zip(self.free, left, strict=True)]

    def _solved(self, M: Array, right: Sequence[Scalar], solve: Solver) -> Sequence[Scalar]:
        if self.free is None:
            return list(solve(M, np.array(right, dtype=object)))
        # once more with `free`, which a scaled row has lost
        pulled = [a * e for a, e in zip(self.free, right, strict=True)]
        return list(solve(held(M, self.free), np.array(pulled, dtype=object)))


def held(M: Array, free: Sequence[Scalar]) -> Array:
    """A matrix with the rows and columns of held joints (free is 0) those of the identity."""
    n = len(free)
    made = np.empty((n, n), dtype=object)
    for i in range(n):
        for j in range(n):
            made[i, j] = M[i, j] * (free[i] * free[j]) if i != j else (M[i, i] - 1.0) * free[i] + 1.0
    return made


def flat(torque: Scalar, reaction: Reaction | None) -> list[Scalar]:
    """A load as one row: the torque, and the reaction if there is one."""
    return [torque] if reaction is None else [torque, *reaction[0], *reaction[1]]


@dataclass(frozen=True)
class Found:
    """Accelerations, the loads at them, what is left of the equation, its scale, how many steps it took."""

    x: list[Scalar]
    felt: list[Scalar]
    left: Scalar
    size: Scalar
    rounds: Scalar


def solved(equation: TorqueEquation, felt: Sequence[Scalar] | None = None, close: float = CLOSE) -> Found:
    """The equation solved until at most `close` of its scale is left; more, where no step makes it less.

    It begins with the loads `felt`, if they are nearly known, or with those at rest, and keeps the slope
    there as long as that does well; then each step has its own.
    """
    n, first = len(equation.rotor), equation.still if felt is None else felt
    m = len(first)

    def state(x: Sequence[Scalar]) -> list[Scalar]:
        left, loads, size = equation.at(x)
        return [*x, *loads, *left, size_of(left), size]

    def chord(s: list[Scalar]) -> list[Scalar]:
        """A step with the first slope, unless it leaves more."""
        *now, _, count = s
        delta = equation.step(first, now[n + m : 2 * n + m])
        new, norm = state([a + d for a, d in zip(now[:n], delta, strict=True)]), now[2 * n + m]
        return [*taken_if(new[2 * n + m], norm, new, now), norm, count + 1.0]

    def goes_fast(s: list[Scalar]) -> tuple[Scalar, Scalar]:
        *_, norm, size, before, _ = s
        return close * size, choose(norm, FAST * before, norm, 0.0)

    def newton(s: list[Scalar]) -> list[Scalar]:
        """A share of a step; half of it next time if it leaves more, but the shortest is taken."""
        *now, share, count = s
        delta = equation.step(now[n : n + m], now[n + m : 2 * n + m])
        new, norm = state([a + share * d for a, d in zip(now[:n], delta, strict=True)]), now[2 * n + m]
        bound = choose(SHORTEST, share, norm, HUGE)
        kept = taken_if(new[2 * n + m], bound, new, now)
        return [*kept, choose(new[2 * n + m], bound, 1.0, 0.5 * share), count + 1.0]

    def is_open(s: list[Scalar]) -> tuple[Scalar, Scalar]:
        *_, norm, size, share, _ = s
        enough = choose(ENOUGH * size, norm, norm, 0.0)  # rounding may be all that is left
        return close * size, choose(SHORTEST, share, norm, enough)

    begun = [*state(equation.straight(first)), HUGE, 1.0]

    def left(s: list[Scalar]) -> list[Scalar]:
        return equation.at(s[:n])[0]

    *now, _, count = iterate(chord, begun, goes_fast, CHORDS, left, "loads, one slope")
    *now, _, count = iterate(newton, [*now, 1.0, count], is_open, MOST, left, "loads")
    return Found(now[:n], now[n : n + m], now[2 * n + m], now[2 * n + m + 1], count)


def size_of(values: Sequence[Scalar]) -> Scalar:
    """The sum of absolute values, in pairs, so that a processor may add several at once."""
    if len(values) == 1:
        return abs(values[0])
    half = len(values) // 2
    return size_of(values[:half]) + size_of(values[half:])


def taken_if(a: Scalar, b: Scalar, new: Sequence[Scalar], old: Sequence[Scalar]) -> list[Scalar]:
    """The new values where a < b, else the old ones."""
    return [choose(a, b, x, y) for x, y in zip(new, old, strict=True)]


def solve_loaded(
    arm: Arm,
    model: Model,
    q: Floats,
    qd: Floats,
    tau: Floats,
    base: Base = AT_REST,
    hand: Wrench | None = None,
    directions: Sequence[float] | None = None,
) -> Solution:
    """Accelerations of the freedoms at one state, NaN where what was given is not known."""
    if not model.n:
        return Solution(np.zeros(0), 0, 0.0)
    rates = model.rates(qd.tolist())
    ways = [float(np.sign(rate)) for rate in rates] if directions is None else list(directions)
    equation = TorqueEquation(
        drives_of(arm), loads_at(arm, model, q, qd, base, hand), tau.tolist(), rates, ways
    )
    try:
        found = solved(equation)
    except ZeroDivisionError:
        raise singular(arm, q) from None
    error = found.left / found.size
    if not np.isfinite(error):  # what was given is not known
        return Solution(np.full(len(tau), np.nan), 0, np.nan)
    if error > ENOUGH:
        raise ModelError(
            f"forward: the friction of {arm.name!r} that depends on the load left {error:.1e} of the "
            f"torque unsolved after {found.rounds:.0f} steps at q = {shorten(q.tolist())}; are "
            "coefficients or efficiencies out of proportion?"
        )
    x = np.array(found.x, dtype=float)
    return Solution(x, int(found.rounds), error, equation.is_wedged(found.x))


def loads_at(
    arm: Arm, model: Model, q: Floats, qd: Floats, base: Base = AT_REST, hand: Wrench | None = None
) -> Loads:
    """The loads of one state over floats: without acceleration, and what each unit
    acceleration adds, of it alone.
    """
    coordinates, rest = model.coordinates(q.tolist()), [0.0] * len(model.bodies)

    def column(torques: list[Scalar], reactions: list[Reaction]) -> Floats:
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
