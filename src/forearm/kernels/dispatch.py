"""One call of a compiled function: arrays in, blocks of states distributed over threads, arrays out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from forearm.errors import InputError
from forearm.kernels import fastcall
from forearm.kernels.arrays import (
    Array,
    DType,
    apart,
    as_numbers,
    as_states,
    copied,
    is_ready,
    results_for,
    rows_of,
)
from forearm.kernels.compiled import Compiled, Shape
from forearm.kernels.thread_pool import WORK, WORTH, check_stack, shared_rows, worker_count
from forearm.values import check_choice

T = TypeVar("T")
AT_ONCE = 1 << 16  # states whose arrays are converted together
Parameters = Mapping[str, ArrayLike] | ArrayLike


@dataclass(frozen=True)
class Call:
    """Options of a call besides its states;
    `own` are the arm's own values of the open parameters, by name.
    """

    own: Mapping[str, float]
    out: Sequence[Array] | None = None
    threads: int | None = None
    parameters: Parameters | None = None


def keywords(like: Callable[..., Any]) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """A function that takes **options: its signature, for `help` and editors, shows those of another."""

    def shown(function: Callable[..., T]) -> Callable[..., T]:
        signature = inspect.signature(function)
        taken = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        for name, p in inspect.signature(like).parameters.items():
            kind = f"{signature.return_annotation} | None" if name == "out" else p.annotation
            taken += [p.replace(kind=p.KEYWORD_ONLY, annotation=kind)] if name != "own" else []
        function.__signature__ = signature.replace(parameters=taken)  # type: ignore[attr-defined]
        return function

    return shown


def run(function: Compiled, given: tuple[ArrayLike, ...], call: Call) -> list[Array]:
    """The results, in the order of the function's outputs."""
    dtype, own = np.dtype(function.request.dtype), call.own
    rows = max(map(rows_of, given))
    many = rows >= 0 and not own
    function.part("batch" if many else "single")  # inputs and outputs are known from here on
    slots = function.inputs[: len(given)]
    if many and rows > AT_ONCE and not all(is_ready(value, dtype) for value in given):
        return _piecewise(function, given, call, dtype)
    states = as_states(function.request.arm, slots, given, dtype)
    batch = states[0].shape[:-1]
    workers = worker_count(batch[0] if batch else 1, call.threads, function.operations)
    if own:
        states.append(parameter_values(call.parameters, own, batch, dtype))
    else:
        refuse(call.parameters)
    asked = results_for([batch + slot.shape for slot in function.outputs], call.out, dtype)
    results = asked if call.out is None else [apart(array, states) for array in asked]
    arrays = (*states, *results)
    if not batch:
        single = function.part("single")
        check_stack(single)
        single.call(*(array.__array_interface__["data"][0] for array in arrays), 1)
        return copied(results, asked)
    each = bool(own) and states[-1].ndim == 2
    native = function.part("each" if each else "batch")
    if function.table:
        fastcall.allow_batches(function.table, native.address, min(WORTH, WORK // function.operations) - 1)
    steps = [slot.size * dtype.itemsize for slot in (*function.inputs, *function.outputs)]
    if own and not each:
        steps[len(given)] = 0
    shared_rows(native, arrays, steps, batch[0], workers)
    return copied(results, asked)


def _piecewise(function: Compiled, given: tuple[ArrayLike, ...], call: Call, dtype: DType) -> list[Array]:
    """Large arrays that need conversion, in chunks of states:
    a copy of everything might not fit in memory.
    """
    states = as_states(function.request.arm, function.inputs, given, None)
    count = len(states[0])
    asked = results_for([(count, *slot.shape) for slot in function.outputs], call.out, dtype)
    across = any(np.may_share_memory(r, a) for r in asked for a in states)
    results = [np.empty_like(r) for r in asked] if across else asked
    for start in range(0, count, AT_ONCE):
        part = slice(start, start + AT_ONCE)
        piece = Call({}, [r[part] for r in results], call.threads, call.parameters)
        run(function, tuple(a[part] for a in states), piece)
    return copied(results, asked)


def parameter_values(given: Parameters | None, own: Mapping[str, float], batch: Shape, dtype: DType) -> Array:
    """Values of the parameters: (P,), or (B, P) where any of them differs between states; empty if none."""
    if not own:
        refuse(given)
    if given is None:
        return np.array(list(own.values()), dtype=dtype)
    if isinstance(given, Mapping):
        for name in given:
            check_choice(name, own, "parameters left open")
        columns = [
            as_numbers(f"parameters, {name}", given.get(name, value), dtype) for name, value in own.items()
        ]
        shapes = {column.shape for column in columns if column.shape}
        if shapes and shapes != {batch}:
            raise InputError(
                f"expected for each one number, or one per state (shape {batch}), got {shapes}.", "parameters"
            )
        given = np.stack(np.broadcast_arrays(*columns), axis=-1)
    values = as_numbers("parameters", given, dtype)
    check_parameters(values.shape, len(own), batch)
    return values


def check_parameters(shape: Shape, count: int, batch: Shape) -> None:
    """Raise unless there is one row of parameters, or one per state."""
    if shape not in ((count,), (*batch, count)):
        raise InputError(
            f"{count} are left open; expected shape ({count},), or {(*batch, count)} with one "
            f"row per state, got {shape}.",
            "parameters",
        )


def refuse(parameters: Parameters | None) -> None:
    """Raise if parameters are given to a kernel without open ones."""
    if parameters is not None:
        raise InputError(
            "this kernel has no open parameters; compile it with fa.compile(arm, parameters=...).",
            "parameters",
        )
