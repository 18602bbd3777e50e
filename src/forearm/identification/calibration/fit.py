"""Nonlinear least squares for geometry: damped Gauss-Newton with exact Jacobians, restricted to the
directions that the data determine; the residuals give the noise of positions and rotations.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from forearm.kernels.traced_function import TracedFunction
from forearm.spatial import Floats
from forearm.values import frozen

ROUNDS = 60
TRIES = 16  # attempts per step, each with ten times the damping
FIRST_DAMPING = 1e-8  # of the largest singular value squared
STILL = 1e-12  # rad, of the reach: shorter steps end the descent
FLAT = 1e-12  # of the residual: a smaller decrease ends it too
ROUNDING = 1e-6  # of the residual: a predicted decrease that need not be realised
RANK = 1e-9  # of the largest singular value: directions below this are unobservable
LOOSE = 0.02  # rad, of the reach: a direction known less precisely than this keeps the file's value
NOISE_ROUNDS = 20
SETTLED = 1e-3  # relative change of the noise
EXACT = 1e-13  # of the reach: noise assumed for exact data
LOPSIDED = 1e4
ROBUST_ROUNDS = 25
MEDIAN = 2.366, 5.348  # of chi^2 with 3 and 6 degrees of freedom


@frozen
class CalibrationTask:
    """Measurements as equations: residuals (B, k) and their Jacobian (B, k, m) at values (m,).

    `scale` (m,) brings unknowns to a common size, and `sizes` (k,) residuals: the reach for lengths, 1 for
    angles; `prior` (m,) holds the standard deviations of errors in the file's values, infinite without a
    prior; `base` is the pose of the device's frame at the start.
    """

    function: TracedFunction
    q: Floats
    measured: Floats
    start: Floats
    scale: Floats
    prior: Floats
    file: Floats
    sizes: Floats
    base: Floats

    @property
    def groups(self) -> list[slice]:
        """Positions, and rotations of poses, among the values of a measurement."""
        return [slice(k, k + 3) for k in range(0, len(self.sizes), 3)]

    def left(self, values: Floats) -> tuple[Floats, Floats]:
        """Residuals and their Jacobian."""
        many = np.tile(values, (len(self.q), 1))
        left, slopes = self.function(self.q, many, self.measured)
        return left, slopes

    def rows(self, kept: NDArray[np.bool_]) -> CalibrationTask:
        """The same equations for a subset of the rows."""
        return replace(self, q=self.q[kept], measured=self.measured[kept])


@frozen
class GeometryFit:
    """Fitted values and the quality of the fit.

    Attributes:
        values: (m,).
        left: residuals, measured minus predicted (B, k).
        slopes: their Jacobian (B, k, m).
        sigma: standard deviations of the residuals (k,).
        shown: directions (m, r) in scaled unknowns that were fitted.
        singular: values of all directions from the data alone (m,), over sigma.
        hidden: directions (m, h) in scaled unknowns that the data alone do not determine.
        covariance: (m, m), for the fitted directions.
        leverage: leverage matrix H of each row (B, k, k), over sigma.
        freedom: degrees of freedom left over.
        settled: whether the descent converged.
        kept: which rows of the task it used (B,), if not all.
        far: distance of each other row in standard deviations (B,).
    """

    values: Floats
    left: Floats
    slopes: Floats
    sigma: Floats
    shown: Floats
    singular: Floats
    hidden: Floats
    covariance: Floats
    leverage: Floats
    freedom: int
    settled: bool
    kept: NDArray[np.bool_]
    far: Floats


def fit_geometry(task: CalibrationTask, values: Floats, noise: Floats | None) -> GeometryFit:
    """Fit from these starting values; `noise` (k,) where it is known."""
    sigma = 1e-3 * task.sizes if noise is None else noise
    # start with a prior that keeps values near the start, so that poorly determined directions do not run
    # away
    held = replace(task, prior=np.minimum(task.prior, LOOSE * task.scale), file=task.start)
    everything = np.eye(len(values))
    values, _ = descended(held, values, np.diag(task.scale), sigma)
    left, slopes = task.left(values)
    if noise is None:
        sigma = _noise(task, left, _leverage(held, slopes, everything, sigma))
    for _ in range(NOISE_ROUNDS):
        # a prior is weighed against the data, however little these determine
        loose = np.inf if np.isfinite(task.prior).any() else LOOSE
        shown, _ = _split(_equations(task, slopes, np.diag(task.scale), sigma), loose)
        basis = task.scale[:, None] * shown
        values = task.start + basis @ (shown.T @ ((values - task.start) / task.scale))
        values, settled = descended(task, values, basis, sigma)
        left, slopes = task.left(values)
        if noise is not None or not settled:
            break
        before, sigma = sigma, _noise(task, left, _leverage(task, slopes, shown, sigma))
        if np.abs(np.log(sigma / before)).max() < SETTLED:
            break
    data = _equations(task, slopes, np.diag(task.scale), sigma)[: left.size]
    singular = np.linalg.svd(np.linalg.qr(data, mode="r"), compute_uv=False)
    singular = np.concatenate([singular, np.zeros(len(values) - len(singular))])
    H = _leverage(task, slopes, shown, sigma)
    A = _equations(task, slopes, basis, sigma)
    C = basis @ np.linalg.inv(A.T @ A) @ basis.T if shown.shape[1] else np.zeros((len(values),) * 2)
    freedom = left.size - round(float(np.einsum("bii->", H)))
    hidden, every = _split(data, LOOSE)[1], np.ones(len(left), dtype=bool)
    return GeometryFit(
        values,
        left,
        slopes,
        sigma,
        shown,
        singular,
        hidden,
        C,
        H,
        freedom,
        settled,
        every,
        np.zeros(len(left)),
    )


def descended(task: CalibrationTask, values: Floats, basis: Floats, sigma: Floats) -> tuple[Floats, bool]:
    """Least squares within the columns of the basis (m, r), and whether it converged."""
    left, slopes = task.left(values)
    damping, cost = 0.0, _cost(task, values, left, sigma)
    for _ in range(ROUNDS):
        A = _equations(task, slopes, basis, sigma)
        b = np.concatenate([(left / sigma).ravel(), _of_prior(task, values)])
        # an equivalent, smaller set of equations
        small = np.asarray(np.linalg.qr(np.column_stack([A, b]), mode="r"))
        U, s, Vt = np.linalg.svd(small[:, :-1], full_matrices=False)
        s = np.where(s > RANK * max(float(s.max(initial=0.0)), 1e-300), s, 0.0)
        wanted = np.where(s > 0.0, U.T @ small[:, -1], 0.0)
        if wanted @ wanted <= FLAT * cost:  # predicted gain of a full step
            return values, True
        for _ in range(TRIES):
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = np.where(s > 0.0, s / (s * s + damping * s.max(initial=0.0) ** 2), 0.0)
            step = -basis @ (Vt.T @ (shares * wanted))
            tried_left, tried_slopes = task.left(values + step)
            tried = _cost(task, values + step, tried_left, sigma)
            if tried <= cost:
                break
            damping = max(10.0 * damping, FIRST_DAMPING)
        else:
            whole = basis @ (Vt.T @ np.where(s > 0.0, wanted / np.where(s > 0.0, s, 1.0), 0.0))
            return values, bool(
                wanted @ wanted <= ROUNDING * cost or np.abs(whole / task.scale).max() < ROUNDING * LOOSE
            )
        gain, values, left, slopes, cost = cost - tried, values + step, tried_left, tried_slopes, tried
        damping = 0.1 * damping if damping > FIRST_DAMPING else 0.0
        if gain <= FLAT * cost or np.abs(step / task.scale).max(initial=0.0) < STILL:
            return values, True
    return values, False


def robust_values(task: CalibrationTask, values: Floats) -> tuple[Floats, Floats]:
    """Robust values from Cauchy weights, which suppress badly fitting rows, and each row's distance (B,) in
    standard deviations estimated from the better half.
    """
    for _ in range(ROBUST_ROUNDS):
        left, slopes = task.left(values)
        sizes = [np.sum(left[:, g] ** 2, axis=1) for g in task.groups]
        scales = [max(float(np.median(s)) / MEDIAN[0], 1e-26) for s in sizes]
        far = sum(s / scale for s, scale in zip(sizes, scales, strict=True))
        sigma = np.repeat(np.sqrt(scales), 3) * np.sqrt(1.0 + far / len(task.sizes) / 4.0)[:, None]
        A = (slopes / sigma[..., None]).reshape(-1, len(values)) * task.scale
        step = -task.scale * np.linalg.lstsq(A, (left / sigma).ravel(), rcond=1e-6)[0]
        size = float(np.abs(step / task.scale).max())
        values = values + step * min(1.0, 0.3 / max(size, 1e-300))
        if size < 1e-9:
            break
    return values, np.sqrt(far / len(task.sizes))


def _cost(task: CalibrationTask, values: Floats, left: Floats, sigma: Floats) -> float:
    prior = _of_prior(task, values)
    return float(np.sum((left / sigma) ** 2) + prior @ prior)


def _of_prior(task: CalibrationTask, values: Floats) -> Floats:
    held = np.isfinite(task.prior)
    return (values - task.file)[held] / task.prior[held]


def _equations(task: CalibrationTask, slopes: Floats, basis: Floats, sigma: Floats) -> Floats:
    """Jacobian within the basis over sigma (rows, r), and that of the prior."""
    held = np.isfinite(task.prior)
    data = (slopes / sigma[:, None]).reshape(-1, slopes.shape[2]) @ basis
    return np.concatenate([data, basis[held] / task.prior[held, None]]) if held.any() else data


def _split(A: Floats, loose: float) -> tuple[Floats, Floats]:
    """Split directions into those that the equations determine, and the rest, known worse than `loose`."""
    _, s, Vt = np.linalg.svd(np.linalg.qr(A, mode="r"))
    s = np.concatenate([s, np.zeros(len(Vt) - len(s))])
    keep = (s > RANK * max(float(s.max(initial=0.0)), 1e-300)) & (s >= 1.0 / loose)
    return Vt[keep].T, Vt[~keep].T


def _leverage(task: CalibrationTask, slopes: Floats, shown: Floats, sigma: Floats) -> Floats:
    """Leverage H (B, k, k) of each row: how strongly a measurement pulls its own prediction, over sigma."""
    basis = task.scale[:, None] * shown
    if not shown.shape[1]:
        return np.zeros((len(slopes), slopes.shape[1], slopes.shape[1]))
    R = np.linalg.qr(_equations(task, slopes, basis, sigma), mode="r")
    rows = (slopes / sigma[:, None]) @ basis @ np.linalg.inv(R)
    return rows @ np.swapaxes(rows, 1, 2)


def _noise(task: CalibrationTask, left: Floats, H: Floats) -> Floats:
    """Standard deviations of positions and rotations from their residuals, each with its degrees of freedom;
    neither is assumed more than LOPSIDED times as exact as the other.
    """
    made = []
    for g in task.groups:
        used = float(np.sum(np.einsum("bii->bi", H)[:, g]))
        freedom = max(left[:, g].size - used, 1e-3 * left[:, g].size)
        made.append(max(float(np.sqrt(np.sum(left[:, g] ** 2) / freedom)) / float(task.sizes[g][0]), EXACT))
    return np.repeat(np.maximum(made, max(made) / LOPSIDED), 3) * task.sizes
