"""Moments of bodies given as triangle meshes, and reading STL files."""

import io
import itertools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.parts.shapes import LONGEST, Moments, positive
from forearm.portable import norm, total, weighted, weighted_squares
from forearm.reading.textfile import read_bytes
from forearm.spatial import Floats

Labels = NDArray[np.intp]

MOST_BYTES = 64_000_000
MOST_TRIANGLES = 1_000_000  # only a binary file can reach it: the shortest ASCII facet is 68 bytes
WELD = 1e-6  # of the bounding-box diagonal: closer corners are merged, as STL stores seven digits
NO_VOLUME = 1e-12  # of the cubed bounding-box diagonal: less is rounding

HEADER_BYTES = 84
RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
FACET = (b"facet", b"outer", b"vertex", b"vertex", b"vertex", b"endloop", b"endfacet")


def mesh_moments(triangles: Floats, name: str = "mesh") -> Moments:
    """Moments of the body inside a closed mesh (m, 3, 3), exact for polyhedra.

    Each triangle (a, b, c) spans a tetrahedron of volume v = a . (b x c) / 6 with the mean vertex o = 0: V =
    sum v, V c = sum v s/4, S_o = sum v/20 (a a^T + b b^T + c c^T + s s^T), s = a + b + c. A mesh with inward
    normals is treated as if reversed; zero volume is refused.
    """
    corners = check_triangles(triangles, name)
    middle = corners.mean(axis=(0, 1))
    local = corners - middle
    a, b, c = local[:, 0], local[:, 1], local[:, 2]
    s = a + b + c
    v = np.add.reduce(a * np.cross(b - a, c - a), axis=1) / 6  # edges: less cancellation than b x c
    volume = float(v.sum())
    size = diagonal(corners)
    if not abs(volume) > NO_VOLUME * size * size * size:
        raise InputError("the mesh encloses no volume; export the outer skin of a solid body.", name)
    centre = weighted(v, s) / (4 * volume)
    second = total(weighted_squares(v, p) for p in (a, b, c, s)) / 20 - volume * np.outer(centre, centre)
    return Moments(abs(volume), middle + centre, np.sign(volume) * (second + second.T) / 2)


def check_closed(triangles: Floats, name: str) -> None:
    """Refuse a mesh unless each directed edge has exactly one opposite partner.

    Equal corners are merged; if the mesh is still faulty, so are those within WELD.
    """
    corners = check_triangles(triangles, name)
    vertices, labels = weld_equal(corners.reshape(-1, 3))
    faults = _edge_faults(labels.reshape(-1, 3))
    if faults is not None:
        near = weld_near(vertices, WELD * diagonal(corners))
        faults = _edge_faults(near[labels].reshape(-1, 3))
    if faults is None:
        return
    opened, doubled, turned, place = faults
    if place < 0:
        raise InputError("every triangle is degenerate; export the skin of a solid body.", name)
    triangle, side = divmod(place, 3)
    start, end = corners[triangle, side], corners[triangle, (side + 1) % 3]
    raise InputError(
        f"the mesh is not closed: {opened} edges are open, {doubled} doubled and {turned} "
        f"inconsistently oriented; the first, of triangle {triangle + 1}, runs from "
        f"{_point(start)} m to {_point(end)} m. Repair the mesh or export a watertight one.",
        name,
    )


def read_stl(path: Path, scale: float = 1.0) -> Floats:
    """Triangles (m, 3, 3) of a binary or ASCII STL file, times scale (0.001 for a file in millimetres).

    The normals in the file are ignored. Meshes with inward normals are accepted: mesh_moments handles them.
    """
    name = str(path)
    factor = positive(name, "scale", scale)
    corners = _parse(read_bytes(path, MOST_BYTES), name)
    with np.errstate(over="ignore"):  # overflow is refused right below
        return check_triangles(corners * factor, name)


def check_triangles(triangles: Floats, name: str) -> Floats:
    """Return 1 to MOST_TRIANGLES triangles (m, 3, 3) with corners within LONGEST; refuse others."""
    if triangles.ndim != 3 or triangles.shape[1:] != (3, 3) or not 1 <= len(triangles) <= MOST_TRIANGLES:
        raise InputError(
            f"expected triangles of shape (m, 3, 3) with m from 1 to {MOST_TRIANGLES}, got "
            f"{triangles.shape}.",
            name,
        )
    bad = ~(np.abs(triangles) <= LONGEST).all(axis=(1, 2))
    if bad.any():
        first = int(bad.argmax())
        corner = next(p for p in triangles[first] if not (np.abs(p) <= LONGEST).all())
        raise InputError(
            f"triangle {first + 1} has the corner {_point(corner)}; coordinates must be "
            f"finite and within {LONGEST:g} m; repair the mesh or correct the scale.",
            name,
        )
    return triangles


def _point(p: Floats) -> str:
    return f"({p[0]:.9g}, {p[1]:.9g}, {p[2]:.9g})"


def diagonal(corners: Floats) -> float:
    """The diagonal of the bounding box."""
    return norm(np.ptp(corners.reshape(-1, 3), axis=0))


def weld_equal(points: Floats) -> tuple[Floats, Labels]:
    """Distinct points, and for each point the index of its distinct one."""
    order = np.lexsort(points.T)
    ordered = points[order]
    fresh = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    labels = np.empty(len(points), dtype=np.intp)
    labels[order] = np.cumsum(fresh) - 1
    return ordered[fresh], labels


