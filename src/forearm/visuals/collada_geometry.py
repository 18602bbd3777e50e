"""The <mesh> of a Collada geometry as triangles: sources, inputs with offsets, polygons split into fans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from forearm.errors import InputError, shorten
from forearm.parts.stl import MOST_TRIANGLES
from forearm.reading.xml import Element
from forearm.spatial import Floats
from forearm.values import frozen
from forearm.visuals.mesh import Indices

PRIMITIVES = ("triangles", "polylist", "polygons", "tristrips", "trifans")


@frozen
class GeometryPart:
    """Triangles (T, 3, 3) of a geometry with one material, by its symbol."""

    triangles: Floats
    material: str


def numbers(element: Element, name: str) -> Floats:
    """The numbers in the text of an element."""
    try:
        return np.array(element.text.split(), dtype=np.float64)
    except ValueError:
        raise InputError(
            f"expected numbers, got {shorten(element.text)}.",
            name,
            f"line {element.line}",
            f"<{element.tag:.40}>",
        ) from None


def _indices(element: Element, name: str) -> Indices:
    try:
        found = np.array(element.text.split(), dtype=np.int64)
    except (ValueError, OverflowError):
        raise InputError(
            f"expected whole numbers, got {shorten(element.text)}.",
            name,
            f"line {element.line}",
            f"<{element.tag}>",
        ) from None
    if (found < 0).any():
        raise InputError(f"<{element.tag}> has an index below 0.", name, f"line {element.line}")
    return found.astype(np.intp)


def parts_of_geometry(geometry: Element, by_id: Mapping[str, Element], name: str) -> Iterator[GeometryPart]:
    """The triangles of each primitive of a geometry; lines, splines and hulls have none."""
    for mesh in geometry.all("mesh"):
        for primitive in mesh.children:
            if primitive.tag in PRIMITIVES:
                where = f"{name}, line {primitive.line}"
                found = _positions(primitive, by_id, where)
                if found is None:
                    continue
                points, offset, stride = found
                corners = np.concatenate([*_corners(primitive, offset, stride, name, where), _NONE])
                if len(corners) > MOST_TRIANGLES:
                    raise InputError(f"more than {MOST_TRIANGLES} triangles; export a coarser mesh.", where)
                if len(corners) and int(corners.max()) >= len(points):
                    raise InputError(
                        f"vertex {int(corners.max())} does not exist, there are {len(points)}.", where
                    )
                if len(corners):
                    yield GeometryPart(points[corners], primitive.attributes.get("material", ""))


_NONE = np.zeros((0, 3), dtype=np.intp)


def _positions(
    primitive: Element, by_id: Mapping[str, Element], where: str
) -> tuple[Floats, int, int] | None:
    """The points of a primitive, the offset of their index among its inputs, and the number of inputs."""
    offsets = [_count(e.attributes.get("offset", "0"), where) for e in primitive.all("input")]
    stride = max(offsets, default=0) + 1
    for element, offset in zip(primitive.all("input"), offsets, strict=True):
        semantic = element.attributes.get("semantic")
        source = by_id.get(element.attributes.get("source", "").removeprefix("#"))
        if semantic == "VERTEX" and source is not None:
            inner = [e for e in source.all("input") if e.attributes.get("semantic") == "POSITION"]
            source = by_id.get(inner[0].attributes.get("source", "").removeprefix("#")) if inner else None
        elif semantic != "POSITION":
            continue
        if source is not None and source.tag == "source":
            return _points(source, where), offset, stride
    if next(primitive.all("input"), None) is None:
        return None  # an empty primitive, as some exporters leave
    raise InputError(f"<{primitive.tag}> has no positions; export the mesh again.", where)


def _points(source: Element, where: str) -> Floats:
    array = source.first("float_array")
    values = numbers(array, where) if array is not None else np.zeros(0)
    common = source.first("technique_common")
    accessor = common.first("accessor") if common is not None else None
    said = accessor.attributes if accessor is not None else {}
    stride, start = _count(said.get("stride", "3"), where), _count(said.get("offset", "0"), where)
    if stride < 3:
        raise InputError(f"expected a stride of at least 3 for positions, got {stride}.", where)
    whole = (
        values[start : start + (len(values) - start) // stride * stride]
        if len(values) > start
        else values[:0]
    )
    return np.asarray(whole.reshape(-1, stride)[:, :3])


def _count(text: str, where: str) -> int:
    if not text.strip().isdecimal() or len(text) > 9:
        raise InputError(f"expected a count, got {shorten(text)}.", where)
    return int(text)


def _corners(primitive: Element, offset: int, stride: int, name: str, where: str) -> Iterator[Indices]:
    """Corner indices (T, 3), one block per <p>."""
    sizes = primitive.first("vcount")
    for p in _polygons(primitive):
        index = _indices(p, name)
        if len(index) % stride:
            raise InputError(f"{len(index)} indices are not a multiple of the {stride} inputs.", where)
        index = index[offset::stride]
        if primitive.tag == "triangles":
            yield index[: len(index) // 3 * 3].reshape(-1, 3)
        elif primitive.tag == "polylist":
            counts = _indices(sizes, name) if sizes is not None else np.zeros(0, dtype=np.intp)
            if int(counts.sum()) != len(index) or (counts > len(index)).any():
                raise InputError(f"<vcount> adds up to {int(counts.sum())}, <p> has {len(index)}.", where)
            yield _fans(index, counts)
        elif primitive.tag == "tristrips":
            strip = np.stack([index[:-2], index[1:-1], index[2:]], axis=1) if len(index) > 2 else _NONE
            strip[1::2] = strip[1::2, ::-1]
            yield strip
        else:
            yield _fans(index, np.array([len(index)], dtype=np.intp))


def _polygons(primitive: Element) -> Iterator[Element]:
    """The <p> of a primitive; for a polygon with holes (<ph>) the outline."""
    for child in primitive.children:
        if child.tag == "p":
            yield child
        elif child.tag == "ph" and (outline := child.first("p")) is not None:
            yield outline


def _fans(index: Indices, counts: Indices) -> Indices:
    """Triangles of polygons, each as a fan about its first corner."""
    each = np.maximum(counts - 2, 0)
    start = np.repeat(np.cumsum(counts) - counts, each)
    k = np.arange(int(each.sum())) - np.repeat(np.cumsum(each) - each, each)
    return np.stack([index[start], index[start + k + 1], index[start + k + 2]], axis=1)
