"""Collada (DAE) files: geometries placed by the nodes of a scene, with the colours of their materials.

Coordinates stay in the axes of the file, as in URDF tools, unless `z_up` is set.
Skins (controllers), textures and animations are ignored, with a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from forearm.errors import InputError, shorten
from forearm.parts.stl import MOST_TRIANGLES, check_triangles
from forearm.portable import matmul
from forearm.reading.textfile import read_bytes
from forearm.reading.xml import MAX_XML_BYTES, Element, number, parse_xml
from forearm.spatial import Floats, pose, rotation_about
from forearm.values import frozen
from forearm.visuals.collada_geometry import GeometryPart, numbers, parts_of_geometry
from forearm.visuals.mesh import mirrors, transformed

MOST_NODES = 20_000
MOST_DEPTH = 100
# Rotation from the file's up axis to z.
TO_Z_UP = {
    "Y_UP": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    "X_UP": np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]]),
    "Z_UP": np.eye(3),
}
SHADINGS = ("phong", "lambert", "blinn", "constant")


@frozen
class ColladaFile:
    """Triangles (T, 3, 3) in m by colour ("#rrggbb" or None), and notes on what was ignored."""

    colours: dict[str | None, Floats]
    up_axis: str
    notes: tuple[str, ...]


def read_dae(path: Path, z_up: bool = False) -> ColladaFile:
    """The visible geometry of a Collada file, in metres.

    Args:
        path: the file.
        z_up: whether to rotate the file's up axis to z; otherwise coordinates stay as they are.
    """
    root = parse_xml(read_bytes(path, MAX_XML_BYTES), str(path))
    if root.tag != "COLLADA":
        raise InputError(f"expected <COLLADA> at the root of a DAE file, got <{root.tag:.40}>.", path)
    return _ColladaDocument(root, str(path)).read(z_up)


@dataclass
class _ColladaDocument:
    """A file being read: its elements by id, and the triangles found so far."""

    root: Element
    name: str
    by_id: dict[str, Element] = field(default_factory=dict)
    geometries: dict[str, list[GeometryPart]] = field(default_factory=dict)
    shown: dict[str | None, list[Floats]] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    nodes: int = 0
    triangles: int = 0

    def read(self, z_up: bool) -> ColladaFile:
        self._index(self.root)
        up = self._asset_text("up_axis", "Y_UP")
        if up not in TO_Z_UP:
            raise InputError(f"up_axis must be X_UP, Y_UP or Z_UP, got {shorten(up)}.", self.name)
        outer = pose(TO_Z_UP[up] if z_up else np.eye(3))
        outer[:3, :3] *= self._metres()
        scenes = list(self._scene_nodes())
        for node in scenes:
            self._node(node, outer, 0)
        if not scenes:  # without a scene every geometry is shown once
            for geometry in self._all("library_geometries", "geometry"):
                self._show(geometry, outer, {})
        colours = {colour: np.concatenate(found) for colour, found in self.shown.items()}
        if not colours:
            raise InputError("no triangles; export a triangle mesh.", self.name)
        for found in colours.values():
            check_triangles(found, self.name)
        return ColladaFile(colours, up, tuple(self.notes))

    def _index(self, element: Element) -> None:
        for child in element.children:
            if child.attributes.get("id"):
                self.by_id.setdefault(child.attributes["id"], child)
            if child.tag not in ("float_array", "p", "vcount"):
                self._index(child)

    def _asset_text(self, tag: str, default: str) -> str:
        asset = self.root.first("asset")
        found = asset.first(tag) if asset is not None else None
        return default if found is None or not found.text.strip() else found.text.strip()

    def _metres(self) -> float:
        asset = self.root.first("asset")
        unit = asset.first("unit") if asset is not None else None
        text = "1" if unit is None else unit.attributes.get("meter", "1")
        value = number(text, "meter of <unit>", self.name)
        if value <= 0.0:
            raise InputError(f"meter of <unit> must be above 0, got {shorten(text)}.", self.name)
        return value

    def _all(self, library: str, tag: str) -> Iterator[Element]:
        for shelf in self.root.all(library):
            yield from shelf.all(tag)

    def _scene_nodes(self) -> Iterator[Element]:
        scene = self.root.first("scene")
        wanted = scene.first("instance_visual_scene") if scene is not None else None
        found = self._target(wanted) if wanted is not None else None
        if found is None:
            found = next(self._all("library_visual_scenes", "visual_scene"), None)
        yield from found.all("node") if found is not None else ()

    def _target(self, element: Element, key: str = "url") -> Element | None:
        """The element that another one refers to by #id; None if it is not in this file."""
        return self.by_id.get(element.attributes.get(key, "").removeprefix("#"))

    def _node(self, node: Element, outer: Floats, depth: int) -> None:
        self.nodes += 1
        if self.nodes > MOST_NODES or depth > MOST_DEPTH:
            raise InputError(f"more than {MOST_NODES} nodes, or nested deeper than {MOST_DEPTH}.", self.name)
        T = outer
        for child in node.children:
            if child.tag in ("matrix", "translate", "rotate", "scale"):
                with np.errstate(over="ignore", invalid="ignore"):  # overflow is refused at the end
                    T = matmul(T, self._step(child))
            elif child.tag in ("lookat", "skew"):
                self.notes[f"<{child.tag}> of a node was ignored"] = None
        for child in node.children:
            if child.tag == "node":
                self._node(child, T, depth + 1)
            elif child.tag == "instance_node":
                found = self._target(child)
                if found is not None and found.tag == "node":
                    self._node(found, T, depth + 1)
            elif child.tag == "instance_geometry":
                found = self._target(child)
                if found is not None and found.tag == "geometry":
                    self._show(found, T, self._bound_colours(child))
            elif child.tag == "instance_controller":
                self.notes["<instance_controller> (a skin) was ignored"] = None

    def _step(self, element: Element) -> Floats:
        count = {"matrix": 16, "rotate": 4}.get(element.tag, 3)
        given = numbers(element, self.name)
        if len(given) != count or not np.isfinite(given).all():
            raise InputError(
                f"expected {count} finite numbers.", self.name, f"line {element.line}", f"<{element.tag}>"
            )
        if element.tag == "matrix":
            return given.reshape(4, 4)
        if element.tag == "translate":
            return pose(p=given)
        if element.tag == "scale":
            return np.diag([*given, 1.0])
        size = float(np.sqrt((given[:3] * given[:3]).sum()))
        return (
            pose(rotation_about(given[:3] / size, float(np.deg2rad(given[3])))) if size > 0.0 else np.eye(4)
        )

    def _bound_colours(self, instance: Element) -> dict[str, str | None]:
        """The colours of the material symbols of a geometry."""
        found: dict[str, str | None] = {}
        for bind in instance.all("bind_material"):
            for common in bind.all("technique_common"):
                for material in common.all("instance_material"):
                    target = self._target(material, "target")
                    found[material.attributes.get("symbol", "")] = self._colour(target)
        return found

    def _colour(self, material: Element | None) -> str | None:
        """The diffuse colour of a material as #rrggbb; None if textured or missing."""
        instance = None if material is None else material.first("instance_effect")
        effect = None if instance is None else self._target(instance)
        for profile in effect.all("profile_COMMON") if effect is not None else ():
            for technique in profile.all("technique"):
                for shading in (child for child in technique.children if child.tag in SHADINGS):
                    diffuse = shading.first("emission" if shading.tag == "constant" else "diffuse")
                    colour = diffuse.first("color") if diffuse is not None else None
                    if colour is not None:
                        return hex_colour(numbers(colour, self.name))
                    if diffuse is not None and diffuse.first("texture") is not None:
                        self.notes["textures were ignored"] = None
        return None

    def _show(self, geometry: Element, T: Floats, colours: dict[str, str | None]) -> None:
        key = geometry.attributes.get("id", "")
        if key not in self.geometries:
            self.geometries[key] = list(parts_of_geometry(geometry, self.by_id, self.name))
        for part in self.geometries[key]:
            self.triangles += len(part.triangles)
            if self.triangles > MOST_TRIANGLES:
                raise InputError(f"more than {MOST_TRIANGLES} triangles; export a coarser mesh.", self.name)
            colour = colours.get(part.material)
            if part.material and part.material not in colours:
                colour = self._colour(self.by_id.get(part.material))
            with np.errstate(over="ignore", invalid="ignore"):
                corners = transformed(T, part.triangles.reshape(-1, 3)).reshape(-1, 3, 3)
            self.shown.setdefault(colour, []).append(corners[:, ::-1] if mirrors(T) else corners)


def hex_colour(rgba: Floats) -> str | None:
    """Red, green and blue from 0 to 1 as #rrggbb; None if they are not valid."""
    if len(rgba) < 3 or not np.isfinite(rgba[:3]).all():
        return None
    return "#" + "".join(f"{int(255.0 * min(max(float(v), 0.0), 1.0) + 0.5):02x}" for v in rgba[:3])
