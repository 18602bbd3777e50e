"""Triangles of Wavefront OBJ files: vertices and faces, polygons split into fans; all else is ignored."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from forearm.errors import InputError, shorten
from forearm.parts.stl import MOST_BYTES, MOST_TRIANGLES
from forearm.reading.textfile import read_bytes
from forearm.spatial import Floats


def read_obj(path: Path) -> Floats:
    """Triangles (m, 3, 3) of an OBJ file, in the unit of the file."""
    name = str(path)
    vertices: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    for line_number, line in enumerate(io.BytesIO(read_bytes(path, MOST_BYTES)), 1):
        words = line.split()
        if words[:1] == [b"v"]:
            vertices.append(_vertex(words, name, line_number))
        elif words[:1] == [b"f"]:
            corners = [_corner(word, len(vertices), name, line_number) for word in words[1:]]
            faces += [(corners[0], *corners[i : i + 2]) for i in range(1, len(corners) - 1)]  # type: ignore[misc]
            if len(faces) > MOST_TRIANGLES:
                raise InputError(f"more than {MOST_TRIANGLES} triangles; export a coarser mesh.", name)
    if not faces:
        raise InputError("no faces; export a mesh with triangles.", name)
    return np.asarray(np.array(vertices)[np.array(faces)])


def _vertex(words: list[bytes], name: str, line: int) -> list[float]:
    try:
        x, y, z = map(float, words[1:4])  # a weight or a colour may follow
    except ValueError:
        raise InputError(
            f"expected v and three numbers, got {_shown(words)}.", name, f"line {line}"
        ) from None
    return [x, y, z]


def _corner(word: bytes, count: int, name: str, line: int) -> int:
    """The zero-based index of a corner such as 7, 7/2/3 or -1 (the last vertex before it)."""
    try:
        index = int(word.split(b"/")[0])
    except ValueError:
        raise InputError(f"expected a vertex, got {_shown([word])}.", name, f"line {line}") from None
    place = index - 1 if index > 0 else count + index
    if index == 0 or not 0 <= place < count:
        raise InputError(f"vertex {index} is not defined before this face.", name, f"line {line}")
    return place


def _shown(words: list[bytes]) -> str:
    return shorten(b" ".join(words).decode("ascii", "replace"))
