"""The parts database: links made of parts, parts made of sections, each with mass, centre and inertia. Swartz
p. 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from forearm.arm.link import SEMIDEFINITE_SLACK
from forearm.errors import InputError, ModelError, located
from forearm.parts.shapes import SHAPES, Moments
from forearm.parts.stl import check_closed, mesh_moments, read_stl
from forearm.reading.fields import (
    AngleField,
    ChoiceField,
    FlagField,
    ListField,
    MapField,
    NumberField,
    TableField,
    TableListField,
    TextField,
    published,
)
from forearm.reading.formats import refuse_other_format
from forearm.reading.textfile import beside, read_toml
from forearm.spatial import (
    Floats,
    combine_bodies,
    inertia_from_pseudo,
    move_body,
    parallel_axis,
    pose_xyz_rpy,
)
from forearm.values import MAX_TEXT, chosen, frozen

SCHEMA = "forearm-parts/1"
MESH = "mesh"

_PLACE = {"xyz": ListField(NumberField(), 3, "m"), "rpy": ListField(AngleField(), 3, "roll, pitch, yaw")}
_DIMENSIONS = sorted({name for shape in SHAPES.values() for name in shape.dimensions})
SECTION = TableField(
    {
        "name": TextField(),
        "shape": ChoiceField((*SHAPES, MESH)),
        **{name: NumberField("m", minimum=0.0) for name in _DIMENSIONS},
        "points": ListField(ListField(NumberField(), 2), None, "corners of a prism's outline, m"),
        "file": TextField("STL file of a mesh, in the same folder"),
        "scale": NumberField("m per unit of the mesh file: 0.001 for millimetres", above=0.0),
        "density": NumberField("kg / m^3", above=0.0),
        "material": TextField("a name in [materials]"),
        "mass": NumberField("kg", above=0.0),
        "hole": FlagField("true: subtracted from the part (default: added)"),
        **_PLACE,
    },
    required=("shape",),
    doc="a solid, placed in the part",
)
PART = TableField(
    {
        "name": TextField(),
        "drawing": TextField("its drawing number"),
        **_PLACE,
        "section": TableListField(SECTION, "section"),
    },
    required=("name", "section"),
    doc="placed in the link's drawing frame",
)
LINK = TableField(
    {"name": TextField(), **_PLACE, "part": TableListField(PART, "part")},
    required=("name", "part"),
    doc="xyz, rpy: the drawing frame, in which parts are placed, in the link frame",
)
PARTS = TableField(
    {
        "schema": ChoiceField((SCHEMA,)),
        "name": TextField(),
        "source": TextField("where the dimensions come from", MAX_TEXT),
        "materials": MapField(NumberField("kg / m^3", above=0.0)),
        "link": TableListField(LINK, "link"),
    },
    required=("schema", "link"),
)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the parts file, as published in `forearm/schemas/parts.schema.json`."""
    return published("forearm parts file", PARTS)


class Mass(NamedTuple):
    """Mass (kg), centre of mass (m) and inertia about it (kg m^2), in the axes of some frame."""

    mass: float
    com: Floats
    inertia: Floats


@frozen
class Component:
    """A section, part or link: its mass in its own frame, its pose (4, 4) in its parent, and its children."""

    kind: str
    name: str
    own: Mass
    place: Floats
    held: tuple[Component, ...] = ()
    what: str = ""

    @property
    def turned(self) -> Mass:
        """The mass in the parent's frame: R c + p and R I R^T."""
        return Mass(*move_body(self.place, *self.own))

    def moved(self, child: Component) -> tuple[Floats, Floats]:
        """The offset r of a child from this node's centre of mass, and its inertia there: I + m (r^2 1 - r
        r^T).
        """
        turned = child.turned
        shift = turned.com - self.own.com
        return shift, turned.inertia + parallel_axis(turned.mass, shift)

    @property
    def in_link(self) -> Mass:
        """The mass properties of a link in the link frame."""
        return self.turned

    def walk(self) -> Iterator[tuple[Component | None, Component]]:
        """This node and all below it, each with its parent; parts before the link."""
        for child in self.held:
            for holder, node in child.walk():
                yield holder or self, node
        yield None, self


def read_parts(path: Path) -> tuple[Component, ...]:
    """Read the links of a parts file, each a tree of parts and sections."""
    data = parts_tables(path)
    return tuple(_link(block, data.get("materials", {}), path) for block in data["link"])


