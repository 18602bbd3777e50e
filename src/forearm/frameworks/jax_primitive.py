"""A function of an arm as a JAX primitive, and its rules:
shapes, forward and reverse derivatives, vmap, and lowering to XLA.

J v and g^T J of a function are functions of the same kind, linear in v and g, and each is the transpose of
the other; so they can be differentiated any number of times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.sharding import NamedSharding, PartitionSpec

from forearm.codegen.differentiated import PARAMETERS
from forearm.errors import InputError
from forearm.frameworks.jax_handler import cpu_target, cuda_target
from forearm.kernels.compiled import Names, Shape, Slot

if TYPE_CHECKING:
    from forearm.kernels.kernel import Kernel

FORWARD, REVERSE = "forward", "reverse"
OTHER_WAY = {FORWARD: REVERSE, REVERSE: FORWARD}
Arrays = Sequence[Any]


@dataclass(frozen=True, eq=False)
class DerivedFunction:
    """Functions of an arm as one, differentiated by these modes in turn; compared by identity.

    It takes `inputs`, one row per state, and the values of the kernel's open parameters, if there are any. It
    is linear in the last `linear` inputs.
    """

    kernel: Kernel
    names: Names
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    derived: Names = ()
    linear: int = 0
    before: DerivedFunction | None = None  # the function that it is the derivative of

    def __repr__(self) -> str:
        return "_".join(["_and_".join(self.names), *self.derived]) + f" of {self.kernel.arm.name!r}"

    @cached_property
    def parameters(self) -> tuple[Slot, ...]:
        """The open parameters as one array, or nothing."""
        count = len(self.kernel.parameters)
        return (Slot(PARAMETERS, (count,)),) if count else ()

    def then(self, way: str) -> DerivedFunction:
        """The function differentiated once more; nothing is compiled for that."""
        return self.forward if way == FORWARD else self.reverse

    @cached_property
    def forward(self) -> DerivedFunction:
        """J v."""
        rates = (*self.inputs, *self.parameters)
        return self._derived(FORWARD, rates, self.outputs)

    @cached_property
    def reverse(self) -> DerivedFunction:
        """g^T J."""
        return self._derived(REVERSE, self.outputs, (*self.inputs, *self.parameters))

    def _derived(self, way: str, more: tuple[Slot, ...], outputs: tuple[Slot, ...]) -> DerivedFunction:
        inputs, derived = (*self.inputs, *more), (*self.derived, way)
        return DerivedFunction(self.kernel, self.names, inputs, outputs, derived, len(more), self)

    def bind(self, rows: Arrays, values: Arrays, each: bool) -> list[Any]:
        """Apply the primitive to arrays, those of states with the same leading axes; parameter values have
        them too if `each` state has its own.
        """
        made: list[Any] = evaluate_p.bind(*_varying_alike([*rows, *values]), function=self, each=each)
        return made

    def target(self, platform: str, count: int, each: bool) -> str:
        """The name under which XLA finds the machine code for this many states."""
        if platform == "cuda":
            return cuda_target(self.kernel, self.names, self.derived, each)
        part = "single" if count == 1 else "each" if each else "batch"
        return cpu_target(self.kernel.to("cpu").compiled(*self.names, derived=self.derived), part)


evaluate_p: Any = Primitive("forearm")
evaluate_p.multiple_results = True


def _leading(function: DerivedFunction, first: Any) -> Shape:
    """The axes before those of a single state."""
    return tuple(first.shape[: len(first.shape) - len(function.inputs[0].shape)])


def _abstract(*avals: Any, function: DerivedFunction, each: bool) -> list[Any]:
    """Abstract arrays with the leading axes of the first, with its sharding if JAX records that in types."""
    first, leading, made = avals[0], _leading(function, avals[0]), []
    for slot in function.outputs:
        told = {"shape": leading + slot.shape, "weak_type": False}
        if getattr(first, "sharding", None) is not None:
            axes = (*first.sharding.spec[: len(leading)], *(None for _ in slot.shape))
            told["sharding"] = NamedSharding(first.sharding.mesh, PartitionSpec(*axes))
        made.append(first.update(**told))
    return made


def _varying_alike(arrays: Arrays) -> Arrays:
    """Within shard_map arrays are either the same on all devices or vary over them: if one varies, all do."""
    axes = [_axes_of(jax.typeof(x)) for x in arrays]
    every = frozenset[str]().union(*axes)
    vary = partial(jax.lax.pcast, to="varying") if hasattr(jax.lax, "pcast") else jax.lax.pvary
    return [x if own == every else vary(x, tuple(every - own)) for x, own in zip(arrays, axes, strict=True)]


def _axes_of(kind: Any) -> frozenset[str]:
    """The mesh axes over which an array varies; JAX 0.10 stores them elsewhere than before."""
    manual = getattr(kind, "manual_axis_type", None)
    return frozenset(getattr(kind, "vma", ()) if manual is None else manual.varying)


@cache
def _jitted(function: DerivedFunction, each: bool) -> Any:
    return jax.jit(partial(evaluate_p.bind, function=function, each=each))


def _evaluate(*arrays: Any, function: DerivedFunction, each: bool) -> Any:
    if jax.config.jax_disable_jit:  # of the surroundings: this primitive itself is machine code in any case
        with jax.disable_jit(False):
            return _jitted(function, each)(*arrays)
    return _jitted(function, each)(*arrays)


def _jvp(primals: Arrays, tangents: Arrays, *, function: DerivedFunction, each: bool) -> tuple[Any, Any]:
    if "numeric_inverse_kinematics" in function.names:
        raise InputError(
            "numeric_inverse_kinematics is iterative and has no derivative; use "
            "inverse_kinematics, or the derivative of forward_kinematics at the solution.",
            "k.jax",
        )
    count = len(function.inputs)
    rows, values = primals[:count], primals[count:]
    results = function.bind(rows, values, each)
    fixed = count - function.linear
    if function.linear and all(isinstance(t, ad.Zero) for t in (*tangents[:fixed], *tangents[count:])):
        moved = [ad.instantiate_zeros(t) for t in tangents[fixed:count]]
        return results, function.bind([*rows[:fixed], *moved], values, each)
    rates = [ad.instantiate_zeros(t) for t in tangents]
    if values and not each:
        rates[-1] = jnp.broadcast_to(rates[-1], (*_leading(function, rows[0]), *rates[-1].shape))
    return results, function.forward.bind([*rows, *rates], values, each)


def _transpose(weights: Arrays, *arrays: Any, function: DerivedFunction, each: bool) -> list[Any]:
    before, count = function.before, len(function.inputs)
    fixed = count - function.linear
    rows, moved, values = arrays[:fixed], arrays[fixed:count], arrays[count:]
    if before is None or any(ad.is_undefined_primal(x) for x in (*rows, *values)):
        raise InputError(
            f"{function!r} is not linear, and cannot be transposed; jax.vjp linearises it.", "k.jax"
        )
    nothing: list[Any] = [None] * len(arrays)
    if all(isinstance(w, ad.Zero) for w in weights):
        return nothing
    given = [ad.instantiate_zeros(w) for w in weights]
    made = before.then(OTHER_WAY[function.derived[-1]]).bind([*rows, *given], values, each)
    wanted = [g if ad.is_undefined_primal(m) else None for g, m in zip(made, moved, strict=True)]
    return [*nothing[:fixed], *wanted, *nothing[count:]]


def _batched(
    arrays: Arrays, axes: Sequence[int | None], *, function: DerivedFunction, each: bool
) -> tuple[list[Any], list[int]]:
    size = next(a.shape[axis] for a, axis in zip(arrays, axes, strict=True) if axis is not None)

    def spread(array: Any, axis: int | None) -> Any:
        if axis is None:
            return jnp.broadcast_to(array, (size, *array.shape))
        return jnp.moveaxis(array, axis, 0)

    count = len(function.inputs)
    rows = [spread(*pair) for pair in zip(arrays[:count], axes[:count], strict=True)]
    values = list(arrays[count:])
    if values and (each or axes[-1] is not None):
        values = [spread(values[0], axes[-1])]
        if not each:  # one per entry of the new axis, and the same for all states within it
            leading = _leading(function, rows[0])
            between = values[0].reshape(size, *[1] * (len(leading) - 1), -1)
            values = [jnp.broadcast_to(between, (*leading, between.shape[-1]))]
        each = True
    made = function.bind(rows, values, each)
    return made, [0] * len(made)


def _lowered(platform: str, context: Any, *operands: Any, function: DerivedFunction, each: bool) -> Any:
    leading = _leading(function, context.avals_in[0])
    name = function.target(platform, prod(leading), each)
    arrays = (*context.avals_in, *context.avals_out)
    told = _sharding(len(leading), [a.shape for a in arrays], len(operands))
    return jax.ffi.ffi_lowering(name, extra_attributes=told)(context, *operands)


def _sharding(leading: int, shapes: Sequence[Shape], inputs: int) -> dict[str, Any]:
    """Sharding rule for XLA, to leave a sharded batch in place: which axes correspond, and that the axes of a
    single state are not sharded.
    """
    sizes: list[int] = list(shapes[0][:leading])
    factors = []
    for shape in shapes:
        alike = leading if shape[:leading] == shapes[0][:leading] and len(shape) > leading else 0
        own = range(len(sizes), len(sizes) + len(shape) - alike)
        sizes += shape[alike:]
        factors.append("[" + ", ".join(_letters(k) for k in (*range(alike), *own)) + "]")
    whole = ", ".join(_letters(k) for k in range(leading, len(sizes)))
    listed = ", ".join(f"{_letters(k)}={size}" for k, size in enumerate(sizes))
    text = (
        f"#sdy.op_sharding_rule<({', '.join(factors[:inputs])})->({', '.join(factors[inputs:])}) "
        f"{{{listed}}} need_replication={{{whole}}}, custom>"
    )
    parse = mlir.ir.Attribute.parse
    return {
        "sdy.sharding_rule": parse(text),
        "mhlo.frontend_attributes": parse(f'{{num_batch_dims = "{leading}"}}'),
    }


def _letters(factor: int) -> str:
    """A factor's name in Shardy's notation: i to z, then z_1, ..."""
    return "ijklmnopqrstuvwxyz"[factor] if factor < 18 else f"z_{factor - 17}"


def _refused(context: Any, *_: Any, **__: Any) -> Any:
    raise InputError(
        f"kernels support cpu and cuda, got {', '.join(context.module_context.platforms)}; "
        'compute them on the CPU within jax.default_device(jax.devices("cpu")[0]).',
        "k.jax",
    )


evaluate_p.def_impl(_evaluate)
evaluate_p.def_abstract_eval(_abstract)
ad.primitive_jvps[evaluate_p] = _jvp
ad.primitive_transposes[evaluate_p] = _transpose
batching.primitive_batchers[evaluate_p] = _batched
mlir.register_lowering(evaluate_p, _refused)
for _platform in ("cpu", "cuda"):
    mlir.register_lowering(evaluate_p, partial(_lowered, _platform), platform=_platform)
