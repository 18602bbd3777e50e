"""Rows that do not belong to the others: each is held against a fit without it.

In a linear fit t = r^T (1 - H)^-1 r of a row is what the rest gains when it is left out; over its k numbers
and the variance of the others it follows the distribution F. A row that was left out has (1 + H) in that
place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.identification.calibration.fit import CalibrationTask, GeometryFit, fit_geometry, robust_values
from forearm.spatial import Floats

UNLIKELY = 1e-3  # the chance that a set of good rows loses one
SUSPECT = 6.0  # deviations from a robust fit
DOUBT = 3.5  # times the usual distance: only then is a robust fit asked
NOISY = 0.01  # of the variance: positions or turns that leave less are exact, and tell nothing of the rest
MOST_OUT = 0.25  # of the rows
POINTS = 4001


def fit_without_outliers(
    task: CalibrationTask, values: Floats, noise: Floats | None, reach: float
) -> tuple[GeometryFit, NDArray[np.bool_], Floats]:
    """The fit, which rows it is of (B,), and how many deviations each of the others is off (B,)."""
    count = len(task.q)
    kept = np.ones(count, dtype=bool)
    fit = fit_geometry(task, values, noise, reach)
    far = np.zeros(count)
    if fit.freedom < 2 * task.size or count < 6 or not fit.settled:
        return fit, kept, far
    sizes = np.linalg.norm(fit.left / fit.sigma, axis=1)
    if sizes.max() > DOUBT * np.median(sizes):
        _, distance = robust_values(task, values)
        suspects = distance > SUSPECT
        if 0 < suspects.sum() <= MOST_OUT * count:
            kept = ~suspects
            fit = fit_geometry(task.rows(kept), values, noise, reach)
    for _ in range(count):
        p_in, _ = _unlikely(fit, None)
        p_out, far_out = _unlikely(fit, _outside(task, fit, ~kept))
        changed = kept.copy()
        changed[np.flatnonzero(~kept)[p_out * count > UNLIKELY]] = True
        if p_in.size and p_in.min() * count < UNLIKELY and (~kept).sum() < MOST_OUT * count:
            changed[np.flatnonzero(kept)[int(np.argmin(p_in))]] = False
        if (changed == kept).all():
            far[~kept] = far_out
            break
        kept = changed
        fit = fit_geometry(task.rows(kept), fit.values, noise, reach)
    return fit, kept, far


def _outside(task: CalibrationTask, fit: GeometryFit, out: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """What is left of rows outside the fit, and H of them."""
    if not out.any():
        return np.zeros((0, task.size)), np.zeros((0, task.size, task.size))
    left, slopes = task.rows(out).left(fit.values)
    rows = slopes / fit.sigma[:, None]
    return left, np.asarray(rows @ fit.covariance @ np.swapaxes(rows, 1, 2))


def _unlikely(fit: GeometryFit, outside: tuple[Floats, Floats] | None) -> tuple[Floats, Floats]:
    """The chance that a good row is off so far, and how many deviations it is off: for rows of the fit, where
    only the worst is looked at, or for others.
    """
    left, H = (fit.left, -fit.leverage) if outside is None else outside
    if not len(left):
        return np.zeros(0), np.zeros(0)
    squares = (fit.left / fit.sigma) ** 2
    used = np.flatnonzero(np.repeat(squares.reshape(len(squares), -1, 3).mean(axis=(0, 2)) > NOISY, 3))
    if not len(used):
        return np.ones(len(left)), np.zeros(len(left))
    size = len(used)
    total = float(squares[:, used].sum())
    freedom = fit.left[:, used].size - round(float(np.einsum("bii->bi", fit.leverage)[:, used].sum()))
    r = (left / fit.sigma)[:, used]
    # a row that nothing but itself shows would be divided by 0
    spread = (H + (1.0 + 1e-9) * np.eye(H.shape[1]))[:, used[:, None], used]
    t = np.einsum("bi,bi->b", r, np.linalg.solve(spread, r[..., None])[..., 0])
    freedom = max(freedom - size if outside is None else freedom, 1)
    variance = np.maximum(total - t, 1e-12 * total) / freedom if outside is None else total / freedom
    ratio = t / size / variance
    chances = np.ones(len(ratio))
    for k in range(len(ratio)) if outside is not None else [int(np.argmax(ratio))]:
        chances[k] = chance_of_ratio(float(ratio[k]), size, freedom)
    return chances, np.sqrt(ratio)


def chance_of_ratio(F: float, first: int, second: int) -> float:
    """The probability that a ratio of variances with these degrees of freedom (F) is larger.

    With tan(a)^2 = F first / second its density is sin(a)^(first - 1) cos(a)^(second - 1).
    """
    angle = float(np.arctan(np.sqrt(max(F, 0.0) * first / second)))
    peak = float(np.arctan(np.sqrt(max(first - 1.0, 1e-9) / max(second - 1.0, 1e-9))))

    def logarithm(a: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray((first - 1.0) * np.log(np.sin(a)) + (second - 1.0) * np.log(np.cos(a)))

    top = float(logarithm(np.array([peak]))[0])

    def area(low: float, high: float) -> float:
        # finer near the lower end, where what is far out has all its weight
        a = low + (high - low) * np.linspace(0.0, 1.0, POINTS) ** 3
        heights = np.exp(logarithm(np.clip(a, 1e-12, 0.5 * np.pi - 1e-12)) - top)
        return float(np.sum(0.5 * (heights[1:] + heights[:-1]) * np.diff(a)))

    whole = area(peak, 0.5 * np.pi) - area(peak, 0.0)
    return min(1.0, area(angle, 0.5 * np.pi) / whole)