def parts_tables(path: Path) -> dict[str, Any]:
    """The tables of a parts file, checked one by one."""
    document = read_toml(path)
    refuse_other_format(document, path.name, SCHEMA)
    data = PARTS.read(document, path.name)
    for name, count in Counter(block["name"] for block in data["link"]).items():
        if count > 1:
            raise ModelError(
                f"{count} links of that name; put their parts into one, or rename.",
                path.name,
                f"link {name!r}",
            )
    return data


def _link(block: dict[str, Any], materials: dict[str, float], path: Path) -> Component:
    where = f"{path.name}, link {block['name']!r}"
    parts = tuple(_part(part, materials, path, where) for part in block["part"])
    return _holding("link", block["name"], parts, place_of(block), where)


def _part(block: dict[str, Any], materials: dict[str, float], path: Path, where: str) -> Component:
    where = f"{where}, part {block['name']!r}"
    sections = []
    for index, section in enumerate(block["section"]):
        name = section.get("name", f"{section['shape']} {index + 1}")
        with located(f"{where}, section {name!r}"):
            sections.append(_section(name, section, materials, path))
    return _holding("part", block["name"], tuple(sections), place_of(block), where, block.get("drawing", ""))


def _section(name: str, block: dict[str, Any], materials: dict[str, float], path: Path) -> Component:
    moments = _mesh(block, path) if block["shape"] == MESH else _solid(block)
    density = _density(block, materials, moments.volume)
    if block.get("hole", False):
        density = -density
    own = Mass(density * moments.volume, moments.centroid, density * inertia_from_pseudo(moments.second))
    return Component(
        "section", name, own, place_of(block), what=("hole: " if density < 0 else "") + block["shape"]
    )


def _solid(block: dict[str, Any]) -> Moments:
    shape = SHAPES[block["shape"]]
    wanted = (*shape.dimensions, "points") if shape.name == "prism" else shape.dimensions
    for key in (*_DIMENSIONS, "points", "file", "scale"):
        if (key in block) != (key in wanted):
            verb = "has no" if key in block else "needs"
            raise InputError(f"a {shape.name} {verb} {key!r}; expected {', '.join(wanted)}. {shape.summary}")
    return shape.function(**{key: block[key] for key in wanted})


def _mesh(block: dict[str, Any], path: Path) -> Moments:
    extra = [key for key in (*_DIMENSIONS, "points") if key in block]
    if extra or "file" not in block:
        raise InputError(f"a mesh has 'file' and 'scale'{', not ' + repr(extra[0]) if extra else ''}.")
    file = beside(path, block["file"])
    triangles = read_stl(file, block.get("scale", 1.0))
    check_closed(triangles, file.name)
    return mesh_moments(triangles, file.name)


def _density(block: dict[str, Any], materials: dict[str, float], volume: float) -> float:
    given = [key for key in ("density", "material", "mass") if key in block]
    if len(given) != 1:
        got = " and ".join(given) or "none"
        raise InputError(f"give one of density (kg/m^3), material or mass (kg); got {got}.")
    if "mass" in block:
        return float(block["mass"]) / volume
    if "density" in block:
        return float(block["density"])
    return chosen(materials, block["material"], "material")


def place_of(block: dict[str, Any]) -> Floats:
    """The pose (4, 4) of a section, part or link in its parent."""
    return pose_xyz_rpy(block.get("xyz", (0.0, 0.0, 0.0)), block.get("rpy", (0.0, 0.0, 0.0)))


def _holding(
    kind: str, name: str, held: tuple[Component, ...], place: Floats, where: str, what: str = ""
) -> Component:
    if not held:
        raise InputError("it is empty; a part needs sections, a link needs parts.", where)
    own = Mass(*combine_bodies([node.turned for node in held]))
    if own.mass <= 0.0:
        raise ModelError(f"its total mass is {own.mass:.6g} kg: the holes are larger than the solids.", where)
    moments = np.linalg.eigvalsh(own.inertia)
    if moments[0] < -SEMIDEFINITE_SLACK * abs(moments[2]):
        raise ModelError(
            f"a principal moment is {moments[0]:.6g} kg m^2: a hole lies outside the solid it is cut from.",
            where,
        )
    return Component(kind, name, own, place, held, what)
