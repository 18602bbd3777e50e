"""Summaries of rollouts, accumulated step by step inside the machine code: no state need be stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import InputError, located, shorten
from forearm.kernels.arrays import Array
from forearm.kernels.compiled import Names
from forearm.kernels.traced_controller import SymbolicModel, of_vectors, symbols_or_numbers
from forearm.values import check_whole

if TYPE_CHECKING:
    from forearm.codegen.functions import Traced

MOST_KEPT = 64  # traced summaries that a process keeps


@dataclass(frozen=True, eq=False)
class StepView:
    """One step of a run as seen by a `Summary`, (n,) each, over symbols.

    Args:
        t, h: time at the start of the step and step size, s.
        q, qd: state at the start.
        q_next, qd_next: state at the end.
        u: torques or voltages that drive the arm over the step.
        reference: the controller's reference row at this step; empty without a controller.
        model: the arm, as passed to laws of a `TracedController`.
        constants: N Kt (N m / A) and R (ohm) of motor j, as a function of j.
        torques: motor torques as a function of velocities (n,).
    """

    t: Any
    h: Any
    q: Any
    qd: Any
    q_next: Any
    qd_next: Any
    u: Any
    reference: Any
    model: SymbolicModel
    constants: Callable[[int], tuple[Any, Any]] = field(repr=False)
    torques: Callable[[Any], Sequence[Any]] = field(repr=False)

    @property
    def after(self) -> StepView:
        """The state at the end of the step, as a step of zero duration."""
        return replace(self, t=self.t + self.h, q=self.q_next, qd=self.qd_next)

    @cached_property
    def tau(self) -> Any:
        """Motor torques at the start of the step, times the gear ratio, within their limits."""
        return object_array(self.torques(self.qd))

    @cached_property
    def tau_next(self) -> Any:
        """The same at the end of the step."""
        return object_array(self.torques(self.qd_next))

    @cached_property
    def current(self) -> Any:
        """Current of each motor at the start of the step, A."""
        return object_array([tau / self.constants(j)[0] for j, tau in enumerate(self.tau)])

    @cached_property
    def voltage(self) -> Any:
        """Voltage of each motor at the start of the step, V = R i + N Kt qd."""
        made = []
        for j, (i, qd) in enumerate(zip(self.current, self.qd, strict=True)):
            K, R = self.constants(j)
            made.append(R * i + K * qd)
        return object_array(made)

    @property
    def error(self) -> Any:
        """Tracking error, reference minus actual: the first n numbers of the reference are the desired q."""
        n = len(self.q)
        if len(self.reference) < n:
            raise InputError(
                f"errors need a controller whose reference begins with the {n} desired "
                f"coordinates, got a reference of {len(self.reference)} numbers."
            )
        return self.reference[:n] - self.q


@dataclass(frozen=True, eq=False)
class Summary:
    """A quantity accumulated during a run.

    `update` is called once, with symbols, like the law of a `TracedController`: instead of `if` use `choose`,
    `maximum` and the other functions of `forearm.symbols.scalars`.

    Args:
        name: its name in the result.
        update: function of (step, sums): a `StepView` and the values accumulated so far, (size,); returns the
            new values, (size,).
        size: number of values; None: one per joint.
        start: their initial value.
        finish: function of (sums (B, size), steps, step) that computes the result; None: the result is the
            sums.
    """

    name: str
    update: Callable[[StepView, Any], Sequence[Any]]
    size: int | None = None
    start: float = 0.0
    finish: Callable[[Array, int, float], Array] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"expected a string, got {shorten(self.name)}.", "summary", "name")
        if not callable(self.update):
            raise InputError(
                f"expected a function of (step, sums), got {shorten(self.update)}.",
                f"summary {self.name!r}",
                "update",
            )
        if self.size is not None:
            check_whole(self.size, f"summary {self.name!r}, size", 1, 1000)

    def width(self, n: int) -> int:
        """The number of values for an arm of n joints."""
        return n if self.size is None else self.size


@dataclass(frozen=True)
class TracedSummary:
    """All summaries of a rollout as one function: `sums_next` from t, h, q, qd, q_next, qd_next, u,
    `reference` and `sums`; identified by the digest of what it computes.
    """

    digest: str
    start: tuple[float, ...] = field(compare=False)
    reads_reference: bool = field(compare=False)
    traced: Traced = field(compare=False)


@dataclass(frozen=True)
class SummaryRequest:
    """What determines how summaries are traced: the arm, its open parameters, what drives it, and the width
    of its controller's reference.
    """

    arm: Arm
    parameters: Names
    voltage: bool
    is_limited: bool
    reference: int


@lru_cache(maxsize=MOST_KEPT)
def traced_summaries(summaries: tuple[Summary, ...], request: SummaryRequest) -> TracedSummary:
    """The updates of all summaries on one graph."""
    from forearm.codegen.simulation_step import TracedPlant
    from forearm.codegen.tracing import Tracing
    from forearm.drives.motor import constants_of
    from forearm.reduction.symbolic import chosen_parameters
    from forearm.symbols import refined

    arm, n = request.arm, request.arm.n
    chosen = chosen_parameters(arm, request.parameters)
    tracing = Tracing(arm, chosen)
    plant = TracedPlant(arm, request.voltage, chosen, is_limited=request.is_limited)
    graph, plant.opened = tracing.graph, dict(tracing.symbols)
    widths = [summary.width(n) for summary in summaries]
    sizes = dict.fromkeys(("q", "qd", "q_next", "qd_next", "u"), n) | {
        "t": 1,
        "h": 1,
        "reference": request.reference,
        "sums": sum(widths),
    }
    own = {"q": tracing.q, "qd": tracing.qd}
    given = {
        name: object_array(own.get(name) or [graph.input(f"{name}[{k}]") for k in range(size)])
        for name, size in sizes.items()
    }

    def constants(j: int) -> tuple[Any, Any]:
        constants_of(arm, "currents, voltages and electrical energy", "use figures of torques, such as work")
        return plant.constants(j)

    named = {name: x[0] if name in ("t", "h") else x for name, x in given.items() if name != "sums"}
    view = StepView(
        **named,
        model=SymbolicModel(tracing),
        constants=constants,
        torques=lambda qd: plant.torques(list(given["u"]), list(qd)),
    )
    made, at = [], 0
    for summary, width in zip(summaries, widths, strict=True):
        with located(f"summary {summary.name!r}"):
            made += _updated(summary, view, given["sums"][at : at + width])
        at += width
    graph, results = refined(graph, {"sums_next": object_array(made)})
    start = tuple(s.start for s, width in zip(summaries, widths, strict=True) for _ in range(width))
    read = {graph.leaves[p].partition("[")[0] for p in graph.needed(results) if p in graph.leaves}
    traced, digest = of_vectors(graph, results, sizes, list(start))
    return TracedSummary(digest, start, "reference" in read, traced)


def finished(
    summaries: Sequence[Summary], sums: Array, is_known: Array, run: tuple[int, float]
) -> Mapping[str, Array]:
    """The results by name, (B, size), or (B,) for scalars; NaN where an arm's state is not finite.

    Args:
        summaries: the summaries.
        sums: their sums, (B, total size).
        is_known: whether the final state is finite, (B,).
        run: number of steps, and step size, s.
    """
    made: dict[str, Array] = {}
    at = 0
    for summary in summaries:
        width = summary.size or _rest(summaries, sums.shape[-1])
        some = sums[..., at : at + width].copy()
        if summary.finish is not None:
            some = np.array(summary.finish(some, *run), dtype=sums.dtype)
            if some.shape[:1] != is_known.shape:
                raise InputError(
                    f"expected one row for each of {len(is_known)} arms, got shape {some.shape}.",
                    f"summary {summary.name!r}",
                    "finish",
                )
        some[~is_known] = np.nan
        made[summary.name] = some[:, 0] if summary.size == 1 and some.shape[1:] == (1,) else some
        at += width
    return made


def _rest(summaries: Sequence[Summary], total: int) -> int:
    """The number of joints, from how many numbers the summaries with one value per joint share."""
    by_joint = sum(summary.size is None for summary in summaries)
    return (total - sum(summary.size or 0 for summary in summaries)) // by_joint


def _updated(summary: Summary, view: StepView, now: Any) -> list[Any]:
    try:
        made = list(summary.update(view, now))
    except TypeError as error:
        raise InputError(
            f"{error}. It is called with symbols: use choose, maximum and the other functions "
            "of forearm.symbols.scalars instead of comparisons.",
            "update",
        ) from error
    return symbols_or_numbers(made, len(now), "update")


def object_array(values: Sequence[Any]) -> Any:
    """An object array with one entry per value."""
    made = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):
        made[k] = value
    return made
