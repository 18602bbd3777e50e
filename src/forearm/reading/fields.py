"""Field types of tables: each is defined once, reads and checks values, and writes its JSON Schema.

A field converts a TOML value, or raises an InputError that names its location.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from forearm.errors import ForearmError, InputError, ModelError, shorten, suggest
from forearm.values import MAX_NAME, check_choice, check_number, check_whole

MAX_ITEMS = 10_000
MAX_KEYS = 8  # keys of a table listed in a message

_ANGLE = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(deg|rad)")
_PI = re.compile(r"([+-])?(?:([0-9.]+)\s*\*\s*)?pi(?:\s*/\s*([0-9.]+))?")


class Radians(float):
    """A number given as an angle with a unit, which therefore cannot be a length."""


class Field(Protocol):
    """Interface of a field: `read` it from TOML's types, and describe it as JSON Schema."""

    def read(self, value: Any, place: str) -> Any: ...

    def schema(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class NumberField:
    """A finite number within bounds; `infinite` also allows +-inf, `nonzero` says what to do instead of 0."""

    doc: str = ""
    minimum: float = -math.inf
    maximum: float = math.inf
    above: float = -math.inf
    infinite: bool = False
    unit: str = ""
    nonzero: str = ""
    out_of_bounds: type[ForearmError] = InputError

    def read(self, value: Any, place: str) -> float:
        if self.infinite and isinstance(value, float) and math.isinf(value):
            return value
        found = check_number(value, place, self.minimum, self.maximum, self.above, self.out_of_bounds)
        if self.nonzero and found == 0.0:
            raise self.out_of_bounds(f"must not be 0; {self.nonzero}.", place)
        return found

    def schema(self) -> dict[str, Any]:
        bounds = {"minimum": self.minimum, "maximum": self.maximum, "exclusiveMinimum": self.above}
        return _described(
            {"type": "number", **{k: v for k, v in bounds.items() if math.isfinite(v)}},
            ", ".join(filter(None, (self.doc, self.unit))),
        )


@dataclass(frozen=True)
class AngleField:
    """An angle: a number in radians, or text with its unit: "90 deg", "1.2 rad", "-pi/2", "3*pi/4"."""

    doc: str = ""
    infinite: bool = False
    minimum: float = -math.inf

    def read(self, value: Any, place: str) -> float:
        if not isinstance(value, str):
            if self.infinite and isinstance(value, float) and math.isinf(value):
                return value
            return check_number(value, place, self.minimum, out_of_bounds=ModelError)
        radians = parse_angle(value, place)
        return Radians(check_number(radians, place, self.minimum, out_of_bounds=ModelError))

    def schema(self) -> dict[str, Any]:
        return _described(
            {
                "oneOf": [
                    {"type": "number"},
                    {"type": "string", "pattern": f"^\\s*({_ANGLE.pattern}|{_PI.pattern})\\s*$"},
                ]
            },
            self.doc or "radians, or text such as '90 deg' or 'pi/2'",
        )


@dataclass(frozen=True)
class TextField:
    """Text of bounded length."""

    doc: str = ""
    max_length: int = MAX_NAME

    def read(self, value: Any, place: str) -> str:
        if not isinstance(value, str):
            raise InputError(f"expected text, got {shorten(value)}.", place)
        if len(value) > self.max_length:
            raise InputError(f"expected at most {self.max_length} characters, got {len(value)}.", place)
        return value

    def schema(self) -> dict[str, Any]:
        return _described({"type": "string", "maxLength": self.max_length}, self.doc)


@dataclass(frozen=True)
class ChoiceField:
    """One of a few words."""

    words: tuple[str, ...]
    doc: str = ""

    def read(self, value: Any, place: str) -> str:
        return check_choice(value, self.words, place)

    def schema(self) -> dict[str, Any]:
        return _described({"enum": list(self.words)}, self.doc)


@dataclass(frozen=True)
class FlagField:
    """true or false."""

    doc: str = ""

    def read(self, value: Any, place: str) -> bool:
        if not isinstance(value, bool):
            raise InputError(f"expected true or false, got {shorten(value)}.", place)
        return value

    def schema(self) -> dict[str, Any]:
        return _described({"type": "boolean"}, self.doc)


@dataclass(frozen=True)
class ListField:
    """A list of values of one kind, of fixed or bounded length."""

    item: Field
    length: int | None = None
    doc: str = ""

    def read(self, value: Any, place: str) -> tuple[Any, ...]:
        if isinstance(value, np.ndarray):
            value = value.tolist()
        is_list = isinstance(value, list | tuple)
        if not is_list or (self.length is not None and len(value) != self.length):
            count = "" if self.length is None else f"{self.length} "
            wanted = f" Wanted: {self.doc}." if self.doc else ""
            raise InputError(f"expected a list of {count}values, got {shorten(value)}.{wanted}", place)
        if len(value) > MAX_ITEMS:
            raise InputError(f"expected at most {MAX_ITEMS} entries, got {len(value)}.", place)
        return tuple(self.item.read(v, f"{place}[{i + 1}]") for i, v in enumerate(value))

    def schema(self) -> dict[str, Any]:
        bounds = {} if self.length is None else {"minItems": self.length, "maxItems": self.length}
        return _described({"type": "array", "items": self.item.schema(), **bounds}, self.doc)


@dataclass(frozen=True)
class WholeField:
    """A whole number within bounds, or one of a few."""

    doc: str
    least: int
    most: int
    choices: tuple[int, ...] = ()

    def read(self, value: Any, place: str) -> int:
        found = check_whole(value, place, self.least, self.most)
        if self.choices and found not in self.choices:
            raise InputError(f"expected one of {', '.join(map(str, self.choices))}, got {found}.", place)
        return found

    def schema(self) -> dict[str, Any]:
        bounds = (
            {"enum": list(self.choices)} if self.choices else {"minimum": self.least, "maximum": self.most}
        )
        return {"type": "integer", **bounds, "description": self.doc}


@dataclass(frozen=True)
class TableField:
    """A table with known keys, `required` ones among them; unknown ones are refused with a suggestion."""

    fields: Mapping[str, Field] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    doc: str = ""

    def read(self, value: Any, place: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            wanted = (
                f" Wanted: {{ {' = ..., '.join(list(self.fields)[:MAX_KEYS])} = ... }}."
                if self.fields
                else ""
            )
            raise InputError(f"expected a table, got {shorten(value)}.{wanted}", place)
        for key in value:
            if key not in self.fields:
                raise InputError(f"unknown key {shorten(key)}; {suggest(key, self.fields)}", place)
        for key in self.required:
            if key not in value:
                raise InputError(f"missing key {key!r}{self._told(key)}.", place)
        return {key: self.fields[key].read(v, f"{place}, {key}") for key, v in value.items()}

    def _told(self, key: str) -> str:
        """Description of a missing key and its possible values."""
        wanted = self.fields[key]
        doc = str(getattr(wanted, "doc", ""))
        said = [doc] if doc else []
        said += [f"one of {', '.join(map(repr, wanted.words))}"] if isinstance(wanted, ChoiceField) else []
        return f": {'; '.join(said)}" if said else ""

    def schema(self) -> dict[str, Any]:
        made: dict[str, Any] = {
            "type": "object",
            "properties": {key: f.schema() for key, f in self.fields.items()},
            "additionalProperties": False,
        }
        if self.required:
            made["required"] = list(self.required)
        return _described(made, self.doc)


@dataclass(frozen=True)
class MapField:
    """A table with user-defined keys."""

    item: Field
    doc: str = ""

    def read(self, value: Any, place: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise InputError(f"expected a table, got {shorten(value)}.", place)
        return {key: self.item.read(v, f"{place}, {shorten(key)}") for key, v in value.items()}

    def schema(self) -> dict[str, Any]:
        return _described({"type": "object", "additionalProperties": self.item.schema()}, self.doc)


@dataclass(frozen=True)
class TableListField:
    """An array of tables, named in messages as link 'upper', joint[3]."""

    table: TableField
    what: str
    doc: str = ""

    def read(self, value: Any, place: str) -> list[dict[str, Any]]:
        if not isinstance(value, list):
            raise InputError(f"write each as [[{self.what}]]; got {shorten(value)}.", place)
        if len(value) > MAX_ITEMS:
            raise InputError(f"expected at most {MAX_ITEMS} of them, got {len(value)}.", place)
        outer = place.rpartition(", ")[0]
        return [self.table.read(v, f"{outer}, {self._called(v, i)}") for i, v in enumerate(value)]

    def _called(self, value: Any, index: int) -> str:
        name = value.get("name") if isinstance(value, dict) else None
        return f"{self.what} {shorten(name)}" if isinstance(name, str) else f"{self.what}[{index + 1}]"

    def schema(self) -> dict[str, Any]:
        return _described({"type": "array", "items": self.table.schema()}, self.doc)


@dataclass(frozen=True)
class PointsField:
    """Points (x, y) of a curve, as a list of pairs with increasing x."""

    x: NumberField
    y: NumberField
    doc: str = ""
    rising: bool = False  # whether y must increase, too

    def read(self, value: Any, place: str) -> tuple[tuple[float, float], ...]:
        rows = ListField(ListField(NumberField(), 2, "a pair"), doc=self.doc).read(value, place)
        rows = tuple((self.x.read(x, place), self.y.read(y, place)) for x, y in rows)
        for k, (a, b) in enumerate(pairwise(rows), 2):
            if b[0] <= a[0] or (self.rising and b[1] <= a[1]):
                what = "both values" if self.rising else "the first values"
                raise self.x.out_of_bounds(
                    f"{what} of the pairs must increase; pair {k}, {b}, does not from {a}.", place
                )
        return rows

    def schema(self) -> dict[str, Any]:
        pair = {
            "type": "array",
            "prefixItems": [self.x.schema(), self.y.schema()],
            "minItems": 2,
            "maxItems": 2,
        }
        return _described({"type": "array", "items": pair}, self.doc)


def published(title: str, table: TableField) -> dict[str, Any]:
    """The JSON Schema of a whole file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **table.schema()}


def parse_angle(text: str, place: str) -> float:
    """Radians from "90 deg", "1.2 rad", "pi", "-pi/2" or "3*pi/4"."""
    try:
        if match := _ANGLE.fullmatch(text.strip()):
            value = float(match[1])
            return math.radians(value) if match[2] == "deg" else value
        if match := _PI.fullmatch(text.strip()):
            value = float(match[2] or 1.0) * math.pi / float(match[3] or 1.0)
            return -value if match[1] == "-" else value
    except (ValueError, ZeroDivisionError, OverflowError):
        pass
    raise InputError(
        f"{shorten(text)} is not an angle; write radians as a number, or text such as '90 "
        "deg', '0.5 rad', 'pi/2' or '-3*pi/4'.",
        place,
    )


def _described(schema: dict[str, Any], doc: str) -> dict[str, Any]:
    return schema | {"description": doc} if doc else schema
