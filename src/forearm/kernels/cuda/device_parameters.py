"""Open parameters on the device: one row, or one per state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from forearm.errors import InputError
from forearm.kernels.arrays import DType
from forearm.kernels.cuda.array_libraries import library_of
from forearm.kernels.cuda.device_arrays import DeviceArray, check_device, check_numbers
from forearm.kernels.cuda.driver import Device, driver
from forearm.kernels.cuda.unknown_arrays import INTERFACE
from forearm.kernels.dispatch import Parameters, check_parameters, parameter_values
from forearm.values import check_choice

# An arm's own values, by device: never freed, as captured graphs may read them.
_own: WeakKeyDictionary[Device, dict[tuple[str, tuple[float, ...]], Any]] = WeakKeyDictionary()


def device_values(
    given: Parameters | None,
    own: Mapping[str, float],
    batch: tuple[int, ...],
    dtype: DType,
    first: str,
    lead: DeviceArray,
    stream: int,
) -> Any:
    """An array (P,) or (B, P) on the device of the states; `first` is the name of the leading array."""
    if given is None:
        return own_values(own, dtype, lead.device)
    if isinstance(given, Mapping):
        for name in given:
            check_choice(name, own, "parameters left open")
        if any(map(library_of, given.values())):
            return _columns({**own, **given}, batch, dtype, first, lead, stream)
    library = None if isinstance(given, Mapping) else library_of(given)
    if library is None:
        return lead.library.sent(parameter_values(given, own, batch, dtype), lead.device, stream)
    array = library.seen("parameters", given, stream)
    try:
        _check("parameters", array, dtype, first, lead)
        check_parameters(array.shape, len(own), batch)
        return given if array.is_contiguous else library.plain(array, "parameters", array.shape, stream)
    finally:
        if array.release is not None:
            array.release()


def own_values(own: Mapping[str, float], dtype: DType, device: int) -> Any:
    """The arm's own values on a device, sent there once."""
    kept = _own.setdefault(driver().device(device), {})
    key = dtype.name, tuple(own.values())
    if key not in kept:
        made = INTERFACE.sent(np.array(key[1], dtype), device, 0)
        made.is_ready = True
        kept.setdefault(key, made)
    return kept[key]


def _columns(
    values: Mapping[str, Any],
    batch: tuple[int, ...],
    dtype: DType,
    first: str,
    lead: DeviceArray,
    stream: int,
) -> Any:
    """Arrays and numbers by name, side by side."""
    made: list[Any] = []
    for name, value in values.items():
        where, library = f"parameters, {name}", library_of(value)
        if library is None:
            host = parameter_values({name: value}, {name: 0.0}, batch, dtype)[..., 0]
            made.append(lead.library.sent(host, lead.device, stream) if host.ndim else float(host))
            continue
        if library is not lead.library:
            raise InputError(
                f"expected a number, or a {lead.library.name} array like {first}, got one of {library.name}.",
                where,
            )
        array = library.seen(where, value, stream)
        if array.release is not None:
            array.release()
        _check(where, array, dtype, first, lead)
        if array.shape not in ((), batch):
            raise InputError(
                f"expected one number, or one per state (shape {batch}), got {array.shape}.", where
            )
        made.append(array.value)
    return lead.library.columns(made, (*batch, len(values)), dtype.name, lead.device, stream)


def _check(name: str, array: DeviceArray, dtype: DType, first: str, lead: DeviceArray) -> None:
    check_numbers(name, array, dtype)
    check_device(name, array, first, lead)
