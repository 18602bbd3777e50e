"""Identification of an arm from logs: `identify`."""

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
from forearm.identification.fitting import FittedStage, Fitting
from forearm.identification.kept_stages import kept_stages
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
from forearm.kernels.thread_pool import says_if_memory_is_short
from forearm.progress import Progress
from forearm.values import check_choice, check_kind, check_number

TORQUE_SIDES = ("motor", "link")
WEIGHTINGS = ("joint", "ordinary", "robust")
FRICTIONS = ("auto", "none", "viscous", "coulomb", "stribeck")


@says_if_memory_is_short
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
    """Identify an arm from measured logs: inertial parameters, friction and rotors, with standard deviations.

    The geometry is assumed exact. Several logs are fitted together, and each is also predicted by a fit to
    the others; with a single log, every fifth of it is predicted by a fit to the rest.

    Args:
        arm: the arm as known so far.
        log: a file (.csv, .parquet, .npz, .json), arrays by name, t (T,), q (T, n) and tau, current or
            voltage (T, n), and qd and qdd if measured; a simulation result; or a list of these.
        torque_side: "motor": tau is motor torque times gear ratio, with rotor, gear and all friction in it;
            "link": a sensor behind the gear. Required; it is never guessed.
        friction: "none", "viscous", "coulomb" (with viscous), "stribeck" (with both), for every joint;
            "auto": "coulomb", plus the friction of each joint in the arm file.
        load: whether every joint has gear losses proportional to its load. Joints keep these losses, and
            Stribeck friction, only if data held out of the fit are predicted no worse.
        offsets: whether torques have offsets; Coulomb friction is then the same in both directions.
        gains: whether measured efforts have an unknown gain per joint. A known payload in one of the logs
            determines all gains; without one the gain of the last joint stays 1.
        payload: load in the hand: None, "unknown", or a mapping with mass, com and inertia; a list for each
            log.
        shift: delay of efforts after positions, s; None: estimated for each log.
        weighting: "joint": by the noise of each joint's rows, with its autocorrelation; "ordinary": all rows
            alike; "robust": outliers count less.
        cutoff: cut-off frequency of the position filter, Hz; None: chosen from the data.
        derivatives: "position" or "logged": source of qd and qdd; None: logged if both are present.
        effort: "tau", "current" or "voltage", if logs have several; None: for simulations "tau", the torque
            of the motors, whatever drove them.
        total_mass: of the moving bodies, kg, or (value, deviation); None: unknown.
        prior: relative uncertainty of the arm file's inertial parameters, used where data carry no
            information; or a `Prior`.
        confidence: confidence level of intervals.
        check: whether to refuse efforts in other joints' columns or with the wrong sign.
        columns, units, period: as in `read_motion`.
        progress: progress callback.
    """
    check_arm(arm, "identify")
    side = _side(torque_side)
    check_choice(friction, FRICTIONS, "identify, friction")
    check_choice(weighting, WEIGHTINGS, "identify, weighting")
    for name, choice in (("load", load), ("offsets", offsets), ("gains", gains), ("check", check)):
        check_kind(choice, bool, f"identify, {name}")
    if not isinstance(prior, Prior):
        prior = check_number(prior, "identify, prior", above=0.0)
    if shift is not None:
        shift = check_number(shift, "identify, shift")
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
            "they can be identified only if efforts are linear in the other unknowns; omit "
            "load, and give friction='coulomb' for an arm with Stribeck friction.",
            "identify",
            "gains",
        )
    asked = FitRequest(offsets, gains, (shift is None,) * len(logs), loads_of(payload, len(logs)))
    fitting = fitting_of(model, logs, asked, shift or 0.0, weighting, progress)
    doubts = check_efforts(fitting) if check else []

    def possible(solution: FitSolution) -> ConsistentFit:
        return consistent_fit(arm, solution, prior, total_mass)

    found, stages, said = kept_stages(fitting, possible)
    return stated(found, stages, _tests(found.fitting, found.stage), confidence, [*doubts, *said])


def _side(given: object) -> str:
    if given is None:
        raise InputError(
            "expected 'motor' or 'link'. 'motor': tau is motor torque times gear ratio, or "
            "comes from currents or voltages; it includes rotors, gears and all friction. "
            "'link': measured by a sensor behind the gear. The data alone do not tell.",
            "identify",
            "torque_side",
        )
    return check_choice(given, TORQUE_SIDES, "identify, torque_side")


def _several(log: Any) -> list[Any]:
    logs = list(log) if isinstance(log, list | tuple) else [log]
    if not logs:
        raise InputError("expected at least one log, got none.", "identify", "log")
    return logs


def fitting_of(
    model: EffortModel,
    logs: Sequence[PreparedLog],
    asked: FitRequest,
    shift: float,
    weighting: str,
    progress: Progress | None,
) -> Fitting:
    """The logs as rows, with motor constants if efforts are currents or voltages."""
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


def _tests(fitting: Fitting, fitted: FittedStage) -> tuple[ResidualTest, ...]:
    known = [source.log.signals for source in fitting.sources]
    middle = np.mean([0.5 * (log.q_low + log.q_high) for log in known], axis=0)
    extras = StructureColumns(fitting.fastest, middle)
    x = fitted.x[: len(fitting.model.names)]
    coefficients = fitted.coefficients if fitted.coefficients.shape[1] else None
    data = fitting.with_extras(x, coefficients, extras, COUNT)
    return residual_tests(fitted.solution, data, lambda: fitting.with_extras(x, None, extras, COUNT))
