"""Meshes and poses as JSON: little-endian base64, decimals rounded for drawing."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

import numpy as np

from forearm.spatial import Floats
from forearm.visuals.mesh import CREASE, TriangleMesh, split_at_creases

DIGITS = 7
MOST_NARROW = 1 << 16  # points that two bytes can index


class MeshTable:
    """The meshes of a scene, each once: equal bytes have equal indices."""

    def __init__(self) -> None:
        self.meshes: list[dict[str, Any]] = []
        self._by_object: dict[int, tuple[int, TriangleMesh]] = {}
        self._by_bytes: dict[tuple[str, ...], int] = {}

    def index(self, mesh: TriangleMesh, crease: float = CREASE) -> int:
        """The index of a mesh, added if new."""
        known = self._by_object.get(id(mesh))
        if known is None:
            encoded = encoded_mesh(mesh, crease)
            key = encoded["positions"], encoded["normals"], encoded["triangles"]
            if key not in self._by_bytes:
                self._by_bytes[key] = len(self.meshes)
                self.meshes.append(encoded)
            # the mesh is kept alive so that its id is not reused
            known = self._by_object[id(mesh)] = (self._by_bytes[key], mesh)
        return known[0]


def encoded_mesh(mesh: TriangleMesh, crease: float = CREASE) -> dict[str, Any]:
    """Positions and normals as float32, triangles as uint16 or, where `wide`, uint32; base64, little-endian.

    Args:
        mesh: the triangles.
        crease: the largest angle between two faces that are shaded as one, rad.
    """
    points, normals, triangles = split_at_creases(mesh, crease)
    wide = len(points) > MOST_NARROW
    return {
        "positions": base64_of(points, "<f4"),
        "normals": base64_of(normals, "<f4"),
        "triangles": base64_of(triangles, "<u4" if wide else "<u2"),
        "wide": wide,
    }


def base64_of(values: Any, kind: str) -> str:
    """Numbers in this format, row by row, in base64; -0 becomes 0."""
    with np.errstate(over="ignore"):
        made = (np.asarray(values) + 0).astype(kind)
    return base64.b64encode(np.ascontiguousarray(made).tobytes()).decode("ascii")


def short(value: float) -> float:
    """A number with the precision that a drawing needs."""
    return float(f"{float(value):.{DIGITS}g}") + 0.0


def shorts(values: Floats | Iterable[float]) -> list[float]:
    """Numbers with the precision that a drawing needs; rounding residues next to larger values become 0."""
    given = [float(v) for v in np.asarray(values, dtype=float).ravel()]
    size = max((abs(v) for v in given), default=0.0)
    return [0.0 if abs(v) < 1e-12 * size else short(v) for v in given]
