"""The functions of CUDA's driver library by ctypes, and its errors in words.

Nothing is loaded at import. In a process forked from one that uses the driver, an error is raised: CUDA does
not work there.
"""

from __future__ import annotations

import ctypes
import os
import sys
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_void_p
from typing import Any

from forearm.errors import ForearmError, OutOfMemory

ELSEWHERE = "Everything else in forearm works on the CPU: fa.compile(arm)."
LIBRARIES = ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libcuda.so")
# CUresult
OUT_OF_MEMORY, STUB, NONE_THERE, MISMATCH, NO_COMPATIBILITY = 2, 34, 100, 803, 804
CAPTURING = range(900, 910)

# Types of arguments by letter: a place in memory, which ctypes takes as byref(...), an address or None;
# integers; a size; bytes; a place for a text.
LETTERS: dict[str, Any] = {
    "p": c_void_p,
    "i": c_int,
    "u": c_uint,
    "z": c_size_t,
    "s": c_char_p,
    "t": POINTER(c_char_p),
}
SIGNATURES = {
    "cuInit": "u",
    "cuDriverGetVersion": "p",
    "cuGetErrorName": "it",
    "cuGetErrorString": "it",
    "cuDeviceGetCount": "p",
    "cuDeviceGet": "pi",
    "cuDeviceGetName": "pii",
    "cuDeviceGetAttribute": "pii",
    "cuDeviceTotalMem_v2": "pi",
    "cuDevicePrimaryCtxRetain": "pi",
    "cuCtxGetCurrent": "p",
    "cuCtxPushCurrent_v2": "p",
    "cuCtxPopCurrent_v2": "p",
    "cuCtxSynchronize": "",
    "cuLinkCreate_v2": "uppp",
    "cuLinkAddData_v2": "piszsupp",
    "cuLinkComplete": "ppp",
    "cuLinkDestroy": "p",
    "cuModuleLoadData": "ps",
    "cuModuleGetFunction": "pps",
    "cuFuncGetAttribute": "pip",
    "cuFuncSetAttribute": "pii",
    "cuLaunchKernel": "puuuuuuuppp",
    "cuMemGetInfo_v2": "pp",
    "cuMemAlloc_v2": "pz",
    "cuMemFree_v2": "p",
    "cuMemAllocAsync": "pzp",
    "cuMemFreeAsync": "pp",
    "cuMemHostAlloc": "pzu",
    "cuMemFreeHost": "p",
    "cuMemcpyHtoDAsync_v2": "ppzp",
    "cuMemcpyDtoHAsync_v2": "ppzp",
    "cuMemcpyDtoDAsync_v2": "ppzp",
    "cuStreamCreate": "pu",
    "cuStreamDestroy_v2": "p",
    "cuStreamSynchronize": "p",
    "cuStreamWaitEvent": "ppu",
    "cuStreamIsCapturing": "pp",
    "cuEventCreate": "pu",
    "cuEventDestroy_v2": "p",
    "cuEventRecord": "pp",
    "cuEventSynchronize": "p",
    "cuEventElapsedTime": "ppp",
    "cuPointerGetAttribute": "pip",
}


class NoDevice(ForearmError):
    """No GPU can be used; the message says what is missing."""


class DriverError(ForearmError):
    """A call of CUDA's driver failed."""

    code = 0  # its CUresult


class OutOfDeviceMemory(DriverError, OutOfMemory):
    """Out of device memory, or of host memory that can be pinned."""


class _DriverUse:
    """Whether this process has initialised the driver, or was forked from one that had; `flag` makes that
    visible to machine code.
    """

    def __init__(self) -> None:
        self.is_used, self.flag = False, ctypes.c_int64(0)

    @property
    def is_forked(self) -> bool:
        """Whether it was forked."""
        return bool(self.flag.value)

    @is_forked.setter
    def is_forked(self, value: bool) -> None:
        self.flag.value = value


process = _DriverUse()


