"""Compiled functions called with the addresses of tensors, and the names by which operators refer to them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import torch

from forearm.errors import InputError
from forearm.kernels.cache_key import told
from forearm.kernels.compiled import LONGEST_TRACED, Compiled, Names, Native, Shape, Slot
from forearm.kernels.kernel import Kernel
from forearm.kernels.thread_pool import SMALL, WORK, check_stack, shared_rows, worker_count

Tensor = Any  # torch.Tensor, which type checkers see only if torch is installed
# addresses of inputs, parameters and outputs, and the number of states
Launch = Callable[[list[int], int], None]
DTYPES = {"float64": torch.float64, "float32": torch.float32}
PARAMETERS = "parameters"
DIGITS = 20  # characters of the digest that identifies a kernel
DEEPEST = 2  # derivatives of derivatives
# Weak references: by the digest of what they compute, and by the names of operators.
_devices: WeakValueDictionary[str, TensorKernel] = WeakValueDictionary()
_evaluations: WeakValueDictionary[str, Evaluation] = WeakValueDictionary()


class TensorKernel:
    """A kernel on every device that its tensors may be on, identified by what it computes: kernels of the
    same arm share one, which lives as long as any of them, in this process or in a fork.
    """

    def __init__(self, kernel: Kernel, key: str) -> None:
        self.kernel, self.key = kernel, key
        self.dtype = DTYPES[kernel.dtype]
        self.own = torch.tensor(list(kernel.parameters.values()), dtype=self.dtype)
        self._on: dict[str, Kernel] = {kernel.device: kernel}
        self._evaluations: dict[str, Evaluation] = {}

    @cached_property
    def is_long(self) -> bool:
        """Whether traced derivatives of accelerations would take minutes to compile,
        and an alternative exists.
        """
        from forearm.kernels.joint_loop import can_loop

        arm = self.kernel.arm
        return arm.n > LONGEST_TRACED and not self.kernel.parameters and can_loop(arm)

    def on(self, device: torch.device) -> Kernel:
        """The kernel for a device."""
        name = "cpu" if device.type == "cpu" else f"cuda:{device.index}"
        found = self._on.get(name)
        if found is None:
            found = self._on.setdefault(name, self.kernel.to(name))
        return found

    def evaluation(self, names: Names, derived: Names = ()) -> Evaluation:
        """Functions as one, differentiated by these modes in turn."""
        token = "/".join([self.key, "+".join(names), *derived])
        return self.kept(token, lambda: Evaluation(self, token, names, derived))

    def kept(self, token: str, make: Callable[[], Evaluation]) -> Evaluation:
        """The evaluation of this name, created if there is none."""
        found = self._evaluations.get(token)
        if found is None:
            found = self._evaluations.setdefault(token, make())
            _evaluations[token] = found
        return found


def tensor_kernel(kernel: Kernel) -> TensorKernel:
    """The instance shared by all kernels that compute the same."""
    parts = told((kernel.arm, kernel.dtype, list(kernel.parameters), kernel.cpu, kernel.fast))
    key = hashlib.sha256(repr(parts).encode()).hexdigest()[:DIGITS]
    found = _devices.get(key)
    if found is None:
        found = _devices.setdefault(key, TensorKernel(kernel, key))
    return found


def evaluation_of(token: str) -> Evaluation:
    """The evaluation that an operator refers to."""
    found = _evaluations.get(token)
    return _found(token) if found is None else found


def _found(token: str) -> Evaluation:
    key, names, *derived = token.split("/")
    kernel = _devices.get(key)
    if kernel is None:
        raise InputError(
            f"forearm::evaluate, {names}: the kernel that this graph was built with is gone; keep a "
            "reference to it, or compile the same arm again with fa.compile and access its .torch before "
            "the graph runs."
        )
    if names.startswith("simulate "):
        from forearm.frameworks.torch_rollout import rollout_of

        return rollout_of(kernel, names, tuple(derived))
    return kernel.evaluation(tuple(names.split("+")), tuple(derived))


class Evaluation:
    """Functions of a kernel as one, differentiated or not, from tensors to tensors.

    Tensors have the shape of a state's array after any number of batch dimensions, which are the same for
    all; `parameters` come last, if some are open, and may be one row for all states, as may other inputs
    listed by index in `shareable`.
    """

    def __init__(self, kernel: TensorKernel, token: str, names: Names, derived: Names):
        self.kernel, self.token, self.names, self.derived = kernel, token, names, derived
        self.is_open = bool(kernel.kernel.parameters)
        self.shareable: Shape = (-1,) if self.is_open else ()
        self.is_implicit = names == ("forward_dynamics",) and not derived and kernel.is_long
        self._launches: dict[tuple[torch.device, bool], Launch] = {}
        self._then: dict[str, Evaluation] = {}

    def __repr__(self) -> str:
        return f"<{' of '.join([*reversed(self.derived), ' + '.join(self.names)])} for tensors>"

    # Shapes, which are the same on every device.

    @cached_property
    def _slots(self) -> tuple[tuple[Slot, ...], tuple[Slot, ...]]:
        compiled = self.kernel.kernel.compiled(*self.names, derived=self.derived)
        return compiled.inputs, compiled.outputs

    @property
    def inputs(self) -> tuple[Slot, ...]:
        """The inputs, parameters last if some are open."""
        return self._slots[0]

    @property
    def outputs(self) -> tuple[Slot, ...]:
        """The outputs."""
        return self._slots[1]

    @cached_property
    def _is_plain(self) -> bool:
        """Whether all inputs have the same shape, with one axis."""
        return len({slot.shape for slot in self.inputs}) == 1 and len(self.inputs[0].shape) == 1

    def batch_of(self, tensors: Sequence[Tensor]) -> Shape:
        """The batch dimensions."""
        shape = tuple(tensors[0].shape)
        return shape[: len(shape) - len(self.inputs[0].shape)]

    def is_shared(self, tensors: Sequence[Tensor]) -> bool:
        """Whether parameters are one row for many states."""
        return self.is_open and tensors[-1].ndim == 1 and tensors[0].ndim > len(self.inputs[0].shape)

    @cached_property
    def _alike(self) -> list[int]:
        """For each output the index of an input of its shape, -1 if there is none: empty_like is faster."""
        shapes = [slot.shape for slot in self.inputs if slot.name != PARAMETERS]
        return [shapes.index(slot.shape) if slot.shape in shapes else -1 for slot in self.outputs]

    def empty(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Uninitialised results for contiguous inputs."""
        return [
            torch.empty_like(tensors[k])
            if k >= 0
            else tensors[0].new_empty((*self.batch_of(tensors), *slot.shape))
            for k, slot in zip(self._alike, self.outputs, strict=True)
        ]

    def in_front(self, size: int, dims: Sequence[int | None], tensors: Sequence[Tensor]) -> list[Tensor]:
        """Tensors with a mapped dimension first; unmapped ones are repeated, unless they are shared."""
        count, ranks = len(tensors), [len(slot.shape) for slot in self.inputs]
        whole = tensors[0] if dims[0] is None else tensors[0].movedim(dims[0], 0)
        inner = self.batch_of([whole])[dims[0] is not None :]
        moved = []
        for k, (dim, t) in enumerate(zip(dims, tensors, strict=True)):
            shared = (k in self.shareable or k - count in self.shareable) and (
                t.ndim - (dim is not None) == ranks[k]
            )
            if dim is None:
                moved.append(t if shared else t.expand(size, *t.shape))
            elif shared:
                shape = self.inputs[k].shape
                spread = t.movedim(dim, 0).reshape(size, *(1 for _ in inner), *shape)
                moved.append(spread.expand(size, *inner, *shape))
            else:
                moved.append(t.movedim(dim, 0))
        return moved

    # Derivatives.

    def then(self, way: str) -> Evaluation:
        """This evaluation differentiated: "reverse" or "forward"."""
        found = self._then.get(way)
        if found is not None:
            return found
        if "numeric_inverse_kinematics" in self.names:
            raise InputError(
                "it has no derivatives; use inverse_kinematics, the closed form, or solve "
                "with k.torch.jacobian at the result.",
                "k.torch",
                "numeric_inverse_kinematics",
            )
        if len(self.derived) >= DEEPEST:
            raise InputError(
                "third derivatives are not supported; use finite differences, or "
                "differentiate a function that is a derivative already, such as "
                "inverse_dynamics_derivatives.",
                "k.torch",
                " + ".join(self.names),
            )
        return self._then.setdefault(way, self.kernel.evaluation(self.names, (*self.derived, way)))

    def beside(self, name: str) -> Evaluation:
        """Another function of the same kernel."""
        return self.kernel.evaluation((name,))

    # Machine code.

    def __call__(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The results, in new tensors, for tensors of the right shapes, dtype and device."""
        ready = [t if t.is_contiguous() and not t.is_neg() else _in_memory(t) for t in tensors]
        made = self.empty(ready)
        addresses = [t.data_ptr() for t in (*ready, *made)]
        first = ready[0]
        count = first.numel() // self.inputs[0].size
        if 0 in addresses:
            if not count or first.is_meta:
                return made
            ready = [_in_memory(t) for t in ready]
            addresses = [t.data_ptr() for t in (*ready, *made)]
            if 0 in addresses:
                name = self.inputs[addresses.index(0)].name
                raise InputError("the memory of this tensor was freed; it has a shape, but no data.", name)
        if first.is_cpu and self._is_much(count):
            self._by_threads([*ready, *made], count)
        else:
            self.launch(first.device, self.is_open and not self.is_shared(ready))(addresses, count)
        return made

    def _on(self, device: torch.device) -> Any:
        return self.kernel.on(device).compiled(*self.names, derived=self.derived)

    def launch(self, device: torch.device, each: bool = False) -> Launch:
        """The launcher on a device; `each`: parameters have a row per state."""
        found = self._launches.get((device, each))
        if found is None:
            compiled = self._on(device)
            make = _on_cpu if device.type == "cpu" else _on_cuda
            found = self._launches.setdefault((device, each), make(compiled, device, each))
        return found

    def launch_rows(self, device: torch.device, rows: int, each: bool) -> Callable[..., None]:
        """The launcher for this many states on a device, with individual parameters or not: called with
        addresses one by one, and the count.
        """
        compiled = self._on(device)
        if device.type == "cpu":
            return _called(compiled.part("single" if rows == 1 else "each" if each else "batch"))
        start, stream_of = compiled.launcher(each=each), torch._C._cuda_getCurrentRawStream
        index = device.index
        return lambda *given: start(stream_of(index), given[:-1], given[-1])

    def most_on(self, device: torch.device) -> int:
        """Maximum number of states computed by a single thread."""
        return self._most if device.type == "cpu" else 1 << 62

    @cached_property
    def _most(self) -> int:
        compiled: Compiled = self._on(torch.device("cpu"))
        return max(1, WORK // compiled.operations)

    def _is_much(self, count: int) -> bool:
        return count > self._most and torch.get_num_threads() > 1

    def _by_threads(self, arrays: Sequence[Tensor], count: int) -> None:
        compiled: Compiled = self._on(torch.device("cpu"))
        shared = self.is_shared(arrays[: len(self.inputs)])
        native = compiled.part("each" if self.is_open and not shared else "batch")
        size = arrays[0].element_size()
        steps = [slot.size * size for slot in (*self.inputs, *self.outputs)]
        if shared:
            steps[len(self.inputs) - 1] = 0
        workers = min(worker_count(count, None, compiled.operations), torch.get_num_threads())
        shared_rows(native, [t.detach().numpy() for t in arrays], steps, count, workers)

    def check(self, tensors: Sequence[Tensor]) -> None:
        """Check the contract of the operator, which a graph or a caller of `torch.ops` might violate."""
        first, count = tensors[0], len(self.inputs)
        shape, dtype, device = first.shape, self.kernel.dtype, first.device
        if (
            self._is_plain
            and len(tensors) == count
            and shape[-1:] == self.inputs[0].shape
            and all(t.shape == shape and t.dtype is dtype and t.device == device for t in tensors)
        ):
            return
        batch = self.batch_of(tensors)
        shapes = [(*batch, *slot.shape) for slot in self.inputs]
        for k in self.shareable:
            if len(tensors) == count and tensors[k].ndim == len(self.inputs[k].shape):
                shapes[k] = self.inputs[k].shape
        if len(tensors) != count or any(
            tuple(t.shape) != wanted or t.dtype != dtype or t.device != device
            for t, wanted in zip(tensors, shapes, strict=True)
        ):
            raise InputError(
                f"forearm::evaluate, {self!r}: expected tensors of {self.kernel.kernel.dtype} on one device "
                f"of shapes {shapes}, got {[(tuple(t.shape), t.dtype, str(t.device)) for t in tensors]}."
            )


def _in_memory(tensor: Tensor) -> Tensor:
    """A tensor with contiguous data in memory."""
    if tensor.is_neg() or tensor._is_zerotensor():
        tensor = tensor.clone()
    return tensor.contiguous()


def _on_cpu(compiled: Compiled, _: torch.device, each: bool) -> Launch:
    one_state = _called(compiled.part("single"))
    many_states = _called(compiled.part("each" if each else "batch"))

    def launch(addresses: list[int], count: int) -> None:
        (one_state if count == 1 else many_states)(*addresses, count)

    return launch


def _called(native: Native) -> Callable[..., None]:
    """Call the machine code, after a stack check if it needs much of the stack."""
    if native.stack <= SMALL:
        return native.call  # type: ignore[no-any-return]

    def call(*given: int) -> None:
        check_stack(native)
        native.call(*given)

    return call


def _on_cuda(compiled: Any, device: torch.device, each: bool) -> Launch:
    start, stream_of, index = compiled.launcher(each=each), torch._C._cuda_getCurrentRawStream, device.index

    def launch(addresses: list[int], count: int) -> None:
        start(stream_of(index), tuple(addresses), count)

    return launch
