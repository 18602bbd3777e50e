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
from forearm.drives.motor import constants_of
from forearm.errors import InputError, shorten
from forearm.kernels.arrays import Array, DType, apart, as_numbers, copied, results_for, shape_of
from forearm.kernels.compiled import Shape
from forearm.kernels.dispatch import Call, Parameters, parameter_values
from forearm.kernels.rollout_arguments import (
    RolloutDriver,
    RolloutInputs,
    RolloutPlan,
    batch_of,
    state_stride,
    strides_of,
)
from forearm.kernels.rollout_request import CompiledRollout, RolloutRequest, rollout_of
from forearm.kernels.rollout_summary import SummaryRequest, finished, traced_summaries
from forearm.kernels.thread_pool import shared_rows, worker_count
from forearm.kernels.traced_controller import TracedController

# steps, summed over arms, in one call of machine code; a run can be interrupted between calls
AT_ONCE = 4_000_000
LEAST_ROWS = 256  # minimum number of arms per call
NO_INPUTS = RolloutInputs()


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
    """The inputs of a rollout, converted, on the host or on a device: states, what drives the arms (with its
    strides between arms and between steps), and open parameters followed by gains.
    """

    batch: Shape
    q0: Any
    qd0: Any
    drive: Any
    drive_strides: tuple[int, int]
    parameters: Any

    @property
    def count(self) -> int:
        """The number of arms."""
        return self.batch[0] if self.batch else 1

    @property
    def every(self) -> tuple[Any, ...]:
        """All arrays."""
        return self.q0, self.qd0, self.drive, self.parameters


def simulate(
    owner: RolloutOwner,
    states: tuple[ArrayLike, ArrayLike],
    plan: RolloutPlan,
    inputs: RolloutInputs,
    call: Call,
) -> Rollout:
    """Simulate from (q0, qd0) as `Kernel.simulate` does."""
    n, dtype, driven = owner.arm.n, np.dtype(owner.dtype), inputs.driven
    given = arrays_of(owner, states, plan, driven, call.parameters)
    request = request_of(owner, plan.method, driven, given.drive.shape[-1], inputs)
    asked = results_for([plan.result(given.batch, n)] * 2, pair_of(call.out), dtype)
    results = asked if call.out is None else [apart(array, given.every) for array in asked]
    if plan.record:  # the record must not overlap inputs that are still to be read
        results = [np.empty_like(r) if np.may_share_memory(r, given.drive) else r for r in results]
    sums = sums_for(request, given.count, dtype)
    numbers = whole_numbers(plan, driven, given)
    arrays = [given.q0, given.qd0, *of_machine_code(driven, given.drive, given.parameters), *results, sums]
    _, _, _, *states_rows, u_row, _, p_row, r_row, _ = numbers
    rows = [*states_rows, u_row, p_row, r_row, *[plan.records * n] * 2, sums.shape[-1]]
    work = given.count, plan.steps
    run_rows(rollout_of(request), arrays, rows, [*numbers, plan.step], work, call.threads)
    return rollout_with(copied(results, asked), sums, plan, inputs)


def of_machine_code(driven: RolloutDriver, drive: Array, parameters: Array) -> list[Array]:
    """What drives the arms, parameters, and reference, in the order of the machine code's arguments."""
    nothing = np.empty(0, drive.dtype)
    return [drive, parameters, nothing] if driven.controller is None else [nothing, parameters, drive]


def whole_numbers(plan: RolloutPlan, driven: RolloutDriver, given: RolloutArrays) -> list[int]:
    """The integer arguments of the machine code after the number of arms."""
    q0, qd0, parameters = (state_stride(x.shape) for x in (given.q0, given.qd0, given.parameters))
    strides, period = (*given.drive_strides, parameters, 0, 0), 1
    if driven.controller is not None:
        strides, period = (0, 0, parameters, *given.drive_strides), driven.controller.period
    return [plan.steps, plan.every, period, q0, qd0, *strides]


def sums_for(request: RolloutRequest, count: int, dtype: DType) -> Array:
    """An array for the summaries' sums of this many arms."""
    return np.empty((count, 0 if request.summary is None else len(request.summary.start)), dtype)


def rollout_with(states: Sequence[Array], sums: Array, plan: RolloutPlan, inputs: RolloutInputs) -> Rollout:
    """The rollout with its states and the requested summaries."""
    if not inputs.summaries:
        return Rollout(*states)
    last = [x[..., -1, :] if plan.record else x for x in states]
    is_known = np.isfinite(last).all(axis=(0, -1))
    figures = finished(inputs.summaries, sums, np.atleast_1d(is_known), (plan.steps, plan.step))
    if last[0].ndim == 1:
        figures = {name: values[0] for name, values in figures.items()}
    return SummarisedRollout.of(states, figures)


