"""Reading and writing of untrusted files: bounded when read, atomic when written."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from forearm.errors import InputError, shorten

MAX_TOML_BYTES = 4_000_000
MAX_JSON_BYTES = 64_000_000
# The TOML parser takes quadratic time in the parts of a key such as a.a.a...
MAX_DOTS = 64
DOTTED_KEY = re.compile(rb"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){%d}" % MAX_DOTS)
# A string that is never closed matches too, to where the parser gives up: otherwise each quotation mark in
# it would be tried as the start of another, in quadratic time.
STRING_OR_COMMENT = re.compile(
    rb'"""(?:[^\\]|\\.)*?(?:"{3,5}|\\?\Z)|'
    rb"\'\'\'.*?(?:\'{3,5}|\Z)|"
    rb'"(?:[^"\\\n]|\\.)*+"?|'
    rb"\'[^\'\n]*+\'?|#[^\n]*+",
    re.DOTALL,
)


def opened(path: Path, pipes: bool = False) -> BinaryIO:
    """A file opened for reading; pipes and devices only if allowed."""
    try:
        if path.is_dir() or not path.exists():
            what = "a folder, not a file" if path.is_dir() else "no such file"
            raise InputError(f"{what}. Check the path.", path)
        if not pipes and not path.is_file():
            raise InputError("a pipe or a device; only CSV logs can be read from one.", path)
        return path.open("rb")
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}.", path) from error


def read_bytes(path: Path, limit: int) -> bytes:
    """The bytes of a regular file of at most `limit` bytes."""
    with opened(path) as stream:
        try:
            data = stream.read(limit + 1)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}.", path) from error
    if len(data) > limit:
        raise InputError(f"larger than the {limit // 1000000} MB allowed for such a file.", path)
    return data


def read_json(path: Path) -> Any:
    """The contents of a JSON file."""
    try:
        return json.loads(read_bytes(path, MAX_JSON_BYTES))
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON: {str(error)[:200]}.", path.name) from error


def read_json_table(path: Path, keys: str) -> dict[str, Any]:
    """The table in a JSON file; otherwise the error names `keys`."""
    found = read_json(path)
    if not isinstance(found, dict):
        raise InputError(f"expected a table with {keys} as keys, got {shorten(found)}.", path.name)
    return found


def beside(path: Path, name: str) -> Path:
    """A file named by another file: it must be below that file's folder."""
    relative = Path(name)
    if relative.is_absolute() or ".." in relative.parts or not relative.parts or "\0" in name:
        raise InputError(
            f"{name!r} must be a relative path below the folder of this file; copy or link the file there.",
            path.name,
        )
    return path.parent / relative


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    return parse_toml(read_bytes(path, MAX_TOML_BYTES), path.name)


def parse_toml(data: bytes, name: str) -> dict[str, Any]:
    """The tables of TOML text; `name` is used in messages."""
    bare = STRING_OR_COMMENT.sub(lambda found: b"" if found[0].startswith(b"#") else b"s", data)
    if DOTTED_KEY.search(bare):
        raise InputError(f"a key with more than {MAX_DOTS} dotted parts; no valid key has as many.", name)
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text (byte {error.start}). Is this a TOML file?", name) from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not valid TOML: {str(error)[:200]}.", name) from error
    except (RecursionError, ValueError) as error:  # nested too deep, or an integer with thousands of digits
        raise InputError(f"cannot be read as TOML: {str(error)[:200]}.", name) from error


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write the file atomically."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write the file atomically."""
    with replacing(path) as stream:
        stream.write(data)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose bytes become the file when the block succeeds; after a failure nothing remains.

    They go to a temporary file next to it, which is then renamed.
    """
    target = Path(path)
    temporary = None
    try:
        if target.exists() and not (target.is_file() or target.is_dir()):
            raise OSError("it is a device or a pipe, which a file cannot replace")
        with _temporary_beside(target) as stream:
            temporary = stream.name
            if target.exists():  # copy the permissions of the replaced file, before writing any content
                os.chmod(temporary, target.stat().st_mode & 0o777)
            yield stream
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}.", target) from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _temporary_beside(target: Path) -> BinaryIO:
    try:
        return target.with_name(f".{target.name}.{os.urandom(4).hex()}").open("xb")
    except ValueError as error:  # a path with a NUL in it, or without a name
        raise OSError(str(error)) from error
