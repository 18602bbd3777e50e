"""Records whose parameters are declared once.

A field says type, unit, bounds, default and one sentence. From it come the constructor's checks, the keys of
files with their JSON Schema (`table_of`), the list of arguments in the docstring, options of commands, and
flat keywords of functions that take records (`flat`).
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from forearm.errors import InputError, ModelError, located, shorten, suggest
from forearm.reading.fields import (
    MAX_KEYS,
    ChoiceField,
    Field,
    FlagField,
    NumberField,
    ObjectField,
    TableField,
    TextField,
    WholeField,
)
from forearm.values import check_kind, check_number

T = TypeVar("T")
Declaration = Mapping[str, Field]
FIELD = "field"  # key of a field's declaration among its metadata

# A number of a record: values beyond these bounds are not those of a rigid arm.
quantity = functools.partial(check_number, out_of_bounds=ModelError)


def declared(field: Field, *, default: Any = dataclasses.MISSING, **marks: bool) -> Any:
    """A field of a record, declared by what reads, checks and describes it; without a default it is required,
    and with None as default it may be absent. No machine code depends on a field with the mark `unused`.
    """
    return dataclasses.field(default=default, metadata={FIELD: field, **marks})


def number(doc: str, unit: str = "", *, default: Any = dataclasses.MISSING, **bounds: Any) -> Any:
    """A number: its sentence, unit and bounds, as of `NumberField` (minimum, above, maximum, nonzero)."""
    return declared(NumberField(doc, unit=unit, **bounds), default=default)


def physical(doc: str, unit: str = "", *, default: Any = dataclasses.MISSING, **bounds: Any) -> Any:
    """A number of an arm: out of its bounds it is a ModelError, as no arm is like that."""
    return number(doc, unit, default=default, out_of_bounds=ModelError, **bounds)


def parameter(doc: str, unit: str = "", *, default: Any = dataclasses.MISSING, **bounds: Any) -> Any:
    """A number of an arm that may be measured, varied and left open in formulas, by its name."""
    return physical(doc, unit, default=default, is_parameter=True, **bounds)


def choice(doc: str, words: tuple[str, ...], *, default: Any = dataclasses.MISSING) -> Any:
    """One of a few words."""
    return declared(ChoiceField(words, doc), default=default)


def flag(doc: str, *, default: Any = dataclasses.MISSING) -> Any:
    """True or false."""
    return declared(FlagField(doc), default=default)


def text(doc: str, *, default: Any = dataclasses.MISSING, **bounds: Any) -> Any:
    """A text of bounded length."""
    return declared(TextField(doc, **bounds), default=default)


def whole(doc: str, least: int, most: int, *, default: Any = dataclasses.MISSING) -> Any:
    """A whole number within bounds."""
    return declared(WholeField(doc, least, most), default=default)


def anything(doc: str, *kinds: type, default: Any = dataclasses.MISSING) -> Any:
    """A value that no file holds, of these classes if there are any."""
    return declared(ObjectField(doc, kinds), default=default)


@dataclass_transform(
    frozen_default=True,
    kw_only_default=True,
    field_specifiers=(
        declared, number, physical, parameter, choice, flag, text, whole, anything, dataclasses.field
    ),
)  # fmt: skip
def record(cls: type[T]) -> type[T]:
    """Make a frozen keyword-only dataclass that checks its declared fields, lists them in its docstring, and
    whose arrays take part in ==, hash and pickle. `__post_init__` checks what concerns several fields.
    """
    return _recorded(cls, kw_only=True)


@dataclass_transform(
    frozen_default=True, field_specifiers=(declared, number, physical, choice, flag, text, whole, anything)
)
def positional_record(cls: type[T]) -> type[T]:
    """The same for a record whose few fields may also be given by position."""
    return _recorded(cls, kw_only=False)


def _recorded(cls: type[T], kw_only: bool) -> type[T]:
    own_checks = cls.__dict__.get("__post_init__")
    if any(FIELD in getattr(value, "metadata", ()) for value in vars(cls).values()):

        def checked(self: Any) -> None:
            check_fields(self)
            if own_checks is not None:
                own_checks(self)

        cls.__post_init__ = checked  # type: ignore[attr-defined]
    made = dataclasses.dataclass(frozen=True, eq=False, kw_only=kw_only)(cls)
    made.__eq__ = _equal  # type: ignore[method-assign]
    made.__hash__ = _hash  # type: ignore[method-assign]
    made.__reduce__ = _reduce  # type: ignore[method-assign]
    if listed := _arguments(made):
        made.__doc__ = _with_arguments(made.__doc__, listed)
    return made


def declaration(cls: type) -> dict[str, Field]:
    """The declared fields of a record, by name."""
    return {f.name: f.metadata[FIELD] for f in dataclasses.fields(cls) if FIELD in f.metadata}


def table_of(cls: type, doc: str = "", required: tuple[str, ...] = (), **others: Field) -> TableField:
    """The table of a file that holds a record.

    Args:
        cls: the record.
        doc: what the table is.
        required: keys that a file must have although the record has a default.
        others: keys that a file reads in another way.
    """
    fields = declaration(cls)
    needed = [
        f.name for f in dataclasses.fields(cls) if f.name in fields and f.default is dataclasses.MISSING
    ]
    return TableField({**fields, **others}, (*needed, *required), doc)


@dataclasses.dataclass(frozen=True)
class RecordField:
    """A record, or the table of a file that holds it, in which some keys are `required`."""

    cls: type
    doc: str = ""
    required: tuple[str, ...] = ()

    @property
    def table(self) -> TableField:
        """The table."""
        return table_of(self.cls, self.doc, self.required)

    def read(self, value: Any, place: str) -> Any:
        """The record."""
        if isinstance(value, self.cls):
            return value
        if not isinstance(value, dict):
            keys = " = ..., ".join(list(self.table.fields)[:MAX_KEYS])
            raise InputError(
                f"expected {self.cls.__name__} or a table {{ {keys} = ... }}, got {shorten(value)}.", place
            )
        fields = self.table.read(value, place)
        with located(place):
            return self.cls(**fields)

    def schema(self) -> dict[str, Any]:
        """That of the table."""
        return self.table.schema()


def check_fields(instance: Any) -> None:
    """Read each declared field of a record under construction; None stands for one that is absent."""
    where = called(type(instance).__name__)
    if isinstance(name := getattr(instance, "name", None), str):
        where += f" {shorten(name)}"
    for f in dataclasses.fields(instance):
        given = getattr(instance, f.name)
        if FIELD in f.metadata and not (given is None and f.default is None):
            set_field(instance, f.name, f.metadata[FIELD].read(given, f"{where}, {f.name}"))


def flat(**records: type) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """A function whose records may also be given field by field: `f(arm, limits=Limits(velocity=1))` as
    `f(arm, velocity=1)`. Its signature, for `help` and editors, shows every keyword.

    Args:
        records: the record that each of these parameters takes.
    """
    owner = {f.name: name for name, cls in records.items() for f in dataclasses.fields(cls)}

    def made(function: Callable[..., T]) -> Callable[..., T]:
        signature = inspect.signature(function)
        own = signature.parameters
        *_, where = function.__qualname__.removesuffix(".__init__").split(".")
        where = called(where) if function.__name__ == "__init__" else where

        @functools.wraps(function)
        def call(*args: Any, **given: Any) -> T:
            parts: dict[str, dict[str, Any]] = {}
            for key in [key for key in given if key not in own]:
                if key not in owner:
                    raise InputError(f"there is no parameter {key!r}: {suggest(key, [*own, *owner])}", where)
                parts.setdefault(owner[key], {})[key] = given.pop(key)
            for name, cls in records.items():
                if given.get(name) is not None:
                    check_kind(given[name], cls, f"{where}, {name}")
                if name in parts:
                    given[name] = filled(given.get(name), cls, parts[name], where)
            return function(*args, **given)

        call.__signature__ = signature.replace(parameters=_flattened(own, records))  # type: ignore[attr-defined]
        call.records = records  # type: ignore[attr-defined]
        lists = [line for cls in records.values() for line in _arguments(cls)]
        call.__doc__ = _with_arguments(function.__doc__, lists)
        return call

    return made


def with_fields(cls: type[T]) -> type[T]:
    """A class whose docstring lists the fields that its constructor takes field by field."""
    for name, part in cls.__init__.records.items():  # type: ignore[attr-defined]
        if cls.__doc__ is not None:  # python -OO
            own, lines = f"\n    {name}: ", "\n".join(["", *_arguments(part)])
            cls.__doc__ = inspect.cleandoc(cls.__doc__).replace(own, lines + own)
    return cls


def called(name: str) -> str:
    """What messages call a class: motor, but DAC and PathLimits."""
    return name.lower() if name.istitle() else name


def filled(given: Any, cls: type, fields: dict[str, Any], where: str) -> Any:
    """The record with these fields; errors name the function, whose keywords they were."""
    try:
        return cls(**fields) if given is None else dataclasses.replace(given, **fields)
    except (InputError, ModelError) as error:
        error.place = (where, *error.place[1:])
        raise


def _flattened(own: Mapping[str, inspect.Parameter], records: Mapping[str, type]) -> list[inspect.Parameter]:
    """The parameters of a function with those of its records behind them, as keywords."""
    shown = [parameter for name, parameter in own.items() if name not in records]
    for cls in records.values():
        fields = inspect.signature(cls).parameters.values()
        shown += [field.replace(kind=inspect.Parameter.KEYWORD_ONLY) for field in fields]
    shown += [own[name].replace(kind=inspect.Parameter.KEYWORD_ONLY) for name in records]
    return sorted(shown, key=lambda parameter: parameter.kind)


def _arguments(cls: type) -> list[str]:
    """The lines about the declared fields in a list of arguments."""
    return [f"    {name}: {sentence(field)}" for name, field in declaration(cls).items()]


def sentence(field: Field) -> str:
    """What a field says of itself, its unit at the end."""
    doc, unit = getattr(field, "doc", ""), getattr(field, "unit", "")
    doc += f" {shape}" if (shape := getattr(field, "shape", ())) else ""
    return f"{doc}, {unit}." if unit else f"{doc}."


def _with_arguments(doc: str | None, lines: list[str]) -> str | None:
    """A docstring with these lines at the end of its list of arguments."""
    if doc is None:  # python -OO
        return None
    doc = inspect.cleandoc(doc)
    return "\n".join([doc if "\n\nArgs:\n" in doc else f"{doc}\n\nArgs:", *lines])


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
