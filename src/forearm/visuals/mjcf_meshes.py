"""The mesh assets of an MJCF file, from mesh files or inline, moved and scaled as MuJoCo does."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.files.mjcf.attributes import MjcfElement
from forearm.files.mjcf.defaults import Defaults
from forearm.files.mjcf.orientation import rotation_of_quat
from forearm.files.mjcf.settings import MjcfSettings
from forearm.parts.stl import MOST_TRIANGLES, check_triangles
from forearm.portable import norm
from forearm.reading.xml import Element
from forearm.spatial import pose
from forearm.visuals.mesh import TriangleMesh, welded
from forearm.visuals.mesh_files import MeshFiles, check_size

ONES = "1 1 1"

Piece = tuple[TriangleMesh, str | None, str]  # triangles, colour, source


class MjcfMeshes:
    """Meshes by name, read on first use by a geom."""

    def __init__(
        self, mujoco: Element, defaults: Defaults, settings: MjcfSettings, folder: Path, files: MeshFiles
    ) -> None:
        self.settings, self.folder, self.files = settings, folder, files
        self.elements: dict[str, MjcfElement] = {}
        self.made: dict[str, tuple[Piece, ...]] = {}
        for asset in mujoco.all("asset"):
            for child in asset.all("mesh"):
                element = defaults.of(child)
                name = element.name or Path(element.values.get("file", "").replace("\\", "/")).stem
                self.elements.setdefault(name, element)

    def pieces(self, geom: MjcfElement) -> tuple[Piece, ...]:
        """The triangles of the mesh of a geom, in the geom's frame."""
        name = geom.text("mesh")
        if name not in self.elements:
            raise NameNotFound(f"unknown mesh {shorten(name)}; {suggest(name, self.elements)}", geom.where)
        if name not in self.made:
            self.made[name] = self._made(self.elements[name])
        return self.made[name]

    def _made(self, element: MjcfElement) -> tuple[Piece, ...]:
        """MuJoCo's order: remove the reference pose first, then scale the mesh."""
        shift = element.numbers("refpos", 3, default="0 0 0")
        quat = element.numbers("refquat", 4, default="1 0 0 0")
        scale = element.numbers("scale", 3, default=ONES)
        if not scale.all() or not quat.any():
            raise InputError("scale and refquat must not be 0.", element.where)
        R = rotation_of_quat(quat / norm(quat))
        back = pose(R.T, -np.array([(row * shift).sum() for row in R.T]))
        moves = bool(shift.any()) or not np.array_equal(R, np.eye(3))
        made = []
        for mesh, colour, source in self._raw(element):
            with np.errstate(over="ignore", invalid="ignore"):  # overflow is refused
                moved = mesh.moved(back) if moves else mesh
                moved = moved if (scale == 1.0).all() else moved.scaled(scale)
            check_size(moved, element.where)
            made.append((moved, colour, source))
        return tuple(made)

    def _raw(self, element: MjcfElement) -> list[Piece]:
        if element.values.get("file"):
            name = element.values["file"].replace("\\", "/")
            name = name.rpartition("/")[2] if self.settings.strippath else name
            path = self.folder / self.settings.meshdir / name
            return [(mesh, colour, path.name) for mesh, colour in self.files.pieces(path, np.ones(3))]
        if not element.has("vertex") or not element.has("face"):
            raise InputError("only meshes from files, or with vertex and face, are drawn.", element.where)
        points = self._many(element, "vertex")
        faces = self._many(element, "face")
        if len(faces) > MOST_TRIANGLES or (len(faces) and not 0 <= faces.min() <= faces.max() < len(points)):
            raise InputError(f"face must hold indices from 0 to {len(points) - 1}.", element.where)
        corners = check_triangles(points[faces.astype(np.intp)], element.where)
        return [(welded(corners), None, element.name or "mesh")]

    def _many(self, element: MjcfElement, key: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        try:
            values = np.array(element.text(key).split(), dtype=np.float64)
        except ValueError:
            raise InputError(f"{key} must be numbers.", element.where) from None
        if len(values) % 3 or not np.isfinite(values).all():
            raise InputError(f"{key} must be finite numbers, three per item.", element.where)
        return values.reshape(-1, 3)
