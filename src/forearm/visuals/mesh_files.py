"""Mesh files by suffix, each read once, with a limit on the total: STL, OBJ, Collada, MuJoCo's MSH."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from forearm.errors import ForearmError, InputError
from forearm.parts.obj import read_obj
from forearm.parts.shapes import SHORTEST
from forearm.parts.stl import MOST_BYTES, MOST_TRIANGLES, check_triangles, diagonal, read_stl
from forearm.reading.textfile import read_bytes
from forearm.spatial import Floats
from forearm.visuals.collada import read_dae
from forearm.visuals.mesh import TriangleMesh, welded

MOST_IN_ALL = 4_000_000  # triangles in all mesh files of an arm
ENDINGS = (".stl", ".obj", ".dae", ".msh")

Pieces = tuple[tuple[TriangleMesh, str | None], ...]


def check_size(mesh: TriangleMesh, name: str) -> None:
    """Raise for a mesh whose scale makes it too large or too small."""
    if diagonal(check_triangles(mesh.corners, name)) < SHORTEST:
        raise InputError(f"smaller than {SHORTEST:g} m; correct the scale.", name)


class MeshFiles:
    """The mesh files of one arm: their contents by colour, or why they cannot be read."""

    def __init__(self) -> None:
        self.left = MOST_IN_ALL
        self.notes: dict[str, None] = {}
        self._read: dict[Path, Pieces | str] = {}
        self._scaled: dict[tuple[Path, tuple[float, ...]], Pieces] = {}

    def pieces(self, path: Path, scale: Floats) -> Pieces:
        """The triangles of a file by colour, scaled along each axis; repeated requests return the same
        object.
        """
        if path not in self._read:
            self._read[path] = self._attempt(path)
        found = self._read[path]
        if isinstance(found, str):
            raise InputError(found)
        if np.array_equal(scale, np.ones(3)):
            return found
        key = path, tuple(scale.tolist())
        if key not in self._scaled:
            with np.errstate(over="ignore"):  # overflow is refused
                scaled = [(mesh.scaled(scale), colour) for mesh, colour in found]
            for mesh, _ in scaled:
                check_size(mesh, path.name)
            self._scaled[key] = tuple(scaled)
        return self._scaled[key]

    def _attempt(self, path: Path) -> Pieces | str:
        try:
            made = tuple((welded(corners), colour) for colour, corners in self._triangles(path).items())
        except ForearmError as error:
            return error.problem if error.place == (str(path),) else str(error)
        made = tuple((mesh, colour) for mesh, colour in made if len(mesh.triangles))
        return made or "every triangle is degenerate."

    def _triangles(self, path: Path) -> dict[str | None, Floats]:
        ending = path.suffix.lower()
        if ending == ".dae":
            file = read_dae(path)
            self.notes.update({f"{path.name}: {note}": None for note in file.notes})
            found = file.colours
        elif ending == ".stl":
            found = {None: read_stl(path)}
        elif ending == ".obj":
            found = {None: check_triangles(read_obj(path), str(path))}
        elif ending == ".msh":
            found = {None: check_triangles(read_msh(path), str(path))}
        else:
            raise InputError(f"expected a suffix of {', '.join(ENDINGS)}; convert the mesh.", path)
        count = int(np.sum([len(corners) for corners in found.values()]))
        if count > self.left:
            raise InputError(f"more than {MOST_IN_ALL} triangles including earlier meshes.", path)
        self.left -= count
        return found


def read_msh(path: Path) -> Floats:
    """Triangles (m, 3, 3) of MuJoCo's binary format: counts, points, normals, texture coordinates, faces."""
    data = read_bytes(path, MOST_BYTES)
    points, normals, places, faces = (int(v) for v in np.frombuffer(data[:16].ljust(16, b"\0"), "<i4"))
    size = 16 + 12 * points + 12 * normals + 8 * places + 12 * faces
    if min(points, normals, places, faces) < 0 or len(data) != size or not 0 < faces <= MOST_TRIANGLES:
        raise InputError(
            f"the counts at its start do not fit its {len(data)} bytes, or it has no faces.", path
        )
    vertices = np.frombuffer(data, "<f4", 3 * points, 16).reshape(-1, 3)
    corners = np.frombuffer(data, "<i4", 3 * faces, size - 12 * faces).reshape(-1, 3)
    if not 0 <= int(corners.min()) <= int(corners.max()) < points:
        raise InputError("a face refers to a vertex that does not exist.", path)
    with np.errstate(invalid="ignore"):  # widening a signalling NaN warns
        return np.asarray(vertices[corners], dtype=np.float64)
