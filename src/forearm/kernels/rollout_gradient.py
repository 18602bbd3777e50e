"""Gradients of rollouts in reverse mode: weights on the resulting states become gradients of the inputs,
propagated backwards through the steps, without a Jacobian and without storing all states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.errors import InputError, shorten
from forearm.kernels.arrays import Array, as_numbers
from forearm.kernels.batch_rollout import RolloutArrays, RolloutOwner, arrays_of, request_of, run_rows
from forearm.kernels.dispatch import Parameters
from forearm.kernels.rollout_arguments import RolloutPlan, Shape, check_driving
from forearm.kernels.rollout_request import ROLLOUT_GRADIENT, RolloutRequest, rollout_of
from forearm.kernels.traced_controller import TracedController, as_controller

SCRATCH = 6  # the index of the scratch memory among the arrays


class RolloutGradient(NamedTuple):
    """g^T J of a rollout.

    Args:
        q0, qd0: of the initial states, (B, n).
        drive: in the shape of the torque or voltage, or of the controller's reference.
        parameters: (P,) or (B, P) like the values given, None if none are open.
    """

    q0: Array
    qd0: Array
    drive: Array
    parameters: Array | None


@dataclass(frozen=True, eq=False)
class GradientCall:
    """A call of the machine code: its arrays, with the strides between two arms (0: shared by all), and its
    integer arguments. The scratch memory is added by the caller.
    """

    request: RolloutRequest
    plan: RolloutPlan
    count: int
    arrays: list[Array]
    rows: list[int]
    numbers: list[int]


def simulate_gradient(
    owner: RolloutOwner,
    states: tuple[ArrayLike, ArrayLike],
    weights: tuple[ArrayLike, ArrayLike],
    plan: RolloutPlan,
    driving: Mapping[str, Any],
    parameters: Parameters | None,
    run: Callable[[GradientCall], None],
) -> RolloutGradient:
    """Gradients of the inputs of a rollout, as in `Kernel.simulate_gradient`;
    NumPy arrays, processed by `run`.
    """
    arm, dtype, n = owner.arm, np.dtype(owner.dtype), owner.arm.n
    what, controller = checked_driving(owner, plan, driving)
    check_pairs(states, weights)
    q, qd = (as_numbers(f"states, {name}", x, dtype) for name, x in zip(("q", "qd"), states, strict=True))
    check_states(q.shape, qd.shape, arm, plan)
    start = q[..., 0, :], qd[..., 0, :]
    given = arrays_of(owner, start, plan, (what, driving[what]), controller, parameters)
    weighted = [
        as_numbers(f"weights, {name}", x, dtype) for name, x in zip(("q", "qd"), weights, strict=True)
    ]
    by_record = is_by_record([array.shape for array in weighted], q.shape)
    batch = q.shape[:-2]
    check_batch(given.batch, q.shape)
    request = request_of(owner, plan.method, what, controller, given.drive.shape[-1])
    count, by_step = given.count, given.drive_strides[1] > 0
    # A controller writes nothing at steps between its updates.
    drive = np.zeros((count, plan.steps if by_step else 1, given.drive.shape[-1]), dtype)
    made = [np.empty((count, k), dtype) for k in (n, n, len(owner.parameters))]
    left = [*made[:2], drive, made[2]]
    (u, u_row, _), (values, p_row, _), (reference, r_row, _) = given.driving
    weighed = (plan.records if by_record else 1) * n
    arrays = [q, qd, u, values, *weighted, np.empty(0, dtype), *left]
    rows = [
        plan.records * n,
        plan.records * n,
        u_row,
        p_row,
        weighed,
        weighed,
        scratch_row(plan, controller, n),
    ]
    rows += [array.size // max(count, 1) for array in left]
    if controller is not None:
        arrays, rows = [*arrays, reference], [*rows, r_row]
    numbers = whole_numbers(plan, given.drive_strides, p_row, by_record, controller)
    run(GradientCall(replace(request, function=ROLLOUT_GRADIENT), plan, count, arrays, rows, numbers))
    q0, qd0 = (array.reshape(*batch, n) for array in made[:2])
    by_parameters = made[2].sum(axis=0) if given.parameters.ndim == 1 else made[2]
    return RolloutGradient(q0, qd0, _summed(drive, given), by_parameters if owner.parameters else None)


def run_on_host(call: GradientCall, threads: int | None) -> None:
    """Run the machine code on the CPU, distributed over threads."""
    function, arrays, plan = rollout_of(call.request), [*call.arrays], call.plan
    arrays[SCRATCH] = np.empty(call.count * call.rows[SCRATCH], call.request.dtype)
    native = function.part("batch" if call.count > 1 else "single")

    def called(*pointers_and_count: int) -> None:
        native.call(*pointers_and_count, *call.numbers, plan.h)

    strides = [arrays[0].itemsize * row for row in call.rows]
    run_rows(function, replace(native, call=called), arrays, strides, (call.count, 4 * plan.steps), threads)


def scratch_row(plan: RolloutPlan, controller: TracedController | None, n: int) -> int:
    """Size of one arm's scratch memory: states between two records, and the controller's outputs."""
    return plan.segment * (2 if controller is None else 3) * n


def whole_numbers(
    plan: RolloutPlan,
    strides: tuple[int, int],
    parameter_row: int,
    by_record: bool,
    controller: TracedController | None,
) -> list[int]:
    """The integer arguments of the machine code besides arrays, in its order, except the count and the step
    size; `strides` are those of what drives the arms.
    """
    of_inputs = strides if controller is None else (0, 0)
    made = [
        plan.steps,
        plan.segment,
        plan.records,
        *of_inputs,
        parameter_row,
        int(by_record),
        int(strides[1] > 0),
    ]
    return made if controller is None else [*made, controller.period, *strides]


def checked_driving(
    owner: RolloutOwner, plan: RolloutPlan, driving: Mapping[str, Any]
) -> tuple[str, TracedController | None]:
    """What drives the arms, and the controller if there is one; raises for what has no gradient."""
    refuse_sticking(owner.arm, tuple(owner.parameters))
    what = check_driving(driving)
    controller = as_controller(driving[what]) if what == "controller" else None
    if controller is not None:
        _check_controller(controller, plan)
    return what, controller


def check_batch(batch: Shape, states: Shape) -> None:
    """Raise unless there are states for all arms."""
    if batch != states[:-2]:
        raise InputError(f"expected states of {batch} arms, got {states}.", "simulate_gradient")


def _check_controller(controller: TracedController, plan: RolloutPlan) -> None:
    if controller.state:
        raise InputError(
            "laws with a state are not differentiable; pass the law's output as torque.",
            "simulate_gradient",
            "controller",
        )
    if controller.gains is not None:
        raise InputError(
            "gains are not differentiable; pass them in the reference.", "simulate_gradient", "controller"
        )
    if plan.record % controller.period:
        raise InputError(
            f"expected a multiple of the controller's period, {controller.period}, got {plan.record}.",
            "simulate_gradient",
            "record",
        )


def _summed(slopes: Array, given: RolloutArrays) -> Array:
    """The gradient of inputs in their shape: summed over arms that share them."""
    if not given.drive.size:  # no arms or no steps, so that there is nothing by which to differentiate
        return np.zeros_like(given.drive)
    if not given.drive_strides[0]:
        slopes = slopes.sum(axis=0, keepdims=True)
    made: Array = slopes.reshape(given.drive.shape)
    return made


def check_pairs(states: object, weights: object) -> None:
    """Raise unless each is a pair of arrays."""
    for name, pair in (("states", states), ("weights", weights)):
        if not isinstance(pair, Sized) or getattr(pair, "shape", None) == () or len(pair) != 2:
            raise InputError(
                f"expected a pair of arrays (q, qd), got {shorten(pair)}.", "simulate_gradient", name
            )


def check_states(q: Shape, qd: Shape, arm: Arm, plan: RolloutPlan) -> None:
    """Raise unless states have the shape of the record."""
    shape = (plan.records, arm.n)
    for got in (q, qd):
        if len(got) not in (2, 3) or got[-2:] != shape or got != q:
            raise InputError(
                f"expected q and qd as simulate returns them with record={plan.record}, "
                f"{shape} or (B, {plan.records}, {arm.n}), got {got}.",
                "simulate_gradient",
                "states",
            )


def is_by_record(weights: Sequence[Shape], states: Shape) -> bool:
    """Whether there are weights for every record, by their shapes."""
    last = (*states[:-2], states[-1])
    shapes = set(weights)
    if shapes != {states} and shapes != {last}:
        raise InputError(
            f"expected a pair of arrays {last} for the final states, or {states} for all "
            f"recorded states, got {' and '.join(map(str, weights))}.",
            "simulate_gradient",
            "weights",
        )
    return shapes == {states}


def refuse_sticking(arm: Arm, parameters: tuple[str, ...]) -> None:
    """Raise for arms with a joint that dry friction can hold."""
    from forearm.codegen.simulation_step import held_by_friction
    from forearm.drives.coordinates import coordinates_of, refuse_drive_states
    from forearm.drives.joint import depends_on_load

    refuse_drive_states(arm, "simulate_gradient")
    held = [
        joint.name
        for joint, is_dry in zip(arm.joints, held_by_friction(coordinates_of(arm), parameters), strict=True)
        if is_dry
    ]
    if held or depends_on_load(arm):
        raise InputError(
            f"dry friction can hold {', '.join(held) or 'joints'} of {arm.name!r}, and "
            "stick-slip motion has no gradient. Use arm.rigid(), or viscous friction only.",
            "simulate_gradient",
        )
