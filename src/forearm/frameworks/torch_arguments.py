"""Arguments of `k.torch`: checked, and brought to one shape by differentiable operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from forearm.errors import InputError, shorten
from forearm.frameworks.torch_evaluation import Tensor, TensorKernel
from forearm.kernels.compiled import Shape
from forearm.kernels.dispatch import refuse
from forearm.values import check_choice


def as_tensors(
    kernel: TensorKernel, slots: Sequence[tuple[str, Shape]], given: Sequence[Tensor]
) -> list[Tensor]:
    """Arguments for the same states: (..., n) each, broadcast; a number is used for all entries."""
    first, (its_name, _) = given[0], slots[0]
    made: list[Tensor] = []
    for (name, shape), value in zip(slots, given, strict=True):
        if made and isinstance(value, int | float):
            value = first.new_full(shape, value)
        check_tensor(kernel, name, value, first, its_name)
        if made and value.ndim == 0:
            value = value.expand(shape)
        rank = len(shape)
        if value.ndim < rank or tuple(value.shape[value.ndim - rank :]) != shape:
            raise InputError(f"{_why(kernel, shape)}, got {tuple(value.shape)}.", name)
        made.append(value)
    batches = [value.shape[: value.ndim - len(shape)] for (_, shape), value in zip(slots, made, strict=True)]
    if all(batch == batches[0] for batch in batches):
        return made
    try:
        batch = torch.broadcast_shapes(*batches)
    except RuntimeError:
        shapes = ", ".join(
            f"{name} {tuple(value.shape)}" for (name, _), value in zip(slots, made, strict=True)
        )
        raise InputError(f"dimensions in front of the states do not broadcast: {shapes}.") from None
    return [value.expand(*batch, *shape) for (_, shape), value in zip(slots, made, strict=True)]


def check_tensor(kernel: TensorKernel, name: str, value: object, first: Tensor, its_name: str) -> None:
    """Require a tensor of the kernel's dtype, on a supported device, the same as the others'."""
    if not isinstance(value, torch.Tensor):
        raise InputError(
            f"expected a torch tensor, got {type(value).__name__}; for NumPy arrays use the "
            "methods of k itself.",
            name,
        )
    if value.dtype != kernel.dtype:
        wanted = kernel.kernel.dtype
        other = str(value.dtype).removeprefix("torch.")
        way = f", or use fa.compile(arm, dtype={other!r})" if other in ("float32", "float64") else ""
        raise InputError(
            f"this kernel computes in {wanted}, got a tensor of {other}; convert it with "
            f".to(torch.{wanted}){way}.",
            name,
        )
    if value.device.type not in ("cpu", "cuda", "meta"):
        raise InputError(f"expected a tensor on the CPU or a CUDA device, got one on {value.device}.", name)
    if value.device != first.device:
        raise InputError(
            f"expected a tensor on {first.device} like {its_name}, got one on {value.device}.", name
        )
    if value.is_nested:
        raise InputError(
            "expected a dense tensor, got a nested one; use torch.nested.to_padded_tensor.", name
        )
    if value.layout != torch.strided:
        raise InputError(f"expected a dense tensor, got {value.layout}; use .to_dense().", name)


def _why(kernel: TensorKernel, shape: Shape) -> str:
    arm = kernel.kernel.arm
    expected = f"expected shape (..., {', '.join(map(str, shape))})"
    return f"{arm.name!r} has {arm.n} joints, {expected}" if shape == (arm.n,) else expected


def as_parameters(kernel: TensorKernel, batch: Shape, first: Tensor, given: Any) -> Tensor:
    """Values of the parameters: (P,) for all states, or one row per state."""
    own = kernel.kernel.parameters
    if not own:
        refuse(given)
    values = kernel.own.to(first.device)
    if given is None:
        return values
    if isinstance(given, Mapping):
        for name in given:
            check_choice(name, own, "parameters left open")
        columns = [
            _column(kernel, name, given[name], first) if name in given else values[k]
            for k, name in enumerate(own)
        ]
        given = torch.stack(torch.broadcast_tensors(*columns), dim=-1)
    check_tensor(kernel, "parameters", given, first, "the first argument")
    count = len(own)
    if given.ndim and given.shape[-1] == count:
        if given.ndim == 1:
            return given
        try:
            return given.expand(*batch, count)
        except RuntimeError:
            pass
    raise InputError(
        f"{count} are left open; expected shape ({count},), or {(*batch, count)} with one row "
        f"per state, got {tuple(given.shape)}.",
        "parameters",
    )


def _column(kernel: TensorKernel, name: str, value: Any, first: Tensor) -> Tensor:
    if isinstance(value, int | float):
        return first.new_full((), value)
    check_tensor(kernel, f"parameters, {name}", value, first, "the first argument")
    return value


def as_results(names: Sequence[str], out: Any) -> list[Tensor]:
    """The tensors to write to, in the order of the outputs."""
    if isinstance(out, Mapping):
        results = [out.get(name) for name in names] if set(out) == set(names) else []
    else:
        results = (
            [out] if isinstance(out, torch.Tensor) else list(out) if isinstance(out, list | tuple) else []
        )
    if len(results) != len(names) or not all(isinstance(result, torch.Tensor) for result in results):
        raise InputError(f"expected one tensor for each of {', '.join(names)}, got {shorten(out)}.", "out")
    return results


def write(results: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    """Copy values into tensors of the same shape, dtype and device."""
    for result, value in zip(results, values, strict=True):
        if result.is_nested:
            raise InputError("expected dense tensors, got a nested one.", "out")
        if result.shape != value.shape or result.dtype != value.dtype or result.device != value.device:
            raise InputError(
                f"expected a tensor {tuple(value.shape)} of {value.dtype} on {value.device}, "
                f"got {tuple(result.shape)} of {result.dtype} on {result.device}.",
                "out",
            )
    for result, value in zip(results, values, strict=True):
        result.copy_(value)


def refuse_derivatives(tensors: Sequence[Tensor], is_followed: Callable[[Sequence[Tensor]], bool]) -> None:
    """Raise where derivatives would be needed of results in `out`, as PyTorch itself does."""
    if is_followed(tensors):
        raise InputError(
            "results written to a given tensor have no derivatives, and one of the arguments "
            "requires them; omit out=, or call under torch.no_grad().",
            "out",
        )
