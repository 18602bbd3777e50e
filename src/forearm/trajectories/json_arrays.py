"""Arrays in JSON files of paths and motions, from untrusted input."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from forearm.errors import InputError, shorten
from forearm.reading.fields import ChoiceField, Field, ListField, NumberField, TableField
from forearm.reading.textfile import write_text
from forearm.spatial import Floats


def numbers(doc: str, dimensions: int = 1, **bounds: Any) -> ListField:
    """Numbers in lists, nested for each dimension."""
    field: Field = NumberField(**bounds)
    for _ in range(dimensions - 1):
        field = ListField(field)
    return ListField(field, doc=doc)


def format_table(name: str, /, *optional: str, **fields: Field) -> TableField:
    """The table of a file of this format."""
    needed = [key for key in fields if key not in optional]
    return TableField({"format": ChoiceField((name,)), **fields}, ("format", *needed))


def format_of(table: TableField) -> str:
    """The name of a format, with its version."""
    name: str = table.fields["format"].schema()["enum"][0]
    return name


def document_of(thing: Any, table: TableField) -> dict[str, Any]:
    """The document of what has the keys of a table as attributes; those that are None are left out."""
    found = {key: getattr(thing, key) for key in table.fields if key != "format"}
    document = {
        key: value.tolist() if isinstance(value, np.ndarray) else value
        for key, value in found.items()
        if value is not None
    }
    return {"format": format_of(table), **document}


def write_document(document: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a file atomically."""
    write_text(path, json.dumps(document) + "\n")


def shaped_arrays(
    data: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]], name: str, least: str
) -> dict[str, Floats]:
    """Arrays of these shapes, none of them empty; `least` names the minimum content."""
    arrays = {key: _array(data[key]) for key in shapes}
    for key, shape in shapes.items():
        if arrays[key].shape != shape or 0 in shape:
            raise InputError(
                f"expected {' x '.join(map(str, shape))} numbers, with at least {least}, got "
                f"{shorten(data[key])}.",
                name,
                key,
            )
    return arrays


def even_arrays(data: Mapping[str, Any], dimensions: Mapping[str, int], name: str) -> dict[str, Floats]:
    """Arrays with these numbers of dimensions, for the keys present, none of them empty."""
    arrays = {key: _array(data[key]) for key in dimensions if key in data}
    for key, array in arrays.items():
        if array.ndim != dimensions[key] or not array.size:
            raise InputError(f"rows must have equal lengths, got {shorten(data[key])}.", name, key)
    return arrays


def _array(value: Any) -> Floats:
    """Numbers in nested lists; an empty array if rows differ in length."""
    try:
        return np.array(value, dtype=np.float64)
    except ValueError:
        return np.empty(0)
