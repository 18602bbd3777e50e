"""A step function with state, scanned over the rows of arrays,
in machine code loaded from the cache or compiled now.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError, OutOfMemory, shorten
from forearm.kernels.arrays import as_numbers
from forearm.kernels.compiled import Native
from forearm.kernels.elf import Loaded
from forearm.kernels.fastcall import DATA, is_possible
from forearm.kernels.load_or_compile import About, kept_or_made
from forearm.kernels.native import function_of
from forearm.kernels.thread_pool import check_stack
from forearm.kernels.traced_function import content_of
from forearm.values import names_in

if TYPE_CHECKING:
    from forearm.codegen.functions import Traced

Floats = NDArray[np.float64]
Sizes = dict[str, int]
Laid = tuple[Floats, int, int]  # an array, its address and the bytes between two rows
FLOAT64 = np.dtype(np.float64)
SCAN = "scan"  # the function in its object


class CompiledScan:
    """A step scanned over rows of arrays, compiled; created by `compile_scan`.

    `carry` and `shared` are sizes by name of the state and of inputs shared by all rows, `rows` those of the
    inputs with rows, `outputs` those of the output rows.
    """

    def __init__(self, name: str, carry: Sizes, shared: Sizes, rows: Sizes, outputs: Sizes, native: Native):
        self.name, self._native = name, native
        self.carry, self.shared, self.rows, self.outputs = carry, shared, rows, outputs
        self._pack = Struct(f"={len(carry) + len(shared) + 2 * (len(rows) + len(outputs))}q").pack

    def __repr__(self) -> str:
        return f"<scan {self.name}({', '.join((*self.carry, *self.rows, *self.shared))}), compiled>"

    def __call__(
        self,
        carry: Mapping[str, ArrayLike],
        rows: Mapping[str, ArrayLike],
        shared: Mapping[str, ArrayLike] | None = None,
        *,
        backwards: bool = False,
        out: Mapping[str, Floats] | None = None,
    ) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """The state after the last row, (c,) each, and the outputs, (N, size) each: row i from row i of the
        inputs. The values are those of the graph: a NaN in a branch that is not chosen does not propagate.

        Args:
            carry: the state before the first row, (c,) each; not modified.
            rows: inputs (N, size), by name. Views of float64 are read in place, with any stride between rows,
                and may overlap; others are copied.
            shared: inputs (size,) that are the same for all rows.
            backwards: start with the last row.
            out: arrays (N, size) to fill, by name; outputs that are not named are new arrays.
        """
        _check_names(self, carry, rows, shared, out)
        ends = {name: _vector(self, "carry", name, carry, size).copy() for name, size in self.carry.items()}
        fixed = [_vector(self, "shared", name, shared or {}, size) for name, size in self.shared.items()]
        read: list[Laid] = []
        for name, size in self.rows.items():
            read.append(_rows(self, name, rows[name], size, read))
        count = len(read[0][0])
        made = _made(self, count, out or {})
        written = [(a, address_of(a), a.strides[0]) for a in made.values()]
        if out:
            written = _apart(written, read)
        numbers = [address_of(array) for array in (*ends.values(), *fixed)]
        for _, address, stride in (*read, *written):
            numbers += (address + (count - 1) * stride, -stride >> 3) if backwards else (address, stride >> 3)
        check_stack(self._native)
        self._native.call(self._pack(*numbers), count)
        for array, (filled, *_) in zip(made.values(), written, strict=True) if out else ():
            if array is not filled:
                array[...] = filled
        return ends, made


def compile_scan(
    traced: Traced | Callable[[], Traced],
    name: str = "step",
    *,
    carry: Sequence[str] = (),
    shared: Sequence[str] = (),
    key: tuple[object, ...] | None = None,
    arm: Arm | None = None,
) -> CompiledScan:
    """A step on the graph as machine code that scans the rows of arrays with a state, one lane of float64,
    from the cache if the same was compiled before.

    Args:
        traced: the step, its arrays with one axis each, or a function that traces it. Inputs named neither in
            `carry` nor in `shared` have rows; there must be at least one.
        name: of the step, for messages and for the listing of the cache.
        carry: inputs that are the state; the outputs of the same names and sizes are the next state.
        shared: inputs that are the same for all rows.
        key: everything that the step is traced from: if given, nothing is traced when the code is cached.
            Without one, code is identified by everything that the graph computes.
        arm: the arm that the function belongs to, for the listing of the cache.
    """
    where = f"compile_scan, {name}"
    carried, common = tuple(names_in(carry, f"{where}, carry")), tuple(names_in(shared, f"{where}, shared"))
    made_of: object = key
    if key is None:
        found = traced() if callable(traced) else traced
        _check_roles(where, found, carried, common)
        traced, made_of = found, content_of(found, where)

    def make() -> tuple[About, bytes]:
        from forearm.kernels.llvm import stack_of
        from forearm.kernels.native import host, object_code
        from forearm.kernels.scan_ir import scan_text

        step = traced() if callable(traced) else traced
        _check_roles(where, step, carried, common)
        text = scan_text(step, carried, common, host("float64", 1))
        about = {
            "arm": "" if arm is None else arm.name,
            "functions": [name],
            "dtype": "float64",
            "part": "scan",
            "inputs": [(a.name, a.size) for a in step.inputs],
            "outputs": [(a.name, a.size) for a in step.outputs],
            "stack": stack_of(text),
        }
        return about, object_code(text)

    def place(about: About, memory: Loaded) -> CompiledScan:
        inputs, outputs = ({a: int(size) for a, size in about[k]} for k in ("inputs", "outputs"))
        call = function_of(memory, SCAN, ctypes.c_void_p, ctypes.c_int64)
        return CompiledScan(
            name,
            {a: inputs[a] for a in carried},
            {a: inputs[a] for a in common},
            {a: size for a, size in inputs.items() if a not in (*carried, *common)},
            {a: size for a, size in outputs.items() if a not in carried},
            Native(call, memory.addresses[SCAN], stack=int(about["stack"])),
        )

    return kept_or_made(("scan", name, made_of, carried, common), [SCAN], make, place)


def _check_roles(where: str, step: Traced, carry: Sequence[str], shared: Sequence[str]) -> None:
    """Check that the step's arrays can be carried, shared and scanned as requested."""
    inputs, outputs = ({a.name: a for a in some} for some in (step.inputs, step.outputs))
    for a in step.arrays:
        if len(a.shape) != 1:
            raise InputError(f"expected arrays with one axis, got {a.name} {a.shape}.", where)
    for what, names in (("carry", carry), ("shared", shared)):
        for name in names:
            if [*carry, *shared].count(name) > 1:
                raise InputError(f"{name} is named twice in carry and shared; name it once.", where)
            if name not in inputs:
                raise InputError(f"expected names of {_listed(inputs)}, got {name!r}.", where, what)
    for name in carry:
        if name not in outputs or outputs[name].shape != inputs[name].shape:
            got = f"one of {outputs[name].size}" if name in outputs else f"outputs {_listed(outputs)}"
            raise InputError(
                f"expected an output {name} of {inputs[name].size} numbers, the next state, got {got}.",
                where,
                "carry",
            )
    if len(inputs) == len({*carry, *shared}):
        raise InputError(
            f"expected at least one input with rows; {_listed(inputs)} are carried or shared.", where
        )


