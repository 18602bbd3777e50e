"""`k.torch`: the functions of a kernel on PyTorch tensors, with derivatives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from forearm.errors import InputError, not_among
from forearm.frameworks.torch_arguments import (
    as_parameters,
    as_results,
    as_tensors,
    refuse_derivatives,
    write,
)
from forearm.frameworks.torch_evaluation import Evaluation, Tensor, tensor_kernel
from forearm.frameworks.torch_operator import evaluate, is_compiling, is_followed
from forearm.frameworks.torch_rollout import simulate
from forearm.frameworks.torch_shortcut import Shortcuts, is_unusual
from forearm.kernels.batch_rollout import Rollout
from forearm.kernels.compiled import Names, Shape
from forearm.kernels.dispatch import keywords
from forearm.kernels.function_names import check_names
from forearm.kernels.kernel import Kernel
from forearm.kernels.rollout_arguments import RolloutPlan


class TorchFunctions:
    """The functions of a kernel on tensors, each by its name; created by `k.torch`.

    Every function accepts tensors of the kernel's dtype on one device, (n,) for one state or (..., n) for
    many, broadcast as in NumPy; all but the first may also be scalars. `out` is a tensor for the result, of
    its shape and dtype, on its device (None: a new one), if no derivatives are required; `parameters` are
    values of the open parameters, (P,) for all states or (..., P), or some of them by name (None: the arm's
    own). Autograd, `torch.func` and `torch.compile` are supported, up to second derivatives.
    """

    def __init__(self, kernel: Kernel) -> None:
        from forearm.codegen.functions import FUNCTIONS

        self._kernel, self._shared = kernel, tensor_kernel(kernel)
        # As attributes, which Python compilers can see.
        self.__dict__.update({name: TorchFunction(self, (name,), False) for name in FUNCTIONS})

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self._kernel, "torch")

    def __repr__(self) -> str:
        return f"<functions on tensors of {self._kernel!r}>"

    def __getattr__(self, name: str) -> TorchFunction:
        """Names that do not exist; functions are plain attributes."""
        if name.startswith("_"):
            raise AttributeError(name)
        names = [key for key, value in self.__dict__.items() if isinstance(value, TorchFunction)]
        raise AttributeError(f"k.torch: {not_among(name, [*names, 'fused'])}")

    def fused(self, functions: str | Iterable[str]) -> TorchFunction:
        """Several functions compiled as one, which returns its results by name."""
        names = (functions,) if isinstance(functions, str) else tuple(dict.fromkeys(functions))
        if not names:
            raise InputError(
                "expected the names of functions, such as ['inverse_dynamics', 'inertia_matrix'].", "fused"
            )
        check_names(names)
        return TorchFunction(self, names, True)

    @keywords(RolloutPlan)
    def simulate(
        self,
        q0: Tensor,
        qd0: Tensor,
        *,
        torque: Tensor | None = None,
        voltage: Tensor | None = None,
        parameters: Tensor | Mapping[str, Tensor] | None = None,
        **run: Any,
    ) -> Rollout:
        """Simulate many arms as in `k.simulate`, with gradients of all arguments: in reverse mode, for arms
        without dry friction, which can hold a joint.

        Args:
            q0, qd0: joint coordinates and velocities at the start, (n,) or (..., n).
            torque, voltage: N m (N), or V: (n,) or (..., n) held, (steps, n) or (..., steps, n) by step.
            parameters: as in every function.
            steps, step, method, record: as for `k.simulate`.
        """
        return simulate(self._shared, (q0, qd0), run, {"torque": torque, "voltage": voltage}, parameters)


class TorchFunction:
    """A function of a kernel, or several as one, on tensors: called with its `inputs`, names in order, it
    returns its output, a tuple of outputs, or a dict if fused.
    """

    def __init__(self, functions: TorchFunctions, names: Names, by_name: bool) -> None:
        self._functions, self._names, self._by_name = functions, names, by_name
        self._evaluation: Evaluation = functions._shared.evaluation(names)
        # Known without compiling anything: Python compilers read plain attributes only.
        self._slots, self._results = _arguments(functions._kernel, names)
        self.inputs = tuple(name for name, _ in self._slots)
        self._shortcuts = Shortcuts(self._evaluation, False)
        self._shortcuts_out = Shortcuts(self._evaluation, True)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._by_name:
            return TorchFunctions.fused, (self._functions, self._names)
        return getattr, (self._functions, self._names[0])

    def __repr__(self) -> str:
        return f"<{' + '.join(self._names)} on tensors of {self._functions._kernel!r}>"

    @property
    def outputs(self) -> dict[str, Shape]:
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
        if is_compiling() or named or (parameters is None) is self._evaluation.is_open:
            return self._ordinary(states, out, parameters, named)
        given = states if parameters is None else (*states, parameters)
        shortcuts = self._shortcuts if out is None else self._shortcuts_out
        if shortcuts.kept and not is_unusual(given, out):
            for shortcut in shortcuts.kept:
                made = shortcut.call(given, out)
                if made is not None:
                    return made
        made = self._ordinary(states, out, parameters, named)
        if not self._by_name:
            shortcuts.remember(given, out)
        return made

    def _ordinary(
        self, states: tuple[Tensor, ...], out: Any, parameters: Any, named: Mapping[str, Tensor]
    ) -> Any:
        evaluation, kernel = self._evaluation, self._functions._shared
        tensors = as_tensors(kernel, self._slots, self._in_order(states, named))
        if evaluation.is_open or parameters is not None:
            batch = tensors[0].shape[: tensors[0].ndim - len(self._slots[0][1])]
            tensors.append(as_parameters(kernel, batch, tensors[0], parameters))
        if out is None:
            return self._given_out(evaluate(evaluation, tensors))
        results = as_results(self._results, out)
        refuse_derivatives([*tensors, *results], is_followed)
        write(results, evaluate(evaluation, tensors))
        return out

    def _in_order(self, states: tuple[Tensor, ...], named: Mapping[str, Tensor]) -> list[Tensor]:
        given = dict(zip(self.inputs, states, strict=False)) | dict(named)
        if len(states) + len(named) != len(self.inputs) or not all(name in given for name in self.inputs):
            got = [*([f"{len(states)} without a name"] if states else []), *named]
            raise InputError(
                f"expected the tensors {', '.join(self.inputs)}, got {', '.join(got) or 'none'}.",
                " + ".join(self._names),
            )
        return [given[name] for name in self.inputs]

    def _given_out(self, made: Sequence[Tensor]) -> Any:
        if self._by_name:
            return dict(zip(self._results, made, strict=True))
        return made[0] if len(made) == 1 else tuple(made)


def _arguments(kernel: Kernel, names: Names) -> tuple[tuple[tuple[str, Any], ...], Names]:
    """Names and shapes of the inputs, names of the outputs."""
    from forearm.codegen.functions import FUNCTIONS, arguments

    sizes = dict.fromkeys(("N", "10N", "b", "m"), 0) | {"n": kernel.arm.n}  # for inputs only n matters
    inputs, outputs = arguments([FUNCTIONS[name] for name in names], sizes, slides=False)
    return tuple((a.name, a.shape) for a in inputs), tuple(a.name for a in outputs.values())
