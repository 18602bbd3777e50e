"""The function of `fake_function` as a real kernel, and libraries of arrays that are installed: for tests
that need a GPU.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np
import pytest
from kernels.cuda.fake_function import N

from forearm.arm.arm import Arm
from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument
from forearm.kernels.compiled import Slot
from forearm.kernels.cuda.driver import Device, DeviceFunction, Launcher, NoDevice, driver
from forearm.kernels.cuda.ptx import assembly
from forearm.kernels.cuda.text import DEVICE_TARGETS, Launch, device_module, kernel_text
from forearm.kernels.cuda.unknown_arrays import INTERFACE
from forearm.symbols import Graph

NAMES = ("gain", "offset")


def gpu() -> Device:
    """The first device, or the test is skipped for the reason that there is none."""
    try:
        return driver().device(0)
    except NoDevice as error:
        pytest.skip(str(error))


def traced(has_parameters: bool) -> Traced:
    """sum = gain x + 2 y + offset, product = x y^T."""
    graph = Graph()
    x, y = ([graph.input(f"{name}[{k}]") for k in range(N)] for name in "xy")
    total = [a + 2.0 * b for a, b in zip(x, y, strict=True)]
    if has_parameters:
        gain, offset = (graph.parameter(name) for name in NAMES)
        total = [gain * a + 2.0 * b + offset for a, b in zip(x, y, strict=True)]
    results: dict[str, Any] = {
        "sum": np.array(total, dtype=object),
        "product": np.array([[a * b for b in y] for a in x], dtype=object),
    }
    inputs = (Argument("x", (N,), ""), Argument("y", (N,), ""))
    return Traced(graph, results, inputs, (Argument("sum", (N,), ""), Argument("product", (N, N), "")))


@cache
def ptx(dtype: str, has_parameters: bool, is_staged: bool, threads: int) -> str:
    """Kernels "for_all" and "for_each", or one that has no parameters, as PTX."""
    target, found = DEVICE_TARGETS[dtype], traced(has_parameters)
    launch = Launch(threads, is_staged)
    names = NAMES if has_parameters else ()
    texts = [kernel_text("for_all", found, target, launch, names, False)]
    if has_parameters:
        texts.append(kernel_text("for_each", found, target, launch, names, True))
    return assembly(device_module(texts, target))


class RealFunction:
    """The function, as `dispatch.run` takes it."""

    arm: Arm | None = None

    def __init__(
        self, dtype: str = "float64", parameters: bool = False, is_staged: bool = False, threads: int = 128
    ) -> None:
        self.dtype, self.threads = dtype, threads
        self.made = (dtype, parameters, is_staged, threads)
        open_ones = (Slot("parameters", (2,)),) if parameters else ()
        self.inputs = (Slot("x", (N,)), Slot("y", (N,)), *open_ones)
        self.outputs = (Slot("sum", (N,)), Slot("product", (N, N)))

    @property
    def shared(self) -> int:
        """Bytes of shared memory."""
        outputs = [Argument(slot.name, slot.shape, "") for slot in self.outputs]
        return Launch(self.threads, self.made[2]).shared(outputs, np.dtype(self.dtype).itemsize)

    def loaded(self, index: int, each: bool = False) -> DeviceFunction:
        """The kernel on a device."""
        device = driver().device(index)
        module = device.loaded(device.assembled(ptx(*self.made)))
        return module.function("for_each" if each else "for_all", self.shared)

    def launcher(self, index: int, each: bool = False) -> Launcher:
        """What launches it."""
        kernel = self.loaded(index, each)
        return kernel.launcher(self.threads, self.shared, len(self.inputs) + len(self.outputs))


class TorchMaker:
    """Arrays of PyTorch."""

    def __init__(self) -> None:
        self.torch: Any = pytest.importorskip("torch")
        if not self.torch.cuda.is_available():
            pytest.skip("this PyTorch has no CUDA")

    def array(self, values: Any, device: int = 0) -> Any:
        return self.torch.tensor(np.asarray(values), device=f"cuda:{device}")

    def values(self, array: Any) -> Any:
        return array.cpu().numpy() if hasattr(array, "cpu") else array.copy_to_host()

    def part(self, array: Any, where: Any) -> Any:
        return array[where]


class CupyMaker:
    """Arrays of CuPy."""

    def __init__(self) -> None:
        self.cupy: Any = pytest.importorskip("cupy")

    def array(self, values: Any) -> Any:
        return self.cupy.asarray(np.asarray(values))

    def values(self, array: Any) -> Any:
        return self.cupy.asnumpy(array)

    def part(self, array: Any, where: Any) -> Any:
        return array[where]


class JaxMaker:
    """Arrays of JAX."""

    def __init__(self) -> None:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        self.jax: Any = pytest.importorskip("jax")
        self.jax.config.update("jax_enable_x64", True)
        try:
            self.device = self.jax.devices("gpu")[0]
        except RuntimeError as error:
            pytest.skip(f"this JAX has no CUDA: {error}")

    def array(self, values: Any) -> Any:
        return self.jax.device_put(np.asarray(values), self.device) + 0

    def values(self, array: Any) -> Any:
        return np.asarray(array)


class Described:
    """An array with nothing but `__cuda_array_interface__`."""

    def __init__(self, owner: Any, **others: Any) -> None:
        self.owner, self.others, self.shape = owner, others, owner.shape

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self.owner.__cuda_array_interface__, **self.others}


class InterfaceMaker:
    """Arrays that no library knows."""

    def array(self, values: Any) -> Any:
        return Described(INTERFACE.sent(np.asarray(values), 0, 0))

    def values(self, array: Any) -> Any:
        return getattr(array, "owner", array).copy_to_host()


class Lent:
    """A tensor with nothing but DLPack."""

    def __init__(self, tensor: Any) -> None:
        self.tensor, self.shape = tensor, tuple(tensor.shape)

    def __dlpack_device__(self) -> Any:
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, stream: int | None = None) -> Any:
        return self.tensor.__dlpack__(stream=stream)


class LendingMaker:
    """Arrays that are lent."""

    def __init__(self) -> None:
        self.inner = TorchMaker()

    def array(self, values: Any) -> Any:
        return Lent(self.inner.array(values))

    def values(self, array: Any) -> Any:
        return self.inner.values(getattr(array, "tensor", array))


class NumbaMaker:
    """Arrays of Numba."""

    def __init__(self) -> None:
        self.cuda: Any = pytest.importorskip("numba.cuda")

    def array(self, values: Any) -> Any:
        return self.cuda.to_device(np.asarray(values))

    def values(self, array: Any) -> Any:
        return array.copy_to_host()


MAKERS: dict[str, Any] = {
    "torch": TorchMaker,
    "cupy": CupyMaker,
    "jax": JaxMaker,
    "interface": InterfaceMaker,
    "dlpack": LendingMaker,
    "numba": NumbaMaker,
}
