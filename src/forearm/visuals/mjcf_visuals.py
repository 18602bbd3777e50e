"""The geoms of an MJCF file that MuJoCo's viewer shows: meshes and plain solids with their colours."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np

from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.files.mjcf.assemble import chosen_base
from forearm.files.mjcf.attributes import MjcfElement
from forearm.files.mjcf.bodies import BodyReader
from forearm.files.mjcf.defaults import Defaults
from forearm.files.mjcf.geoms import SOLIDS, TYPES, size_and_place
from forearm.files.mjcf.include import with_includes
from forearm.files.mjcf.orientation import Placed, placed
from forearm.files.mjcf.settings import MjcfSettings, settings_of
from forearm.files.mjcf.tree import BodyTree
from forearm.files.report import FileReport
from forearm.reading.xml import Element
from forearm.spatial import Floats
from forearm.visuals.collada import hex_colour
from forearm.visuals.mjcf_meshes import MjcfMeshes
from forearm.visuals.visual import Collector, VisualSet, capsule, stretched, unit_solid

SHOWN_GROUPS = (0, 1, 2)  # groups that MuJoCo's viewers show by default
FLAT = ("plane", "hfield")
GREY = (0.5, 0.5, 0.5, 1.0)  # MuJoCo's default colour of a geom

Geom = tuple[MjcfElement, Placed]


def mjcf_visuals(mujoco: Element, name: str, path: Path, root: str | None = None) -> VisualSet:
    """The visual shapes of the bodies in an MJCF file; `root` is the arm's base, as for `fa.load`."""
    mujoco = with_includes(mujoco, path)
    settings, defaults = settings_of(mujoco), Defaults(mujoco)
    reader = BodyReader(settings, defaults, FileReport(name), (f"body{i}" for i in count(1)))
    bodies = reader.world(mujoco)
    base = chosen_base(BodyTree(name, bodies, settings.gravity), name, root)
    links = [body.name for body in base.walk()]
    found = Collector()
    meshes = MjcfMeshes(mujoco, defaults, settings, path.parent, found.files)
    materials = _materials(mujoco, defaults)
    shown = {link: list(_shown(reader.geoms[link])) for link in links}
    if not any(shown.values()):  # an arm with only other groups is shown completely
        shown = {link: reader.geoms[link] for link in links}
    for link, geoms in shown.items():
        for geom, frame in geoms:
            what = geom.values.get("mesh", f"<geom> {shorten(geom.name)}" if geom.name else "<geom>")
            with found.attempt(link, what):
                _add(found, link, geom, frame, settings, meshes, materials)
    return found.result()


def _shown(geoms: list[Geom]) -> Iterator[Geom]:
    """Geoms in visible groups; only the visual-only ones, if these have groups of their own."""
    visible = [pair for pair in geoms if pair[0].number("group", 0.0) in SHOWN_GROUPS]
    looks = [pair for pair in visible if _is_for_looks(pair[0])]
    groups = {pair[0].number("group", 0.0) for pair in looks}
    colliding = [pair for pair in visible if not _is_for_looks(pair[0])]
    apart = bool(looks) and not any(pair[0].number("group", 0.0) in groups for pair in colliding)
    yield from looks if apart else visible


def _is_for_looks(geom: MjcfElement) -> bool:
    return geom.number("contype", 1.0) == 0.0 and geom.number("conaffinity", 1.0) == 0.0


def _add(
    found: Collector,
    link: str,
    geom: MjcfElement,
    frame: Placed,
    settings: MjcfSettings,
    meshes: MjcfMeshes,
    materials: dict[str, MjcfElement],
) -> None:
    kind = geom.choice("type", TYPES, "sphere")
    rgba = _rgba(geom, materials)
    if kind in FLAT or (rgba is not None and rgba[3] == 0.0):
        if kind in FLAT:
            found.notes[f"a geom of type {kind} is not drawn"] = None
        return
    colour = None if rgba is None else hex_colour(rgba)
    if kind not in SOLIDS:
        pose = placed(geom, settings).on(frame).pose
        for mesh, own, source in meshes.pieces(geom):
            found.add(link, pose, mesh, colour or own, source)
        return
    if geom.has("mesh"):
        raise InputError(f"a {kind} fitted to a mesh is not drawn; give its size explicitly.", geom.where)
    sizes, here = size_and_place(geom, kind, SOLIDS[kind], settings)
    pose = here.on(frame).pose
    if kind == "capsule":
        found.add(link, pose, capsule(float(sizes[0]), 2.0 * float(sizes[1])), colour, kind)
        return
    unit = {"sphere": "sphere", "ellipsoid": "sphere"}.get(kind, kind)
    found.add(link, stretched(pose, *_spans(kind, sizes)), unit_solid(unit), colour, kind)


def _spans(kind: str, sizes: Floats) -> tuple[float, float, float]:
    """Scale of a unit solid: MuJoCo's sizes are half-lengths."""
    s = [float(v) for v in sizes]
    if kind == "sphere":
        return s[0], s[0], s[0]
    if kind == "cylinder":
        return s[0], s[0], 2.0 * s[1]
    return (s[0], s[1], s[2]) if kind == "ellipsoid" else (2.0 * s[0], 2.0 * s[1], 2.0 * s[2])


def _materials(mujoco: Element, defaults: Defaults) -> dict[str, MjcfElement]:
    elements = [child for asset in mujoco.all("asset") for child in asset.all("material")]
    return {e.attributes["name"]: defaults.of(e) for e in elements if e.attributes.get("name")}


def _rgba(geom: MjcfElement, materials: dict[str, MjcfElement]) -> Floats | None:
    """The colour of a geom, or of its material, or None; the default grey counts as none."""
    own = geom.numbers("rgba", 4, default="0.5 0.5 0.5 1")
    if not np.array_equal(own, GREY):
        return own
    name = geom.values.get("material")
    if not name:
        return None
    if name not in materials:
        raise NameNotFound(f"unknown material {shorten(name)}; {suggest(name, materials)}", geom.where)
    return materials[name].numbers("rgba", 4, default="1 1 1 1")
