"""Gradients of rollouts: weights on the states that a rollout left become gradients of what it was given,
backwards through its steps, without a Jacobian and without all states being kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.kernels.arrays import Array, DType, as_numbers
from forearm.kernels.batch_rollout import RolloutArrays, RolloutOwner, arrays_of, request_of, run_rows
from forearm.kernels.dispatch import Parameters
from forearm.kernels.rollout_arguments import RolloutPlan, check_driving
from forearm.kernels.rollout_request import ROLLOUT_GRADIENT, rollout_of
from forearm.kernels.traced_controller import TracedController, as_controller


class RolloutGradient(NamedTuple):
    """g^T J of a rollout.

    Args:
        q0, qd0: of the states at the start, (B, n).
        drive: in the shape of the torque or voltage, or of the controller's reference.
        parameters: (P,) or (B, P) as they were given, None where none are open.
    """

    q0: Array
    qd0: Array
    drive: Array
    parameters: Array | None


def simulate_gradient(
    owner: RolloutOwner,
    states: tuple[ArrayLike, ArrayLike],
    weights: tuple[ArrayLike, ArrayLike],
    plan: RolloutPlan,
    driving: Mapping[str, Any],
    threads: int | None,
    parameters: Parameters | None,
) -> RolloutGradient:
    """Gradients of what a rollout was given, as `Kernel.simulate_gradient` says."""
    arm, dtype, n = owner.arm, np.dtype(owner.dtype), owner.arm.n
    refuse_sticking(arm, tuple(owner.parameters))
    what = check_driving(driving)
    controller = as_controller(driving[what]) if what == "controller" else None
    if controller is not None:
        _check_controller(controller, plan)
    q, qd = _states(states, arm, plan, dtype)
    start = q[..., 0, :], qd[..., 0, :]
    given = arrays_of(owner, start, plan, (what, driving[what]), controller, parameters)
    by_record, weighted = _weights(weights, q.shape, dtype)
    batch = q.shape[:-2]
    if given.batch != batch:
        raise InputError(f"simulate_gradient: expected states of {given.batch} arms, got {q.shape}.")
    request = request_of(owner, plan.method, what, controller, given.drive.shape[-1])
    function = rollout_of(replace(request, function=ROLLOUT_GRADIENT))
    count, by_step = given.count, given.drive_strides[1] > 0
    # A controller leaves nothing at steps at which it is not asked.
    drive = np.zeros((count, plan.steps if by_step else 1, given.drive.shape[-1]), dtype)
    made = [np.empty((count, k), dtype) for k in (n, n, len(owner.parameters))]
    scratch = np.empty((count, plan.record, (2 if controller is None else 3) * n), dtype)
    left = [scratch, *made[:2], drive, made[2]]
    (u, u_row, u_step), (values, p_row, _), (reference, r_row, r_step) = given.driving
    arrays = [q, qd, u, values, *weighted, *left]
    weighed = (plan.records if by_record else 1) * n
    rows = [plan.records * n, plan.records * n, u_row, p_row, weighed, weighed]
    rows += [array.size // max(count, 1) for array in left]
    numbers = [plan.steps, plan.record, plan.records, u_row, u_step, p_row, int(by_record), int(by_step)]
    if controller is not None:
        arrays, rows = [*arrays, reference], [*rows, r_row]
        numbers += [controller.period, r_row, r_step]
    native = function.part("batch" if count > 1 else "single")

    def called(*pointers_and_count: int) -> None:
        native.call(*pointers_and_count, *numbers, plan.h)

    strides = [dtype.itemsize * row for row in rows]
    run_rows(function, replace(native, call=called), arrays, strides, (count, 4 * plan.steps), threads)
    q0, qd0 = (array.reshape(*batch, n) for array in made[:2])
    by_parameters = made[2].sum(axis=0) if given.parameters.ndim == 1 else made[2]
    return RolloutGradient(q0, qd0, _summed(drive, given), by_parameters if owner.parameters else None)


def _check_controller(controller: TracedController, plan: RolloutPlan) -> None:
    if controller.state:
        raise InputError(
            "simulate_gradient, controller: a law that keeps a state is not differentiated; give what it "
            "answered as torque."
        )
    if plan.record % controller.period:
        raise InputError(
            "simulate_gradient, record: expected a multiple of the controller's period, "
            f"{controller.period}, got {plan.record}."
        )


def _summed(slopes: Array, given: RolloutArrays) -> Array:
    """The gradient of inputs in their shape: summed over arms that share them."""
    if not given.drive_strides[0]:
        slopes = slopes.sum(axis=0, keepdims=True)
    made: Array = slopes.reshape(given.drive.shape)
    return made


def _states(states: tuple[ArrayLike, ArrayLike], arm: Arm, plan: RolloutPlan, dtype: DType) -> list[Array]:
    shape = (plan.records, arm.n)
    made = [as_numbers(f"states, {name}", x, dtype) for name, x in zip(("q", "qd"), states, strict=True)]
    for array in made:
        if array.ndim not in (2, 3) or array.shape[-2:] != shape or array.shape != made[0].shape:
            raise InputError(
                f"simulate_gradient, states: expected q and qd as simulate leaves them with "
                f"record={plan.record}, {shape} or (B, {plan.records}, {arm.n}), got {array.shape}."
            )
    return made


def _weights(
    weights: tuple[ArrayLike, ArrayLike], states: tuple[int, ...], dtype: DType
) -> tuple[bool, list[Array]]:
    """Whether there are weights for every record, and the weights."""
    made = [as_numbers(f"weights, {name}", x, dtype) for name, x in zip(("q", "qd"), weights, strict=True)]
    last = (*states[:-2], states[-1])
    shapes = {array.shape for array in made}
    if shapes != {states} and shapes != {last}:
        raise InputError(
            f"simulate_gradient, weights: expected a pair of arrays {last} for the states at the end, or "
            f"{states} for those that were kept, got {' and '.join(str(a.shape) for a in made)}."
        )
    return shapes == {states}, made


def refuse_sticking(arm: Arm, parameters: tuple[str, ...]) -> None:
    """Refuse arms with a joint that friction can hold."""
    from forearm.codegen.simulation_step import held_by_friction
    from forearm.drives.joint import depends_on_load

    held = [
        joint.name
        for joint, is_dry in zip(arm.joints, held_by_friction(arm, parameters), strict=True)
        if is_dry
    ]
    if held or depends_on_load(arm):
        raise InputError(
            f"simulate_gradient: friction can hold {', '.join(held) or 'joints'} of {arm.name!r}, and a "
            "motion that sticks has no gradient. Take arm.rigid(), or friction that is viscous alone."
        )
