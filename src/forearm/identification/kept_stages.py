"""Which stages of the estimation are kept, and the arm that follows from them.

Stribeck friction and losses by load are added joint by joint, and only where a law can hold the fitted values
and predicts data that it was not fitted to (blocks of time, or other logs) at least as well as without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from forearm.arm.arm import Arm
from forearm.identification.agreement import HeldOut, Prediction, agreement_of, compared
from forearm.identification.consistent_stage import ConsistentFit, arm_of
from forearm.identification.drive_law import COULOMB, LOSS, OFFSET, STATIC, STRIBECK_SPEED
from forearm.identification.effort_model import EffortModel
from forearm.identification.fitting import FittedStage, Fitting, fit_stage, with_first_speeds, without
from forearm.identification.least_squares import FitSolution, solve
from forearm.spatial import Floats
from forearm.tables import number
from forearm.values import frozen

STRIBECK, LOAD = "Stribeck friction", "losses by load"
NOT_SHOWN = {
    STRIBECK: "these logs do not show static friction above Coulomb friction",
    LOAD: "these logs do not show what a gear can lose",
}
Possible = Callable[[FitSolution], ConsistentFit]


@frozen
class FittedArm:
    """A stage, its physically consistent bodies, and the arm with them.

    Attributes:
        fitting: the model with its logs.
        stage: the fit to the data alone.
        last: the consistent bodies.
        final: the solution with them.
        arm: the arm.
        notes: sentences on it.
        left_out: for each log the predictions by arms fitted to other data.
    """

    fitting: Fitting
    stage: FittedStage
    last: ConsistentFit
    final: FitSolution
    arm: Arm
    notes: tuple[str, ...]
    left_out: tuple[HeldOut, ...]

    @property
    def predictions(self) -> list[Prediction]:
        """For each log the prediction by the arm."""
        return _predictions(self.arm, self.final)


def kept_stages(fitting: Fitting, possible: Possible) -> tuple[FittedArm, list[FittedStage], list[str]]:
    """The last stage with its arm, the stages, and sentences on what was left out.

    Args:
        fitting: the model with everything requested.
        possible: the consistent bodies that follow from a fit to the data alone.
    """
    model = fitting.model
    kept: dict[str, set[int]] = {STRIBECK: set(), LOAD: set()}
    simple = _with(fitting, fitting, kept, {})
    best = _fitted_arm(simple, fit_stage(simple, simple.model.values()), possible)
    stages, said = [best.stage], list[str]()
    for kind in (STRIBECK, LOAD):
        joints = {
            i
            for i, law in enumerate(model.laws)
            if (law.friction == "stribeck" if kind == STRIBECK else law.transmission is not None)
        }
        last, bound = best.stage, dict[int, float]()
        while joints:
            tried = _with(fitting, best.fitting, kept | {kind: joints}, bound)
            start = _values(tried, last, bound)
            if kind == STRIBECK and last is best.stage:
                start = with_first_speeds(tried, start)
            last = fit_stage(tried, start)
            beyond = {i for i in joints - set(bound) if _is_beyond(tried, last, kind, i)}
            if given := {i for i in beyond if kind == LOAD and model.arm.joints[i].transmission is not None}:
                bound |= {i: _within(tried, last, i) for i in given}  # a gear of the file, at its bound
                continue
            if beyond:
                said.append(_not_kept(fitting, kind, beyond, NOT_SHOWN[kind]))
                joints = joints - beyond
                continue
            more = _fitted_arm(tried, last, possible)
            was, now = (_left_out(one, tried.model) for one in (best, more))
            worse = {i for i in joints if not now[i] <= was[i]}
            if not worse and not np.nansum((now / was) ** 2) <= np.sum(np.isfinite(was)):
                worse = joints  # at the cost of other joints
            if worse:
                before, after = (" ".join(number(float(x), 3) for x in errors) for errors in (was, now))
                why = f"held-out residuals of the joints would change from {before} to {after}"
                said.append(_not_kept(fitting, kind, worse, why))
                joints = joints - worse
                continue
            best, kept[kind], stages = more, joints, [stages[0], more.stage]
            break
    return best, stages, said


def _not_kept(fitting: Fitting, kind: str, joints: set[int], why: str) -> str:
    names = ", ".join(fitting.model.arm.joints[i].name for i in sorted(joints))
    given = kind == LOAD and any(fitting.model.arm.joints[i].transmission is not None for i in joints)
    return f"{names}: {kind} not identified{', as in the arm file' if given else ''}: {why}."


def _with(
    fitting: Fitting, before: Fitting, kept: dict[str, set[int]], bound: Mapping[int, float]
) -> Fitting:
    """The fitting with these kinds of friction, at the shifts found before; losses that are at their bound or
    not kept are not free.
    """
    model, laws, fixed = fitting.model, [], set(bound)
    for i, (joint, law) in enumerate(zip(model.arm.joints, model.laws, strict=True)):
        if law.friction == "stribeck" and i not in kept[STRIBECK]:
            law = replace(law, friction="coulomb")
        if law.transmission is not None and i not in kept[LOAD]:
            fixed.add(i)
            law = replace(law, transmission=joint.transmission)
        laws.append(law)
    return replace(
        fitting,
        model=replace(model, laws=tuple(laws)),
        sources=list(before.sources),
        fixed_losses=frozenset(fixed),
    )


def _values(fitting: Fitting, before: FittedStage, losses: Mapping[int, float]) -> Floats:
    """Initial values: those of the stage before, the arm file's for what is new, and known losses."""
    model = fitting.model
    known = dict(zip(before.solution.unknowns.model.names, before.x.tolist(), strict=False))
    known |= {f"{model.arm.joints[i].name}.{LOSS}": loss for i, loss in losses.items()}
    pairs = zip(model.names, model.values().tolist(), strict=True)
    return np.array([known.get(name, value) for name, value in pairs])