def check_process() -> None:
    """Raise in a process that was forked from one that uses the driver."""
    if process.is_forked:
        raise DriverError(
            "cuda: this process was forked from one that had used the GPU, and CUDA does not work after a "
            "fork. Start processes by 'spawn' or 'forkserver' (multiprocessing.set_start_method), or use the "
            "GPU only in the children."
        )


def _in_child() -> None:
    process.is_forked |= process.is_used


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def load_library() -> Any:
    """The driver's library on this system."""
    for name in LIBRARIES:
        try:
            return ctypes.CDLL(name)  # its calls release Python's GIL
        except OSError:
            continue
    raise NoDevice(
        f"cuda: found no NVIDIA driver ({LIBRARIES[0]}); install it, or make it visible in a container "
        f"(docker run --gpus all). {ELSEWHERE}"
    )


class DriverApi:
    """The functions of a library, by their names."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self._found: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """The raw function: it returns a CUresult."""
        found = self._found.get(name)
        if found is None:
            try:
                found = getattr(self.library, name)
            except AttributeError:
                raise NoDevice(
                    f"cuda: this driver is too old, it has no {name}; install a newer NVIDIA driver. "
                    f"{ELSEWHERE}"
                ) from None
            found.argtypes, found.restype = [LETTERS[letter] for letter in SIGNATURES[name]], c_int
            self._found[name] = found
        return found

    def __contains__(self, name: str) -> bool:
        return hasattr(self.library, name)

    def address(self, name: str) -> int:
        """The address of a function, for machine code that calls it."""
        return ctypes.cast(self[name], c_void_p).value or 0

    def __call__(self, what: str, name: str, *arguments: Any) -> None:
        """Call a function; `what` describes the purpose in error messages."""
        check_process()
        code = self[name](*arguments)
        if code:
            raise self.error(code, what, name)

    def number(self, what: str, name: str, *arguments: Any, kind: Any = c_int) -> int:
        """The number or handle that a function writes to its first argument."""
        made = kind()
        self(what, name, ctypes.byref(made), *arguments)
        return int(made.value or 0)

    def quietly(self, name: str, *arguments: Any) -> None:
        """Release a handle at the end of its life, ignoring errors: the driver may be gone."""
        if not process.is_forked:
            self[name](*arguments)

    def words(self, code: int) -> str:
        """A CUresult's name and description."""
        texts = []
        for name in ("cuGetErrorName", "cuGetErrorString"):
            text = c_char_p()
            self[name](code, ctypes.byref(text))
            texts.append((text.value or b"").decode("utf-8", "replace"))
        return f"{texts[0]}: {texts[1]}" if texts[0] else f"CUresult {code}"

    def error(self, code: int, what: str, name: str) -> DriverError:
        """The exception for a result."""
        kind = OutOfDeviceMemory if code == OUT_OF_MEMORY else DriverError
        text = f"cuda, {what}: {name} failed with {self.words(code)}."
        if code == OUT_OF_MEMORY:
            text += " Pass fewer states at once, or free memory (other arrays, other processes)."
        elif code in CAPTURING:
            text += (
                " A stream was being captured: call the function once before, so that nothing is left to "
                "load or to allocate."
            )
        elif code >= 700:
            text += " The context of this process may be lost: restart the process."
        error = kind(text)
        error.code = code
        return error


# Why there is no device, by the result of cuInit.
WHY = {
    NONE_THERE: "found NVIDIA's driver, but no GPU; check nvidia-smi and CUDA_VISIBLE_DEVICES.",
    STUB: "found a stub library instead of the driver; install NVIDIA's driver.",
    MISMATCH: "the driver's library and the system's driver have different versions; restart the machine.",
    NO_COMPATIBILITY: "the driver's compatibility library does not support this GPU; remove it from the "
    "library path (LD_LIBRARY_PATH).",
}


def initialised(library: Any) -> DriverApi:
    """The functions of a library, with the driver initialised."""
    check_process()
    api = DriverApi(library)
    code = api["cuInit"](0)
    if code:
        why = WHY.get(code) or f"the driver could not start ({api.words(code)}); check nvidia-smi."
        raise NoDevice(f"cuda: {why} {ELSEWHERE}")
    process.is_used = True
    return api