def _check_names(
    scan: CompiledScan, carry: object, rows: object, shared: object | None, out: object | None
) -> None:
    """Check the names in a mapping; `out` may name only some of the outputs."""
    for what, given, known in (
        ("carry", carry, scan.carry),
        ("rows", rows, scan.rows),
        ("shared", shared or {}, scan.shared),
        ("out", out or {}, scan.outputs),
    ):
        if type(given) is not dict and not isinstance(given, Mapping):
            raise InputError(f"expected arrays by name in a dict, got {shorten(given)}.", f"{scan!r}", what)
        if given.keys() != known.keys() and not (what == "out" and given.keys() <= known.keys()):
            raise InputError(f"expected {_listed(known)}, got {_listed(given)}.", f"{scan!r}", what)


def _vector(scan: CompiledScan, what: str, name: str, given: Mapping[str, ArrayLike], size: int) -> Floats:
    """An input without rows, (size,), contiguous."""
    value = given[name]
    if type(value) is np.ndarray and value.dtype == FLOAT64 and value.flags.c_contiguous:
        array = value
    else:
        array = as_numbers(f"{scan!r}, {what}, {name}", value, FLOAT64)
    if array.shape != (size,):
        raise InputError(f"expected shape ({size},), got {array.shape}.", f"{scan!r}", what, name)
    return array if array.flags.aligned else array.copy()


