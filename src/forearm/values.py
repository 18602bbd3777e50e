"""Validation of numbers, names, arrays and poses given by a caller; and frozen values of several parts."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any, TypeGuard, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.errors import ForearmError, InputError, NameNotFound, not_among, shorten
from forearm.spatial import Floats, is_rotation

T = TypeVar("T")

MAX_NAME = 200
MAX_TEXT = 20_000
# No length, mass or torque is larger; products of a few such numbers still fit a float.
LARGEST = 1e30


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """A frozen dataclass that equals itself alone: results, and others that hold arrays."""
    return dataclass(frozen=True, eq=False)(cls)


def check_name(name: object, what: str) -> str:
    """A name that can be written into a file and found again."""
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise InputError(
            f"a name must be printable text of 1 to {MAX_NAME} characters, got {shorten(name)}.", what
        )
    return name


def check_text(text: object, what: str) -> None:
    """Refuse what is not text, or more of it than a file may hold."""
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise InputError(f"expected text of at most {MAX_TEXT} characters, got {shorten(text)}.", what)


def check_kind(value: object, kinds: type | tuple[type, ...], what: str) -> None:
    """Refuse what is not of one of these classes."""
    if not isinstance(value, kinds):
        names = " or ".join(
            k.__name__ for k in (kinds if isinstance(kinds, tuple) else (kinds,)) if k is not type(None)
        )
        raise InputError(f"expected {names}, got {shorten(value)}.", what)


def check_choice(value: object, choices: Collection[str], what: str) -> str:
    """One of a few names, or an error that lists them and suggests the nearest."""
    if not isinstance(value, str) or value not in choices:
        raise NameNotFound(f"{not_among(value, choices)}", what)
    return value


def chosen(table: Mapping[str, T], name: object, what: str) -> T:
    """What a table has under a name."""
    return table[check_choice(name, table, what)]


def names_in(given: object, what: str) -> list[str]:
    """One name or several, as a list."""
    try:
        names: list[Any] = [given] if isinstance(given, str) else list(given)  # type: ignore[call-overload]
    except TypeError:
        names = [None]
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"expected a name or a list of names, got {shorten(given)}.", what)
    return names


def check_ending(path: str | os.PathLike[str], endings: Sequence[str], what: str) -> str:
    """The ending of a file's name, in small letters, or an error that says how such names end."""
    ending = Path(path).suffix.lower()
    if ending not in endings:
        raise InputError(f"{what} ends in {listed(endings)}.", Path(path).name)
    return ending


def listed(names: Sequence[str]) -> str:
    """a, b or c."""
    return " or ".join(([", ".join(names[:-1])] if names[:-1] else []) + list(names[-1:]))


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a real number, finite or not; truth values and text are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def number_in(text: str) -> float | None:
    """The number that a text is, None where it is none; Python's own 1_000 and digits of other
    scripts are not taken.
    """
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None


def check_number(
    value: object,
    what: str,
    minimum: float = -math.inf,
    maximum: float = math.inf,
    above: float = -math.inf,
    out_of_bounds: type[ForearmError] = InputError,
) -> float:
    """A finite float within bounds, or an error that says what was given."""
    if not is_number(value):
        raise InputError(f"expected a number, got {shorten(value)}.", what)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"the number must be finite, got {shorten(value)}.", what)
    if abs(number) > LARGEST:
        raise InputError(f"no number may exceed {LARGEST:g}, got {shorten(value)}.", what)
    if number < minimum or number > maximum or number <= above:
        bounds = [f"at least {minimum:g}"] if minimum > -math.inf else []
        bounds += [f"above {above:g}"] if above > -math.inf else []
        bounds += [f"at most {maximum:g}"] if maximum < math.inf else []
        raise out_of_bounds(f"must be {' and '.join(bounds)}, got {number:g}.", what)
    return number


