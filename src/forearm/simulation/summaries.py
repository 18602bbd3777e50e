"""Figures of runs by name, each written once over any scalar: torques, speeds, voltages, energies, errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.kernels.rollout_summary import StepView, Summary
from forearm.symbols.scalars import choose, hinge, maximum, minimum, root

Floats = NDArray[Any]
HALF = 0.5


@dataclass(frozen=True)
class Quantity:
    """A quantity at each step or sample of a motion, and its reduction over time.

    Args:
        of: function of a `StepView` that returns (size,) symbols, or arrays of samples.
        reduction: "peak" (largest magnitude), "rms", "sum", "least", or "first" (first time above 0).
        size: number of values; None: one per joint.
        at_end: whether the state at the end of each step counts too, and so the last of a run.
    """

    of: Callable[[StepView], Any]
    reduction: str
    size: int | None = None
    at_end: bool = False

    def summary(self, name: str) -> Summary:
        """The figure as a summary accumulated by rollouts."""
        made = REDUCTIONS[self.reduction](name, self.of, self.size)
        if not self.at_end:
            return made
        return replace(made, update=lambda step, sums: made.update(step.after, made.update(step, sums)))

    def over(self, samples: StepView) -> Floats:
        """The figure of motions given as arrays (..., T) over time, (..., size)."""
        reduce = OVER_TIME[self.reduction]
        values = self.of(samples)
        if self.at_end:
            values = [
                np.concatenate(pair, axis=-1) for pair in zip(values, self.of(samples.after), strict=True)
            ]
        return np.stack(np.broadcast_arrays(*[reduce(x) for x in values]), axis=-1)


def _accumulated(
    name: str,
    of: Callable[[StepView], Any],
    size: int | None,
    update: Callable[[Any, Any, StepView], Any],
    start: float = 0.0,
) -> Summary:
    """A summary whose values are each updated from themselves, the quantity and the step."""
    return Summary(
        name,
        lambda step, sums: [update(now, x, step) for now, x in zip(sums, of(step), strict=True)],
        size,
        start,
    )


def peak(name: str, of: Callable[[StepView], Any], size: int | None = None) -> Summary:
    """Largest magnitude of a quantity over the steps.

    Args:
        name: name of the summary.
        of: function of a `StepView` that returns (size,) symbols.
        size: number of values; None: one per joint.
    """
    return _accumulated(name, of, size, lambda now, x, _: maximum(now, maximum(x, -x)))


def rms(name: str, of: Callable[[StepView], Any], size: int | None = None) -> Summary:
    """Root mean square of a quantity over the steps.

    Args:
        name: name of the summary.
        of: function of a `StepView` that returns (size,) symbols.
        size: number of values; None: one per joint.
    """
    squares = _accumulated(name, of, size, lambda now, x, _: now + x * x)
    return replace(squares, finish=_root_mean)


def total(name: str, of: Callable[[StepView], Any], size: int | None = 1) -> Summary:
    """Sum of a quantity over the steps.

    Args:
        name: name of the summary.
        of: function of a `StepView` that returns (size,) symbols, the increment per step.
        size: number of values; None: one per joint.
    """
    return _accumulated(name, of, size, lambda now, x, _: now + x)


def least(name: str, of: Callable[[StepView], Any], size: int | None = None) -> Summary:
    """Minimum of a quantity over the steps.

    Args:
        name: name of the summary.
        of: function of a `StepView` that returns (size,) symbols.
        size: number of values; None: one per joint.
    """
    # infinity cannot be a constant of a graph
    return _accumulated(name, of, size, lambda now, x, _: now if x is math.inf else minimum(now, x), math.inf)


def first_time(name: str, of: Callable[[StepView], Any], size: int | None = 1) -> Summary:
    """Start of the first step at which a quantity is above 0, s; infinite if it never is.

    Args:
        name: name of the summary.
        of: function of a `StepView` that returns (size,) symbols.
        size: number of values; None: one per joint.
    """
    return _accumulated(
        name, of, size, lambda now, x, step: minimum(now, choose(0.0, x, step.t, now)), math.inf
    )


def last_time(name: str, of: Callable[[StepView], Any], size: int | None = 1) -> Summary:
    """Start of the last step at which a quantity is above 0, s; 0 if it never is.

    Args:
        name: name of the summary.
        of: function of a `StepView` that returns (size,) symbols.
        size: number of values; None: one per joint.
    """
    return _accumulated(name, of, size, lambda now, x, step: choose(0.0, x, step.t, now))


def _root_mean(sums: Floats, steps: int, step: float) -> Floats:
    return np.asarray(np.sqrt(sums / max(steps, 1)))


REDUCTIONS: dict[str, Callable[..., Summary]] = {
    "peak": peak,
    "rms": rms,
    "sum": total,
    "least": least,
    "first": first_time,
}
OVER_TIME: dict[str, Callable[[Any], Any]] = {
    "peak": lambda x: np.abs(x).max(axis=-1),
    "rms": lambda x: np.sqrt(np.mean(np.square(x), axis=-1)),
    "sum": lambda x: np.sum(x, axis=-1),
    "least": lambda x: np.min(x, axis=-1),
}


def _work(step: StepView) -> list[Any]:
    """Work of all motors over a step, J: exact for held torques."""
    rows = zip(step.tau, step.tau_next, step.q, step.q_next, strict=True)
    return [(HALF * (a + b)) * (after - before) for a, b, before, after in rows]


def _losses(step: StepView) -> list[Any]:
    """R i^2 losses of each motor over a step, J."""
    return [step.constants(j)[1] * i * i * step.h for j, i in enumerate(step.current)]


def _total(values: list[Any]) -> list[Any]:
    return [reduce(add, values)]


def _drawn(step: StepView) -> list[Any]:
    """Energy that each motor draws from its supply over a step, J; energy that it could regenerate counts as
    lost.
    """
    return _total([hinge(w + loss) for w, loss in zip(_work(step), _losses(step), strict=True)])


def _hand_error(step: StepView) -> list[Any]:
    """Distance of the hand from its reference, m."""
    wanted = step.q + step.error
    here, there = (step.model.forward_kinematics(q)[:3, 3] for q in (step.q, wanted))
    away = there - here
    return [root(away[0] * away[0] + away[1] * away[1] + away[2] * away[2])]


def _margins(step: StepView) -> list[Any]:
    """Distance of each joint from the nearer of its limits, rad (m); negative beyond it."""
    made = []
    for q, joint in zip(step.q, step.model.tracing.arm.joints, strict=True):
        bounds = (1.0, joint.limits.upper), (-1.0, joint.limits.lower)
        ends = [sign * (bound - q) for sign, bound in bounds if math.isfinite(bound)]
        made.append(minimum(*ends) if len(ends) == 2 else ends[0] if ends else math.inf)
    return made


def _nearest(step: StepView) -> list[Any]:
    """The least of these; infinite without limits, which a graph cannot hold as a constant."""
    return [reduce(minimum, [x for x in _margins(step) if x is not math.inf] or [math.inf])]


def _beyond(step: StepView) -> list[Any]:
    nearest = _nearest(step)[0]
    return [-1.0 if nearest is math.inf else -nearest]


QUANTITIES: dict[str, Quantity] = {
    "peak_torque": Quantity(lambda step: step.tau, "peak"),
    "rms_torque": Quantity(lambda step: step.tau, "rms"),
    "peak_speed": Quantity(lambda step: step.qd, "peak", at_end=True),
    "peak_voltage": Quantity(lambda step: step.voltage, "peak"),
    "rms_voltage": Quantity(lambda step: step.voltage, "rms"),
    "peak_current": Quantity(lambda step: step.current, "peak"),
    "rms_current": Quantity(lambda step: step.current, "rms"),
    "work": Quantity(lambda step: _total(_work(step)), "sum", 1),
    "copper_loss": Quantity(lambda step: _total(_losses(step)), "sum", 1),
    "energy": Quantity(_drawn, "sum", 1),
    "peak_error": Quantity(lambda step: step.error, "peak"),
    "rms_error": Quantity(lambda step: step.error, "rms"),
    "hand_error": Quantity(_hand_error, "peak", 1),
    "limit_margin": Quantity(_nearest, "least", 1, at_end=True),
    "limit_time": Quantity(_beyond, "first", 1, at_end=True),
}
SUMMARIES: dict[str, Summary] = {name: quantity.summary(name) for name, quantity in QUANTITIES.items()}


def summaries_of(given: Any, where: str) -> tuple[Summary, ...]:
    """Summaries from names or `Summary` objects, without duplicates."""
    listed = [given] if isinstance(given, str | Summary) else given
    if not isinstance(listed, list | tuple) or not all(isinstance(x, str | Summary) for x in listed):
        raise InputError(f"expected names of figures, or fa.Summary, got {shorten(given)}.", where)
    found: dict[str, Summary] = {}
    for x in listed:
        if isinstance(x, str) and x not in SUMMARIES:
            raise NameNotFound(f"unknown figure {shorten(x)}; {suggest(x, SUMMARIES)}", where)
        figure = SUMMARIES[x] if isinstance(x, str) else x
        if figure.name in found:
            raise InputError(f"{figure.name!r} is listed twice.", where)
        found[figure.name] = figure
    return tuple(found.values())