def _rows(scan: CompiledScan, name: str, value: ArrayLike, size: int, others: Sequence[Laid]) -> Laid:
    """An input with rows, as many as the others; uncopied if machine code can read it in place."""
    if type(value) is np.ndarray and value.dtype == FLOAT64:
        array = value
    else:
        array = as_numbers(f"{scan!r}, rows, {name}", value, FLOAT64)
    shape = (len(others[0][0]), size) if others else (len(array) if array.ndim else 0, size)
    if array.shape != shape:
        expected = f"{shape} with as many rows as {next(iter(scan.rows))}" if others else f"(N, {size})"
        raise InputError(f"expected shape {expected}, got {array.shape}.", f"{scan!r}", "rows", name)
    address, stride = address_of(array), array.strides[0]
    if not _is_readable(array, address, stride):
        array = array.copy()
        address, stride = address_of(array), array.strides[0]
    return array, address, stride


def _is_readable(array: Floats, address: int, stride: int) -> bool:
    """Whether rows are a multiple of float64 apart, and the entries of a row contiguous."""
    return not (address | stride) & 7 and (array.strides[1] == 8 or array.shape[1] < 2)


def _made(scan: CompiledScan, count: int, out: Mapping[str, Any]) -> dict[str, Floats]:
    """The outputs: arrays that were given, if they fit, and new ones."""
    try:
        made = {name: np.empty((count, size)) for name, size in scan.outputs.items() if name not in out}
    except MemoryError as error:
        raise OutOfMemory(f"no memory for outputs of {count} rows ({error}).", f"{scan!r}") from None
    for name, array in out.items():
        shape, is_array = (count, scan.outputs[name]), isinstance(array, np.ndarray)
        fits = is_array and array.shape == shape and array.dtype == FLOAT64 and array.flags.writeable
        if not fits or not _is_readable(array, address_of(array), array.strides[0]):
            got = f"{array.shape} of {array.dtype}" if is_array else shorten(array)
            raise InputError(
                f"expected a writeable array {shape} of float64 whose rows are contiguous, got {got}.",
                f"{scan!r}",
                "out",
                name,
            )
        made[name] = array
    return {name: made[name] for name in scan.outputs}


def _apart(written: Sequence[Laid], read: Sequence[Laid]) -> list[Laid]:
    """The arrays to compute into: a temporary for each that overlaps rows that are read;
    the same place exactly is allowed.
    """
    places, made = [_bounds(rows) for rows in read], []
    for out in written:
        low, high = _bounds(out)
        near = [rows for rows, (first, last) in zip(read, places, strict=True) if first < high and low < last]
        if any(rows[1:] != out[1:] or rows[0].shape != out[0].shape for rows in near):
            other = np.empty(out[0].shape)
            out = other, address_of(other), other.strides[0]
        made.append(out)
    return made


def _bounds(rows: Laid) -> tuple[int, int]:
    """The address range of an array with rows."""
    array, address, stride = rows
    way = (len(array) - 1) * stride
    return address + min(way, 0), address + max(way, 0) + 8 * array.shape[1]


def address_of(array: Floats) -> int:
    """The address of an array's first entry, read from the object itself:
    a fifth of the time that NumPy takes.
    """
    return ctypes.c_int64.from_address(id(array) + DATA).value if is_possible() else array.ctypes.data


def _listed(names: Iterable[object]) -> str:
    return ", ".join(map(str, names)) or "nothing"
