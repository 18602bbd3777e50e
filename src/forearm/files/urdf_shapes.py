"""Mass properties of a link from its shapes and a density: boxes, cylinders, spheres and closed meshes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from forearm.errors import InputError, located, shorten
from forearm.files.urdf_values import attribute, number, origin, vector
from forearm.parts.obj import read_obj
from forearm.parts.shapes import Moments, box, cylinder, sphere
from forearm.parts.stl import check_closed, mesh_moments, read_stl
from forearm.reading.xml import Element
from forearm.spatial import (
    Floats,
    MassProperties,
    combine_bodies,
    inertia_from_pseudo,
    move_body,
    pose_xyz_rpy,
)

MESHES = {".stl": read_stl, ".obj": read_obj}


def shape_properties(
    link: Element, density: float, folder: Path, packages: Mapping[str, Path], where: str
) -> MassProperties | None:
    """Mass, centre and inertia of a link's shapes at this density (kg/m^3); None without shapes.

    <collision> shapes are used, or <visual> ones if there are none or one is unusable; each counts in full,
    even where shapes overlap.
    """
    wrong: InputError | None = None
    for tag in ("collision", "visual"):
        elements = list(link.all(tag))
        try:
            bodies = [_body(element, density, folder, packages, where) for element in elements]
        except InputError as error:
            wrong = wrong or error
            continue
        if bodies:
            return combine_bodies(bodies)
    if wrong is not None:
        raise wrong
    return None


def _body(
    element: Element, density: float, folder: Path, packages: Mapping[str, Path], where: str
) -> MassProperties:
    geometry = element.first("geometry")
    shapes = [] if geometry is None else geometry.children
    if len(shapes) != 1:
        raise InputError(f"expected one shape in <geometry> of <{element.tag}>, got {len(shapes)}.", where)
    with located(f"{where}, <{shapes[0].tag:.40}>"):
        solid = _solid(shapes[0], folder, packages, where)
    properties = density * solid.volume, solid.centroid, inertia_from_pseudo(density * solid.second)
    return move_body(pose_xyz_rpy(*origin(element, where)), *properties)


def _solid(shape: Element, folder: Path, packages: Mapping[str, Path], where: str) -> Moments:
    if shape.tag == "box":
        x, y, z = map(float, vector(shape, "size", where))
        return _centred(box(x=x, y=y, z=z))
    if shape.tag == "cylinder":
        radius, length = (number(shape, key, where) for key in ("radius", "length"))
        return _centred(cylinder(radius=radius, length=length))
    if shape.tag == "sphere":
        return _centred(sphere(radius=number(shape, "radius", where)))
    if shape.tag != "mesh":
        raise InputError("expected a box, cylinder, sphere or mesh; give the link an <inertial>.")
    path = mesh_path(attribute(shape, "filename", where), folder, packages)
    return _mesh(path, vector(shape, "scale", where, "1 1 1"))


def _centred(solid: Moments) -> Moments:
    """URDF places the centre of a simple shape at its origin."""
    return replace(solid, centroid=np.zeros(3))


def _mesh(path: Path, scale: Floats) -> Moments:
    reader = MESHES.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            "only STL and OBJ are supported; convert the mesh, or give the link an <inertial>.", path.name
        )
    triangles = np.asarray(reader(path) * scale)
    check_closed(triangles, path.name)
    return mesh_moments(triangles, path.name)


def mesh_path(uri: str, folder: Path, packages: Mapping[str, Path]) -> Path:
    """The path of a mesh: package://NAME/..., file://..., or relative to the URDF's folder.

    A package that is not in `packages` is searched for among the folders around the file.
    """
    if not (match := re.match(r"(package|model)://([^/]+)/+(.*)", uri, re.DOTALL)):
        return folder / unquote(uri.removeprefix("file://")) if uri.startswith("file://") else folder / uri
    name, rest = match[2], match[3]
    found = packages.get(name) or package_around(folder, name)
    if found is None:
        raise InputError(
            f"the package {shorten(name)} was not found. Give its folder with packages={{"
            f"{name!r:.80}: FOLDER}} (--package {name:.80}=FOLDER).",
            shorten(uri),
        )
    return Path(found) / rest


def package_around(folder: Path, name: str) -> Path | None:
    """The folder of a package: one that contains this folder, or a sibling of one that does."""
    for around in (folder.resolve(), *folder.resolve().parents):
        if around.name == name:
            return around
        if re.fullmatch(r"[\w.-]+", name) and name != ".." and (around / name).is_dir():
            return around / name
    return None
