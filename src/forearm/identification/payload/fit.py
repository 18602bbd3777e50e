"""The load equations and their least squares, each test weighted by its noise. Waters IV.

Noise of accelerations enters both sides: Y is evaluated at the accelerations that are most likely with the
last load, given those measured and the torques, and the fit is repeated. Noise that is not stated is found by
restricted maximum likelihood.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.identification.payload.test_forces import Floats, TorqueModel, answers_of
from forearm.identification.payload.unknowns import Unknowns
from forearm.records import number, record
from forearm.values import frozen

ROUNDS = 50
STILL = 1e-4  # of a standard deviation: a smaller change ends the fit
STILL_EXACT = 1e-10  # the same in units of 1 kg, 0.1 kg m, 0.01 kg m^2, for rounding
HALVINGS = 30  # per step
FLAT = 1e-3  # of chi^2: allowed increase, since steps hold the weights of tests fixed
FLAT_EXACT = 1e-9  # the same relative to the residual, for rounding, without stated noise
SMALL = 1e-3  # kg, initial mass of a descent without a starting mass
LIGHTEST = 1e-9  # kg: below this a point has no defined centre
# chi^2 of four unknowns, 95 %: a load that explains less is indistinguishable from none
BEYOND_NOISE = 9.5
RANK = 1e-9  # of the largest singular value: smaller ones are unobservable directions
Q_STEP = 1e-6  # rad or m, for finite differences
ROUNDING = 1e-11  # of the torques: smaller residuals are not noise
FINER = (10.0**0.5, 10.0**0.25)  # steps of the search for the ratio of torque to acceleration noise
LEAST_INERTIA = 1e-9  # of the largest eigenvalue of M: the search begins there at the latest


def _deviation(doc: str, unit: str) -> Any:
    return number(doc, unit, default=0.0, minimum=0.0)


@record
class Noise:
    """Measurement noise, one value for all joints, independent between tests. All zero: not stated, noise of
    accelerations and of torques is estimated from the residuals.
    """

    qdd: float = _deviation("standard deviation of accelerations", "rad/s^2 (m/s^2)")
    tau: float = _deviation("standard deviation of torques", "N m (N)")
    q: float = _deviation("standard deviation of positions", "rad (m)")
    qdd_step: float = _deviation("step of converters; adds step^2 / 12 to the variance", "rad/s^2 (m/s^2)")
    tau_step: float = _deviation("the same for torques", "N m (N)")
    q_step: float = _deviation("the same for positions", "rad (m)")

    def variance(self, what: str) -> float:
        """Of "qdd", "tau" or "q", rounding included."""
        return float(getattr(self, what) ** 2 + getattr(self, f"{what}_step") ** 2 / 12.0)


def beside_of(arm: Arm, q: Floats, qd: Floats) -> tuple[tuple[TorqueModel, TorqueModel], ...]:
    """Torque models displaced slightly from the configurations, one pair per joint."""
    return tuple(
        (answers_of(arm, q + step, qd), answers_of(arm, q - step, qd)) for step in Q_STEP * np.eye(arm.n)
    )


@frozen
class FitEquations:
    """Tests as equations: torques less static friction, accelerations, usable rows, and the unknowns."""

    answers: TorqueModel
    tau: Floats
    qdd: Floats
    usable: NDArray[np.bool_]
    noise: Noise
    is_stated: bool  # otherwise the noise is known up to a common factor
    unknowns: Unknowns
    beside: tuple[
        tuple[TorqueModel, TorqueModel], ...
    ]  # at q +- Q_STEP of each joint, if positions are noisy

    def slopes(self, pi: Floats) -> Floats:
        """d tau / d q of arm and load (B, n, n or 0), by finite differences, to propagate position noise to
        torques.
        """
        parts = [
            (up.torque(self.qdd, pi) - down.torque(self.qdd, pi)) / (2.0 * Q_STEP) for up, down in self.beside
        ]
        return np.stack(parts, axis=2) if parts else np.zeros((*self.qdd.shape, 0))


@frozen
class Fit:
    """theta, the singular values and right vectors of the weighted equations in units of UNITS, and the
    residual.
    """

    theta: Floats
    values: Floats
    vectors: Floats
    rank: int
    left: float
    rows: int


def fitted(task: FitEquations) -> tuple[Fit, bool]:
    """The load, and whether the fit converged."""
    with np.errstate(over="ignore", invalid="ignore"):  # overflow is detected as non-finite values
        return _fitted(task)


def noise_of(task: FitEquations) -> Noise:
    """The noise of accelerations and torques that makes the residuals most likely, up to a common factor.

    Restricted maximum likelihood over their ratio r, S = M M^T + r^2 I, with the common factor at its
    estimate; between the eigenvalues of M, as beyond them one kind of noise hides the other.
    """
    task = replace(task, unknowns=task.unknowns.body or task.unknowns)
    tried: dict[float, float] = {}

    def noise(ratio: float) -> Noise:
        return Noise(qdd=1.0, tau=ratio) if math.isfinite(ratio) else Noise(tau=1.0)

    def best_of(*ratios: float) -> float:
        tried.update({ratio: _unlikeliness(replace(task, noise=noise(ratio))) for ratio in ratios})
        return min(tried, key=tried.__getitem__)

    with np.errstate(over="ignore", invalid="ignore"):
        plain, settled = _fitted(replace(task, noise=noise(math.inf)))
        if settled and plain.left <= ROUNDING**2 * float(np.sum(np.where(task.usable, task.tau, 0.0) ** 2)):
            return noise(0.0)
        inertias = np.linalg.eigvalsh(task.answers.M)
        low, high = max(float(inertias.min()), LEAST_INERTIA * float(inertias.max())), float(inertias.max())
        count = 2 + int(math.log10(high / low))
        best = best_of(0.0, math.inf, *np.geomspace(low, high, count).tolist())
        for factor in FINER:
            best = best_of(best / factor, best * factor)
    return noise(best)


def _unlikeliness(task: FitEquations) -> float:
    """-2 log of the restricted likelihood of the residuals with the task's noise, up to a constant."""
    fit, settled = _fitted(task)
    freedom, roots = fit.rows - fit.rank, _roots(task, task.unknowns.value(fit.theta))
    if not settled or roots is None or freedom <= 0:
        return math.inf
    noise = np.log(np.diagonal(roots, axis1=1, axis2=2))[task.usable].sum()
    return float(
        freedom * math.log(max(fit.left, 1e-300)) + 2.0 * (noise + np.log(fit.values[: fit.rank]).sum())
    )


