"""Handlers of compiled functions, registered with XLA under names derived from what they compute."""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forearm.errors import ForearmError
from forearm.frameworks.jax_handler_ir import (
    DEVICES,
    ENTRIES,
    HANDLER,
    LAUNCH,
    TABLE,
    HandledFunction,
    OfferedFunctions,
    cpu_text,
    cuda_text,
)
from forearm.kernels.cache import key_of
from forearm.kernels.cache_key import surroundings, told
from forearm.kernels.compiled import Compiled, Names, name_of
from forearm.kernels.elf import Loaded
from forearm.kernels.load_or_compile import About, kept_or_made
from forearm.kernels.native import object_code

if TYPE_CHECKING:
    from forearm.kernels.kernel import Kernel
    from forearm.kernels.rollout_request import CompiledRollout, RolloutRequest

# Looked up in the header: the version, and the offsets of functions.
VERSION, NEEDED = ("MAJOR", "MINOR"), ("Error_Create", "Stream_Get", "DeviceOrdinal_Get")
MISTAKEN = (
    b"forearm: a function was called with arrays of another number, rank or dtype than it was made for."
)
FAILED = b"forearm: CUDA's driver did not launch the kernel; CUDA_LAUNCH_BLOCKING=1 tells more."
_messages = {"mistaken": ctypes.create_string_buffer(MISTAKEN), "failed": ctypes.create_string_buffer(FAILED)}
_registered: dict[str, Any] = {}  # by name, what XLA may call for the life of the process
_registering = threading.Lock()
Handler = Callable[[], tuple[Loaded, object]]


def cpu_target(function: Compiled, part: str) -> str:
    """The name under which XLA finds a part of a compiled function."""
    return _target(function, "cpu", part, _on_cpu(function, part))


def rollout_target(function: CompiledRollout, part: str, of: HandledFunction) -> str:
    """The same for a rollout, whose handler contains its integer and real arguments."""
    request = function.request
    made_of = (request.key, part, of)
    return _registered_name(request.function, made_of, request.cpu, "cpu", _on_cpu(function, part, of))


def cuda_rollout_target(request: RolloutRequest, of: HandledFunction) -> str:
    """The same on NVIDIA GPUs."""

    def launches() -> dict[int, Any]:
        from forearm.kernels.cuda.device_rollout import loaded_rollout

        return {index: loaded_rollout(request, index) for index in devices_of_jax()}

    made_of = (request.key, "cuda", of)
    handler = _on_cuda(launches, lambda: of)
    return _registered_name(f"{request.function}_cuda", made_of, request.cpu, "cuda", handler)


def _on_cpu(function: Compiled | CompiledRollout, part: str, of: HandledFunction | None = None) -> Handler:
    def handler() -> tuple[Loaded, object]:
        native = function.part(part)
        offered, version = interface()
        memory = handler_in_memory("cpu", of or handled(function), offered)
        fill(memory, version, native.address)
        return memory, native

    return handler


def _on_cuda(launches: Callable[[], dict[int, Any]], of: Callable[[], HandledFunction]) -> Handler:
    def handler() -> tuple[Loaded, object]:
        from forearm.kernels.cuda.driver import driver

        offered, version = interface()
        loaded = launches()
        memory = handler_in_memory("cuda", of(), offered)
        fill(memory, version, driver().address("cuLaunchKernel"), loaded)
        return memory, loaded

    return handler


def devices_of_jax() -> list[int]:
    """The indices of NVIDIA GPUs that JAX sees; empty if JAX was installed without CUDA."""
    import jax

    try:
        return [device.local_hardware_id for device in jax.local_devices(backend="cuda")]
    except RuntimeError:
        return []


def cuda_target(kernel: Kernel, functions: Sequence[str], derived: Names, each: bool) -> str:
    """The same on NVIDIA GPUs: the function is loaded on all that JAX sees."""
    devices = devices_of_jax()
    function: Any = kernel.to(f"cuda:{devices[0]}").compiled(*functions, derived=derived)

    def launches() -> dict[int, Any]:
        return {index: function.loaded(index, each=each) for index in devices}

    handler = _on_cuda(launches, lambda: handled(function))
    return _target(function, "cuda", "each" if each else "batch", handler)


