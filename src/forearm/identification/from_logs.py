"""Identification of an arm from logs: `identify`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError, Keyword, Sentence
from forearm.identification.consistent_stage import ConsistentFit, consistent_fit
from forearm.identification.effort_checks import check_efforts
from forearm.identification.effort_model import EffortModel, effort_model, effort_scale
from forearm.identification.fitting import FittedStage, Fitting
from forearm.identification.kept_stages import kept_stages
from forearm.identification.least_squares import FitSolution
from forearm.identification.motor_fit import fit_motors, motor_constants
from forearm.identification.questions import FitRequest, loads_of
from forearm.identification.requests import TORQUE_SIDES, FitModel, FitStatistics, LogReading
from forearm.identification.residual_tests import COUNT, StructureColumns, residual_tests
from forearm.identification.result import Identification, ResidualTest
from forearm.identification.rows import row_source
from forearm.identification.samples import PreparedLog
from forearm.identification.signals.prepare import prepare_log
from forearm.identification.stating import stated
from forearm.kernels.thread_pool import says_if_memory_is_short
from forearm.progress import Progress
from forearm.records import flat
from forearm.values import check_choice, check_number


@says_if_memory_is_short
@flat(model=FitModel, reading=LogReading, statistics=FitStatistics)
def identify(
    arm: Arm,
    log: Any,
    *,
    torque_side: Literal["motor", "link"] | None = None,
    shift: float | None = None,
    model: FitModel | None = None,
    reading: LogReading | None = None,
    statistics: FitStatistics | None = None,
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
        shift: delay of efforts after positions, s; None: estimated for each log.
        model: what is fitted.
        reading: how logs are read.
        statistics: how rows are weighted.
        progress: progress callback.
    """
    check_arm(arm, "identify")
    if torque_side is None:
        raise InputError(
            "expected 'motor' or 'link'. 'motor': tau is motor torque times gear ratio, or "
            "comes from currents or voltages; it includes rotors, gears and all friction. "
            "'link': measured by a sensor behind the gear. The data alone do not tell.",
            "identify",
            "torque_side",
        )
    check_choice(torque_side, TORQUE_SIDES, "identify, torque_side")
    asked, statistics = model or FitModel(), statistics or FitStatistics()
    if shift is not None:
        shift = check_number(shift, "identify, shift")
    logs = [
        prepare_log(arm, one, reading=reading) for one in (log if isinstance(log, list | tuple) else [log])
    ]
    if not logs:
        raise InputError("expected at least one log, got none.", "identify", "log")
    kind = None if asked.friction == "auto" else asked.friction
    efforts = effort_model(arm, torque_side, kind, has_load=asked.load)
    if asked.gains and not efforts.is_linear:
        raise InputError(
            Sentence(
                "they can be identified only if efforts are linear in the other unknowns; omit ",
                Keyword("load"),
                ", and give ",
                Keyword("friction", "coulomb"),
                " for an arm with Stribeck friction.",
            ),
            "identify",
            "gains",
        )
    loads = loads_of(asked.payload, len(logs))
    request = FitRequest(asked.offsets, asked.gains, (shift is None,) * len(logs), loads)
    fitting = fitting_of(efforts, logs, request, shift or 0.0, statistics.weighting, progress)
    doubts = check_efforts(fitting) if statistics.check else []

    def possible(solution: FitSolution) -> ConsistentFit:
        return consistent_fit(arm, solution, asked.prior, asked.total_mass)

    found, stages, said = kept_stages(fitting, possible)
    tests = _tests(found.fitting, found.stage)
    return stated(found, stages, tests, statistics.confidence, [*doubts, *said])


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
        fastest = np.maximum(fastest, log.signals.fastest)
        sources.append(row_source(log, scale, shift))
    return Fitting(model, sources, asked, weighting, fastest, motors, progress)


def _tests(fitting: Fitting, fitted: FittedStage) -> tuple[ResidualTest, ...]:
    known = [source.log.signals for source in fitting.sources]
    middle = np.mean([0.5 * (log.q_low + log.q_high) for log in known], axis=0)
    extras = StructureColumns(fitting.fastest, middle)
    x = fitted.x[: len(fitting.model.names)]
    data = fitting.condensed(x, fitted.coefficients, extras=(extras, COUNT))
    return residual_tests(fitted.solution, data, lambda: fitting.condensed(x, extras=(extras, COUNT)))
