"""Outlier rows: each row is tested against a fit without it.

In a linear fit t = r^T (1 - H)^-1 r of a row is the reduction of the residual when it is excluded; over its k
values and the variance of the others it follows the F distribution. For an excluded row (1 + H) takes the
place of (1 - H).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from forearm.identification.calibration.fit import CalibrationTask, GeometryFit, fit_geometry, robust_values
from forearm.spatial import Floats

UNLIKELY = 1e-3  # probability that a set of good rows loses one
SUSPECT = 6.0  # deviations from a robust fit
DOUBT = 3.5  # times the usual distance: only then is a robust fit made
NOISY = 0.01  # of the variance: positions or rotations with less are exact and say nothing about the rest
MOST_OUT = 0.25  # of the rows
POINTS = 4001


def fit_without_outliers(task: CalibrationTask, values: Floats, noise: Floats | None) -> GeometryFit:
    """The fit, and which rows it kept."""
    count, size = len(task.q), len(task.sizes)
    fit = fit_geometry(task, values, noise)
    kept, far = fit.kept, np.zeros(count)
    if fit.freedom < 2 * size or count < 6 or not fit.settled:
        return fit
    sizes = np.linalg.norm(fit.left / fit.sigma, axis=1)
    if sizes.max() > DOUBT * np.median(sizes):
        _, distance = robust_values(task, values)
        suspects = distance > SUSPECT
        if 0 < suspects.sum() <= MOST_OUT * count:
            kept = ~suspects
            fit = fit_geometry(task.rows(kept), values, noise)
    for _ in range(count):
        p_in, _ = _unlikely(fit, None)
        # rows outside the fit, and their H
        left, slopes = task.rows(~kept).left(fit.values) if not kept.all() else (fit.left[:0], fit.slopes[:0])
        rows = slopes / fit.sigma[:, None]
        p_out, far_out = _unlikely(fit, (left, rows @ fit.covariance @ np.swapaxes(rows, 1, 2)))
        changed = kept.copy()
        changed[np.flatnonzero(~kept)[p_out * count > UNLIKELY]] = True
        if p_in.size and p_in.min() * count < UNLIKELY and (~kept).sum() < MOST_OUT * count:
            changed[np.flatnonzero(kept)[int(np.argmin(p_in))]] = False
        if (changed == kept).all():
            far[~kept] = far_out
            break
        kept = changed
        fit = fit_geometry(task.rows(kept), fit.values, noise)
    return replace(fit, kept=kept, far=far)


def _unlikely(fit: GeometryFit, outside: tuple[Floats, Floats] | None) -> tuple[Floats, Floats]:
    """Probability that a good row lies this far off, and its distance in standard deviations: for rows of the
    fit (only the worst is tested) or for others.
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
    # a row with full leverage would divide by 0
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
    """Upper tail probability of the F distribution with these degrees of freedom.

    With tan(a)^2 = F first / second its density is sin(a)^(first - 1) cos(a)^(second - 1).
    """
    angle = float(np.arctan(np.sqrt(max(F, 0.0) * first / second)))
    peak = float(np.arctan(np.sqrt(max(first - 1.0, 1e-9) / max(second - 1.0, 1e-9))))

    def logarithm(a: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return (first - 1.0) * np.log(np.sin(a)) + (second - 1.0) * np.log(np.cos(a))

    top = float(logarithm(np.array([peak]))[0])

    def area(low: float, high: float) -> float:
        # finer near the lower end, which dominates for outliers
        a = low + (high - low) * np.linspace(0.0, 1.0, POINTS) ** 3
        heights = np.exp(logarithm(np.clip(a, 1e-12, 0.5 * np.pi - 1e-12)) - top)
        return float(np.sum(0.5 * (heights[1:] + heights[:-1]) * np.diff(a)))

    whole = area(peak, 0.5 * np.pi) - area(peak, 0.0)
    return min(1.0, area(angle, 0.5 * np.pi) / whole)
