"""`k.torch`: the functions of a kernel on tensors of PyTorch, with derivatives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch

from forearm.errors import InputError
from forearm.frameworks.torch_arguments import as_parameters, as_results, as_tensors, refuse_derivatives
from forearm.frameworks.torch_evaluation import Evaluation, Tensor, tensor_kernel
from forearm.frameworks.torch_operator import (
    PLAIN,
    count_of_modes,
    evaluate,
    forward_ad,
    is_compiling,
    is_followed,
    is_transformed,
)
from forearm.kernels.kernel import Kernel, check_names

increment_version = torch._C._increment_version
Results = Tensor | tuple[Tensor, ...] | dict[str, Tensor]


class TorchFunctions:
    """The functions of a kernel on tensors, each by its name; made by `k.torch`.

    Every function takes tensors of the kernel's dtype on one device, (n,) for one state or (..., n) for many, broadcast as
    NumPy does, all but the first also as numbers. `out` is a tensor for the result, contiguous, of its shape,
    dtype and device (None: a new one), where no derivatives are asked for; `parameters` are values of those left open,
    (P,) for all states or (..., P), or some of them by name (None: the arm's own). Autograd, `torch.func` and
    `torch.compile` see through them, up to derivatives of derivatives.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel, self._shared = kernel, tensor_kernel(kernel)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self._kernel, "torch")

    def __repr__(self) -> str:
        return f"<functions on tensors of {self._kernel!r}>"

    def __getattr__(self, name: str) -> TorchFunction:
        if name.startswith("_"):
            raise AttributeError(name)
        from forearm.codegen.functions import FUNCTIONS

        if name not in FUNCTIONS:
            raise AttributeError(f"k.torch has no function {name!r}; it has {', '.join(FUNCTIONS)}, and fused.")
        function = TorchFunction(self, (name,), False)
        return self.__dict__.setdefault(name, function)  # type: ignore[no-any-return]

    def __dir__(self) -> list[str]:
        from forearm.codegen.functions import FUNCTIONS

        return [*super().__dir__(), *FUNCTIONS]

    def fused(self, functions: str | Iterable[str]) -> TorchFunction:
        """Several functions compiled as one, which gives its results by name."""
        names = (functions,) if isinstance(functions, str) else tuple(dict.fromkeys(functions))
        if not names:
            raise InputError("fused: expected the names of functions, such as ['inverse_dynamics', 'inertia_matrix'].")
        check_names(names)
        return TorchFunction(self, names, True)