def _within(fitting: Fitting, stage: FittedStage, i: int) -> float:
    """The losses of a joint, within what a gear can lose."""
    place = fitting.model.place(i, LOSS)
    assert place is not None
    return float(np.clip(stage.x[place], *fitting.bounds(place)))


def _is_beyond(fitting: Fitting, stage: FittedStage, kind: str, i: int) -> bool:
    """Whether the law of a joint cannot hold the fitted values, or its logs cannot show them."""
    model, x = fitting.model, stage.x
    place = model.place(i, STRIBECK_SPEED if kind == STRIBECK else LOSS)
    assert place is not None
    low, high = fitting.bounds(place)
    if not (low < x[place] < high and np.isfinite(stage.solution.x_std[place])):
        return True
    value = dict(zip(model.laws[i].figures, x[model.places[i]].tolist(), strict=True))
    pairs = zip((1.0, -1.0), STATIC, COULOMB, strict=True)
    return kind == STRIBECK and all(way * (value[s] - value[c]) <= 0.0 for way, s, c in pairs)


def _fitted_arm(fitting: Fitting, stage: FittedStage, possible: Possible) -> FittedArm:
    solution, weighted = stage.solution, fitting.weighting != "ordinary"
    last, final, arm, notes = _arm(fitting, solution, possible)
    parts = [(log, k) for log, some in enumerate(stage.raw) for k in range(len(some))]
    found: list[dict[int, Prediction]] = [{} for _ in stage.raw]
    for done, (log, k) in enumerate(parts):
        if fitting.progress is not None:
            fitting.progress(done, len(parts), "predicting held-out data")
        others = without(stage.raw, log, k)
        if any(others):
            fit = solve(solution.unknowns, others, solution.sigma, weighted=weighted)
            _, part, other, _ = _arm(fitting, fit, possible)
            found[log][k] = _predictions(other, part)[log]
    left_out = tuple(HeldOut(some, fitting.folds, fitting.total(log)) for log, some in enumerate(found))
    return FittedArm(fitting, stage, last, final, arm, notes, left_out)


def _arm(
    fitting: Fitting, solution: FitSolution, possible: Possible
) -> tuple[ConsistentFit, FitSolution, Arm, tuple[str, ...]]:
    """The consistent bodies of a fit, the solution with them, the arm, and sentences on it."""
    model, last = fitting.model, possible(solution)
    final = replace(solution, z=last.z)
    motors = {} if fitting.motors is None else fitting.motors.named(model.arm)
    values = {name: value for name, (value, _) in motors.items()}
    return last, final, *arm_of(model, last, final.x[: len(model.names)], values)


def _predictions(arm: Arm, final: FitSolution) -> list[Prediction]:
    """For each log the efforts of the arm with its load, through sensors with these offsets and gains."""
    unknowns = final.unknowns
    model, x = unknowns.model.of(arm), final.x
    values = model.values()
    for k, (_, figure) in enumerate(model.figures, start=len(model.base)):
        if figure == OFFSET:
            values[k] = x[k]
    x = np.concatenate([values, x[len(values) :]])
    gains = x[-arm.n :] if unknowns.asks_gains else 1.0
    return [Prediction(model, unknowns.of_log(log, x), gains) for log in range(len(unknowns.loads))]


def _left_out(found: FittedArm, model: EffortModel) -> Floats:
    """Rms residual on held-out data (n,), over the rows that a fit of the model uses."""
    blocks = [
        agreement_of(rows.usable, rows.measured, rows.predicted)
        for source, left_out in zip(found.fitting.sources, found.left_out, strict=True)
        for rows in compared(source, model, [left_out])
    ]
    return sum(blocks[1:], blocks[0]).rms_of(1)
