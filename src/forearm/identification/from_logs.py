"""From logs to a model: `identify` reads as a table of contents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError
from forearm.identification.consistent_stage import ConsistentFit, consistent_fit
from forearm.identification.effort_checks import check_efforts
from forearm.identification.effort_model import EffortModel, FrictionKind, effort_model, effort_scale
from forearm.identification.fitting import FittedStage, Fitting, fit_stage, with_first_speeds
from forearm.identification.least_squares import FitSolution
from forearm.identification.motor_fit import fit_motors, motor_constants
from forearm.identification.prior import Prior
from forearm.identification.questions import FitRequest, loads_of
from forearm.identification.residual_tests import COUNT, StructureColumns, residual_tests
from forearm.identification.result import Identification, ResidualTest
from forearm.identification.rows import row_source
from forearm.identification.samples import PreparedLog
from forearm.identification.signals.prepare import prepare_log
from forearm.identification.stating import stated
from forearm.progress import Progress
from forearm.values import check_choice, check_number

TORQUE_SIDES = ("motor", "link")
WEIGHTINGS = ("joint", "ordinary", "robust")
FRICTIONS = ("auto", "none", "viscous", "coulomb", "stribeck")


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
    effort: str | None = None,
    total_mass: float | tuple[float, float] | None = None,
    prior: float | Prior = 0.3,
    confidence: float = 0.95,
    check: bool = True,
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
        log: a file (.csv, .parquet, .npz, .json), arrays by name, t (T,), q (T, n) and tau, current or
            voltage (T, n), qd and qdd where they were measured, what a simulation left; or a list of such.
        torque_side: "motor": tau is motor torque times gear ratio, with rotor, gear and all friction in it;
            "link": a sensor behind the gear. It is asked for, never guessed.
        friction: "none", "viscous", "coulomb" (with viscous), "stribeck" (with both), for every joint;
            "auto": "coulomb", and for each joint what the arm file has.
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
        effort: "tau", "current" or "voltage", where logs have several.
        total_mass: of the moving bodies, kg, or (value, deviation); None: unknown.
        prior: how far inertial parameters of the arm file may be off, as a share, where data say nothing; or
            a `Prior`.
        confidence: of intervals.
        check: whether efforts in the columns of other joints, or with the wrong sign, are refused.
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
            arm,
            one,
            columns=columns,
            units=units,
            period=period,
            cutoff=cutoff,
            derivatives=derivatives,
            effort=effort,
        )
        for one in _several(log)
    ]
    kind = None if friction == "auto" else cast(FrictionKind, friction)
    model = effort_model(arm, side, kind, has_load=load)
    if gains and not model.is_linear:
        raise InputError(
            "identify, gains: they are found where efforts are linear in the other unknowns; leave out load, "
            "and give friction='coulomb' for an arm with Stribeck friction."
        )
    asked = FitRequest(offsets, gains, (shift is None,) * len(logs), loads_of(payload, len(logs)))
    fitting = fitting_of(model, logs, asked, shift or 0.0, weighting, progress)
    doubts = check_efforts(fitting) if check else []
    fits = fits_of(fitting)
    tests = _tests(fitting, fits[-1])

    def possible(solution: FitSolution) -> ConsistentFit:
        return consistent_fit(arm, solution, prior, total_mass)

    return stated(fitting, fits, tests, possible(fits[-1].solution), possible, confidence, doubts)


def _side(given: object) -> str:
    if given is None:
        raise InputError(
            "identify, torque_side: expected 'motor' or 'link'. 'motor': tau is motor torque times gear "
            "ratio, or comes from currents or voltages; rotors, gears and all friction are in it. 'link': a "
            "sensor behind the gear measured it. The numbers alone do not tell."
        )
    return check_choice(given, TORQUE_SIDES, "identify, torque_side")


def _several(log: Any) -> list[Any]:
    logs = list(log) if isinstance(log, list | tuple) else [log]
    if not logs:
        raise InputError("identify, log: expected at least one log, got none.")
    return logs


def fitting_of(
    model: EffortModel,
    logs: Sequence[PreparedLog],
    asked: FitRequest,
    shift: float,
    weighting: str,
    progress: Progress | None,
) -> Fitting:
    """The logs as rows: with the motors' constants, where efforts are currents or voltages."""
    sources = []
    fastest = np.zeros(model.arm.n)
    both = [log for log in logs if log.signals.has_current]
    motors = fit_motors(model.arm, both) if both else None
    for log in logs:
        scale = effort_scale(log.signals.effort, *motor_constants(model.arm, log, motors))
        if motors is not None and log.signals.has_current:
            scale = replace(scale, of_current=motors.K)
        speeds = log.signals.fastest
        fastest = np.maximum(fastest, speeds)
        sources.append(row_source(log, scale, shift, speeds))
    return Fitting(model, sources, asked, weighting, fastest, motors, progress)


def fits_of(fitting: Fitting) -> list[FittedStage]:
    """The linear stage, and where efforts are not linear in all unknowns, the next from there on."""
    model = fitting.model
    first = fit_stage(fitting, model.values(), is_full=False)
    if model.is_linear:
        return [first]
    start = first.x[: len(model.names)]
    if any(law.friction == "stribeck" for law in model.laws):
        start = with_first_speeds(fitting, start)
    return [first, fit_stage(fitting, start, is_full=True)]


def _tests(fitting: Fitting, fitted: FittedStage) -> tuple[ResidualTest, ...]:
    known = [source.log.signals for source in fitting.sources]
    middle = np.mean([0.5 * (log.q_low + log.q_high) for log in known], axis=0)
    extras = StructureColumns(fitting.fastest, middle)
    x = fitted.x[: len(fitting.model.names)]
    coefficients = fitted.coefficients if fitted.coefficients.shape[1] else None
    data = fitting.with_extras(x, coefficients, extras, COUNT)
    return residual_tests(fitted.solution, data, lambda: fitting.with_extras(x, None, extras, COUNT))
