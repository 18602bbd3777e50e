"""A DLL of Windows in this process on Linux: its sections in memory, and its functions called by the calling
convention of Windows, for which LLVM writes a bridge.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from forearm.kernels.elf import Loaded
from forearm.kernels.native import loaded, object_code

C = {"ptr": ctypes.c_void_p, "i32": ctypes.c_int32, "i64": ctypes.c_int64, "i8": ctypes.c_uint8}
C |= {"double": ctypes.c_double}


class LoadedDll:
    """The addresses of its functions by name, as a loader finds them."""

    def __init__(self, code: bytes) -> None:
        assert code[:2] == b"MZ"
        (start,) = struct.unpack_from("<I", code, 60)
        assert code[start : start + 4] == b"PE\0\0"
        machine, count, _, _, _, size, flags = struct.unpack_from("<HHIIIHH", code, start + 4)
        assert (machine, flags & 0x2000) == (0x8664, 0x2000)
        optional = start + 24
        (whole,) = struct.unpack_from("<I", code, optional + 56)
        self.memory = mmap.mmap(-1, whole, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.sections: dict[str, tuple[int, int, int]] = {}
        for k in range(count):
            fields = struct.unpack_from("<8sIIIIIIHHI", code, optional + size + 40 * k)
            name, length, at, stored, offset, *_, kind = fields
            used = min(stored, length)
            self.memory[at : at + used] = code[offset : offset + used]
            self.sections[name.rstrip(b"\0").decode()] = (at, length, kind)
        self.directories = struct.unpack_from("<32I", code, optional + 112)
        self.addresses = self._exports(self.directories[0])

    def _exports(self, at: int) -> dict[str, int]:
        count, functions, names, ordinals = struct.unpack_from("<IIII", self.memory, at + 24)
        found = {}
        for k in range(count):
            (name,) = struct.unpack_from("<I", self.memory, names + 4 * k)
            (number,) = struct.unpack_from("<H", self.memory, ordinals + 2 * k)
            (address,) = struct.unpack_from("<I", self.memory, functions + 4 * number)
            found[self.memory[name : self.memory.find(b"\0", name)].decode()] = self.base + address
        assert list(found) == sorted(found), "loaders search by halving"
        return found

    def function(self, name: str, result: str, *given: str) -> Callable[..., Any]:
        """One of its functions, with LLVM's words for what it returns and takes."""
        bridge = _bridge(result, given)
        call = ctypes.CFUNCTYPE(C[result], ctypes.c_void_p, *(C[kind] for kind in given))
        through = call(bridge.addresses["through"])
        return lambda *values: through(self.addresses[name], *values)


@cache
def _bridge(result: str, given: tuple[str, ...]) -> Loaded:
    listed = ", ".join(f"{kind} %a{k}" for k, kind in enumerate(given))
    comma = ", " if given else ""
    text = (
        f"define {result} @through(ptr %function{comma}{listed}) nounwind {{\n"
        f"  %r = call win64cc {result} %function({listed})\n  ret {result} %r\n}}\n"
    )
    return loaded(object_code(text), ["through"])
