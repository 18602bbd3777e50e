"""Figures of rollouts that are summed up step by step, inside the machine code: no state need be kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import InputError, shorten
from forearm.kernels.arrays import Array
from forearm.kernels.cache_key import told
from forearm.kernels.traced_controller import SymbolicModel
from forearm.values import check_whole

if TYPE_CHECKING:
    from forearm.codegen.functions import Traced

MOST_KEPT = 64  # traced summaries of a process


@dataclass(frozen=True, eq=False)
class StepView:
    """One step of a run as a `Summary` sees it, (n,) each, over symbols.

    Args:
        t, h: time at the start of the step and its length, s.
        q, qd: state at the start.
        q_next, qd_next: state at the end.
        u: torques or voltages that drive the arm over it.
        reference: the row that the controller reads at this step; empty without one.
        model: the arm, as laws of a `TracedController` have it.
        constants: N Kt (N m / A) and R (ohm) of motor j, as a function of j.
        torques: what motors give at velocities (n,), as a function of them.
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
        """The state at the end of the step, seen as a step of its own that takes no time."""
        return replace(self, t=self.t + self.h, q=self.q_next, qd=self.qd_next)

    @cached_property
    def tau(self) -> Any:
        """What motors give at the start of the step, times the gear ratio, within their limits."""
        return object_array(self.torques(self.qd))

    @cached_property
    def tau_next(self) -> Any:
        """The same at the end of the step."""
        return object_array(self.torques(self.qd_next))

    @cached_property
    def current(self) -> Any:
        """Of each motor at the start of the step, A."""
        return object_array([tau / self.constants(j)[0] for j, tau in enumerate(self.tau)])

    @cached_property
    def voltage(self) -> Any:
        """Of each motor at the start of the step, V = R i + N Kt qd."""
        made = []
        for j, (i, qd) in enumerate(zip(self.current, self.qd, strict=True)):
            K, R = self.constants(j)
            made.append(R * i + K * qd)
        return object_array(made)

    @property
    def error(self) -> Any:
        """What is wanted less where the joints are: the first n numbers of the reference are q wanted."""
        n = len(self.q)
        if len(self.reference) < n:
            raise InputError(
                f"summaries: errors need a controller whose reference begins with the {n} coordinates "
                f"wanted, got a reference of {len(self.reference)} numbers."
            )
        return self.reference[:n] - self.q


@dataclass(frozen=True, eq=False)
class Summary:
    """A figure of a run, summed up while it goes on.

    `update` is called once, with symbols, as the law of a `TracedController` is: in the place of `if` stand
    `choose`, `maximum` and the others of `forearm.symbols.scalars`.

    Args:
        name: what it is called in the result.
        update: function of (step, sums), a `StepView` and what was summed up before it, (size,); gives
            (size,).
        size: how many numbers are summed up; None: one per joint.
        start: what they begin with.
        finish: function of (sums (B, size), steps, step) that gives the figure; None: the sums.
    """

    name: str
    update: Callable[[StepView, Any], Sequence[Any]]
    size: int | None = None
    start: float = 0.0
    finish: Callable[[Array, int, float], Array] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"summary, name: expected a text, got {shorten(self.name)}.")
        if not callable(self.update):
            raise InputError(
                f"summary {self.name!r}, update: expected a function of (step, sums), got "
                f"{shorten(self.update)}."
            )
        if self.size is not None:
            check_whole(self.size, f"summary {self.name!r}, size", 1, 1000)

    def width(self, n: int) -> int:
        """How many numbers an arm of n joints has summed up."""
        return n if self.size is None else self.size


@dataclass(frozen=True)
class TracedSummary:
    """All summaries of a rollout as one function: `sums_next` from t, h, q, qd, q_next, qd_next, u,
    `reference` and `sums`; known by the digest of what it computes.
    """

    digest: str
    start: tuple[float, ...] = field(compare=False)
    reads_reference: bool = field(compare=False)
    traced: Traced = field(compare=False)


