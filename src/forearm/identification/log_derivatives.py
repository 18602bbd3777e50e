"""Velocities and accelerations from measured positions, without delay:
a polynomial through each sample and its neighbours.

At every sample a polynomial of degree 4 in time is fitted to the samples of a centred window; its slope and
curvature there are qd and qdd. A window that reaches as far ahead as back shifts no phase. The last half
window at each end has none. At even times all windows have the same weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from forearm.identification.convolution import filtered

Floats = NDArray[np.float64]
DEGREE = 4
FINER = 6  # degree whose curvature tells how far that of DEGREE is bent away
# samples on each side
HALVES = (4, 6, 8, 11, 15, 20, 27, 36, 48, 64, 86, 115, 154, 205, 273, 364, 485, 647, 862)
# times the least error so far: longer windows are not tried, over whole cycles both polynomials are flat
RISEN = 4.0
SURE = 4.0  # times what noise makes of a difference: less may be an encoder's steps, or chance
CHUNK = 30_000  # windows at a time: their sums of powers take some 50 MB
LOOKED_AT = 400  # windows that the choice of their length looks at, spread over the log
ORDERS = (4, 6, 8)  # of the differences that tell noise from motion
ORDERS_OF_FIT = (0, 1, 2)  # value, slope and curvature
EVEN = 1e-6  # times the period: steps that differ by less are even


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Where a whole window fits, samples `first` to `last`: q, qd, qdd (T, n) of the polynomials."""

    first: int
    last: int
    q: Floats
    qd: Floats
    qdd: Floats


