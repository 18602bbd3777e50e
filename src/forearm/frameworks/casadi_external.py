"""A function of an arm as an external function of CasADi:
machine code in a shared object that CasADi loads, including derivatives.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forearm.errors import ForearmError, InputError, shorten
from forearm.kernels import cache, shared_object
from forearm.kernels.cache_key import surroundings, told
from forearm.kernels.compiled import CompileRequest
from forearm.kernels.locks import making
from forearm.reading.textfile import write_bytes
from forearm.values import check_choice

if TYPE_CHECKING:
    from forearm.kernels.kernel import Kernel

ORDERS = (0, 1, 2)  # orders of derivatives
_loaded: dict[Path, str] = {}  # files loaded by this process, with digests of their content


def casadi_function(
    kernel: Kernel,
    function: str | Iterable[str],
    file: str | os.PathLike[str] | None = None,
    derivatives: int = 2,
) -> Any:
    """The `casadi.Function`; see `Kernel.casadi`."""
    request, casadi = request_of(kernel, function, derivatives), _casadi()
    if not shared_object.is_possible():
        from forearm.frameworks.casadi_c import compiled_c

        return compiled_c(casadi, request, file, derivatives)
    code = shared_object_of(request, derivatives)
    name = "_and_".join(request.functions)
    if file is None:
        return _from_nowhere(casadi, name, code)
    path, digest = _written(file, code), hashlib.sha256(code).hexdigest()
    if _loaded.get(path) != digest and _is_in_memory(path):
        return _from_nowhere(casadi, name, code)
    made = casadi.external(name, str(path))
    _loaded[path] = digest
    return made


def write_shared_object(
    kernel: Kernel, function: str | Iterable[str], file: str | os.PathLike[str], derivatives: int = 2
) -> Path:
    """Write only the file, for CasADi elsewhere: `casadi.external("inverse_dynamics", "./panda.so")`. It is
    for Linux, and the kernel's target processor.

    Args:
        kernel: from `fa.compile`; with `cpu="x86-64-v3"` the file runs on most machines of the last ten
            years.
        function, file, derivatives: as in `Kernel.casadi`.
    """
    request = request_of(kernel, function, derivatives)
    if not shared_object.is_possible():
        raise ForearmError(
            "shared objects can be written on Linux for 64-bit x86 and Arm only; write C "
            "instead (forearm.frameworks.casadi_c.write_c) and compile it.",
            "casadi",
        )
    return _written(file, shared_object_of(request, derivatives))


def request_of(kernel: Kernel, function: str | Iterable[str], derivatives: int) -> CompileRequest:
    """The checked compile request."""
    from forearm.codegen.functions import FUNCTIONS

    names = (
        (function,)
        if isinstance(function, str)
        else tuple(function)
        if isinstance(function, Iterable)
        else ()
    )
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"expected one function name or several, got {shorten(function)}.", "casadi")
    for name in names:
        check_choice(name, FUNCTIONS, "casadi, function")
    if isinstance(derivatives, bool) or derivatives not in ORDERS:
        raise InputError(f"expected 0, 1 or 2, got {shorten(derivatives)}.", "casadi", "derivatives")
    if kernel.dtype != "float64":
        raise InputError(
            "CasADi computes in float64, and this kernel in float32; compile a float64 kernel.", "casadi"
        )
    names = tuple(dict.fromkeys(names))
    return CompileRequest(kernel.arm, names, kernel.dtype, tuple(kernel.parameters), kernel.cpu)


def shared_object_of(request: CompileRequest, derivatives: int) -> bytes:
    """The shared object, from the cache or compiled now."""
    key = cache.key_of("casadi", derivatives, *told((request,)), surroundings(request.cpu))
    kept = cache.read(key)
    if kept is not None:
        return kept[1]
    with making():
        from forearm.frameworks.casadi_functions import functions_of
        from forearm.frameworks.casadi_ir import exported, module_of
        from forearm.kernels.native import host, object_code

        functions = functions_of(request, derivatives)
        text = module_of(functions, host(request.dtype, 1, request.cpu))
        code = shared_object.shared_object(object_code(text, request.cpu), exported(functions))
    part = f"casadi, {derivatives} derivatives"
    about = {"arm": request.arm.name, "functions": request.functions, "dtype": request.dtype, "part": part}
    cache.write(key, about, code)
    return code


def _casadi() -> Any:
    try:
        import casadi
    except ImportError as error:
        raise ForearmError(
            "CasADi is not installed; install it with `pip install forearm[casadi]`.", "casadi"
        ) from error
    return casadi


def _from_nowhere(casadi: Any, name: str, code: bytes) -> Any:
    """The function from a temporary file that is removed afterwards: loaded code stays in memory."""
    with tempfile.TemporaryDirectory(prefix="forearm") as folder:
        path = Path(folder) / f"{name}.so"
        path.write_bytes(code)
        try:
            return casadi.external(name, str(path))
        except RuntimeError as error:
            raise ForearmError(
                f"CasADi cannot load {path}: {shorten(error, 300)}. If that folder does not "
                "allow executing code, pass file= with a path elsewhere, or set TMPDIR.",
                "casadi",
            ) from error


def _is_in_memory(path: Path) -> bool:
    """Whether a file of this name is loaded: the system would return that one instead of the new file."""
    try:
        return str(path) in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return path in _loaded


def _written(file: str | os.PathLike[str], code: bytes) -> Path:
    """Write the file, completely or not at all."""
    try:
        path = Path(os.path.abspath(file))
    except TypeError:
        raise InputError(
            f"expected a path such as panda.so, got {shorten(file)}.", "casadi", "file"
        ) from None
    write_bytes(path, code)
    return path
