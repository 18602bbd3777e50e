"""Zero-phase velocities and accelerations from measured positions, by local polynomial fits.

At every sample a polynomial of degree 4 in time is fitted over a centred window; its slope and curvature
there are qd and qdd. A symmetric window causes no phase shift. The first and last half window yield no
values. With uniform sampling all windows share the same weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from forearm.identification.convolution import filtered
from forearm.values import frozen

Floats = NDArray[np.float64]
DEGREE = 4
FINER = 6  # degree whose curvature estimates the bias of DEGREE
# samples on each side
HALVES = (4, 6, 8, 11, 15, 20, 27, 36, 48, 64, 86, 115, 154, 205, 273, 364, 485, 647, 862)
# times the least error so far: stops longer windows, since over whole cycles both polynomials are flat
RISEN = 4.0
SURE = 4.0  # times the expected effect of noise on a difference: below it may be quantisation, or chance
CHUNK = 30_000  # windows per batch: their power sums take some 50 MB
LOOKED_AT = 400  # windows evaluated to choose their length, spread over the log
ORDERS = (4, 6, 8)  # orders of the differences that separate noise from motion
ORDERS_OF_FIT = (0, 1, 2)  # value, slope and curvature
EVEN = 1e-6  # times the period: tolerance of uniform sampling


@frozen
class Smoothed:
    """q, qd, qdd (T, n) of the polynomials at samples `first` to `last`, where a whole window fits."""

    first: int
    last: int
    q: Floats
    qd: Floats
    qdd: Floats


def smoothed(t: Floats, q: Floats, half: int, degree: int = DEGREE) -> Smoothed:
    """Local fits over 2 half + 1 samples, at possibly uneven times."""
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
    """Value (order 0), slope (1) or curvature (2) of the fits at uniform times, (T - 2 half, n) each."""
    return _exact_at_rest(q, half, filtered(q, taps(half, step, degree)[list(orders)]), orders)


def _exact_at_rest(q: Floats, half: int, made: list[Floats], orders: Sequence[int]) -> list[Floats]:
    """Set derivatives to exactly 0 where a joint does not move in a whole window: the sign of a velocity
    determines friction.
    """
    moved = np.zeros((len(q), q.shape[1]), dtype=np.int64)
    np.cumsum(np.diff(q, axis=0) != 0.0, axis=0, out=moved[1:])
    rests = moved[2 * half :] == moved[: len(q) - 2 * half]
    if rests.any():
        for order, values in zip(orders, made, strict=True):
            values[rests] = q[half : len(q) - half][rests] if order == 0 else 0.0
    return made


def best_half(t: Floats, q: Floats) -> tuple[int, bool]:
    """The half window with the smallest mean square error of qdd, and whether a longer one than could be
    tried may be better.
    """
    return best_half_of([(t, q)], noise_at(t, q))


def best_half_of(stretches: Sequence[tuple[Floats, Floats]], noise: Floats) -> tuple[int, bool]:
    """The same for stretches of a log, times and positions, with known noise (n,).

    The error combines the noise of qdd and the bias of the window. Noise of q is estimated from differences,
    in which motion is small; bias from the curvature by degree 6 in the same window, less the effect of noise
    on their difference. The bias is taken as non-decreasing with the window, even if both degrees share it,
    as they do where accelerations jump. Windows are tried from the shortest until the error rises. All joints
    count alike, scaled by their curvature.
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
    """Mean squares (n,): of the bias of the curvature by degree 4, of its certain part, of its noise, and of
    the curvature itself.
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
    return bent, surely, np.sum(weights**2) * noise**2, np.mean(fine**2, axis=0)


def taps(half: int, step: float, degree: int = DEGREE) -> Floats:
    """Weights of the samples of a window at uniform times, (3, 2 half + 1): value, slope and curvature of the
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
    """Steps between times (T,) that equal one period, except for rounding, (T - 1,)."""
    rounding = 4.0 * np.finfo(np.float64).eps * float(np.abs(t[[0, -1]]).max())
    return np.abs(np.diff(t) - period) <= EVEN * period + rounding


def noise_at(t: Floats, q: Floats) -> Floats:
    """The noise of `noise_of`; at uneven times, which distort differences, from the residuals of the shortest
    windows.
    """
    half = HALVES[0]
    if len(t) <= 2 * half or even_steps(t, float(t[-1] - t[0]) / (len(t) - 1)).all():
        return noise_of(q)
    left = np.abs(q[half:-half] - smoothed(t, q, half).q)
    # the fraction of the noise variance that remains at the middle of a window
    share = 1.0 - taps(half, 1.0)[0, half]
    return np.median(left, axis=0) / (0.6745 * math.sqrt(share))


def noise_of(q: Floats) -> Floats:
    """Standard deviation of sample-to-sample noise, (n,), from the median of differences.

    Noise appears equally in differences of every order, motion less in higher ones: the smallest estimate is
    taken.
    """
    orders = [k for k in ORDERS if k < len(q)]
    return np.asarray(np.min([_noise_in(q, k) for k in orders], axis=0))


def _noise_in(q: Floats, order: int) -> Floats:
    """The same from differences of one order, whose variance for pure noise is (2 k)! / (k!)^2 sigma^2."""
    differences = np.abs(np.diff(q, order, axis=0))
    spread = np.median(differences, axis=0) / 0.6745  # of a normal distribution
    # quantisation steps are rare in differences of a slow motion: then the mean square is used
    spread = np.maximum(spread, np.sqrt(np.mean(differences**2, axis=0)) * (spread == 0.0))
    return np.asarray(spread / math.sqrt(math.comb(2 * order, order)))


def _by_sums(t: Floats, q: Floats, half: int, degree: int) -> tuple[Floats, Floats, Floats]:
    """The same as `_derivatives` for all windows, at a cost independent of their length.

    Groups of half a window share an origin and a scale of time; power sums over each window are differences
    of cumulative sums.
    """
    count = len(t) - 2 * half
    groups = -(-count // half)
    size = 3 * half
    # windows beyond the last sample are padded with it, and dropped below
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
    """Value, slope and curvature of the polynomials at the middle of every n-th window, (T', n) each."""
    width = 2 * half + 1
    # q less its middle value avoids cancellation for large q
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
    c = np.linalg.solve(normal, powers.transpose(0, 2, 1) @ values)
    return centre + c[:, 0], c[:, 1] / reach, 2.0 * c[:, 2] / reach**2
