"""Start of the search: a configuration at rest within all limits, and a random motion about it."""

from __future__ import annotations

import numpy as np

from forearm.errors import InputError
from forearm.identification.excitation.limits import Bounded, ExcitationLimits
from forearm.identification.excitation.problem import ExcitationProblem
from forearm.spatial import Floats

TRIED = 400  # random configurations
INNER = 0.7  # of the ranges: region of the random configurations
REPAIRED = 20  # of them: those with the least use of limits are moved within limits
STEPS = 30  # iterations of such a move
WANTED = 0.9  # of a limit, at rest
RESTING = 0.98  # of a limit: allowed use at the start configuration
BEGIN = 0.6  # of a limit: use by a random initial motion
ADVICE = {
    "torque": "give a higher torque, or a larger max_effort in the arm file",
    "voltage": "give a higher voltage, or a larger max_voltage in the arm file",
    "box": "give a larger box",
    "position": "give a smaller margin",
}


def check_start(limits: ExcitationLimits, start: Floats) -> None:
    """Refuse a configuration in which the arm cannot rest within its limits, or has no room to move."""
    share, some, k = _worst(_at_rest(limits, start[None]))
    if share >= RESTING:
        raise InputError(
            f"{_sentence(some, k)}; {ADVICE[some.quantity]}, or another start.", "excite", "start"
        )


def postures(limits: ExcitationLimits, count: int, rng: np.random.Generator) -> list[Floats]:
    """Find configurations at rest within all limits, sorted by use of limits."""
    middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * (limits.upper - limits.lower)
    tried = middle + INNER * half * (2.0 * rng.random((TRIED, len(half))) - 1.0)
    tried[0] = middle
    shares = _largest(limits, tried)
    order = np.argsort(shares, kind="stable")
    if shares[order[0]] >= RESTING:
        tried = np.array([_moved_in(limits, q) for q in tried[order[:REPAIRED]]])
        shares = _largest(limits, tried)
        order = np.argsort(shares, kind="stable")
    best = order[0]
    if shares[best] >= RESTING:
        _, some, k = _worst(_at_rest(limits, tried[best][None]))
        raise InputError(
            "found no configuration in which the arm can rest within its limits: at best "
            f"{_sentence(some, k)}; {ADVICE[some.quantity]}.",
            "excite",
        )
    return [tried[k] for k in order[:count] if shares[k] < RESTING]


def random_motion(problem: ExcitationProblem, posture: Floats, rng: np.random.Generator) -> Floats:
    """Coefficients (n, f) of a random motion about a configuration, scaled to use about BEGIN of a limit."""
    x = rng.normal(size=problem.shape)
    if problem.start is None:
        x[:, 0] = (posture - problem.middle) / problem.unit
    x = _evened(problem, x)
    allowed = max(BEGIN, 0.5 * (1.0 + problem.largest_share(problem.scaled(x, 0.0))))
    low, high = 0.0, 1.0  # scale of _evened: 1 uses the limits of single joints in full
    for _ in range(40):
        factor = 0.5 * (low + high)
        fits = problem.largest_share(problem.scaled(x, factor)) < allowed
        low, high = (factor, high) if fits else (low, factor)
        if low > 0.95 * high:
            break
    return problem.scaled(x, low)


def _evened(problem: ExcitationProblem, x: Floats) -> Floats:
    """Scale amplitudes so that every joint uses the same fraction of its range, velocity and acceleration."""
    q, qd, qdd = problem.states(x)
    middle = q.mean(axis=0)
    limits = problem.limits
    used = np.max(
        [
            np.abs(q - middle).max(axis=0) / problem.unit,
            np.abs(qd).max(axis=0) / limits.velocity,
            np.abs(qdd).max(axis=0) / limits.acceleration,
        ],
        axis=0,
    )
    made = x / used[:, None]
    if problem.start is None:
        made[:, 0] = x[:, 0]
    return np.asarray(made)


def _moved_in(limits: ExcitationLimits, q: Floats) -> Floats:
    """A configuration moved towards the middle of exceeded limits by damped Gauss-Newton steps."""
    n, damping = len(q), 1e-3
    error, rows = _beyond(limits, q)
    for _ in range(STEPS):
        if not error.any():
            break
        H = rows.T @ rows
        step = np.linalg.solve(H + damping * (np.diag(np.diag(H)) + 1e-9 * np.eye(n)), rows.T @ error)
        moved, more = _beyond(limits, q - step)
        if moved @ moved < error @ error:
            q, error, rows, damping = q - step, moved, more, 0.3 * damping
        else:
            damping *= 10.0
    return q


def _beyond(limits: ExcitationLimits, q: Floats) -> tuple[Floats, Floats]:
    """How far the use at rest exceeds WANTED, signed, and its approximate derivatives by q."""
    errors, rows = [np.zeros(0)], [np.zeros((0, len(q)))]
    for some in _at_rest(limits, q[None], slopes=True):
        by = np.eye(len(q)) if some.slopes[0] is None else some.slopes[0][0]
        half, inner = some.half, (1.0 - WANTED) * some.half
        over = np.maximum(some.above[0] - some.high + inner, 0.0)
        over += np.minimum(some.below[0] - some.low - inner, 0.0)
        errors.append(over / half)
        rows.append(np.where(over[:, None] != 0.0, by / half[:, None], 0.0))
    return np.concatenate(errors), np.concatenate(rows)


def _at_rest(limits: ExcitationLimits, q: Floats, slopes: bool = False) -> list[Bounded]:
    """Use of limits at configurations (m, n), with joints about to move either way."""
    still = np.zeros_like(q)
    return [some for some in limits.bounded(q, still, still, slopes) if not some.order]


def _largest(limits: ExcitationLimits, q: Floats) -> Floats:
    return np.asarray(np.max([some.shares().max(axis=1) for some in _at_rest(limits, q)], axis=0))


def _worst(found: list[Bounded]) -> tuple[float, Bounded, int]:
    """The largest use at a configuration, with its quantity and joint."""
    worst = (-np.inf, found[0], 0)
    for some in found:
        shares = some.shares()[0]
        k = int(shares.argmax())
        if shares[k] > worst[0]:
            worst = float(shares[k]), some, k
    return worst


def _sentence(some: Bounded, k: int) -> str:
    unit = {"torque": "N m (N)", "voltage": "V", "box": "m"}.get(some.quantity, "rad (m)")
    above, below, low, high = (
        float(x) for x in (some.above[0, k], some.below[0, k], some.low[k], some.high[k])
    )
    value = above if above - high > low - below else below
    does = f"needs a {some.quantity} of" if some.quantity in ("torque", "voltage") else "is at"
    return f"{some.who[k]} {does} {value:.4g} {unit} at rest; allowed are {low:.4g} to {high:.4g}"
