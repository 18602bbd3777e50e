"""From logs to a model: `identify` reads as a table of contents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError, shorten
from forearm.identification.consistent import Consistent, consistent
from forearm.identification.deviations import deviations_of
from forearm.identification.drive_law import COULOMB, LOSS, OFFSET, STATIC, STRIBECK_SPEED
from forearm.identification.effort_model import EffortModel, EffortScale, effort_model, effort_scale
from forearm.identification.fitting import Fitted, Fitting, first_speeds, fit_stage, left_out, residuals
from forearm.identification.hidden import unidentifiable
from forearm.identification.least_squares import Solution
from forearm.identification.new_arm import arm_with
from forearm.identification.parameter_set import ParameterSet
from forearm.identification.prior import Prior, cad_prior
from forearm.identification.questions import Asked, loads_of
from forearm.identification.residual_tests import COUNT, StructureColumns, residual_tests
from forearm.identification.result import Identification, ResidualTest, Stage, UsedLog
from forearm.identification.rows import row_source
from forearm.identification.samples import PreparedLog
from forearm.identification.signals import prepare_log
from forearm.progress import Progress
from forearm.spatial import Floats
from forearm.values import check_choice, check_number

TORQUE_SIDES = ("motor", "link")
WEIGHTINGS = ("joint", "ordinary", "robust")
FRICTIONS = ("auto", "none", "viscous", "coulomb", "stribeck")
MOST_SHOWN = 20_000  # rows that are kept to be looked at


def identify(
    arm: Arm,
    log: Any,
    *,
    torque_side: Literal["motor", "link"] | None = None,
    friction: str = "auto",
    load: bool = False,
    offsets: bool = False,
    gains: bool = False,
    payload: Any = None,
    shift: float | None = None,
    weighting: str = "joint",
    cutoff: float | None = None,
    derivatives: str | None = None,
    total_mass: float | tuple[float, float] | None = None,
    prior: float | Prior = 0.3,
    confidence: float = 0.95,
    columns: Mapping[str, str] | None = None,
    units: str | Sequence[str] = (),
    period: float | None = None,
    progress: Progress | None = None,
) -> Identification:
    """A better model of an arm from measured logs: inertial parameters, friction, rotors, with deviations.

    Geometry is trusted. Several logs are fitted together, and each is predicted by a fit to the others; of a
    single one every fifth by a fit to the rest.

    Args:
        arm: the arm as it is known.
        log: a file (.csv, .parquet, .npz, .json), arrays by name, t (T,), q (T, n) and tau, current or voltage
            (T, n), qd and qdd where they were measured, what a simulation left; or a list of such.
        torque_side: "motor": tau is motor torque times gear ratio, with rotor, gear and all friction in it;
            "link": a sensor behind the gear. It is asked for, never guessed.
        friction: "none", "viscous", "coulomb" (with viscous), "stribeck" (with both), for every joint; "auto":
            "coulomb", and for each joint what the arm file has.
        load: whether gears of every joint lose in proportion to their load.
        offsets: whether torques have offsets; Coulomb's friction is then the same in both directions.
        gains: whether measured efforts are off by a factor for each joint. A known payload in one of the
            logs tells all of them; without one that of the last joint stays 1.
        payload: in the hand: None, "unknown", or a mapping with mass, com and inertia; a list for each log.
        shift: efforts come so much later than positions, s; None: found for each log.
        weighting: "joint": by the noise of each joint's rows, and what neighbouring rows have in common of
            it; "ordinary": all rows alike; "robust": rows far off count less.
        cutoff: of the filter of positions, Hz; None: from the data.
        derivatives: "position" or "logged": where qd and qdd come from; None: logged where both are there.
        total_mass: of the moving bodies, kg, or (value, deviation); None: unknown.
        prior: how far inertial parameters of the arm file may be off, as a share, where data say nothing; or
            a `Prior`.
        confidence: of intervals.
        columns, units, period: as in `read_motion`.
        progress: is told how far it is.
    """
    check_arm(arm, "identify")
    side = _side(torque_side)
    check_choice(friction, FRICTIONS, "identify, friction")
    check_choice(weighting, WEIGHTINGS, "identify, weighting")
    confidence = check_number(confidence, "identify, confidence", above=0.0, maximum=1.0 - 1e-12)
    logs = [
        prepare_log(
            arm, one, columns=columns, units=units, period=period, cutoff=cutoff, derivatives=derivatives
        )
        for one in _listed(log)
    ]
    fitting = _fitting(arm, logs, side, friction, load, shift, weighting, progress)
    fitting.asked = replace(fitting.asked, offsets=offsets, gains=gains, loads=loads_of(payload, len(logs)))
    fits = _fits(fitting)
    name, fitted = fits[-1]
    tests = _tests(fitting, fitted)
    found = _consistent(arm, fitting.model, fitted.solution, prior, total_mass)
    return _stated(arm, fitting, fits, tests, found, confidence)
