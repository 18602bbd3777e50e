"""Arguments of functions for JAX, converted to arrays of the kernel's dtype."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from forearm.errors import InputError
from forearm.values import check_choice

if TYPE_CHECKING:
    from forearm.kernels.kernel import Kernel


def as_number(kernel: Kernel, name: str, given: Any) -> Any:
    """An array of the kernel's dtype; only integers and Python's numbers are converted."""
    import jax.numpy as jnp

    array, dtype = jnp.asarray(given), kernel.dtype
    if array.dtype == dtype:
        return array
    is_float = jnp.issubdtype(array.dtype, jnp.floating)
    if not (is_float or jnp.issubdtype(array.dtype, jnp.integer)):
        raise InputError(f"expected real numbers, got an array of {array.dtype}.", name)
    if dtype == "float64" and jnp.zeros((), dtype=float).dtype != dtype:
        raise InputError(
            "this kernel computes in float64, which JAX disables by default, got "
            f'{array.dtype}; call jax.config.update("jax_enable_x64", True) before creating '
            'arrays, or use fa.compile(arm, dtype="float32").',
            name,
        )
    if is_float and not getattr(array, "weak_type", False):
        other = str(array.dtype)
        way = f', or fa.compile(arm, dtype="{other}")' if other in ("float32", "float64") else ""
        raise InputError(
            f"this kernel computes in {dtype}, got an array of {other}; use "
            f'{name.split(",")[0]}.astype("{dtype}"){way}.',
            name,
        )
    return array.astype(dtype)


def parameter_values(kernel: Kernel, given: Any) -> Any:
    """Values of the open parameters, (P,) or (..., P)."""
    import jax.numpy as jnp

    own = kernel.parameters
    if given is None:
        return jnp.asarray(np.array(list(own.values()), dtype=kernel.dtype))
    if isinstance(given, Mapping):
        for name in given:
            check_choice(name, own, "parameters left open")
        columns = [
            as_number(kernel, f"parameters, {name}", given[name]) if name in given else jnp.asarray(value)
            for name, value in own.items()
        ]
        given = jnp.stack(jnp.broadcast_arrays(*columns), axis=-1)
    values = as_number(kernel, "parameters", given)
    if values.ndim == 0 or values.shape[-1] != len(own):
        raise InputError(
            f"{len(own)} are left open; expected shape ({len(own)},), or (..., {len(own)}) "
            f"with one row per state, got {values.shape}.",
            "parameters",
        )
    return values