class TorchFunction:
    """A function of a kernel, or several as one, on tensors: called with its `inputs` it gives its output, a tuple of
    them, or a dict where it is fused.
    """

    def __init__(self, functions: TorchFunctions, names: tuple[str, ...], by_name: bool) -> None:
        self._functions, self._names, self._by_name = functions, names, by_name
        self._evaluation: Evaluation = functions._shared.evaluation(names)
        self._dtype = functions._shared.dtype
        self._ready: dict[Any, Any] = {}  # by device: what computes there, and up to how many states

    def __reduce__(self) -> tuple[Any, ...]:
        if self._by_name:
            return TorchFunctions.fused, (self._functions, self._names)
        return getattr, (self._functions, self._names[0])

    def __repr__(self) -> str:
        return f"<{' + '.join(self._names)} on tensors of {self._functions._kernel!r}>"

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the arguments, in order."""
        return tuple(slot.name for slot in self._evaluation.inputs if slot.name != "parameters")

    @cached_property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the results for one state, by name."""
        return {slot.name: slot.shape for slot in self._evaluation.outputs}

    def __call__(
        self,
        *states: Tensor,
        out: Tensor | Sequence[Tensor] | Mapping[str, Tensor] | None = None,
        parameters: Tensor | Mapping[str, Tensor] | None = None,
        **named: Tensor,
    ) -> Any:
        """The results, in new tensors or in `out`."""
        if not is_compiling():
            if parameters is None and not named:
                made = self._directly(states, out)
                if made is not None:
                    return made
            self._make_ready(states)
        return self._ordinary(states, out, parameters, named)

    def _directly(self, states: tuple[Tensor, ...], out: Any) -> Tensor | None:
        """The result where nothing but machine code is needed: None if anything is unusual."""
        if is_transformed() or count_of_modes() or forward_ad._current_level >= 0:
            return None
        first = states[0] if states else None
        if type(first) not in PLAIN:
            return None
        device, shape, dtype = first.device, first.shape, self._dtype
        ready = self._ready.get(device)
        if ready is None or len(states) != ready.count:
            return None
        addresses = []
        for t in states:
            if (
                type(t) not in PLAIN
                or t.dtype is not dtype
                or t.shape != shape
                or t.device != device
                or t.requires_grad
                or t.is_neg()
                or not t.is_contiguous()
            ):
                return None
            addresses.append(t.data_ptr())
        rows = first.numel() // ready.size
        if shape[-1] != ready.size or not 0 < rows <= ready.most or 0 in addresses:
            return None
        if out is None:
            out = torch.empty_like(first) if ready.like else first.new_empty((*shape[:-1], *ready.shape))
            addresses.append(out.data_ptr())
        else:
            if (
                type(out) is not torch.Tensor
                or out.dtype is not dtype
                or out.device != device
                or (out.shape != shape if ready.like else out.shape != (*shape[:-1], *ready.shape))
                or out.requires_grad
                or out.is_neg()
                or not out.is_contiguous()
            ):
                return None
            at = out.data_ptr()
            reach, end = rows * ready.step, at + rows * ready.step_out
            for a in addresses:
                if a < end and at < a + reach and not (a == at and ready.like):
                    return None
            addresses.append(at)
            increment_version([out])
        ready.launch(addresses, rows)
        return out

    def _make_ready(self, states: tuple[Tensor, ...]) -> None:
        """From the next call on plain tensors like these go straight to the machine code."""
        evaluation = self._evaluation
        if not states or type(states[0]) not in PLAIN or states[0].device in self._ready:
            return
        device = states[0].device
        slots, made = evaluation.inputs, evaluation.outputs
        plain = len({slot.shape for slot in slots}) == 1 and len(slots[0].shape) == 1 and len(made) == 1
        if plain and not evaluation.is_open and not self._by_name and device.type in ("cpu", "cuda"):
            self._ready[device] = Ready(evaluation, device)

    def _ordinary(
        self, states: tuple[Tensor, ...], out: Any, parameters: Any, named: Mapping[str, Tensor]
    ) -> Any:
        evaluation, kernel = self._evaluation, self._functions._shared
        given = self._in_order(states, named)
        tensors = as_tensors(kernel, evaluation, given)
        if evaluation.is_open or parameters is not None:
            tensors.append(as_parameters(kernel, evaluation, tensors, parameters))
        if out is None:
            return self._given_out(evaluate(evaluation, tensors))
        results = as_results(evaluation, tensors, out, list(self.outputs))
        refuse_derivatives([*tensors, *results], is_followed)
        for result, value in zip(results, evaluate(evaluation, tensors), strict=True):
            result.copy_(value)
        return out

    def _in_order(self, states: tuple[Tensor, ...], named: Mapping[str, Tensor]) -> list[Tensor]:
        given = dict(zip(self.inputs, states, strict=False)) | dict(named)
        if len(states) + len(named) != len(self.inputs) or list(given) != [n for n in self.inputs if n in given]:
            got = [*(["one"] * len(states)), *named]
            raise InputError(
                f"{' + '.join(self._names)}: expected the tensors {', '.join(self.inputs)}, got "
                f"{', '.join(got) or 'none'}."
            )
        return [given[name] for name in self.inputs]

    def _given_out(self, made: Sequence[Tensor]) -> Any:
        if self._by_name:
            return dict(zip(self.outputs, made, strict=True))
        return made[0] if len(made) == 1 else tuple(made)


class Ready:
    """What a call without a detour needs to know: one output, inputs of one size."""

    def __init__(self, evaluation: Evaluation, device: Any) -> None:
        size = 8 if evaluation.kernel.dtype is torch.float64 else 4
        slot, made = evaluation.inputs[0], evaluation.outputs[0]
        self.launch = evaluation.launch(device)
        self.count, self.size, self.shape = len(evaluation.inputs), slot.size, made.shape
        self.like = slot.shape == made.shape
        self.most = evaluation.most if device.type == "cpu" else 1 << 62
        self.step, self.step_out = slot.size * size, made.size * size