def _fitted(task: FitEquations) -> tuple[Fit, bool]:
    """Iterated least squares, and whether it converged; if not, the first iterate alone.

    The first iteration evaluates Y at the measured accelerations, the others at those most likely with the
    last load. Nonlinear unknowns are fitted by damped steps, starting from the general body.
    """
    if task.unknowns.body is not None:
        return _fitted_in_steps(task, _fitted(replace(task, unknowns=task.unknowns.body))[0])
    unknowns, at, fits = task.unknowns, task.qdd, list[Fit]()
    theta = np.zeros(len(unknowns.units))
    for _ in range(ROUNDS):
        fit = solved(task, theta, at)
        if fit is None:
            break
        fits.append(fit)
        moved, theta = fits[-1].theta - theta, fits[-1].theta
        if len(fits) > 1 and is_still(task, fits[-1], moved):
            worse = fits[-1].left > 2.0 * max(fits[0].left, fits[0].rows)
            return (fits[0], False) if worse else (fits[-1], True)
        at = _likely(task, unknowns.value(theta))
    return fits[0] if fits else _unknown(task), False


def _fitted_in_steps(task: FitEquations, body: Fit) -> tuple[Fit, bool]:
    """Gauss-Newton from the body's mass and moments; steps that increase the residual, or make the mass
    non-positive, are halved.

    If the steps do not converge, zero load is returned if it explains the tests as well.
    """
    runs = []
    for start in _starts(task, body):
        runs.append(_descended(task, start))
        if runs[-1][2]:
            return runs[-1][0], True
    best = min(runs, key=lambda run: run[1])
    nothing = np.zeros(len(task.unknowns.units))
    least = BEYOND_NOISE if task.is_stated else 0.0
    if task.unknowns.kept[0] == 0 and _cost(task, nothing) <= best[1] + least:
        return replace(solved(task, nothing, task.qdd) or _unknown(task), theta=nothing), False
    return best[0], False