def smoothed(t: Floats, q: Floats, half: int, degree: int = DEGREE) -> Smoothed:
    """Fits over 2 half + 1 samples, at times that need not be even."""
    step = float(t[-1] - t[0]) / (len(t) - 1)
    if even_steps(t, step).all():
        return Smoothed(half, len(t) - half, *even_derivatives(q, half, step, degree=degree))
    count = half * (1 + CHUNK // half)
    parts = [
        _by_sums(t[k : k + count + 2 * half], q[k : k + count + 2 * half], half, degree)
        for k in range(0, len(t) - 2 * half, count)
    ]
    made = [np.concatenate([part[k] for part in parts]) for k in range(3)]
    return Smoothed(half, len(t) - half, *_exact_at_rest(q, half, made, ORDERS_OF_FIT))


def even_derivatives(
    q: Floats, half: int, step: float, orders: Sequence[int] = ORDERS_OF_FIT, degree: int = DEGREE
) -> list[Floats]:
    """Value (order 0), slope (1) or curvature (2) of the fits at even times, (T - 2 half, n) each."""
    return _exact_at_rest(q, half, filtered(q, taps(half, step, degree)[list(orders)]), orders)


def _exact_at_rest(q: Floats, half: int, made: list[Floats], orders: Sequence[int]) -> list[Floats]:
    """Where a joint does not move in a whole window its derivatives are 0, without rounding: the sign of a
    velocity decides about friction.
    """
    moved = np.zeros((len(q), q.shape[1]), dtype=np.int64)
    np.cumsum(np.diff(q, axis=0) != 0.0, axis=0, out=moved[1:])
    rests = moved[2 * half :] == moved[: len(q) - 2 * half]
    if rests.any():
        for order, values in zip(orders, made, strict=True):
            values[rests] = q[half : len(q) - half][rests] if order == 0 else 0.0
    return made


def best_half(t: Floats, q: Floats) -> tuple[int, bool]:
    """The half window with the least mean square error of qdd, and whether a longer one than could
    be tried may be better.
    """
    return best_half_of([(t, q)], noise_at(t, q))


def best_half_of(stretches: Sequence[tuple[Floats, Floats]], noise: Floats) -> tuple[int, bool]:
    """The same for stretches of a log, times and positions, whose noise (n,) is known.

    The error is the noise of qdd and how far the window bends it away. Noise of q is taken from differences,
    which a motion leaves small; bending from the curvature by degree 6 in the same window, less what noise
    makes of their difference. A longer window bends no less than a shorter one, even if both degrees do it
    alike, as they do where accelerations jump. Windows are tried from the shortest until the error rises. All
    joints weigh alike, each by its curvature's size.
    """
    longest = max(len(t) for t, _ in stretches)
    halves = [h for h in HALVES if 4 * h + 1 <= longest] or [HALVES[0]]
    errors: list[float] = []
    scale: Floats | None = None
    bent = np.zeros(len(noise))
    for half in halves:
        found, surely, noisy, size = _curvature_error(stretches, half, noise)
        if scale is None:
            scale = size + 1e-300
        bent = np.maximum(bent, surely)
        errors.append(float(np.sum((np.maximum(bent, found) + noisy) / scale)))
        if errors[-1] > RISEN * min(errors):
            break
    best = int(np.argmin(errors))
    return halves[best], best == len(halves) - 1 and errors[best] > 0.0


def _curvature_error(
    stretches: Sequence[tuple[Floats, Floats]], half: int, noise: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Mean squares (n,): of what the window bends away of the curvature by degree 4, of what it surely does,
    of the noise in it, and of itself.
    """
    fitting = [(t, q) for t, q in stretches if len(t) > 2 * half]
    every = 1 + sum(len(t) - 2 * half for t, _ in fitting) // LOOKED_AT
    step = float(np.median(np.concatenate([np.diff(t) for t, _ in fitting])))
    coarse, fine = (
        np.concatenate([_derivatives(t, q, half, degree, every)[2] for t, q in fitting])
        for degree in (DEGREE, FINER)
    )
    weights, finer = taps(half, step)[2], taps(half, step, FINER)[2]
    apart = np.sum((weights - finer) ** 2) * noise**2
    difference = np.mean((coarse - fine) ** 2, axis=0)
    bent = np.maximum(difference - apart, 0.0)
    surely = np.where(difference > SURE * apart, bent, 0.0)
    return bent, surely, np.asarray(np.sum(weights**2) * noise**2), np.mean(fine**2, axis=0)


def taps(half: int, step: float, degree: int = DEGREE) -> Floats:
    """Weights of the samples of a window at even times, (3, 2 half + 1): value, slope and curvature of the
    polynomial at its middle.
    """
    reach = half * step
    return np.asarray(_unit_taps(half, degree) * np.array([[1.0], [1.0 / reach], [2.0 / reach**2]]))


@cache
def _unit_taps(half: int, degree: int) -> Floats:
    """The same for times from -1 to 1."""
    x = np.arange(-half, half + 1) / half
    return np.asarray(np.linalg.pinv(x[:, None] ** np.arange(degree + 1))[:3])


def even_steps(t: Floats, period: float) -> NDArray[np.bool_]:
    """Which of the steps between times (T,) are one period, but for rounding, (T - 1,)."""
    rounding = 4.0 * np.finfo(np.float64).eps * float(np.abs(t[[0, -1]]).max())
    return np.asarray(np.abs(np.diff(t) - period) <= EVEN * period + rounding)


def noise_at(t: Floats, q: Floats) -> Floats:
    """The noise of `noise_of`; at uneven times, which differences would take for noise, from what the
    shortest windows leave.
    """
    half = HALVES[0]
    if len(t) <= 2 * half or even_steps(t, float(t[-1] - t[0]) / (len(t) - 1)).all():
        return noise_of(q)
    left = np.abs(q[half:-half] - smoothed(t, q, half).q)
    share = 1.0 - taps(half, 1.0)[0, half]  # of the variance that is left at the middle of a window
    return np.asarray(np.median(left, axis=0) / (0.6745 * math.sqrt(share)))


def noise_of(q: Floats) -> Floats:
    """Standard deviation of what is random from sample to sample, (n,): the median of differences.

    Noise shows alike in differences of every order, a motion less in the higher: the least is taken.
    """
    orders = [k for k in ORDERS if k < len(q)]
    return np.asarray(np.min([_noise_in(q, k) for k in orders], axis=0))


def _noise_in(q: Floats, order: int) -> Floats:
    """The same from differences of one order, which of noise alone have the variance
    (2 k)! / (k!)^2 sigma^2.
    """
    differences = np.abs(np.diff(q, order, axis=0))
    spread = np.median(differences, axis=0) / 0.6745  # of a normal distribution
    # a converter's steps seldom fall into a difference of a slow motion: then the mean square speaks
    spread = np.maximum(spread, np.sqrt(np.mean(differences**2, axis=0)) * (spread == 0.0))
    return np.asarray(spread / math.sqrt(math.comb(2 * order, order)))


def _by_sums(t: Floats, q: Floats, half: int, degree: int) -> tuple[Floats, Floats, Floats]:
    """The same as `_derivatives` for all windows, whose cost does not grow with their length.

    As many windows as half of one has samples share an origin and a scale of time; sums of powers over each
    are differences of sums over the samples before.
    """
    count = len(t) - 2 * half
    groups = -(-count // half)
    size = 3 * half
    # windows that reach beyond the last sample are made of it, and left out below
    places = np.minimum(np.arange(groups)[:, None] * half + np.arange(size), len(t) - 1)
    times, values = t[places], q[places]
    origin = times[:, size // 2, None]
    reach = float(np.max(times[:, -1] - times[:, 0])) / 3.0
    x = (times - origin) / reach
    centre = values[:, size // 2, None]
    powers = np.ones((groups, size, 2 * degree + 1))
    for k in range(2 * degree):
        powers[..., k + 1] = powers[..., k] * x
    sums = _over_windows(powers, half)[:count]
    moments = _over_windows(powers[..., : degree + 1, None] * (values - centre)[:, :, None, :], half)[:count]
    normal = sums[:, np.add.outer(np.arange(degree + 1), np.arange(degree + 1))]
    c = np.linalg.solve(normal, moments)  # (count, degree + 1, n)
    at = x[:, half : 2 * half].reshape(-1, 1)[:count]
    out = []
    for order in range(3):
        for_all = np.array([math.perm(k, order) for k in range(degree + 1)], dtype=np.float64)
        slopes = c * for_all[:, None]
        total = slopes[:, degree]
        for k in range(degree - 1, order - 1, -1):
            total = total * at + slopes[:, k]
        out.append(total / reach**order)
    return out[0] + np.repeat(centre[:, 0], half, axis=0)[:count], out[1], out[2]


def _over_windows(columns: Floats, half: int) -> Floats:
    """Sums over 2 half + 1 of 3 half samples, (groups, 3 half, ...): (groups x half, ...)."""
    total = np.cumsum(columns, axis=1)
    ends = total[:, 2 * half :]
    begins = np.concatenate([np.zeros_like(total[:, :1]), total[:, : half - 1]], axis=1)
    return np.asarray((ends - begins).reshape(-1, *columns.shape[2:]))


def _derivatives(t: Floats, q: Floats, half: int, degree: int, every: int) -> tuple[Floats, Floats, Floats]:
    """Value, slope and curvature of the polynomials at the middle of every so many windows, (T', n) each."""
    width = 2 * half + 1
    # q less its middle value: nothing is lost to the size of q itself
    centre = q[half : len(q) - half : every]
    step = float(t[-1] - t[0]) / (len(t) - 1)
    if even_steps(t, step).all():
        weights = taps(half, step, degree)
        windows = sliding_window_view(q, width, axis=0)[::every] - centre[:, :, None]
        q0, q1, q2 = (windows @ w for w in weights)
        return centre + q0, q1, q2
    times = sliding_window_view(t, width)[::every]
    middle = times[:, half]
    reach = float(np.max(times[:, -1] - times[:, 0])) / 2.0
    x = (times - middle[:, None]) / reach
    powers = np.ones((*x.shape, degree + 1))  # (T', width, degree + 1)
    for k in range(degree):
        powers[..., k + 1] = powers[..., k] * x
    values = sliding_window_view(q, width, axis=0)[::every].transpose(0, 2, 1) - centre[:, None, :]
    normal = powers.transpose(0, 2, 1) @ powers
    c = np.asarray(np.linalg.solve(normal, powers.transpose(0, 2, 1) @ values), dtype=np.float64)
    return np.asarray(centre + c[:, 0]), np.asarray(c[:, 1] / reach), np.asarray(2.0 * c[:, 2] / reach**2)
