"""NPZ files with a header: plain zips of .npy files and one JSON header, read defensively.

numpy.load opens them, too. This reader accepts only what the writer produces, so that a hostile file executes
nothing and needs no more memory than its own size.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError, shorten
from forearm.reading.textfile import replacing

HEADER = "header"  # the entry of the JSON header, as bytes
MAX_BYTES = 2_000_000_000  # limit below which a zip needs no zip64 extensions
MAX_ENTRIES = 10_000
MAX_DIRECTORY = 4_000_000  # bytes of the central directory
MAX_HEADER = 64_000_000
MAX_DEPTH = 50
END = struct.Struct("<4s4H2LH")  # the end record of a zip without a comment
TYPES = (
    "|b1",
    "|i1",
    "|u1",
    *(f"<{kind}{size}" for kind in "iu" for size in (2, 4, 8)),
    "<f2",
    "<f4",
    "<f8",
    "<c8",
    "<c16",
)
SHAPE = rb"\(((?:\d{1,12}, ?)*(?:\d{1,12})?)\)"
NPY = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([|<]\w\d{1,2})', 'fortran_order': False, 'shape': "
    + SHAPE
    + rb", \} *\n",
    re.DOTALL,
)
ARRAY = "$array"  # placeholder of an array in the JSON header

Arrays = dict[str, NDArray[Any]]


def write_archive(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write arrays and a header that may contain more arrays, atomically."""
    entries = {name: _plain(array, name) for name, array in arrays.items()}
    text = json.dumps(pack(header, entries)).encode()
    entries[HEADER] = np.frombuffer(text, dtype=np.uint8)
    size = sum(array.nbytes for array in entries.values())
    if size > MAX_BYTES - MAX_DIRECTORY or len(text) > MAX_HEADER or len(entries) > MAX_ENTRIES:
        raise InputError(
            f"{size // 1000000} MB in {len(entries)} arrays exceed the limit of "
            f"{MAX_BYTES // 1000000} MB for an .npz file; save fewer samples, or as .parquet.",
            Path(path).name,
        )
    with replacing(path) as stream:
        np.savez(stream, **entries)  # type: ignore[arg-type]


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays, which are read-only; without a header, as in files of other writers, an
    empty one.
    """
    where = Path(path)
    try:
        if not where.is_file():
            raise InputError(
                f"{'a folder, not a file' if where.is_dir() else 'no such file'}. Check the path.", where
            )
        with where.open("rb") as stream:
            entries = {
                name: _array(data, name, where.name) for name, data in _members(stream, where.name).items()
            }
        text = bytes(entries.pop(HEADER).data) if HEADER in entries else b"{}"
        header = unpack(json.loads(text), entries)
    except KeyError as error:
        raise _damaged(where.name, f"no entry {error}") from error
    except (
        OSError,
        ValueError,
        RecursionError,
        struct.error,
        RuntimeError,
        EOFError,
        zipfile.BadZipFile,
    ) as error:
        raise _damaged(where.name, str(error)) from error
    if not isinstance(header, dict):
        raise _damaged(where.name, "its header is not a table")
    return header, entries


def pack(value: Any, arrays: Arrays, depth: int = 0) -> Any:
    """Convert a value to JSON; arrays in it are moved to `arrays` and replaced by placeholders."""
    if depth > MAX_DEPTH:
        raise InputError(f"nested deeper than {MAX_DEPTH}.", "checkpoint")
    if isinstance(value, np.ndarray):
        name = f"array_{len(arrays)}"
        arrays[name] = _plain(value, name)
        return {ARRAY: name}
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [pack(item, arrays, depth + 1) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) and key != ARRAY for key in value):
        return {key: pack(item, arrays, depth + 1) for key, item in value.items()}
    raise InputError(
        f"expected numbers, text, lists, arrays and tables with names as keys, got {shorten(value)}.",
        "checkpoint",
    )


def unpack(value: Any, arrays: Arrays) -> Any:
    """Inverse of `pack`, with tuples as lists; its arrays are taken from `arrays`."""
    if isinstance(value, list):
        return [unpack(item, arrays) for item in value]
    if isinstance(value, dict):
        if set(value) == {ARRAY} and isinstance(value[ARRAY], str):
            return arrays.pop(value[ARRAY])
        return {key: unpack(item, arrays) for key, item in value.items()}
    return value


def _plain(array: NDArray[Any], name: str) -> NDArray[Any]:
    """The array in file layout: C order, little-endian."""
    low = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    if low.dtype.str not in TYPES:
        raise InputError(f"expected an array of numbers, got one of {shorten(str(array.dtype))}.", name)
    return low


def _members(stream: Any, where: str) -> dict[str, bytes]:
    """The bytes of every entry, after a check of the total size."""
    size = stream.seek(0, os.SEEK_END)
    if size > MAX_BYTES:
        raise InputError(f"larger than the {MAX_BYTES // 1000000} MB allowed for such a file.", where)
    stream.seek(max(0, size - END.size))
    mark, _, _, _, count, directory, _, _ = END.unpack(stream.read(END.size))
    if mark != b"PK\x05\x06" or count > MAX_ENTRIES or directory > MAX_DIRECTORY:
        raise _damaged(where, "it does not end like a zip of arrays")
    with zipfile.ZipFile(stream) as archive:
        infos = archive.infolist()
        is_stored = all(
            i.compress_type == zipfile.ZIP_STORED and i.compress_size == i.file_size for i in infos
        )
        if (
            not is_stored
            or sum(i.file_size for i in infos) > size
            or len({i.filename for i in infos}) != len(infos)
        ):
            raise _damaged(where, "compressed, overlapping or repeated entries, which are not allowed")
        return {i.filename.removesuffix(".npy"): archive.read(i) for i in infos}


def _array(data: bytes, name: str, where: str) -> NDArray[Any]:
    """The array of an .npy entry: numeric only, with the size stated in its header."""
    head = NPY.match(data)
    if head is None or head[1].decode() not in TYPES:
        raise _damaged(where, f"{shorten(name)} is not a numeric array")
    dtype = np.dtype(head[1].decode())
    shape = tuple(int(size) for size in head[2].split(b",") if size.strip())
    if math.prod(shape) * dtype.itemsize != len(data) - head.end():
        raise _damaged(where, f"{shorten(name)} does not have the length of its shape {shorten(shape)}")
    count = math.prod(shape)
    flat = np.frombuffer(data, dtype, count, head.end()) if count else np.empty(0, dtype)
    array = flat.reshape(shape)
    array.flags.writeable = False
    return array


def _damaged(where: str, why: str) -> InputError:
    return InputError(
        f"not an archive of forearm or numpy.savez, or damaged: {shorten(why, 200)}. Save it again as .npz.",
        where,
    )
