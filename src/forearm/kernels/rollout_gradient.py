"""Gradients of rollouts in reverse mode: weights on the resulting states become gradients of the inputs,
propagated backwards through the steps, without a Jacobian and without storing all states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.errors import InputError, shorten
from forearm.kernels.arrays import Array, as_numbers
from forearm.kernels.batch_rollout import (
    RolloutArrays,
    RolloutOwner,
    arrays_of,
    of_machine_code,
    request_of,
    run_rows,
)
from forearm.kernels.compiled import Names, Shape
from forearm.kernels.dispatch import Parameters
from forearm.kernels.rollout_arguments import RolloutDrive, RolloutDriver, RolloutPlan, state_stride
from forearm.kernels.rollout_request import ROLLOUT_GRADIENT, RolloutRequest, rollout_of
from forearm.kernels.traced_controller import TracedController, check_steps

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
    driven: RolloutDriver,
    parameters: Parameters | None,
    run: Callable[[GradientCall], None],
) -> RolloutGradient:
    """Gradients of the inputs of a rollout, as in `Kernel.simulate_gradient`;
    NumPy arrays, processed by `run`; `driven` is checked by `checked`.
    """
    dtype, n = np.dtype(owner.dtype), owner.arm.n
    both = (("states", states), ("weights", weights))
    q, qd, *weighted = (
        as_numbers(f"{what}, {name}", x, dtype)
        for what, pair in both
        for name, x in zip(("q", "qd"), pair, strict=True)
    )
    by_record = check_shapes(owner.arm, plan, (q.shape, qd.shape), [array.shape for array in weighted])
    given = arrays_of(owner, (q[..., 0, :], qd[..., 0, :]), plan, driven, parameters)
    batch, width, count = q.shape[:-2], given.drive.shape[-1], given.count
    check_batch(given.batch, q.shape)
    request = request_of(owner, plan.method, driven, width)
    # A controller writes nothing at steps between its updates.
    drive = np.zeros((count, plan.steps if given.drive_strides[1] else 1, width), dtype)
    of_q0, of_qd0, of_parameters = (np.empty((count, k), dtype) for k in (n, n, len(owner.parameters)))
    left = [of_q0, of_qd0, drive, of_parameters]
    u, values, reference = of_machine_code(driven, given.drive, given.parameters)
    arrays = [q, qd, u, values, *weighted, np.empty(0, dtype), *left]
    numbers = whole_numbers(plan, driven, given, by_record)
    record, row = plan.records * n, given.drive_strides[0]
    weighed = record if by_record else n
    rows = [record, record, 0 if driven.controller else row, numbers[5], weighed, weighed]
    rows += [scratch_row(plan, driven, n), *(array.size // max(count, 1) for array in left)]
    if driven.controller is not None:
        arrays, rows = [*arrays, reference], [*rows, row]
    run(GradientCall(replace(request, function=ROLLOUT_GRADIENT), plan, count, arrays, rows, numbers))
    by_parameters = of_parameters.sum(axis=0) if given.parameters.ndim == 1 else of_parameters
    return RolloutGradient(
        of_q0.reshape(*batch, n),
        of_qd0.reshape(*batch, n),
        _summed(drive, given),
        by_parameters if owner.parameters else None,
    )


def run_on_host(call: GradientCall, threads: int | None) -> None:
    """Run the machine code on the CPU, distributed over threads."""
    arrays, plan = [*call.arrays], call.plan
    arrays[SCRATCH] = np.empty(call.count * call.rows[SCRATCH], call.request.dtype)
    work = call.count, 4 * plan.steps
    run_rows(rollout_of(call.request), arrays, call.rows, [*call.numbers, plan.step], work, threads)


def scratch_row(plan: RolloutPlan, driven: RolloutDriver, n: int) -> int:
    """Size of one arm's scratch memory: states between two records, and the controller's outputs."""
    return plan.segment * (2 if driven.controller is None else 3) * n


def whole_numbers(
    plan: RolloutPlan, driven: RolloutDriver, given: RolloutArrays, by_record: bool
) -> list[int]:
    """The integer arguments of the machine code after the number of arms, in its order."""
    strides, controller = given.drive_strides, driven.controller
    made = [plan.steps, plan.segment, plan.records, *(strides if controller is None else (0, 0))]
    made += [state_stride(given.parameters.shape), int(by_record), int(strides[1] > 0)]
    return made if controller is None else [*made, controller.period, *strides]


def checked(
    owner: RolloutOwner, plan: RolloutPlan, drive: RolloutDrive, states: object, weights: object
) -> RolloutDriver:
    """What drives the arms; raises for what has no gradient, and for what is no pair of arrays."""
    refuse_sticking(owner.arm, tuple(owner.parameters))
    check_steps(plan.record, "simulate_gradient, record", 1)
    for name, pair in (("states", states), ("weights", weights)):
        if not isinstance(pair, Sized) or getattr(pair, "shape", None) == () or len(pair) != 2:
            raise InputError(
                f"expected a pair of arrays (q, qd), got {shorten(pair)}.", "simulate_gradient", name
            )
    driven = drive.driven
    if (controller := driven.controller) is not None:
        _check_controller(controller, plan.every)
    return driven


def check_batch(batch: Shape, states: Shape) -> None:
    """Raise unless there are states for all arms."""
    if batch != states[:-2]:
        raise InputError(f"expected states of {batch} arms, got {states}.", "simulate_gradient")


def _check_controller(controller: TracedController, record: int) -> None:
    for name, is_given, remedy in (
        ("laws with a state", bool(controller.state), "pass the law's output as torque"),
        ("gains", controller.gains is not None, "pass them in the reference"),
    ):
        if is_given:
            raise InputError(f"{name} are not differentiable; {remedy}.", "simulate_gradient", "controller")
    if record % controller.period:
        raise InputError(
            f"expected a multiple of the controller's period, {controller.period}, got {record}.",
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


def check_shapes(arm: Arm, plan: RolloutPlan, states: Sequence[Shape], weights: Sequence[Shape]) -> bool:
    """Raise unless states have the shape of the record, and weights that or the shape of the final states;
    returns whether there are weights for every record.
    """
    q, shape = states[0], (plan.records, arm.n)
    if len(q) not in (2, 3) or q[-2:] != shape or set(states) != {q}:
        raise InputError(
            f"expected q and qd as simulate returns them with record={plan.record}, "
            f"{shape} or (B, {plan.records}, {arm.n}), got {' and '.join(map(str, states))}.",
            "simulate_gradient",
            "states",
        )
    last, shapes = (*q[:-2], q[-1]), set(weights)
    if shapes not in ({q}, {last}):
        raise InputError(
            f"expected a pair of arrays {last} for the final states, or {q} for all "
            f"recorded states, got {' and '.join(map(str, weights))}.",
            "simulate_gradient",
            "weights",
        )
    return shapes == {q}


def refuse_sticking(arm: Arm, parameters: Names) -> None:
    """Raise for arms with a joint that dry friction can hold."""
    from forearm.codegen.simulation_step import held_by_friction
    from forearm.drives.coordinates import coordinates_of, refuse_drive_states
    from forearm.drives.joint import depends_on_load

    refuse_drive_states(arm, "simulate_gradient")
    dry = held_by_friction(coordinates_of(arm), parameters)
    held = [joint.name for joint, is_dry in zip(arm.joints, dry, strict=True) if is_dry]
    if held or depends_on_load(arm):
        raise InputError(
            f"dry friction can hold {', '.join(held) or 'joints'} of {arm.name!r}, and "
            "stick-slip motion has no gradient. Use arm.rigid(), or viscous friction only.",
            "simulate_gradient",
        )
