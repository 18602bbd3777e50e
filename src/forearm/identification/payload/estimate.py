"""Payload estimation from small test torques and the resulting accelerations. Waters IV.

Residuals tau - tau_arm(q, qd, qdd) are Y pi with the ten parameters pi of the load: weighted least squares.
The result has intervals, unidentifiable combinations, and the nearest physical body.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.dynamics.regressor import PARAMETERS
from forearm.errors import InputError
from forearm.identification.payload.fit import Fit, FitEquations, Noise, beside_of, fitted, noise_of
from forearm.identification.payload.physical import (
    body_of,
    is_physical,
    nearest_physical,
    parameters_of_body,
    pseudo_inertia,
)
from forearm.identification.payload.test_forces import Floats, answers_of, friction_at_rest
from forearm.identification.payload.unknowns import UNITS, Unknowns, combinations, unknowns_of
from forearm.identification.requests import LoadModel
from forearm.kinematics.arguments import states_of
from forearm.records import flat
from forearm.tables import number, text_table
from forearm.values import as_floats, frozen

__all__ = ["Noise", "PayloadEstimate", "estimate_payload"]

MANY = 1000  # degrees of freedom beyond which Student's t equals the normal distribution to 0.1 %
LARGEST = 1e6  # rad/s^2, N m, rad, rad/s: plausibility limit
MOVING = 4.0  # standard deviations: a joint with larger acceleration has broken away
LENGTHS = np.array([0.1, 0.1, 0.1, 1.0])  # m: size of a load, which scales mass and inertia


@frozen
class PayloadEstimate:
    """Result of a payload estimation: ten fitted parameters, and the nearest physical body.

    Attributes:
        parameters: mass, first moments and inertia about the hand's origin (10,), hand axes.
        covariance: of the parameters (10, 10).
        deviations: standard deviations (10,), infinite if no test determines a parameter.
        intervals: (lower, upper) of each parameter (10, 2).
        confidence: probability that an interval contains the true value.
        unidentified: combinations that no test determines, left at 0.
        mass: of the nearest body, kg.
        com: its centre of mass (3,), hand frame, m.
        inertia: tensor (3, 3) about it, hand axes, kg m^2.
        projected: whether the fit itself is not physical.
        fit: chi^2 per degree of freedom, near 1 if noise and model are as stated; NaN if no noise was stated:
            deviations then come from the residuals, and are infinite without degrees of freedom.
        rows: number of equations used.
        settled: whether the iteration converged; otherwise rely on neither values nor intervals.
        message: the result in words.
    """

    parameters: Floats
    covariance: Floats
    deviations: Floats
    intervals: Floats
    confidence: float
    unidentified: tuple[str, ...]
    mass: float
    com: Floats
    inertia: Floats
    projected: bool
    fit: float
    rows: int
    settled: bool
    message: str

    def onto(self, arm: Arm) -> Arm:
        """The arm with this load in its hand."""
        return arm.with_payload(mass=self.mass, com=self.com, inertia=self.inertia)

    def table(self) -> str:
        """Every parameter with its interval, and its value for the nearest body."""
        body = parameters_of_body(self.mass, self.com, self.inertia)
        share = f"{100.0 * self.confidence:g} %"
        rows = [
            [name, number(v), number(low), number(high), number(b)]
            for name, v, (low, high), b in zip(PARAMETERS, self.parameters, self.intervals, body, strict=True)
        ]
        return (
            text_table(["parameter", "fitted", f"{share} from", "to", "nearest body"], rows)
            + f"\n{self.message}"
        )


@flat(load=LoadModel)
def estimate_payload(
    arm: Arm,
    q: ArrayLike,
    tau: ArrayLike,
    qdd: ArrayLike,
    qd: ArrayLike | None = None,
    *,
    noise: Noise | None = None,
    load: LoadModel | None = None,
) -> PayloadEstimate:
    """Estimate the load in the hand of an otherwise known arm from test torques.

    Joints with dry friction that no test breaks away are excluded.

    Args:
        arm: the arm without the load.
        q: joint coordinates (B, n).
        tau: applied torques (B, n), N m (N).
        qdd: observed accelerations (B, n).
        qd: joint velocities (B, n); None: the arm is at rest.
        noise: measurement noise; None: of accelerations and torques, estimated from the residuals.
        load: what is known of it.
    """
    noise, load = noise or Noise(), load or LoadModel()
    positions, torques, accelerations, rates = _tests(arm, q, tau, qdd, qd)
    unknowns = unknowns_of(load)
    least = MOVING * math.sqrt(noise.variance("qdd"))
    friction, usable = friction_at_rest(arm, rates, accelerations, least)
    is_stated = any(noise.variance(what) > 0.0 for what in ("qdd", "tau", "q"))
    task = FitEquations(
        answers_of(arm, positions, rates),
        torques - friction,
        accelerations,
        usable,
        noise,
        is_stated,
        unknowns,
        beside_of(arm, positions, rates) if noise.variance("q") > 0.0 else (),
    )
    if not is_stated:
        task = replace(task, noise=noise_of(task))
    return stated(unknowns, *fitted(task), load.confidence, None if is_stated else task.noise)


def _tests(
    arm: Arm, q: ArrayLike, tau: ArrayLike, qdd: ArrayLike, qd: ArrayLike | None
) -> tuple[Floats, ...]:
    """The tests as (B, n) arrays of finite numbers."""
    (positions,) = states_of(arm, q=q)
    for name, value in (("tau", tau), ("qdd", qdd), ("qd", qd)):  # a test is one row of every array
        if value is not None and (got := as_floats(value, name).shape) != positions.shape:
            raise InputError(f"expected the shape of q, {positions.shape}, got {got}.", "payload", name)
    given = states_of(arm, q=positions, tau=tau, qdd=qdd, qd=np.zeros_like(positions) if qd is None else qd)
    arrays = tuple(np.atleast_2d(a) for a in given)
    if not len(arrays[0]):
        raise InputError("expected at least one test; canonical_tests generates some.", "payload")
    for name, array in zip(("q", "tau", "qdd", "qd"), arrays, strict=True):
        bad = np.argwhere(~(np.abs(array) <= LARGEST))  # NaN too
        if bad.size:
            b, i = bad[0]
            raise InputError(
                f"test {b}, joint {arm.joints[i].name} is {array[b, i]:g}; expected finite "
                f"values up to {LARGEST:g}; exclude such tests.",
                "payload",
                name,
            )
    return arrays


def stated(
    unknowns: Unknowns, fit: Fit, settled: bool, confidence: float, relative: Noise | None = None
) -> PayloadEstimate:
    """Complete the ten parameters, the unidentified combinations and the nearest body from a fit; `relative`
    is noise known up to a factor, which the residuals give.
    """
    units = unknowns.units
    J, pi, exact = unknowns.jacobian(fit.theta), unknowns.value(fit.theta), relative is not None
    shown = (fit.vectors[: fit.rank] / fit.values[: fit.rank, None]) * units
    freedom = fit.rows - fit.rank
    variance = 1.0 if not exact else fit.left / freedom if freedom > 0 else math.inf
    C = J @ shown.T @ shown @ J.T
    # infinite entries stay infinite, known entries stay 0
    C = variance * C if math.isfinite(variance) else np.where(C == 0.0, 0.0, np.copysign(math.inf, C))
    hidden = (fit.vectors[fit.rank :] * units) @ J.T
    unseen = (np.abs(hidden / UNITS) > 1e-6).any(axis=0)
    deviations = np.where(unseen, np.inf, np.sqrt(np.diag(C)))
    half = student(confidence, freedom if exact else 0) * deviations
    quality = math.nan if exact or freedom <= 0 else fit.left / freedom
    information = (fit.vectors[: fit.rank] * fit.values[: fit.rank, None]) / units
    body, projected = _body(pi, fit.theta, information.T @ information, unknowns)
    combined = combinations(hidden)
    return PayloadEstimate(
        pi,
        C,
        deviations,
        np.stack([pi - half, pi + half], axis=1),
        confidence,
        combined,
        *body,
        projected,
        quality,
        fit.rows,
        settled,
        (
            f"{_message(pi, projected, combined, quality, freedom, settled)}"
            f"{'' if relative is None else _of_residuals(relative, variance)}"
        ),
    )


def student(confidence: float, freedom: int) -> float:
    """Quantile of Student's t: how many estimated standard deviations contain a fraction of all cases.

    With t = sqrt(k) tan(a) the fraction is the integral of cos(a)^(k-1) from 0 to a, over that to pi/2.
    """
    if freedom == 0 or freedom > MANY:
        return NormalDist().inv_cdf(0.5 + 0.5 * confidence)
    angles = np.linspace(0.0, 0.5 * math.pi, 50_001)
    heights = np.cos(angles) ** (freedom - 1)
    areas = np.concatenate([[0.0], np.cumsum(heights[1:] + heights[:-1])])
    return float(math.sqrt(freedom) * math.tan(np.interp(confidence, areas / areas[-1], angles)))


def _of_residuals(relative: Noise, variance: float) -> str:
    if math.isinf(variance):
        return (
            " No noise is stated and there are no degrees of freedom to estimate it: there are no intervals."
        )
    sizes = ((relative.qdd, "rad/s^2 (m/s^2) of accelerations"), (relative.tau, "N m (N) of torques"))
    found = " and ".join(f"{math.sqrt(variance) * size:.3g} {what}" for size, what in sizes if size)
    return f" No noise is stated: intervals follow from the residuals, {found}, rms."


def _body(
    pi: Floats, theta: Floats, information: Floats, unknowns: Unknowns
) -> tuple[tuple[float, Floats, Floats], bool]:
    if is_physical(pi, LENGTHS):
        return body_of(pseudo_inertia(pi)), False
    if pi[0] <= 0.0 and (unknowns.shape == "point" or not information.any()):
        return (0.0, np.zeros(3), np.zeros((3, 3))), True
    J = unknowns.jacobian(theta)
    return body_of(nearest_physical(theta, information, J, pi - J @ theta, LENGTHS)), True


def _message(
    pi: Floats, projected: bool, combined: tuple[str, ...], quality: float, freedom: int, settled: bool
) -> str:
    said = []
    if not settled:
        said.append(
            "The fit did not converge: the noise is too large for these tests. The result is a first "
            "estimate, usually too small. Use larger test torques."
        )
    if combined:
        said.append(f"Not identifiable, left at 0: {'; '.join(combined)}.")
    if projected:
        said.append(
            f"The fit is not physical (mass {pi[0]:.4g} kg): mass, com and inertia are those of the most "
            "likely physical body."
        )
    # chi^2 has variance 2 freedom: five standard deviations are exceeded once in millions of fits
    if not math.isnan(quality) and quality > 1.0 + 5.0 * math.sqrt(2.0 / freedom):
        said.append(
            f"Residuals are {math.sqrt(quality):.3g} times the stated noise: the noise is larger, or the arm "
            "model is wrong."
        )
    return " ".join(said) or "The tests determine every parameter, and the fit is physical."
