"""Payload estimation from the log of a motion: a load fitted to the torque residuals.

Residuals are averaged over the differentiation window, for each joint while it moves, so they are nearly
independent, and their scatter gives the uncertainty of the fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.drives.joint import depends_on_load, held_freedoms
from forearm.errors import InputError, ModelError
from forearm.identification.logs_against_model import LogComparison, compare_log
from forearm.identification.payload.estimate import PayloadEstimate, stated
from forearm.identification.payload.fit import Fit, least_squares
from forearm.identification.payload.regressor import payload_regressor
from forearm.identification.payload.unknowns import Unknowns, unknowns_of
from forearm.values import check_kind, check_number

Floats = NDArray[np.float64]
SLOW = 0.02  # of its largest speed: below it dry friction is undetermined, and the sample is not used
ROUNDS = 30
STILL = 1e-3  # of a standard deviation: a smaller change ends the fit
STILL_EXACT = 1e-9  # the same in units of 1 kg, 0.1 kg m, 0.01 kg m^2, for nearly noise-free data


def payload_from_log(
    arm: Arm,
    log: Any,
    *,
    shape: str = "body",
    mass: float | None = None,
    com: ArrayLike | None = None,
    confidence: float = 0.95,
    window: float | None = None,
    period: float | None = None,
    columns: Mapping[str, str] | None = None,
    units: str | Sequence[str] = (),
) -> PayloadEstimate:
    """Estimate the load in the hand of an otherwise known arm from a motion with torques or currents.

    Args:
        arm: the arm without the load.
        log: a file, arrays by name (t, q, and tau or current), or a simulation result.
        shape: "body" (ten unknowns) or "point" (mass and centre).
        mass: known mass, kg.
        com: known centre of mass in the hand frame, m.
        confidence: confidence level of the intervals.
        window: length of the differentiation window, s (default: chosen from the noise).
        period: sampling period, s, if the log has no times.
        columns, units: as in `read_motion`.
    """
    check_kind(arm, Arm, "payload_from_log, arm")
    confidence = check_number(confidence, "payload, confidence", above=0.0, maximum=1.0 - 1e-12)
    if depends_on_load(arm):
        raise ModelError(
            f"friction of {arm.name!r} depends on the load (bearings or a transmission), so "
            "torques are nonlinear in it; use an arm with viscous and Coulomb friction only.",
            "payload",
        )
    unknowns = unknowns_of(shape, mass, com)
    found = compare_log(arm, log, window=window, period=period, columns=columns, units=units)
    Y, left, joint = _averaged(arm, found)
    fit, settled = _fitted(unknowns, Y, left, joint)
    return stated(unknowns, fit, settled, confidence)


def _averaged(arm: Arm, found: LogComparison) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Window means of the regressor (m, 10) and the residuals (m,), and the joint of each."""
    Y = payload_regressor(arm, found.q, found.qd, found.qdd)
    fastest = np.abs(found.qd).max(axis=0)
    moves = ~np.array(held_freedoms(arm), dtype=bool) | (np.abs(found.qd) > SLOW * fastest)
    moves &= fastest > 0.0
    step = float(np.median(np.diff(found.t)))
    block = np.floor((found.t - found.t[0]) / max(found.window, step)).astype(np.intp)
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    counts = np.add.reduceat(moves.astype(np.float64), starts, axis=0)
    rows = np.add.reduceat(np.where(moves[..., None], Y, 0.0), starts, axis=0)
    sums = np.add.reduceat(np.where(moves, found.residual, 0.0), starts, axis=0)
    used, joint = np.nonzero(counts)
    if not len(used):
        raise InputError("no joint moves, all are held by friction; move the arm.", found.name)
    count = counts[used, joint]
    return rows[used, joint] / count[:, None], sums[used, joint] / count, joint


def _fitted(unknowns: Unknowns, Y: Floats, left: Floats, joint: NDArray[np.intp]) -> tuple[Fit, bool]:
    """Gauss-Newton, each joint weighted by its residual scatter in the last iteration."""
    start = unknowns.body
    theta = np.zeros(len(unknowns.units))
    if start is not None:
        body, _ = _fitted(start, Y, left, joint)
        theta = start.value(body.theta)[list(unknowns.kept)]
        theta = theta if unknowns.kept[0] != 0 or theta[0] > 0.0 else np.array([1e-3, 0.0, 0.0, 0.0])
    scatter = np.ones(joint.max() + 1)
    for done in range(ROUNDS):
        off = left - Y @ unknowns.value(theta)
        equations = np.column_stack([Y @ unknowns.jacobian(theta), off]) / scatter[joint][:, None]
        fit = least_squares(unknowns.units, theta, equations)
        moved, theta = fit.theta - theta, fit.theta
        off = left - Y @ unknowns.value(theta)
        freedom = np.maximum(np.bincount(joint) - fit.rank * np.bincount(joint) / len(joint), 1.0)
        scatter = np.sqrt(np.bincount(joint, off**2) / freedom)
        scatter = np.maximum(scatter, 1e-12 * max(float(np.abs(left).max()), 1e-300))
        spread = np.sqrt(np.sum((fit.vectors[: fit.rank] / fit.values[: fit.rank, None]) ** 2, axis=0))
        if done > 1 and (np.abs(moved) <= (STILL * spread + STILL_EXACT) * unknowns.units).all():
            return fit, True
    return fit, False