def arrays_of(
    owner: RolloutOwner,
    states: tuple[ArrayLike, ArrayLike],
    plan: RolloutPlan,
    driven: RolloutDriver,
    parameters: Parameters | None,
) -> RolloutArrays:
    """All inputs as arrays that machine code can read."""
    dtype, n = np.dtype(owner.dtype), owner.arm.n
    q0, qd0 = (as_numbers(name, x, dtype) for name, x in zip(("q0", "qd0"), states, strict=True))
    qd0 = np.full(n, qd0) if qd0.ndim == 0 else qd0
    u = as_numbers(driven.name, driven.value, dtype)
    size = driven.width(u.shape, n)
    u = np.full(size, u) if u.ndim == 0 else u
    gains = gains_of(driven.controller, dtype)
    shapes = [(driven.name, u.shape, 3), *parameter_shapes(parameters), ("controller, gains", gains.shape, 2)]
    batch = batch_of(owner.arm, {"q0": q0.shape, "qd0": qd0.shape}, shapes, plan)
    strides = strides_of(driven.name, u.shape, size, batch, plan.steps)
    values = parameter_values(parameters, owner.parameters, batch, dtype)
    return RolloutArrays(batch, q0, qd0, u, strides, beside(values, gains))


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
    rows = np.broadcast_shapes(parameters.shape[:-1], gains.shape[:-1])
    both = [np.broadcast_to(x, (*rows, x.shape[-1])) for x in (parameters, gains)]
    # NumPy may lay the columns out in Fortran order
    return np.ascontiguousarray(np.concatenate(both, axis=-1))


def request_of(
    owner: RolloutOwner, method: str, driven: RolloutDriver, width: int, inputs: RolloutInputs = NO_INPUTS
) -> RolloutRequest:
    """The compile request; `reference` rows of a controller have this width."""
    voltage, law, digest, controller = driven.kind == "voltage", None, "", driven.controller
    if controller is not None:
        voltage = controller.output == "voltage"
        law, digest = controller.traced(owner.arm, width)
    if voltage and constants_of(owner.arm).inductance.any():
        raise InputError(
            f"voltages need motors without inductance, and some motors of {owner.arm.name!r} have it. Use "
            "fa.simulate, fa.simulate_many, or forearm.simulation.without_inductance(arm).",
            "simulate",
        )
    names, is_limited, summary = tuple(owner.parameters), inputs.effort_limits, None
    if inputs.summaries:
        read = width if controller is not None else 0
        asked = SummaryRequest(owner.arm, names, voltage, is_limited, read)
        summary = traced_summaries(tuple(inputs.summaries), asked)
    return RolloutRequest(
        *(owner.arm, owner.dtype, names, owner.cpu, method, voltage),
        digest=digest,
        law=law,
        is_limited=is_limited,
        summary=summary,
    )


def run_rows(
    function: CompiledRollout,
    arrays: Sequence[Array],
    rows: Sequence[int],
    numbers: Sequence[float],
    work: tuple[int, int],
    threads: int | None,
) -> None:
    """Run machine code for this many arms and steps in chunks of arms, so that it can be interrupted between
    them.

    `rows` are entries from arm to arm of each array, `numbers` the arguments after the number of arms.
    """
    count, steps = work[0], max(work[1], 1)
    native = function.part("batch" if count > 1 else "single")

    def called(*pointers_and_count: int) -> None:
        native.call(*pointers_and_count, *numbers)

    whole = replace(native, call=called)
    strides = [arrays[0].itemsize * row for row in rows]
    piece = max(LEAST_ROWS, AT_ONCE // steps)
    for start in range(0, count, piece):
        some = min(piece, count - start)
        here = [
            a.reshape(-1)[row * start :] if row * start else a for a, row in zip(arrays, rows, strict=True)
        ]
        shared_rows(whole, here, strides, some, worker_count(some, threads, function.operations * steps))


def parameter_shapes(parameters: Parameters | None) -> list[tuple[str, Shape, int]]:
    """Shapes of open parameters that may differ from arm to arm."""
    if isinstance(parameters, Mapping):
        named = ((f"parameters, {name}", value) for name, value in parameters.items())
        return [(name, shape_of(name, value), 1) for name, value in named]
    return [] if parameters is None else [("parameters", shape_of("parameters", parameters), 2)]


def pair_of(out: Sequence[Array] | None) -> Sequence[Array] | None:
    """The output arrays for q and qd, if given."""
    if out is not None and (not isinstance(out, tuple | list) or len(out) != 2):
        raise InputError(f"expected a pair of arrays (q, qd), got {shorten(out)}.", "out")
    if out is not None and all(isinstance(a, np.ndarray) for a in out) and np.may_share_memory(*out):
        raise InputError("q and qd share memory; expected two separate arrays.", "out")
    return out
