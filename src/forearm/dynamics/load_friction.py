"""Forward dynamics where friction depends on the load: an equation in qdd, solved by Newton's method.

The rigid arm's torques and the reactions in its joints are y0 + Y x and r0 + A x in the accelerations x, so
that what drives must give, d(y, r) + J x = tau, has the slope D_y Y + D_r A + J with the partial
derivatives D of each drive. Drives are smooth but at the corners of their four quadrants, where steps are
shortened if they lead astray.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.drives.joint import Drive, Reaction, drives_of, needs_reactions, rotor_inertia
from forearm.dynamics.energy import without_gravity
from forearm.dynamics.forward import singular
from forearm.dynamics.newton_euler import newton_euler
from forearm.errors import ModelError, shorten
from forearm.model import AT_REST, Array, Base, Model, Scalar, Vector, Wrench

Floats = NDArray[np.float64]
# d torque / d (rigid torque, fx, fy, fz, nx, ny, nz) of a drive.
Partials = Callable[[Drive, Scalar, Reaction | None, Scalar, Scalar], Sequence[Scalar]]
MOST = 60  # steps
CLOSE = 1e-13  # of the torques that were added up: then it is solved
ENOUGH = 1e-10  # of them: more than this at the end is no answer
SHARES = tuple(0.5**k for k in range(8))  # of a step
NUDGE = 1e-6  # of a load, for a slope


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
class NewtonStep:
    """J delta = right is the step from where `left` is left and the drives give `given`."""

    J: Array
    right: Array
    left: Array
    given: Array
    is_symmetric: bool


def newton_step(
    arm: Arm,
    loads: Loads,
    x: Array,
    tau: Array,
    rates: Sequence[Scalar],
    directions: Sequence[Scalar],
    partials: Partials,
    felt: Sequence[tuple[Scalar, Reaction | None]] | None = None,
) -> NewtonStep:
    """What is left of tau once the drives have what x needs, and the equation of the step that takes it away.

    Drives are taken as straight from the loads `felt` on, if given:
    the step then leads to where they do, whatever x is.
    """
    rotor = rotor_inertia(arm)
    n = len(rotor)
    given = np.zeros(n, dtype=x.dtype)
    J = np.zeros((n, n), dtype=x.dtype)
    now, steep = loads.at(x), []
    for k, (drive, (torque, reaction)) in enumerate(
        zip(drives_of(arm), now if felt is None else felt, strict=True)
    ):
        f, m = drive.freedom, drive.multiplier
        made = drive.torque(torque, reaction, rates[k], directions[k])
        slopes = partials(drive, torque, reaction, rates[k], directions[k])
        steep.append(slopes[0])
        row = slopes[0] * loads.Y[k]
        if loads.A is not None and drive.needs_reaction:
            for slope, A in zip(slopes[1:], loads.A[k], strict=True):
                row = row + slope * A
        if felt is not None:
            made = made + sum(
                slope * (b - a) for slope, a, b in zip(slopes, flat(*felt[k]), flat(*now[k]), strict=False)
            )
        given[f] = given[f] + m * made
        J[f] = J[f] + m * row
    for j in range(n):
        J[j, j] = J[j, j] + rotor[j]
        given[j] = given[j] + rotor[j] * x[j]
    left = tau - given
    if loads.A is not None or len(steep) > n:
        return NewtonStep(J, left, left, given, is_symmetric=False)
    gentle = [1.0 / slope for slope in steep]  # each freedom has one joint: row by row J is its slope times M
    M = np.array(
        [[loads.Y[i, j] + (rotor[i] * gentle[i] if i == j else 0.0) for j in range(n)] for i in range(n)],
        dtype=x.dtype,
    )
    return NewtonStep(
        M, np.array([g * e for g, e in zip(gentle, left, strict=True)]), left, given, is_symmetric=True
    )


def flat(torque: Scalar, reaction: Reaction | None) -> list[Scalar]:
    """A load as one row: the torque, and the reaction if there is one."""
    return [torque] if reaction is None else [torque, *reaction[0], *reaction[1]]


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
    loads = loads_at(arm, model, q, qd, base, hand)

    def at(x: Floats) -> tuple[NewtonStep, Floats, float]:
        step = newton_step(arm, loads, x, tau, rates, ways, slopes_by_differences)
        size = max(float(np.abs(v).max()) for v in (tau, step.given, loads.y0, loads.Y @ x)) + 1e-30
        return step, step.left, size

    x = np.zeros(len(tau))
    step, left, size = at(x)
    for count in range(MOST):
        error = float(np.abs(left).max()) / size
        if error <= CLOSE:
            return Solution(x, count, error, _is_wedged(step))
        if not np.isfinite(left).all():  # what was given is not known
            return Solution(np.full(len(tau), np.nan), count, np.nan)
        try:
            delta = np.linalg.solve(step.J, step.right)
        except np.linalg.LinAlgError:
            raise singular(arm, q) from None
        for share in SHARES:  # shorter, where it leaves more than there was: a corner turned it back
            made = at(x + share * delta)
            if float(np.linalg.norm(made[1])) < float(np.linalg.norm(left)):
                break
        else:
            if error <= ENOUGH:  # rounding is all that is left
                return Solution(x, count, error, _is_wedged(step))
        x = x + share * delta
        step, left, size = made
    if (error := float(np.abs(left).max()) / size) > ENOUGH:
        raise ModelError(
            f"forward: the friction of {arm.name!r} that depends on the load left {error:.1e} of the "
            f"torque unsolved after {MOST} steps at q = {shorten(q.tolist())}; are coefficients or "
            "efficiencies out of proportion?"
        )
    return Solution(x, MOST, error, _is_wedged(step))


def _is_wedged(step: NewtonStep) -> bool:
    # of many light links the determinant itself may round to 0
    return bool(np.linalg.slogdet(step.J)[0] <= 0.0)


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
    return Loads(first[:, 0], slopes[:, 0], first[:, 1:], slopes[:, 1:] if needs_reactions(arm) else None)


def slopes_by_differences(
    drive: Drive, torque: float, reaction: Reaction | None, rate: float, direction: float
) -> list[float]:
    """Partial derivatives of a drive over floats; only as good as Newton's method needs them."""
    values = np.array([torque, *(np.zeros(6) if reaction is None else np.concatenate(reaction))], dtype=float)
    count = 7 if drive.needs_reaction else 1
    if not drive.depends_on_load:
        return [1.0] + [0.0] * (count - 1)
    made = []
    for k in range(count):
        step = NUDGE * (abs(values[k]) + 1e-3)
        ends = []
        for way in (step, -step):
            moved = values.copy()
            moved[k] += way
            ends.append(drive.torque(float(moved[0]), (moved[1:4], moved[4:]), rate, direction))
        made.append((ends[0] - ends[1]) / (2.0 * step))
    return made
