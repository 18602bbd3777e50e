"""Links composed of parts: the solids and meshes of a parts file, in the frames of their links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from forearm.parts.database import MESH, parts_tables, place_of
from forearm.portable import matmul
from forearm.reading.textfile import beside, read_toml
from forearm.spatial import Floats
from forearm.visuals.mesh import TriangleMesh
from forearm.visuals.solids import OF_PARTS
from forearm.visuals.visual import Collector, VisualSet, stretched, unit_solid

# Colours of common materials, by words in their names; others have none.
LOOKS = {
    "alumin": "#c3c9ce",
    "steel": "#8f979e",
    "iron": "#6f767c",
    "copper": "#c08552",
    "winding": "#b5713f",
    "brass": "#c9a95a",
    "magnet": "#565d66",
    "phenolic": "#7a5a3c",
}


def armfile_visuals(path: Path) -> VisualSet:
    """The visual shapes of an arm file's parts; empty if it names no parts file."""
    parts = read_toml(path).get("parts")
    return parts_visuals(beside(path, parts)) if isinstance(parts, str) else VisualSet(())


def parts_visuals(path: Path) -> VisualSet:
    """The visual shapes of a parts file. Holes are not cut."""
    found = Collector()
    holes = 0
    for link in parts_tables(path)["link"]:
        for part in link["part"]:
            T_part = matmul(place_of(link), place_of(part))
            for section in part["section"]:
                if section.get("hole", False):
                    holes += 1
                    continue
                with found.attempt(link["name"], section.get("file", section["shape"])):
                    _add(found, link["name"], matmul(T_part, place_of(section)), section, path)
    if holes:
        found.notes[f"{path.name}: {holes} holes are drawn filled"] = None
    return found.result()


def _add(found: Collector, link: str, T: Floats, section: dict[str, Any], path: Path) -> None:
    kind, colour = section["shape"], _colour(section)
    if kind == MESH:
        scale = float(section.get("scale", 1.0))
        found.add_file(link, T, beside(path, section["file"]), np.full(3, scale), colour)
        return
    mesh, pose = _solid(kind, section, T)
    found.add(link, pose, mesh, colour, kind)


def _solid(kind: str, section: dict[str, Any], T: Floats) -> tuple[TriangleMesh, Floats]:
    """The triangles and the affine transform; boxes, cylinders and balls share triangles at different
    scales.
    """
    T = T.copy()
    if kind == "sphere":
        return unit_solid("sphere"), stretched(T, *(section["radius"],) * 3)
    if kind not in ("box", "cylinder"):
        return OF_PARTS[kind](section), T
    radius, length = section.get("radius", 0.0), section.get("length", 0.0)
    x, y, z = (section[k] for k in "xyz") if kind == "box" else (radius, radius, length)
    T[:3, 3] += 0.5 * z * T[:3, 2]  # parts stand on their base
    return unit_solid(kind), stretched(T, x, y, z)


def _colour(section: dict[str, Any]) -> str | None:
    name = str(section.get("material", "")).lower()
    return next((look for word, look in LOOKS.items() if word in name), None)
