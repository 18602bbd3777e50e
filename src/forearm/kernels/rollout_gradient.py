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
from forearm.kernels.rollout_arguments import RolloutPlan, check_driving, state_stride
from forearm.kernels.rollout_request import ROLLOUT_GRADIENT, rollout_of


class RolloutGradient(NamedTuple):
    """g^T J of a rollout: q0 and qd0, (B, n) each; `drive` in the shape of the torque or voltage; parameters,
    (P,) or (B, P) as they were given, None where none are open.
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
    q, qd = _states(states, arm, plan, dtype)
    start = q[..., 0, :], qd[..., 0, :]
    given = arrays_of(owner, start, plan, (what, driving[what]), None, parameters)
    by_record, (x, y) = _weights(weights, q.shape, dtype)
    batch = q.shape[:-2]
    if given.batch != batch:
        raise InputError(f"simulate_gradient: expected states of {given.batch} arms, got {q.shape}.")
    count = batch[0] if batch else 1
    by_step = given.drive_strides[1] > 0
    steps = (plan.steps,) if by_step else ()
    made = [np.empty((count, n), dtype), np.empty((count, n), dtype), np.empty((count, *steps, n), dtype)]
    slopes = np.empty((count, len(owner.parameters)), dtype)
    scratch = np.empty((count, plan.record, 2 * n), dtype)
    request = replace(request_of(owner, plan.method, what, None, n), function=ROLLOUT_GRADIENT)
    function = rollout_of(request)
    arrays = [q, qd, given.drive, given.parameters, x, y, scratch, *made, slopes]
    row, step = given.drive_strides
    p_row = state_stride(given.parameters.shape)
    kept, weighed = plan.records * n, (plan.records if by_record else 1) * n
    left = [n, n, (plan.steps if by_step else 1) * n, len(owner.parameters)]
    rows = [kept, kept, row, p_row, weighed, weighed, plan.record * 2 * n, *left]
    native = function.part("batch" if count > 1 else "single")
    numbers = plan.steps, plan.record, plan.records, row, step, p_row, int(by_record), int(by_step), plan.h

    def called(*pointers_and_count: int) -> None:
        native.call(*pointers_and_count, *numbers)

    strides = [dtype.itemsize * k for k in rows]
    run_rows(function, replace(native, call=called), arrays, strides, (count, 4 * plan.steps), threads)
    drive = _summed(made[2], given, by_step)
    q0, qd0 = (array.reshape(*batch, n) for array in made[:2])
    shared = given.parameters.ndim == 1
    by_parameters = slopes.sum(axis=0) if shared else slopes
    return RolloutGradient(q0, qd0, drive, by_parameters if owner.parameters else None)


def _summed(slopes: Array, given: RolloutArrays, by_step: bool) -> Array:
    """The gradient of inputs in their shape: summed over arms that share them."""
    row = given.drive_strides[0]
    if not row:
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
    """Raise InputError where friction can hold a joint, with what to do."""
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