@dataclass(frozen=True)
class SummaryRequest:
    """What decides how summaries are traced: the arm, its open parameters, what drives it, and how many
    numbers a row of its controller's reference has.
    """

    arm: Arm
    parameters: tuple[str, ...]
    voltage: bool
    is_limited: bool
    reference: int


@lru_cache(maxsize=MOST_KEPT)
def traced_summaries(summaries: tuple[Summary, ...], request: SummaryRequest) -> TracedSummary:
    """The updates of summaries on one graph."""
    from forearm.codegen.functions import Traced
    from forearm.codegen.program import Argument
    from forearm.codegen.simulation_step import TracedPlant
    from forearm.codegen.tracing import Tracing
    from forearm.reduction.symbolic import chosen_parameters
    from forearm.symbols import refined
    from forearm.symbols.content import content

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
    named = {name: x[0] if name in ("t", "h") else x for name, x in given.items() if name != "sums"}
    view = StepView(
        **named,
        model=SymbolicModel(tracing),
        constants=plant.constants,
        torques=lambda qd: plant.torques(list(given["u"]), list(qd)),
    )
    made, at = [], 0
    for summary, width in zip(summaries, widths, strict=True):
        made += _updated(summary, view, given["sums"][at : at + width])
        at += width
    graph, results = refined(graph, {"sums_next": object_array(made)})
    start = tuple(s.start for s, width in zip(summaries, widths, strict=True) for _ in range(width))
    read = {graph.leaves[p].partition("[")[0] for p in graph.needed(results) if p in graph.leaves}
    inputs = tuple(Argument(name, (size,), "") for name, size in sizes.items())
    traced = Traced(graph, results, inputs, (Argument("sums_next", (len(made),), ""),))
    about = told([content(graph, {name: list(some) for name, some in results.items()}), list(start)])
    digest = hashlib.sha256(repr(about).encode()).hexdigest()
    return TracedSummary(digest, start, "reference" in read, traced)


def finished(
    summaries: Sequence[Summary], sums: Array, is_known: Array, run: tuple[int, float]
) -> Mapping[str, Array]:
    """The figures by name, (B, size), or (B,) where there is one; NaN where an arm's state is not known.

    Args:
        summaries: what was summed up.
        sums: their sums, (B, all of them).
        is_known: whether the state at the end is finite, (B,).
        run: how many steps, and the length of one, s.
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
                    f"summary {summary.name!r}, finish: expected one row for each of {len(is_known)} arms, "
                    f"got shape {some.shape}."
                )
        some[~is_known] = np.nan
        made[summary.name] = some[:, 0] if summary.size == 1 and some.shape[1:] == (1,) else some
        at += width
    return made


def _rest(summaries: Sequence[Summary], total: int) -> int:
    """The number of joints, by how many numbers those that have one per joint share."""
    by_joint = sum(summary.size is None for summary in summaries)
    return (total - sum(summary.size or 0 for summary in summaries)) // by_joint


def _updated(summary: Summary, view: StepView, now: Any) -> list[Any]:
    from forearm.symbols import Expr

    try:
        made = list(summary.update(view, now))
    except TypeError as error:
        raise InputError(
            f"summary {summary.name!r}, update: {error}. It is called with symbols: take choose, maximum and "
            "the others of forearm.symbols.scalars in the place of comparisons."
        ) from error
    if len(made) != len(now) or not all(isinstance(x, Expr | int | float | np.number) for x in made):
        raise InputError(
            f"summary {summary.name!r}, update: expected {len(now)} symbols or numbers, got {shorten(made)}."
        )
    return [x if isinstance(x, Expr) else float(x) for x in made]


def object_array(values: Sequence[Any]) -> Any:
    """One entry for each value, whatever it is."""
    made = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):
        made[k] = value
    return made
