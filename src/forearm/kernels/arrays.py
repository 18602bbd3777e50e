"""Arrays on their way to machine code and back: conversion, checks, overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError, OutOfMemory, shorten
from forearm.kernels.compiled import Shape, Slot
from forearm.values import broadcast_states, refuse_tracer

Array = NDArray[Any]
Two = tuple[Array, Array]
Three = tuple[Array, Array, Array]
NUMBERS = {2: "two", 3: "three"}
DType = np.dtype[Any]


def shape_of(name: str, value: Any) -> Shape:
    """The shape of an array of any kind, on any device."""
    try:
        return tuple(np.shape(value))
    except ValueError:  # rows of different lengths
        raise InputError(f"expected an array of real numbers, got {shorten(value)}.", name) from None


def is_ready(value: ArrayLike, dtype: DType) -> bool:
    """Whether machine code can read an array without conversion."""
    return type(value) is np.ndarray and value.dtype == dtype and value.flags.c_contiguous


def rows_of(value: ArrayLike) -> int:
    """The number of states in an array, -1 if it is not a batch."""
    return len(value) if isinstance(value, np.ndarray) and value.ndim == 2 else -1


def as_numbers(name: str, value: ArrayLike, dtype: DType | None) -> Array:
    """A contiguous array of the dtype; without a dtype the array keeps its own."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiu":
            raise TypeError
        return np.asarray(array, dtype=dtype, order=None if dtype is None else "C")
    except (TypeError, ValueError):
        refuse_tracer(name, value)
        raise InputError(f"expected an array of real numbers, got {shorten(value)}.", name) from None
    except RuntimeError:
        if not getattr(value, "requires_grad", False):
            raise
        raise InputError(
            "the tensor requires a gradient, which this call does not propagate; use the "
            f"functions of k.torch, or {name}.detach().",
            name,
        ) from None


def as_states(
    arm: Arm | None, slots: Sequence[Slot], given: Sequence[ArrayLike], dtype: DType | None
) -> list[Array]:
    """Arguments as arrays (n,) or (B, n) of the dtype, broadcast as in NumPy to one state or the same number
    of states; all but the first may be scalars. Without a dtype they are only checked.
    """
    made: dict[str, Array] = {}
    for slot, value in zip(slots, given, strict=True):
        is_taken = type(value) is np.ndarray if dtype is None else is_ready(value, dtype)
        array = np.asarray(value) if is_taken else as_numbers(slot.name, value, dtype)
        if array.ndim == 0 and made:
            array = np.full(slot.size, array)
        if array.ndim not in (1, 2) or array.shape[-1] != slot.size:
            n = slot.size
            why = f"it has {n} entries"
            if arm is not None and slot.shape == (arm.n,):
                why = f"{arm.name!r} has {n} joints"
            raise InputError(f"{why}, expected shape ({n},) or (B, {n}), got {array.shape}.", slot.name)
        made[slot.name] = array
    if len({array.shape[:-1] for array in made.values()}) == 1:
        return list(made.values())
    alike = broadcast_states(made, [slot.size for slot in slots])
    return alike if dtype is None else [np.ascontiguousarray(array) for array in alike]


def results_for(shapes: Sequence[Shape], out: Sequence[Array] | None, dtype: DType) -> list[Array]:
    """New result arrays, or those given as `out` if they fit."""
    if out is None:
        try:
            return [np.empty(shape, dtype=dtype) for shape in shapes]
        except (MemoryError, ValueError) as error:  # ValueError: no array can have so many entries
            raise OutOfMemory(
                f"no memory for results {', '.join(map(str, shapes))} of {dtype} ({error}). "
                "Compute fewer states at a time, or store fewer of them.",
                "kernels",
            ) from None
    for shape, array in zip(shapes, out, strict=True):
        fits = isinstance(array, np.ndarray) and array.shape == shape and array.dtype == dtype
        if not fits or not array.flags.c_contiguous or not array.flags.writeable:
            got = f"{array.shape} of {array.dtype}" if isinstance(array, np.ndarray) else shorten(array)
            raise InputError(f"expected a writeable C-contiguous array {shape} of {dtype}, got {got}.", "out")
    return list(out)


def several_of(out: Any, count: int) -> tuple[Array, ...]:
    """The arrays given as `out` for this many results."""
    if not isinstance(out, tuple | list) or len(out) != count:
        raise InputError(f"expected a tuple of {NUMBERS[count]} arrays, got {shorten(out)}.", "out")
    return tuple(out)


def apart(out: Array, inputs: Sequence[Array]) -> Array:
    """The array to compute into: a temporary where `out` overlaps an input;
    the same place exactly is allowed.
    """
    here = out.__array_interface__["data"][0], out.shape
    across = (a for a in inputs if (a.__array_interface__["data"][0], a.shape) != here)
    return np.empty_like(out) if any(np.may_share_memory(out, a) for a in across) else out


def copied(results: list[Array], asked: list[Array]) -> list[Array]:
    """The array that the caller gave, filled from the temporary if there is one."""
    for result, out in zip(results, asked, strict=True):
        if result is not out:
            out[...] = result
    return asked