def weld_near(points: Floats, tolerance: float) -> Labels:
    """One label for all points connected by steps within tolerance.

    Two points closer than half a cell share a cell in at least one of eight grids shifted by half a cell.
    """
    count = len(points)
    cells = (points - points.min(axis=0)) / max(2 * tolerance, np.finfo(np.float64).tiny)
    one, other = [], []
    for shift in itertools.product((0.0, 0.5), repeat=3):
        x, y, z = np.floor(cells + shift).astype(np.int64).T
        _, first, inverse = np.unique((x * 2**20 + y) * 2**20 + z, return_index=True, return_inverse=True)
        moved = np.flatnonzero(first[inverse] != np.arange(count))
        one.append(moved)
        other.append(first[inverse][moved])
    return components(count, np.concatenate(one), np.concatenate(other))


def components(count: int, one: Labels, other: Labels) -> Labels:
    """Label each of count nodes with the smallest node connected to it by links one-other."""
    label = np.arange(count)
    while (label[one] != label[other]).any():
        low, high = np.minimum(label[one], label[other]), np.maximum(label[one], label[other])
        np.minimum.at(label, high, low)
        while (label[label] != label).any():
            label = label[label]
    return label


def _edge_faults(corners: Labels) -> tuple[int, int, int, int] | None:
    """Count open, doubled and inconsistently oriented edges; also return 3 * triangle + side of the first.

    Triangles that became degenerate by merging are ignored; -1 if none is left.
    """
    whole = np.flatnonzero((corners != np.roll(corners, 1, axis=1)).all(axis=1))
    if not len(whole):
        return 0, 0, 0, -1
    start, end = corners[whole].ravel(), np.roll(corners[whole], -1, axis=1).ravel()
    key = np.minimum(start, end) * (int(corners.max()) + 1) + np.maximum(start, end)
    _, first, edge, total = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    ahead = np.bincount(edge[start < end], minlength=len(total))
    opened, doubled, turned = total == 1, total > 2, (total == 2) & (ahead != 1)
    faulty = opened | doubled | turned
    if not faulty.any():
        return None
    triangle, side = divmod(int(first[faulty].min()), 3)
    return int(opened.sum()), int(doubled.sum()), int(turned.sum()), 3 * int(whole[triangle]) + side


def _parse(data: bytes, name: str) -> Floats:
    """Corners as stored; the size identifies a binary file, as its header may begin with "solid"."""
    announced = int.from_bytes(data[80:HEADER_BYTES], "little")
    size = HEADER_BYTES + RECORD.itemsize * announced
    if len(data) == size:
        return _read_binary(data, announced, name)
    if data.lstrip()[:5].lower() == b"solid" and b"\0" not in data:
        return _read_ascii(data, name)
    if len(data) < HEADER_BYTES:
        raise InputError(f"not an STL file ({len(data)} bytes); export the mesh again.", name)
    raise InputError(
        f"the header announces {announced} triangles in {size} bytes, but the file has "
        f"{len(data)}: truncated or not an STL file; export the mesh again.",
        name,
    )


def _read_binary(data: bytes, count: int, name: str) -> Floats:
    if not 1 <= count <= MOST_TRIANGLES:
        raise InputError(
            f"expected 1 to {MOST_TRIANGLES} triangles, got {count}; export the mesh again.", name
        )
    with np.errstate(invalid="ignore"):  # converting a signalling NaN to double warns
        return np.frombuffer(data, RECORD, count, HEADER_BYTES)["corners"].astype(np.float64)


def _read_ascii(data: bytes, name: str) -> Floats:
    """Corners of the facets of all solids in ASCII STL, one keyword per line, in any case."""
    numbers: list[float] = []
    step = 0  # in FACET: the next expected keyword
    inside = False  # between solid and endsolid
    line_number = 0
    text = io.BytesIO(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
    for line_number, line in enumerate(text, 1):
        words = line.split()
        if not words:
            continue
        word = words[0].lower()
        if inside and word == FACET[step]:
            if word == b"vertex":
                numbers += _coordinates(words, name, line_number)
            step = (step + 1) % len(FACET)
        elif step == 0 and word == (b"endsolid" if inside else b"solid"):
            inside = not inside
        else:
            wanted = FACET[step].decode() + (" or endsolid" if step == 0 else "") if inside else "solid"
            found = f"line {line_number} is {_excerpt(line)} where {wanted} is expected"
            raise InputError(f"{found}; export the mesh again.", name)
    if inside:
        raise InputError(
            f"truncated: the text ends at line {line_number} without endsolid; export the mesh again.", name
        )
    if not numbers:
        raise InputError(f"no facet in {line_number} lines; export a mesh with triangles.", name)
    return np.array(numbers).reshape(-1, 3, 3)


def _coordinates(words: list[bytes], name: str, line_number: int) -> list[float]:
    try:
        _, x, y, z = words
        if b"_" not in x + y + z:  # float() would read 1_0 as 10
            return [float(x), float(y), float(z)]
    except ValueError:
        pass
    found = f"line {line_number} is {_excerpt(b' '.join(words))}"
    raise InputError(f"{found}; expected vertex and three numbers; export the mesh again.", name)


def _excerpt(line: bytes) -> str:
    return repr(line[:60].decode("ascii", "replace").strip())