def _target(function: Any, platform: str, part: str, handler: Handler) -> str:
    request = function.request
    made_of = (request.key, part, platform, getattr(function, "fast", False))
    return _registered_name(f"{name_of(request)}_{part}", made_of, request.cpu, platform, handler)


def _registered_name(title: str, made_of: object, cpu: str, platform: str, handler: Handler) -> str:
    """The name under which the handler is registered; derived from the code, so that JAX's compilation cache
    finds the same function in a later process.
    """
    import jax

    name = f"forearm_{title}_{key_of(*told(made_of), surroundings(cpu))[:20]}"
    with _registering:
        if name not in _registered:
            memory, *used = handler()
            jax.ffi.register_ffi_target(
                name,
                jax.ffi.pycapsule(memory.addresses[HANDLER]),
                platform={"cpu": "cpu", "cuda": "CUDA"}[platform],
                api_version=1,
            )
            # States are rows: each device of a sharded batch can process its own.
            jax.ffi.register_ffi_target_as_batch_partitionable(name)
            _registered[name] = memory, used
    return name


def handled(function: Any) -> HandledFunction:
    """The data that the handler of a compiled function needs."""
    inputs, outputs = ([len(slot.shape) for slot in slots] for slots in (function.inputs, function.outputs))
    return HandledFunction(tuple(inputs), tuple(outputs), function.request.dtype)


def handler_in_memory(platform: str, of: HandledFunction, offered: OfferedFunctions) -> Loaded:
    """A handler with an empty table, from the cache or compiled now."""
    text = {"cpu": cpu_text, "cuda": cuda_text}[platform]

    def make() -> tuple[About, bytes]:
        about = {"arm": "", "functions": ["jax_handler"], "dtype": of.dtype, "part": platform}
        return about, object_code(text(of, offered))

    def place(_: About, memory: Loaded) -> Loaded:
        return memory

    return kept_or_made(("jax_handler", platform, of, offered), [HANDLER, TABLE], make, place)


def fill(
    memory: Loaded, version: tuple[int, int], function: int, launches: dict[int, Any] | None = None
) -> None:
    """Write the function to call, and for a GPU the launch on each device, into the table of a handler."""
    known = {"function": function, "major": version[0], "minor": version[1]}
    known |= {name: ctypes.addressof(message) for name, message in _messages.items()}
    values = dict(enumerate(known[name] for name in ENTRIES))
    for device, launch in (launches or {}).items():
        if device >= DEVICES:
            raise ForearmError(f"expected at most {DEVICES} GPUs, got cuda:{device}.", "k.jax")
        first = len(ENTRIES) + len(LAUNCH) * device
        values |= {first + k: int(getattr(launch, name)) for k, name in enumerate(LAUNCH)}
    for place, value in values.items():
        ctypes.c_int64.from_address(memory.addresses[TABLE] + 8 * place).value = value


@cache
def interface() -> tuple[OfferedFunctions, tuple[int, int]]:
    """XLA's interface according to the header included in jaxlib:
    the offsets of its functions, and its version.
    """
    import jax

    try:
        header = Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text(encoding="utf-8")
        major, minor = (int(re.findall(rf"#define XLA_FFI_API_{x} (\d+)", header)[0]) for x in VERSION)
        listed = re.findall(r"struct XLA_FFI_Api \{(.*?)\};", header, flags=re.S)[0]
        names = re.findall(r"_XLA_FFI_API_STRUCT_FIELD\(XLA_FFI_(\w+)\)", listed)
        offered = OfferedFunctions(*(names.index(name) for name in NEEDED))
    except (OSError, IndexError, ValueError):
        raise ForearmError(
            f"jaxlib {jax.lib.__version__} does not describe its interface for foreign "
            "functions; install another version: pip install 'forearm[jax]'.",
            "k.jax",
        ) from None
    return offered, (major, minor)