def _unknown(task: FitEquations) -> Fit:
    """Result for equations that float64 cannot solve: all unknowns undetermined."""
    count = len(task.unknowns.units)
    return Fit(np.zeros(count), np.zeros(0), np.eye(count), 0, np.inf, task.qdd.size)


def _starts(task: FitEquations, body: Fit) -> list[Floats]:
    """Mass and moments from the body's fit, and from a fit without inertia; a non-positive mass becomes a
    small one.
    """
    unknowns = task.unknowns
    assert unknowns.body is not None
    first = unknowns.body.value(body.theta)[list(unknowns.kept)]
    without = solved(task, np.zeros(len(unknowns.units)), task.qdd)
    starts = [first] if without is None else [first, without.theta]
    if unknowns.kept[0] == 0:
        starts = [theta if theta[0] > SMALL else np.array([SMALL, *np.zeros(3)]) for theta in starts]
    return starts


def _descended(task: FitEquations, theta: Floats) -> tuple[Fit, float, bool]:
    """The final fit of a descent, its residual, and whether it converged."""
    last, cost, flat = _unknown(task), _cost(task, theta), FLAT if task.is_stated else 0.0
    for _ in range(ROUNDS):
        fit = solved(task, theta, _likely(task, task.unknowns.value(theta))) if np.isfinite(cost) else None
        if fit is None:
            return last, cost, False
        last, full = replace(fit, theta=theta), fit.theta - theta
        if is_still(task, fit, full):
            return last, cost, True
        for k in range(HALVINGS):
            tried = theta + 0.5**k * full
            found = _cost(task, tried)
            if found <= cost * (1.0 + FLAT_EXACT) + flat:
                break
        else:
            return last, cost, False
        theta, cost = tried, found
    return last, cost, False


def _cost(task: FitEquations, theta: Floats) -> float:
    """Residual of a load, each test weighted by the noise predicted with it; infinite without mass."""
    pi = task.unknowns.value(theta)
    if not np.isfinite(pi).all() or (pi[0] < LIGHTEST and theta.any()):
        return np.inf
    left = _whitened(task, pi, np.zeros((*task.qdd.shape, 0)), task.tau - task.answers.torque(task.qdd, pi))
    cost = np.inf if left is None else float(np.sum(left**2))
    return cost if np.isfinite(cost) else np.inf


def is_still(task: FitEquations, fit: Fit, moved: Floats) -> bool:
    """Whether an iteration that changed the unknowns by this much was the last."""
    scale = 1.0 if task.is_stated else math.sqrt(fit.left / max(fit.rows - fit.rank, 1))
    still = STILL * scale * _spread(fit) + STILL_EXACT
    return bool((np.abs(moved) <= still * task.unknowns.units).all())


def solved(task: FitEquations, theta: Floats, at: Floats) -> Fit | None:
    """One least-squares iteration about theta, with Y at accelerations; None if the equations overflow
    float64.
    """
    pi = task.unknowns.value(theta)
    J = task.answers.regressor(at) @ task.unknowns.jacobian(theta)
    equations = _whitened(task, pi, J, task.tau - task.answers.torque(task.qdd, pi))
    return (
        None
        if equations is None or not np.isfinite(equations).all()
        else least_squares(task.unknowns.units, theta, equations)
    )


