"""The <visual> elements of a URDF: boxes, cylinders, spheres, capsules and meshes with their colours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from forearm.errors import InputError
from forearm.files.urdf_shapes import mesh_path
from forearm.files.urdf_values import attribute, number, origin, vector
from forearm.reading import xml
from forearm.reading.xml import Element
from forearm.spatial import pose_xyz_rpy
from forearm.visuals.collada import hex_colour
from forearm.visuals.visual import Collector, VisualSet, capsule, stretched, unit_solid


def urdf_visuals(robot: Element, folder: Path, packages: Mapping[str, Path]) -> VisualSet:
    """The visual shapes of a URDF; its files are located as by `fa.load`."""
    found = Collector()
    named: dict[str, str | None] = {}
    materials = [*robot.all("material")]
    materials += [m for link in robot.all("link") for v in link.all("visual") for m in v.all("material")]
    for material in materials:
        colour = _own_colour(material)
        if colour is not None and material.attributes.get("name"):
            named.setdefault(material.attributes["name"], colour)
    for link in robot.all("link"):
        called = attribute(link, "name", f"{link.place}, <link>")
        for visual in link.all("visual"):
            geometry = visual.first("geometry")
            shape = geometry.children[0] if geometry is not None and geometry.children else None
            what = "shape" if shape is None else shape.attributes.get("filename", f"<{shape.tag}>")
            with found.attempt(called, what):
                _add(found, called, visual, shape, _colour(visual, named), folder, packages)
    return found.result()


def _add(
    found: Collector,
    link: str,
    visual: Element,
    shape: Element | None,
    colour: str | None,
    folder: Path,
    packages: Mapping[str, Path],
) -> None:
    where = f"{visual.place}, <visual>"
    if shape is None:
        raise InputError("expected one shape in <geometry>, got none.", where)
    pose = pose_xyz_rpy(*origin(visual, where))
    if shape.tag == "mesh":
        path = mesh_path(attribute(shape, "filename", where), folder, packages)
        scale = vector(shape, "scale", where, "1 1 1")
        if not scale.all():
            raise InputError("scale must not be 0.", where)
        found.add_file(link, pose, path, scale, colour)
    elif shape.tag == "box":
        x, y, z = (float(v) for v in vector(shape, "size", where))
        found.add(link, stretched(pose, x, y, z), unit_solid("box"), colour, "box")
    elif shape.tag == "sphere":
        r = number(shape, "radius", where)
        found.add(link, stretched(pose, r, r, r), unit_solid("sphere"), colour, "sphere")
    elif shape.tag in ("cylinder", "capsule"):
        r, length = (number(shape, key, where) for key in ("radius", "length"))
        if shape.tag == "cylinder":
            found.add(link, stretched(pose, r, r, length), unit_solid("cylinder"), colour, "cylinder")
        else:
            found.add(link, pose, capsule(r, length), colour, "capsule")
    else:
        raise InputError("expected a box, cylinder, sphere, capsule or mesh.", where)


def _colour(visual: Element, named: Mapping[str, str | None]) -> str | None:
    material = visual.first("material")
    if material is None:
        return None
    return _own_colour(material) or named.get(material.attributes.get("name", ""))


def _own_colour(material: Element) -> str | None:
    """The colour given in a material; None if missing or unreadable."""
    element = material.first("color")
    words = element.attributes.get("rgba", "").split() if element is not None else []
    if len(words) not in (3, 4):
        return None
    try:
        return hex_colour(np.array([xml.number(word, "rgba", material.place) for word in words]))
    except InputError:
        return None
