"""Rollouts of many arms in one call: arrays in, checked;
blocks of arms distributed over threads; arrays out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.errors import InputError, shorten
from forearm.kernels.arrays import Array, DType, apart, as_numbers, copied, results_for, shape_of
from forearm.kernels.compiled import Native
from forearm.kernels.dispatch import Call, Parameters, parameter_values, refuse
from forearm.kernels.rollout_arguments import (
    RolloutPlan,
    batch_of,
    check_driving,
    check_motors,
    driven_batch,
    state_stride,
    strides_of,
)
from forearm.kernels.rollout_request import CompiledRollout, RolloutRequest, rollout_of
from forearm.kernels.rollout_summary import Summary, SummaryRequest, finished, traced_summaries
from forearm.kernels.thread_pool import shared_rows, worker_count
from forearm.kernels.traced_controller import TracedController, as_controller
from forearm.values import check_kind

# steps, summed over arms, in one call of machine code; a run can be interrupted between calls
AT_ONCE = 4_000_000
LEAST_ROWS = 256  # minimum number of arms per call


class Rollout(NamedTuple):
    """States at the end, or the initial state followed by every `record`-th state.

    Args:
        q, qd: joint coordinates and velocities, (B, n), or (B, steps // record + 1, n); without B for a
            single arm.
    """

    q: Array
    qd: Array

    @property
    def summaries(self) -> Mapping[str, Array]:
        """Summary values by name, (B, n), or (B,) for scalars; without B for a single arm. NaN where an arm's
        final state is not finite.
        """
        return {}


class SummarisedRollout(Rollout):
    """A rollout with summaries."""

    _figures: Mapping[str, Array]

    @classmethod
    def of(cls, states: Sequence[Array], figures: Mapping[str, Array]) -> SummarisedRollout:
        """Construct from states and summary values by name."""
        made = cls(*states)
        made._figures = figures
        return made

    @property
    def summaries(self) -> Mapping[str, Array]:
        """The summary values by name."""
        return self._figures


class RolloutOwner(Protocol):
    """The kernel whose arm is simulated."""

    arm: Arm
    dtype: str
    parameters: dict[str, float]
    cpu: str


@dataclass(frozen=True, eq=False)
class RolloutArrays:
    """The inputs of a rollout, converted: states, drive (torque or voltage, or the controller's reference)
    and parameters, each with its strides between arms and between steps.
    """

    batch: tuple[int, ...]
    q0: Array
    qd0: Array
    drive: Array
    drive_strides: tuple[int, int]
    parameters: Array
    has_controller: bool = False

    @property
    def count(self) -> int:
        """The number of arms."""
        return self.batch[0] if self.batch else 1

    @property
    def driving(self) -> list[tuple[Array, int, int]]:
        """Drive, parameters and controller reference,
        each with its strides between arms and between steps; empty where unused.
        """
        drive = self.drive, *self.drive_strides
        nothing = np.empty(0, self.drive.dtype), 0, 0
        own = self.parameters, state_stride(self.parameters.shape), 0
        return [nothing, own, drive] if self.has_controller else [drive, own, nothing]

    @property
    def strides(self) -> list[int]:
        """The strides of `driving` in the order of the machine code's arguments;
        parameters have no stride between steps.
        """
        (_, u_row, u_step), (_, p_row, _), (_, r_row, r_step) = self.driving
        return [u_row, u_step, p_row, r_row, r_step]


@dataclass(frozen=True)
class Extras:
    """Options of a rollout besides states: summaries, effort limits."""

    summaries: tuple[Summary, ...] = ()
    effort_limits: bool = False

    def __post_init__(self) -> None:
        for summary in self.summaries:
            check_kind(summary, Summary, "simulate, summaries")
        check_kind(self.effort_limits, bool, "simulate, effort_limits")


def simulate(
    owner: RolloutOwner,
    states: tuple[ArrayLike, ArrayLike],
    plan: RolloutPlan,
    driving: Mapping[str, Any],
    call: Call,
    extras: Extras = Extras(),
) -> Rollout:
    """Simulate from (q0, qd0) as `Kernel.simulate` does; `driving` holds torque, voltage and controller, None
    for those that were not given.
    """
    what = check_driving(driving)
    controller = as_controller(driving[what]) if what == "controller" else None
    given = arrays_of(owner, states, plan, (what, driving[what]), controller, call.parameters)
    request = request_of(owner, plan.method, what, controller, given.drive.shape[-1], extras)
    dtype = np.dtype(owner.dtype)
    asked = results_for([plan.result(given.batch, owner.arm.n)] * 2, pair_of(call.out), dtype)
    inputs = [given.q0, given.qd0, given.drive, given.parameters]
    results = asked if call.out is None else [apart(array, inputs) for array in asked]
    if plan.record:  # the record must not overlap inputs that are still to be read
        results = [np.empty_like(r) if np.may_share_memory(r, given.drive) else r for r in results]
    sums = sums_for(request, given.count, dtype)
    _run(rollout_of(request), given, [*results, sums], plan, controller, call.threads)
    return rollout_with(copied(results, asked), sums, plan, extras)


def sums_for(request: RolloutRequest, count: int, dtype: DType) -> Array:
    """An array for the summaries' sums of this many arms."""
    return np.empty((count, 0 if request.summary is None else len(request.summary.start)), dtype)


def rollout_with(states: Sequence[Array], sums: Array, plan: RolloutPlan, extras: Extras) -> Rollout:
    """The rollout with its states and the requested summaries."""
    q, qd = states
    if not extras.summaries:
        return Rollout(q, qd)
    last = q[..., -1, :] if plan.record else q, qd[..., -1, :] if plan.record else qd
    is_known = np.isfinite(last[0]).all(axis=-1) & np.isfinite(last[1]).all(axis=-1)
    made = finished(extras.summaries, sums, np.atleast_1d(is_known), (plan.steps, plan.h))
    is_one = last[0].ndim == 1
    return SummarisedRollout.of(states, {name: some[0] if is_one else some for name, some in made.items()})


def arrays_of(
    owner: RolloutOwner,
    states: tuple[ArrayLike, ArrayLike],
    plan: RolloutPlan,
    driving: tuple[str, Any],
    controller: TracedController | None,
    parameters: Parameters | None,
) -> RolloutArrays:
    """All inputs as arrays that machine code can read."""
    arm, dtype, n = owner.arm, np.dtype(owner.dtype), owner.arm.n
    q0, qd0 = (_numbers(name, value, n, dtype) for name, value in zip(("q0", "qd0"), states, strict=True))
    name, drive = driving
    if controller is not None:
        name, drive = (
            "controller, reference",
            np.empty(0) if controller.reference is None else controller.reference,
        )
    u = as_numbers(name, np.zeros(n) if drive is None else drive, dtype)
    size = n if controller is None or u.ndim == 0 else u.shape[-1]
    u = np.full(size, u) if u.ndim == 0 else u
    gains = gains_of(controller, dtype)
    shapes = [(name, u.shape, 3), *_parameter_shapes(parameters), ("controller, gains", gains.shape, 2)]
    batch = batch_of(arm, {"q0": q0.shape, "qd0": qd0.shape}, shapes)
    batch = batch or driven_batch(u.shape, plan.steps)
    strides = strides_of(name, u.shape, size, batch, plan.steps)
    values = np.empty(0, dtype)
    if owner.parameters:
        values = parameter_values(parameters, owner.parameters, batch, dtype)
    else:
        refuse(parameters)
    values = beside(values, gains)
    return RolloutArrays(batch, q0, qd0, u, strides, values, controller is not None)


def gains_of(controller: TracedController | None, dtype: DType) -> Array:
    """A controller's gains, (k,) or (B, k); empty without any."""
    if controller is None or controller.gains is None:
        return np.empty(0, dtype)
    gains = np.atleast_1d(as_numbers("controller, gains", controller.gains, dtype))
    if gains.ndim > 2:
        raise InputError(f"expected shape (k,) or (B, k), got {gains.shape}.", "controller", "gains")
    return gains


def beside(parameters: Array, gains: Array) -> Array:
    """Open parameters followed by gains: one row for all arms, or one per arm."""
    if not gains.size:
        return parameters
    rows = max(len(x) if x.ndim == 2 else 1 for x in (parameters, gains))
    if parameters.ndim == gains.ndim == 1:
        return np.concatenate([parameters, gains])
    both = [np.broadcast_to(x, (rows, x.shape[-1])) for x in (parameters, gains)]
    # NumPy may lay the columns out in Fortran order
    return np.ascontiguousarray(np.concatenate(both, axis=1))


def request_of(
    owner: RolloutOwner,
    method: str,
    what: str,
    controller: TracedController | None,
    width: int,
    extras: Extras = Extras(),
) -> RolloutRequest:
    """The compile request; `reference` rows of a controller have this width."""
    voltage, law, digest = what == "voltage", None, ""
    if controller is not None:
        voltage = controller.output == "voltage"
        law, digest = controller.traced(owner.arm, width)
    if voltage:
        check_motors(owner.arm)
    names, is_limited = tuple(owner.parameters), extras.effort_limits
    summary = None
    if extras.summaries:
        read = width if controller is not None else 0
        asked = SummaryRequest(owner.arm, names, voltage, is_limited, read)
        summary = traced_summaries(extras.summaries, asked)
    return RolloutRequest(
        owner.arm,
        owner.dtype,
        names,
        owner.cpu,
        method,
        voltage,
        digest=digest,
        law=law,
        is_limited=is_limited,
        summary=summary,
    )


def _run(
    function: CompiledRollout,
    given: RolloutArrays,
    results: Sequence[Array],
    plan: RolloutPlan,
    controller: TracedController | None,
    threads: int | None,
) -> None:
    """Run the machine code on the arrays."""
    count, n, size = given.count, given.q0.shape[-1], given.q0.itemsize
    native = function.part("batch" if count > 1 else "single")
    states = state_stride(given.q0.shape), state_stride(given.qd0.shape)
    arrays = [given.q0, given.qd0, *(array for array, _, _ in given.driving), *results]
    rows = [*states, *(row for _, row, _ in given.driving), *[plan.records * n] * 2, results[2].shape[-1]]
    strides = [size * row for row in rows]
    period = 1 if controller is None else controller.period
    numbers = plan.steps, plan.record, period, *states, *given.strides, plan.h

    def called(*pointers_and_count: int) -> None:
        native.call(*pointers_and_count, *numbers)

    run_rows(function, replace(native, call=called), arrays, strides, (count, plan.steps), threads)


def run_rows(
    function: CompiledRollout,
    native: Native,
    arrays: Sequence[Array],
    strides: Sequence[int],
    counts: tuple[int, int],
    threads: int | None,
) -> None:
    """Run machine code for this many arms and steps in chunks of arms,
    so that it can be interrupted between them.

    `strides` are bytes from arm to arm of each array.
    """
    count, steps = counts[0], max(counts[1], 1)
    piece = max(LEAST_ROWS, AT_ONCE // steps)
    for start in range(0, count, piece):
        some = min(piece, count - start)
        here = [_behind(array, k * start) for array, k in zip(arrays, strides, strict=True)]
        shared_rows(native, here, strides, some, worker_count(some, threads, function.operations * steps))


def _behind(array: Array, step: int) -> Array:
    """The array from an offset on, in bytes from its first entry."""
    return array.reshape(-1)[step // array.itemsize :] if step else array


def _numbers(name: str, value: ArrayLike, n: int, dtype: DType) -> Array:
    array = as_numbers(name, value, dtype)
    return np.full(n, array) if array.ndim == 0 and name != "q0" else array


def _parameter_shapes(parameters: Parameters | None) -> list[tuple[str, tuple[int, ...], int]]:
    """Allowed shapes of open parameters that may differ from arm to arm."""
    if isinstance(parameters, Mapping):
        return [
            (f"parameters, {name}", shape_of(f"parameters, {name}", value), 1)
            for name, value in parameters.items()
        ]
    return [] if parameters is None else [("parameters", shape_of("parameters", parameters), 2)]


def pair_of(out: Sequence[Array] | None) -> Sequence[Array] | None:
    """The output arrays for q and qd, if given."""
    if out is not None and (not isinstance(out, tuple | list) or len(out) != 2):
        raise InputError(f"expected a pair of arrays (q, qd), got {shorten(out)}.", "out")
    if out is not None and all(isinstance(a, np.ndarray) for a in out) and np.may_share_memory(*out):
        raise InputError("q and qd share memory; expected two separate arrays.", "out")
    return out