def _spread(fit: Fit) -> Floats:
    """Standard deviation of each theta, in its unit."""
    spread = np.sqrt(np.sum((fit.vectors[: fit.rank] / fit.values[: fit.rank, None]) ** 2, axis=0))
    return np.asarray(spread + 1e-300)  # unobservable unknowns do not move


def _likely(task: FitEquations, pi: Floats) -> Floats:
    """The most likely accelerations with the load: qdd + S_qdd M^T S^-1 (tau - torque(qdd)), S_qdd their
    variance: those measured if only torques are noisy, those predicted if only accelerations are.
    """
    pi = _trusted(task, pi)
    roots = _roots(task, pi)
    if roots is None:
        return task.qdd  # an absurd load; its cost rejects it
    left = np.where(task.usable, task.tau - task.answers.torque(task.qdd, pi), 0.0)[..., None]
    forces = np.linalg.solve(roots.transpose(0, 2, 1), np.linalg.solve(roots, left))
    return task.qdd + task.noise.variance("qdd") * (task.answers.inertia(pi) @ forces)[..., 0]


def _trusted(task: FitEquations, pi: Floats) -> Floats:
    """The load, or none if it is so unphysical that the arm with it has less than half the arm's own
    inertia.
    """
    if not np.isfinite(task.answers.inertia(pi)).all():
        return np.zeros(10)
    most = np.linalg.eigvalsh(task.answers.M)[:, 0]
    return pi if (np.linalg.eigvalsh(task.answers.inertia(pi))[:, 0] > 0.5 * most).all() else np.zeros(10)


def _roots(task: FitEquations, pi: Floats) -> Floats | None:
    """Cholesky factors (B, n, n) of the noise of each test's equations, 1 for unusable ones; None if a
    covariance, with an absurd load, has none in float64.
    """
    M, noise = task.answers.inertia(_trusted(task, pi)), task.noise
    eye = np.eye(M.shape[-1])
    S = noise.variance("qdd") * (M @ M.transpose(0, 2, 1)) + noise.variance("tau") * eye
    if task.beside:
        slopes = task.slopes(pi)
        S = S + noise.variance("q") * (slopes @ slopes.transpose(0, 2, 1))
    try:
        return np.linalg.cholesky(np.where(task.usable[:, :, None] & task.usable[:, None, :], S, eye))
    except np.linalg.LinAlgError:
        return None


def _whitened(task: FitEquations, pi: Floats, J: Floats, left: Floats) -> Floats | None:
    """Equations (rows, p + 1), right sides last, each divided by its noise; rows of one test are
    decorrelated. None if the noise has no Cholesky factor.
    """
    if not task.usable.any():
        raise InputError(
            "no joint moves in any test, all are held by friction; use larger test torques.", "payload"
        )
    roots = _roots(task, pi)
    if roots is None:
        return None
    rows = np.where(task.usable[..., None], np.concatenate([J, left[..., None]], axis=2), 0.0)
    return np.asarray(np.linalg.solve(roots, rows)[task.usable])


def least_squares(units: Floats, theta: Floats, equations: Floats) -> Fit:
    """The step from theta by equations (rows, p + 1), right sides last, within the observable directions."""
    small = np.asarray(np.linalg.qr(equations, mode="r"))  # an equivalent p + 1 equations
    A, b = small[:, :-1] * units, small[:, -1]
    U, values, vectors = np.linalg.svd(A, full_matrices=False)
    full = np.linalg.svd(A)[2] if len(values) < len(units) else vectors
    rank = int(np.sum(values > RANK * values[0])) if values.size and values[0] > 0.0 else 0
    step = vectors[:rank].T @ ((U[:, :rank].T @ b) / values[:rank])
    left = b - A @ step
    return Fit(theta + units * step, values, full, rank, float(left @ left), len(equations))
