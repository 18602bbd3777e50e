"""Gains from a desired bandwidth, and the limits set by sampling."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.codegen.tracing import Tracing
from forearm.kernels.kept import kernel_of
from forearm.kinematics.arguments import one_state, states_of
from forearm.kinematics.limits import middle
from forearm.reduction.plan import PLAIN_PLAN
from forearm.spatial import Floats
from forearm.symbols import evaluate
from forearm.values import as_floats, check_number, check_whole, frozen_array

BANDWIDTH = 2.0 * math.pi * 5.0  # rad/s: lower end for industrial arms, Dhanaraj 1.1


@dataclass(frozen=True, eq=False)
class Gains:
    """Gains of a controller, optionally multiplied by an inertia.

    Args:
        kp: of position (n,), 1/s^2.
        kd: of velocity (n,), 1/s.
        ki: of the integral of position (n,), 1/s^3.
    """

    kp: Floats
    kd: Floats
    ki: Floats

    def scaled(self, inertia: Floats) -> Gains:
        """Gains for torques instead of accelerations."""
        return Gains(self.kp * inertia, self.kd * inertia, self.ki * inertia)


def critically_damped(n: int, bandwidth: float = BANDWIDTH, integral: bool = False) -> Gains:
    """Gains with all poles at -w: kp = w^2, kd = 2 w; with an integral kp = 3 w^2, kd = 3 w, ki = w^3.

    Args:
        n: number of joints.
        bandwidth: w, rad/s.
        integral: whether the integral of the error is fed back too.
    """
    w = check_number(bandwidth, "bandwidth", above=0.0)
    kp, kd, ki = (3.0 * w * w, 3.0 * w, w * w * w) if integral else (w * w, 2.0 * w, 0.0)
    return Gains(np.full(n, kp), np.full(n, kd), np.full(n, ki))


def bandwidth_said(bandwidth: float) -> str:
    """A bandwidth in words: its value, rad/s, and in Hz."""
    return f"bandwidth {bandwidth:.6g} rad/s ({bandwidth / (2.0 * math.pi):.3g} Hz)"


def joint_inertias(arm: Arm, q: ArrayLike | None = None) -> Floats:
    """Inertia that each joint moves by itself, M_jj (n,), rotors included, kg m^2 (kg).

    Args:
        arm: the arm.
        q: joint coordinates (n,); None: mid-range.
    """
    (posture,) = one_state(arm, "joint_inertias", q=middle(arm) if q is None else q)
    traced = Tracing(arm, {}, plan=PLAIN_PLAN)
    given = {f"q[{i}]": x for i, x in enumerate(posture.tolist())}
    return np.array(evaluate(traced.graph, np.diagonal(traced.inertia_matrix()), given))


def joint_gains(arm: Arm, bandwidth: float, inertias: ArrayLike | None, integral: bool = False) -> Gains:
    """Critically damped gains times inertias d (n,), by default M_jj in mid-range.

    Where d is less than M_jj, ki is further reduced by d / M_jj: kp kd > ki M_jj keeps the joint stable
    (Routh's criterion).
    """
    own = joint_inertias(arm)
    d = own if inertias is None else frozen_array(inertias, (arm.n,), "inertias")
    made = critically_damped(arm.n, bandwidth, integral).scaled(d)
    return Gains(made.kp, made.kd, made.ki * np.minimum(1.0, d / own))


def stable_inertias(arm: Arm, postures: ArrayLike, bandwidth: float, period: float, delay: int = 0) -> Floats:
    """M_jj (n,) in mid-range, reduced where sampled gains times it would be unstable, as for joints that
    share inertia about parallel axes.

    The sampled loop multiplies gains by the eigenvalues of M^-1 diag(d). Limited to half of what is stable in
    every configuration, d = min(M_jj, c / max (M^-1)_jj) with the largest such c: joints without that
    coupling keep their full inertia.

    Args:
        arm: the arm.
        postures: configurations (m, n) to check.
        bandwidth: of the feedback, rad/s.
        period: sampling period, s.
        delay: periods until a command acts, 0 or 1.
    """
    (rows,) = states_of(arm, postures=np.atleast_2d(as_floats(postures, "postures")))
    most = 0.5 * largest_bandwidth(period, delay) / check_number(bandwidth, "bandwidth", above=0.0)
    return bearable(joint_inertias(arm), np.linalg.inv(kernel_of(arm).inertia_matrix(rows)), most)


def bearable(own: Floats, inverse: Floats, most: float) -> Floats:
    """d = min(own, c / max (M^-1)_jj), (n,), with the largest c for which no eigenvalue of M^-1 diag(d)
    exceeds `most` for any M^-1 (m, n, n).
    """
    if _largest_share(inverse, own) <= most:
        return own
    lightest = 1.0 / np.diagonal(inverse, axis1=1, axis2=2).max(axis=0)  # inertia with all other joints free
    # Eigenvalues grow with d. Their sum is at most n c, so that c = most / n is feasible.
    low, high = most / len(own), max(most, float((own / lightest).max()))
    for _ in range(60):
        c = 0.5 * (low + high)
        low, high = (c, high) if _largest_share(inverse, np.minimum(own, c * lightest)) <= most else (low, c)
    return np.asarray(np.minimum(own, low * lightest))


def _largest_share(inverse: Floats, d: Floats) -> float:
    """Largest eigenvalue of M^-1 diag(d) over all M^-1 (m, n, n), from the similar symmetric matrix."""
    root = np.sqrt(d)
    return float(np.linalg.eigvalsh(inverse * (root[:, None] * root)).max())


def sampled_radius(kp: float, kd: float, period: float, ki: float = 0.0, delay: int = 0) -> float:
    """Largest |z| of a unit mass under sampled gains with held torque: below 1 the loop is stable.

    x' = x + T v + u T^2/2, v' = v + T u, s' = s + T x; u = -(kp x + kd v + ki s) of this sample or the one
    before.
    """
    T = period
    A = np.array([[1.0, T, 0.0], [0.0, 1.0, 0.0], [T, 0.0, 1.0]])
    B, K = np.array([[0.5 * T * T], [T], [0.0]]), np.array([[kp, kd, ki]])
    if ki == 0.0:
        A, B, K = A[:2, :2], B[:2], K[:, :2]
    loop = A - B @ K if delay == 0 else np.block([[A, B], [-K, np.zeros((1, 1))]])
    return float(np.abs(np.linalg.eigvals(loop)).max())


def largest_bandwidth(period: float, delay: int = 0) -> float:
    """The critically damped bandwidth, rad/s, at which a sampled loop becomes unstable: w T = 1 without
    delay.

    kd T < 2 by Jury's criterion of z^2 + (kp T^2/2 + kd T - 2) z + 1 + kp T^2/2 - kd T; by bisection with a
    delay.

    Args:
        period: T, s.
        delay: periods until a command acts, 0 or 1.
    """
    T = check_number(period, "period", above=0.0)
    if check_whole(delay, "delay, in periods", 0, 1) == 0:
        return 1.0 / T
    low, high = 0.0, 1.0
    for _ in range(60):
        wT = 0.5 * (low + high)
        low, high = (wT, high) if sampled_radius(wT * wT, 2.0 * wT, 1.0, delay=delay) < 1.0 else (low, wT)
    return low / T
