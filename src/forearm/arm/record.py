"""Frozen records that may hold arrays: compared by value, hashable, picklable.

A dataclass with NumPy fields does not compare or hash correctly by itself; `record` adds both.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from forearm.errors import ModelError
from forearm.values import check_number

T = TypeVar("T")

# A number of a record: values beyond these bounds are not those of a rigid arm.
quantity = partial(check_number, out_of_bounds=ModelError)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def record(cls: type[T]) -> type[T]:
    """Make a frozen keyword-only dataclass whose arrays take part in ==, hash and pickle."""
    made = dataclasses.dataclass(frozen=True, eq=False, kw_only=True)(cls)
    made.__eq__ = _equal  # type: ignore[method-assign]
    made.__hash__ = _hash  # type: ignore[method-assign]
    made.__reduce__ = _reduce  # type: ignore[method-assign]
    return made


def set_field(instance: object, name: str, value: object) -> None:
    """Set a field of a record during its construction."""
    object.__setattr__(instance, name, value)


def fields_of(instance: Any) -> dict[str, Any]:
    """The fields of a record by name, not copied."""
    return {f.name: getattr(instance, f.name) for f in dataclasses.fields(instance)}


def _key(value: Any) -> Any:
    return _nested(value.tolist()) if isinstance(value, np.ndarray) else value


def _nested(value: Any) -> Any:
    return tuple(_nested(v) for v in value) if isinstance(value, list) else value


def _equal(self: Any, other: object) -> Any:
    if type(self) is not type(other):
        return NotImplemented
    return self is other or all(_same(a, getattr(other, n)) for n, a in fields_of(self).items())


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a is b or a.tolist() == b.tolist()
    return bool(_key(a) == _key(b))


def _hash(self: Any) -> int:
    # Cached, because the parts of an arm never change and there are many.
    if "_hash" not in self.__dict__:
        set_field(self, "_hash", hash((type(self).__name__, *(_key(v) for v in fields_of(self).values()))))
    return int(self.__dict__["_hash"])


def _reduce(self: Any) -> tuple[Any, ...]:
    return _rebuild, (type(self), fields_of(self))


def _rebuild(cls: type[T], fields: dict[str, Any]) -> T:
    return cls(**fields)
