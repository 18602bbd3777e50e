"""Rollouts inside JAX:
complete runs with fixed steps as one foreign function, and their gradient as another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from math import prod
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from forearm.errors import InputError
from forearm.frameworks.jax_arguments import as_number, parameter_values
from forearm.frameworks.jax_handler import cuda_rollout_target, devices_of_jax, rollout_target
from forearm.frameworks.jax_handler_ir import HandledFunction
from forearm.kernels.batch_rollout import Rollout, request_of
from forearm.kernels.compiled import Shape
from forearm.kernels.dispatch import refuse
from forearm.kernels.rollout_arguments import RolloutDrive, RolloutDriver, RolloutPlan, ambiguous
from forearm.kernels.rollout_gradient import refuse_sticking
from forearm.kernels.rollout_request import ROLLOUT_GRADIENT, rollout_of

if TYPE_CHECKING:
    from forearm.kernels.kernel import Kernel


def simulate(
    kernel: Kernel, states: tuple[Any, Any], plan: RolloutPlan, drive: RolloutDrive, parameters: Any
) -> Rollout:
    """Simulate as in `JaxFunctions.simulate`."""
    n, driven = kernel.arm.n, drive.driven
    what = driven.kind
    q0, qd0 = (as_number(kernel, name, x) for name, x in zip(("q0", "qd0"), states, strict=True))
    qd0 = jnp.broadcast_to(qd0, (n,)) if qd0.ndim == 0 else qd0
    for name, x in (("q0", q0), ("qd0", qd0)):
        if x.ndim == 0 or x.shape[-1] != n:
            raise InputError(
                f"{kernel.arm.name!r} has {n} joints, expected shape (..., {n}), got {x.shape}.", name
            )
    u = as_number(kernel, what, driven.value)
    u = jnp.broadcast_to(u, (n,)) if u.ndim == 0 else u
    leading = {"q0": q0.shape[:-1], "qd0": qd0.shape[:-1]}
    by_step = _is_by_step(what, u.shape, _together(leading), plan.steps, n)
    leading[what] = u.shape[: -2 if by_step else -1]
    values = [parameter_values(kernel, parameters)] if kernel.parameters else []
    if values:
        leading["parameters"] = values[0].shape[:-1]
    else:
        refuse(parameters)
    batch = _together(leading)
    arrays = [jnp.broadcast_to(x, (*batch, n)) for x in (q0, qd0)]
    arrays.append(jnp.broadcast_to(u, (*batch, *((plan.steps,) if by_step else ()), n)))
    arrays += [jnp.broadcast_to(x, (*batch, x.shape[-1])) for x in values]
    made: Rollout = _rollout(JaxRollout(kernel, plan, what, by_step))(*arrays)
    return made


def _together(leading: dict[str, Shape]) -> Shape:
    try:
        return np.broadcast_shapes(*leading.values())
    except ValueError:
        shapes = ", ".join(f"{name} {shape}" for name, shape in leading.items())
        raise InputError(f"leading axes do not broadcast: {shapes}.", "simulate") from None


def _is_by_step(what: str, shape: Shape, batch: Shape, steps: int, n: int) -> bool:
    """Whether the drive array has a row per step:
    one axis more than the states, or a shape that allows nothing else.
    """
    if shape[-1:] != (n,):
        raise InputError(
            f"expected shape (..., {n}) held, or (..., {steps}, {n}) by step, got {shape}.", what
        )
    if len(shape) < 2 or shape[-2] != steps:
        return False
    if len(shape) > len(batch) + 1:
        return True
    is_held = all(a in (1, b) for a, b in zip(shape[-2::-1], batch[::-1], strict=False))
    if is_held and len(shape) == 2 and steps > 1:
        raise ambiguous(what, shape, steps, n)
    return not is_held


@dataclass(frozen=True)
class JaxRollout:
    """What determines the machine code to call, and its numeric arguments; arrays have a row per arm."""

    kernel: Kernel
    plan: RolloutPlan
    what: str
    by_step: bool

    @property
    def rows(self) -> list[int]:
        """Strides of the drive array from arm to arm, and from step to step;
        of parameters from arm to arm.
        """
        n = self.kernel.arm.n
        drive = [self.plan.steps * n, n] if self.by_step else [n, 0]
        return [*drive, len(self.kernel.parameters)]

    @property
    def inputs(self) -> Shape:
        """Ranks of q0, qd0, the drive array, and parameters if there are any."""
        return (1, 1, 2 if self.by_step else 1, *([1] if self.kernel.parameters else []))

    def call(self, arrays: list[Any], shapes: list[Shape], of: HandledFunction, gradient: bool) -> list[Any]:
        """The rollout as a function of arrays, whose results have these shapes for one arm."""
        first = arrays[0]
        batch = first.shape[: first.ndim - of.inputs[0]]
        driven, n = RolloutDriver(self.what, self.what, None), self.kernel.arm.n
        request = request_of(self.kernel.to("cpu"), self.plan.method, driven, n)
        if gradient:
            request = replace(request, function=ROLLOUT_GRADIENT)
        results = [jax.ShapeDtypeStruct(batch + shape, first.dtype) for shape in shapes]

        part = "single" if prod(batch) == 1 else "batch"

        def on(target: Callable[[], str]) -> Callable[..., Any]:
            def call(*given: Any) -> Any:
                return jax.ffi.ffi_call(target(), results, vmap_method="broadcast_all")(*given)

            return call

        on_cpu = on(lambda: rollout_target(rollout_of(request), part, of))
        if not devices_of_jax():
            return list(on_cpu(*arrays))
        on_cuda = on(lambda: cuda_rollout_target(request, of))
        return list(jax.lax.platform_dependent(*arrays, cpu=on_cpu, cuda=on_cuda))

    def forward(self, *arrays: Any) -> Rollout:
        """The resulting states."""
        plan, n = self.plan, self.kernel.arm.n
        shape, some = plan.result((), n), len(self.inputs)
        place = 3 if self.kernel.parameters else None
        of = HandledFunction(
            self.inputs,
            (len(shape), len(shape)),
            self.kernel.dtype,
            (0, 1, 2, place, None, some, some + 1, None),
            (plan.steps, plan.every, 1, n, n, *self.rows, 0, 0),
            (plan.step,),
        )
        return Rollout(*self.call(list(arrays), [shape, shape], of, gradient=False))

    def kept(self) -> RolloutPlan:
        """The plan with recorded states: those between are recomputed for the gradient."""
        steps = self.plan.steps
        if self.plan.record or not steps:
            return replace(self.plan, record=self.plan.record or 1)
        divisors = [k for k in range(1, steps + 1) if steps % k == 0]
        return replace(self.plan, record=min(divisors, key=lambda k: steps // k + 2 * k))

    def backward(self, states: Rollout, rest: tuple[Any, ...], weights: Rollout) -> tuple[Any, ...]:
        """Gradients of q0, qd0, the drive array, and any parameters, from weights on the resulting states."""
        plan, n, count = self.plan, self.kernel.arm.n, len(self.kernel.parameters)
        kept, by_record = self.kept(), bool(plan.record)
        drive = (plan.steps, n) if self.by_step else (n,)
        shapes: list[Shape] = [(kept.every, 2 * n), (n,), (n,), drive, *([(count,)] if count else [])]
        ranks = (2, 2, *self.inputs[2:], *[2 if by_record else 1] * 2)
        some = len(ranks)
        p, p_out = (3, some + 4) if count else (None, None)
        of = HandledFunction(
            ranks,
            tuple(map(len, shapes)),
            self.kernel.dtype,
            (0, 1, 2, p, some - 2, some - 1, some, some + 1, some + 2, some + 3, p_out),
            (plan.steps, kept.every, kept.records, *self.rows, int(by_record), int(self.by_step)),
            (plan.step,),
        )
        _, *made = self.call([*states, *rest, *weights], shapes, of, gradient=True)
        return tuple(made)


@cache
def _rollout(run: JaxRollout) -> Any:
    """The rollout as a function of JAX with a rule for reverse mode."""

    def begun(*arrays: Any) -> tuple[Rollout, Any]:
        refuse_sticking(run.kernel.arm, tuple(run.kernel.parameters))
        states = replace(run, plan=run.kept()).forward(*arrays)
        result = states if run.plan.record else Rollout(*(x[..., -1, :] for x in states))
        return result, (states, arrays[2:])

    def ended(left: Any, weights: Rollout) -> tuple[Any, ...]:
        states, rest = left
        return run.backward(states, rest, weights)

    made: Any = jax.custom_vjp(partial(JaxRollout.forward, run))
    made.defvjp(begun, ended)
    return jax.jit(made)
