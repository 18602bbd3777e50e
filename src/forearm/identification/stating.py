"""Assembles the result of an identification from its fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.identification.agreement import Agreement, Prediction, agreement_of, compared
from forearm.identification.consistent_stage import ConsistentFit, bound_sign, lower_bound
from forearm.identification.deviations import deviations_of
from forearm.identification.effort_model import EffortModel, effort_model
from forearm.identification.fitting import FittedStage, Fitting, squared
from forearm.identification.hidden import unidentifiable
from forearm.identification.kept_stages import FittedArm
from forearm.identification.least_squares import FitSolution
from forearm.identification.motor_fit import MotorFit
from forearm.identification.parameter_set import ParameterSet
from forearm.identification.result import Identification, ResidualTest, Stage, UsedLog
from forearm.kernels.kept import kernel_of
from forearm.spatial import Floats
from forearm.tables import number

MOST_SHOWN = 20_000  # stored rows
FAR_BEYOND = 3.0  # times the noise: a larger residual is not noise,
SHOWN_SHARE = 0.02  # of the efforts, if significant
MUCH_WORSE = 1.3  # times the residual without the consistency condition
LARGEST = 10.0  # m, kg, N m, ...: a larger standard deviation (as of the centre of no mass) is no information
CLEARLY = 3.0  # standard deviations
NAMES = ("linear", "friction")
NOT_SETTLED = (
    "The fit did not converge: values change from pass to pass. The data do not determine all unknowns; "
    "use a simpler friction model, or give the shift."
)


def stated(
    found: FittedArm,
    fits: Sequence[FittedStage],
    tests: tuple[ResidualTest, ...],
    confidence: float,
    doubts: Sequence[str],
) -> Identification:
    """The result: parameters, the arm, residuals, undetermined parameters; `doubts` are sentences on columns
    of the logs and on stages.
    """
    fitting, final, last = found.fitting, found.final, found.last
    model, solution = fitting.model, found.stage.solution
    course, agreements = _course(found)
    agreement = sum(agreements[1:], agreements[0])
    stages = [_stage(name, fit) for name, fit in zip(NAMES, fits, strict=False)]
    stages.append(_last_stage(model, final, last, agreement.rms))
    logs = tuple(_used(fitting, k, solution, one) for k, one in enumerate(agreements))
    parameters, std = stages[-2].parameters, stages[-2].std
    chosen = [solution.unknowns.names.index(name) for name in parameters]
    covariance = solution.covariance[np.ix_(chosen, chosen)]
    if fitting.motors is not None:
        parameters, std, covariance = _with_motors(model.arm, fitting.motors, parameters, std, covariance)
    return Identification(
        arm=_with_deviations(found),
        before=model.arm,
        parameters=parameters,
        std=std,
        covariance=covariance,
        labels=_labels(model, solution, parameters.names),
        confidence=confidence,
        unidentifiable=unidentifiable(model, solution, parameters, std),
        torque_side=model.torque_side,
        **course,
        noise=solution.sigma,
        logs=logs,
        stages=tuple(stages),
        tests=tests,
        findings=(
            *doubts,
            *([] if found.stage.settled else [NOT_SETTLED]),
            *_beyond_noise(fitting, found.stage, course["measured"]),
            *(
                f"{joint.name}: residual {rms:.3g} with physically consistent bodies, "
                f"{alone:.3g} without that constraint. The data contradict physical bodies: look for other "
                "friction, wrong geometry or gravity, a wrong gear ratio, or poor data."
                for joint, rms, alone in zip(
                    model.arm.joints, agreement.rms, _left_of(found.stage), strict=True
                )
                if rms > MUCH_WORSE * alone > 0.0
            ),
            *_impossible(model, parameters, std),
            *found.notes,
        ),
    )


def _labels(model: EffortModel, solution: FitSolution, names: Sequence[str]) -> tuple[str, ...]:
    """Descriptions of parameters, including unknowns that depend on them, if these differ from their fixed
    values.
    """
    said = dict(zip(model.base.names, model.base.labels, strict=True))
    for k, factors in solution.combinations.items():
        hidden = solution.unknowns.names[k]
        at = number(float(solution.z[k]), 4)
        for j in np.flatnonzero(np.abs(factors) > 1e-6 * np.abs(factors).max(initial=0.0)):
            name = solution.unknowns.names[j]
            factor = f"{'-' if factors[j] < 0.0 else '+'} {number(abs(float(factors[j])), 6)}"
            said[name] = f"{said.get(name, name)} {factor} ({hidden} - {at})"
    return tuple(said.get(name, name) for name in names)


def _left_of(last: FittedStage) -> Floats:
    """Rms residual of a stage for each joint (n,)."""
    squares = np.zeros(last.solution.unknowns.model.arm.n)
    for log, parts in enumerate(last.raw):
        for part in parts:
            squares += squared(last.solution.unknowns, log, part, last.solution.x)
    counts = np.sum([part.counts for parts in last.raw for part in parts], axis=0)
    return np.asarray(np.sqrt(squares / np.maximum(counts, 1.0)))


def _beyond_noise(fitting: Fitting, last: FittedStage, measured: Floats) -> list[str]:
    """Joints with residuals far above the noise of their sensors and of accelerations."""
    # a robust fit leaves outliers on purpose
    arm, left = fitting.model.arm, last.solution.sigma if fitting.weighting == "robust" else _left_of(last)
    variance = np.zeros(arm.n)
    for source in fitting.sources:
        known = source.log.signals
        inertia = np.diag(kernel_of(arm).inertia_matrix(0.5 * (known.q_low + known.q_high)))
        own = (known.effort_noise * np.abs(source.scale.factor)) ** 2 / source.averaged
        variance = np.maximum(variance, own + (inertia * np.nan_to_num(known.qdd_error)) ** 2)
    noise = np.sqrt(variance)
    size = np.nan_to_num(np.nanstd(measured, axis=0))
    return [
        f"{joint.name}: residual {left[i]:.3g}, {left[i] / max(noise[i], 1e-300):.3g} times the noise: an "
        "effect is missing from the model (see the residual tests), or the log is from another arm. The "
        "standard deviations are then too small."
        for i, joint in enumerate(arm.joints)
        if left[i] > FAR_BEYOND * noise[i] and left[i] > SHOWN_SHARE * size[i] > 0.0
    ]


def _impossible(model: EffortModel, parameters: ParameterSet, std: ParameterSet) -> list[str]:
    """Drive parameters that are significantly beyond their physical bounds."""
    made = []
    for name in parameters:
        away = parameters[name] * bound_sign(model, name) - lower_bound(model, name)
        if away < -CLEARLY * std[name]:
            made.append(
                f"{name} came out at {parameters[name]:.4g} +- {std[name]:.2g}, which is unphysical: there "
                "is another effect (a wrong sign, an offset, a spring, elasticity), or too little motion. "
                "The arm has the nearest possible value."
            )
    return made


def _stage(name: str, fit: FittedStage) -> Stage:
    solution = fit.solution
    # parameters of the arm, its sensors or a payload: all but shifts
    names_of_shifts = {f"log{k + 1}.shift" for k in range(len(solution.unknowns.shifts))}
    chosen = [k for k, own in enumerate(solution.unknowns.names) if own not in names_of_shifts]
    names = [solution.unknowns.names[k] for k in chosen]
    rms = np.sqrt(np.sum(solution.squares, axis=0) / np.maximum(np.sum(solution.counts, axis=0), 1.0))
    order = fit.coefficients.shape[1]
    said = f"{int(solution.counts.sum())} rows, {len(solution.kept)} of {len(solution.z)} unknowns determined"
    said += f"; rows whitened by an autoregression of order {order}." if order else "."
    return Stage(
        name, ParameterSet(names, solution.z[chosen]), ParameterSet(names, solution.std[chosen]), rms, said
    )


def _last_stage(model: EffortModel, final: FitSolution, last: ConsistentFit, rms: Floats) -> Stage:
    """Full parameters of every body, then the drive parameters."""
    count = len(model.base.standard)
    shifts = {name for name in last.names if name.startswith("log") and name.endswith(".shift")}
    chosen = [k for k, name in enumerate(last.names) if name not in shifts]
    names = [*model.base.standard_names, *(last.names[k] for k in chosen)]
    places = [*range(count), *(count + k for k in chosen)]
    values = np.concatenate([last.standard, final.z[len(model.base) :]])
    std = np.sqrt(np.diag(last.covariance))
    bodies = [body.joint.child for body in model.arm.moving.bodies]
    held = [bodies[k] for k in last.found.at_bound]
    said = f"Solved to a relative gap of {last.found.gap:.1g} in {last.found.iterations} steps"
    said += (
        f"; on the boundary of physical bodies: {', '.join(held)}." if held else "; no body is on a boundary."
    )
    return Stage(
        "consistent", ParameterSet(names, values[places]), ParameterSet(names, std[places]), rms, said
    )


def _with_motors(
    arm: Arm, motors: MotorFit, parameters: ParameterSet, std: ParameterSet, covariance: Floats
) -> tuple[ParameterSet, ParameterSet, Floats]:
    """The same with resistances and torque constants appended."""
    found = motors.named(arm)
    names = (*parameters.names, *found)
    values = np.append(parameters, [value for value, _ in found.values()])
    spread = np.append(std, [deviation for _, deviation in found.values()])
    whole = np.diag(spread**2)
    whole[: len(covariance), : len(covariance)] = covariance
    return ParameterSet(names, values), ParameterSet(names, spread), whole


def _with_deviations(found: FittedArm) -> Arm:
    """The arm with the standard deviations of its values."""
    arm, motors = found.arm, found.fitting.motors
    deviations = deviations_of(arm, found.last.covariance, found.last.names)
    if motors is not None:
        deviations |= {name: std for name, (_, std) in motors.named(found.fitting.model.arm).items()}
    kept = {name: v for name, v in deviations.items() if v < LARGEST and name in arm.named_values}
    return arm.replace(deviations={**arm.deviations, **kept})


def _course(found: FittedArm) -> tuple[dict[str, Any], list[Agreement]]:
    """One more pass: measured and predicted efforts at evenly spread rows, by name, and the agreement over
    all rows of each log with the new arm, the arm as given, and arms fitted to other data.
    """
    fitting, model = found.fitting, found.fitting.model
    given = effort_model(model.arm, model.torque_side, None, rotors=False)
    before = Prediction(given, given.values())
    every = 1 + sum(fitting.total(log) for log in range(len(fitting.sources))) // MOST_SHOWN
    parts: list[tuple[Floats, ...]] = []
    agreements, nothing = [], np.zeros((0, model.arm.n))
    none = agreement_of(nothing > 0.0, nothing, [nothing] * 3)  # of a log shorter than what is averaged
    for log, (source, new) in enumerate(zip(fitting.sources, found.predictions, strict=True)):
        blocks = []
        for rows in compared(source, model, (new, before, found.left_out[log])):
            blocks.append(agreement_of(rows.usable, rows.measured, rows.predicted))
            shown = (rows.t, rows.speed, rows.measured, *rows.predicted[:2])
            parts.append((*(a[::every] for a in shown), np.full(len(rows.t[::every]), float(log))))
        agreements.append(sum(blocks, none))
    names = ("t", "speed", "measured", "predicted", "predicted_before", "log_of")
    return dict(zip(names, map(np.concatenate, zip(*parts, strict=True)), strict=True)), agreements


def _used(fitting: Fitting, log: int, solution: FitSolution, agreement: Agreement) -> UsedLog:
    source = fitting.sources[log]
    place = solution.unknowns.shift_place(log)
    spread = 0.0
    if place is not None:
        k = int(np.flatnonzero(solution.unknowns.E[place])[0])
        spread = float(solution.std[k])
    return UsedLog(source.log.signals, source.shift, spread, agreement)
