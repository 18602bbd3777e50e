"""Payload estimation from the log of a motion: a load fitted to the torque residuals.

Residuals are averaged over the differentiation window, for each joint while it moves, so they are nearly
independent, and their scatter gives the uncertainty of the fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.drives.joint import held_freedoms
from forearm.errors import InputError
from forearm.identification.logs_against_model import LogComparison, compare_log
from forearm.identification.payload.estimate import PayloadEstimate, stated
from forearm.identification.payload.fit import Fit, least_squares
from forearm.identification.payload.regressor import payload_regressor
from forearm.identification.payload.test_forces import refuse_load_friction
from forearm.identification.payload.unknowns import Unknowns, unknowns_of
from forearm.identification.requests import LoadModel, LogFormat
from forearm.records import flat
from forearm.values import check_kind

Floats = NDArray[np.float64]
SLOW = 0.02  # of its largest speed: below it dry friction is undetermined, and the sample is not used
ROUNDS = 30
STILL = 1e-3  # of a standard deviation: a smaller change ends the fit
STILL_EXACT = 1e-9  # the same in units of 1 kg, 0.1 kg m, 0.01 kg m^2, for nearly noise-free data


@flat(load=LoadModel, form=LogFormat)
def payload_from_log(
    arm: Arm,
    log: Any,
    *,
    window: float | None = None,
    load: LoadModel | None = None,
    form: LogFormat | None = None,
) -> PayloadEstimate:
    """Estimate the load in the hand of an otherwise known arm from a motion with torques or currents.

    Args:
        arm: the arm without the load.
        log: a file, arrays by name (t, q, and tau or current), or a simulation result.
        window: length of the differentiation window, s (default: chosen from the noise).
        load: what is known of it.
        form: how the columns of the log are to be understood.
    """
    check_kind(arm, Arm, "payload_from_log, arm")
    load = load or LoadModel()
    refuse_load_friction(arm)
    unknowns = unknowns_of(load)
    fit, settled = _fitted(unknowns, *_averaged(arm, compare_log(arm, log, window=window, form=form)))
    return stated(unknowns, fit, settled, load.confidence)


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