def check_whole(value: object, what: str, minimum: int, maximum: int | None = None) -> int:
    """A whole number within bounds, or an error that says what was given."""
    top = math.inf if maximum is None else maximum
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not minimum <= value <= top:
        bounds = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
        raise InputError(f"expected a whole number {bounds}, got {shorten(value)}.", what)
    return int(value)


def as_floats(value: ArrayLike, what: str) -> Floats:
    """A float64 copy of numbers; text, truth values and complex numbers are refused."""
    try:
        given = np.array(value)
        # Objects may be large integers or fractions; NumPy itself would take None for NaN and read text.
        if given.dtype.kind not in "iufO" or (
            given.dtype.kind == "O" and not all(map(is_number, given.flat))
        ):
            raise TypeError
        return given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        refuse_tracer(what, value)
        wanted = "rows of equal length" if "inhomogeneous" in str(error) else "numbers"
        raise InputError(f"expected {wanted}, got {shorten(value)}.", what) from error


def refuse_tracer(what: str, value: object) -> None:
    """Refuse what JAX passes to functions inside its transformations."""
    if any(base.__name__ == "Tracer" for base in type(value).__mro__):
        raise InputError(
            f"JAX's {type(value).__name__} has no values yet; inside jit, vmap and grad use "
            "the functions of k.jax, k = fa.compile(arm).",
            what,
        ) from None


def as_shape(value: ArrayLike, shape: tuple[int, ...], what: str) -> Floats:
    """A float64 copy of the given shape."""
    array = as_floats(value, what)
    if array.shape != shape:
        raise InputError(f"expected shape {shape}, got {array.shape}.", what)
    return array


def as_finite(value: ArrayLike, shape: tuple[int, ...], what: str) -> Floats:
    """A float64 copy of the given shape, finite throughout."""
    array = as_shape(value, shape, what)
    if not np.isfinite(array).all():
        raise InputError(f"every number must be finite, got {shorten(array.tolist())}.", what)
    return array


def frozen_array(value: ArrayLike, shape: tuple[int, ...], what: str) -> Floats:
    """A read-only float64 copy of the given shape, finite throughout and of at most LARGEST."""
    array = as_finite(value, shape, what)
    if array.size and np.abs(array).max() > LARGEST:
        raise InputError(f"no number may exceed {LARGEST:g}, got {shorten(array.tolist())}.", what)
    array.flags.writeable = False
    return array


def as_pose(value: ArrayLike, what: str) -> Floats:
    """A read-only (4, 4) pose from what a caller gave, refused with a reason when it is none."""
    T = as_floats(value, what)
    if T.shape != (4, 4):
        raise InputError(f"expected a pose, a (4, 4) array of finite numbers, got shape {T.shape}.", what)
    T = frozen_array(T, (4, 4), what)
    if not is_rotation(T[:3, :3]) or np.abs(T[3] - [0.0, 0.0, 0.0, 1.0]).max() > 1e-12:
        raise InputError(
            "the upper left 3x3 must be a rotation (to 1e-9) and the last row 0 0 0 1; "
            "orthonormalise the rotation first.",
            what,
        )
    return T


def broadcast_states(given: Mapping[str, NDArray[Any]], sizes: Sequence[int]) -> list[NDArray[Any]]:
    """Arguments for the same states, as NumPy broadcasts them: a number stands for (n,), and (n,) or (1, n)
    for every row of (B, n). What was expanded is a view, read-only.
    """
    of = ""
    batch: tuple[int, ...] = ()
    for (name, array), size in zip(given.items(), sizes, strict=True):
        rows = array.shape[:-1]
        if rows and batch not in ((), (1,), rows) and rows != (1,):
            raise InputError(
                f"expected a number, ({size},) or {(*batch, size)} beside {of} "
                f"{given[of].shape}, got {array.shape}.",
                name,
            )
        if rows and batch in ((), (1,)):
            of, batch = name, rows
    shapes = [(*batch, size) for size in sizes]
    return [
        array if array.shape == shape else np.broadcast_to(array, shape)
        for array, shape in zip(given.values(), shapes, strict=True)
    ]
