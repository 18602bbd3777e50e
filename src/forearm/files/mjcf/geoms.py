"""The mass of a body without <inertial>, from its geoms: solid shapes with a density or a mass."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from forearm.errors import InputError
from forearm.files.mjcf.attributes import MjcfElement
from forearm.files.mjcf.orientation import Placed, placed, rotation_z_to
from forearm.files.mjcf.settings import MjcfSettings
from forearm.portable import norm
from forearm.spatial import Floats, MassProperties, combine_bodies, inertia_from_pseudo, move_body

Triple = tuple[float, float, float]
DENSITY = 1000.0  # kg/m^3, the default of a geom
WITHOUT_MASS = ("plane", "hfield")
WITH_DATA = ("mesh", "sdf")


@dataclass(frozen=True)
class Solid:
    """A primitive shape: its number of sizes, its volume and the mean of x^2, y^2, z^2 over it."""

    sizes: int
    volume: Callable[[Floats], float]
    mean_squares: Callable[[Floats], Triple]


def _ellipsoid_squares(s: Floats) -> Triple:
    x, y, z = (float(v * v) / 5.0 for v in s)
    return x, y, z


def _box_squares(s: Floats) -> Triple:
    x, y, z = (float(v * v) / 3.0 for v in s)
    return x, y, z


def _cylinder_squares(s: Floats) -> Triple:
    r, h = s
    return float(r * r) / 4.0, float(r * r) / 4.0, float(h * h) / 3.0


def _capsule_squares(s: Floats) -> Triple:
    """A cylinder and two hemispheres whose flat faces are at +-h."""
    r, h = (float(v) for v in s)
    if r == 0.0:
        return 0.0, 0.0, h * h / 3.0
    ball, bar = 4.0 / 3.0 * r, 2.0 * h  # volumes over pi r^2
    across = (ball * r * r / 5.0 + bar * r * r / 4.0) / (ball + bar)
    # over half a ball the mean of z is 3/8 r, of z^2 it is r^2/5
    along = (ball * (r * r / 5.0 + 0.75 * h * r + h * h) + bar * h * h / 3.0) / (ball + bar)
    return across, across, along


SOLIDS = {
    "sphere": Solid(
        1, lambda s: 4 / 3 * math.pi * float(s[0] * s[0] * s[0]), lambda s: _ellipsoid_squares(s[[0, 0, 0]])
    ),
    "ellipsoid": Solid(3, lambda s: 4 / 3 * math.pi * float(s[0] * s[1] * s[2]), _ellipsoid_squares),
    "box": Solid(3, lambda s: 8.0 * float(s[0] * s[1] * s[2]), _box_squares),
    "cylinder": Solid(2, lambda s: 2.0 * math.pi * float(s[0] * s[0] * s[1]), _cylinder_squares),
    "capsule": Solid(
        2, lambda s: math.pi * float(s[0] * s[0]) * float(4.0 / 3.0 * s[0] + 2.0 * s[1]), _capsule_squares
    ),
}
TYPES = (*SOLIDS, *WITHOUT_MASS, *WITH_DATA)


class UnknownMass(Exception):
    """A geom whose mass depends on data outside the file."""


def properties_of_geoms(
    geoms: Sequence[tuple[MjcfElement, Placed]], settings: MjcfSettings
) -> MassProperties:
    """Mass, centre and inertia of geoms, each in a frame of the body."""
    return combine_bodies([_properties(geom, outer, settings) for geom, outer in geoms])


def _properties(geom: MjcfElement, outer: Placed, settings: MjcfSettings) -> MassProperties:
    nothing: MassProperties = (0.0, np.zeros(3), np.zeros((3, 3)))
    kind = geom.choice("type", TYPES, "sphere")
    lowest, highest = settings.groups
    has_mass = geom.number("mass") > 0.0 if geom.has("mass") else geom.number("density", DENSITY) > 0.0
    if not has_mass or kind in WITHOUT_MASS or not lowest <= geom.number("group", 0.0) <= highest:
        return nothing
    if kind in WITH_DATA or geom.has("mesh"):
        raise UnknownMass(f"{geom.where}: the mass of a mesh is not computed")
    if geom.values.get("shellinertia", "false") == "true":
        raise UnknownMass(f"{geom.where}: the inertia of a shell (shellinertia) is not computed")
    solid = SOLIDS[kind]
    sizes, here = size_and_place(geom, kind, solid, settings)
    mass = geom.number("mass") if geom.has("mass") else geom.number("density", DENSITY) * solid.volume(sizes)
    inertia = inertia_from_pseudo(np.diag(solid.mean_squares(sizes)) * mass)
    return move_body(here.on(outer).pose, mass, np.zeros(3), inertia)


def size_and_place(
    geom: MjcfElement, kind: str, solid: Solid, settings: MjcfSettings
) -> tuple[Floats, Placed]:
    """Sizes and pose; between two points (`fromto`) the last size is half their distance along z."""
    if not geom.has("fromto"):
        sizes = geom.numbers("size", solid.sizes, 3)[: solid.sizes]
        return sizes, placed(geom, settings)
    if kind == "sphere":
        raise InputError("a sphere has no fromto; give pos.", geom.where)
    ends = geom.numbers("fromto", 6)
    along = ends[:3] - ends[3:]
    length = norm(along)
    if length < 1e-14:
        raise InputError("the two points of fromto must differ.", geom.where)
    across = np.repeat(geom.numbers("size", 1, 3)[:1], solid.sizes - 1)  # the others are ignored
    sizes = np.array([*across, 0.5 * length])
    return sizes, Placed(0.5 * (ends[:3] + ends[3:]), rotation_z_to(along / length))
