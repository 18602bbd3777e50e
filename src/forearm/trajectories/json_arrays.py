"""Arrays in JSON files of paths and motions, from untrusted input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from forearm.errors import InputError, shorten
from forearm.spatial import Floats


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
