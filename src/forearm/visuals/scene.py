"""An arm as shapes for a renderer: its own if it has any, otherwise a skeleton, on the moving bodies."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.portable import matmul
from forearm.spatial import Floats
from forearm.values import check_kind, check_whole
from forearm.visuals.ellipsoids import ellipsoid
from forearm.visuals.encoding import MeshTable, short, shorts
from forearm.visuals.mesh import CREASE, TriangleMesh
from forearm.visuals.mesh_files import ENDINGS
from forearm.visuals.reduction import reduced, shares
from forearm.visuals.skeleton_layout import layout
from forearm.visuals.skeleton_shapes import skeleton_shapes
from forearm.visuals.visual import Visual, VisualSet

TRIANGLES = 24_000
LEAST, MOST = 100, 2_000_000
MOST_MISSING = 100  # listed entries
REDUCED_CREASE = 0.7853981633974483  # rad, 45 degrees: faces of coarse meshes meet at larger angles


def scene(arm: Arm, visuals: VisualSet | None = None, triangles: int = TRIANGLES) -> dict[str, Any]:
    """The shapes of an arm, ready for JSON: "meshes" and, on "bodies" and "base", which of them are where.

    A mesh has "positions" and "normals" (float32, three per vertex) and "triangles" (uint16, or uint32 where
    "wide"), all little-endian in base64. A shape has the index of its "mesh", a "pose" of 16 numbers, row by
    row, in the frame of its body, and a "colour": "#rrggbb", null, or the role of a piece of the skeleton:
    "drum" (of a "joint", by its body), "tube", "hand" or "base". A pose may scale differently along its axes,
    so normals are transformed by the inverse transpose. Bodies have "frames" of their links, "mass", "com"
    and the "ellipsoid" of their inertia about it ("radii", and "rotation" row by row, or null); "reach" is
    the length of the arm, m. Bodies without shapes are drawn as a skeleton if no body of the arm has shapes,
    or if their meshes are missing. The result is reproducible byte by byte.

    Args:
        arm: the arm.
        visuals: the result of `load_visuals`; None: the skeleton only.
        triangles: upper limit for all mesh files together, distributed by area.
    """
    check_kind(arm, Arm, "scene, arm")
    check_kind(visuals, (VisualSet, type(None)), "scene, visuals")
    check_whole(triangles, "scene, triangles", LEAST, MOST)
    table = MeshTable()
    shapes = _own_shapes(arm, visuals or VisualSet(()), table, triangles)
    _add_skeleton(arm, visuals, table, shapes)
    frames = _frames(arm)
    carrier, T = arm.moving.frames[arm.hand.link]
    return {
        "meshes": table.meshes,
        "bodies": [
            {
                "name": body.joint.child,
                "shapes": shapes[index],
                "frames": frames[index],
                "mass": short(body.mass),
                "com": shorts(body.com),
                "ellipsoid": _ellipsoid(body.mass, body.inertia),
            }
            for index, body in enumerate(arm.moving.bodies)
        ],
        "base": {"pose": shorts(arm.base), "shapes": shapes[-1], "frames": frames[-1]},
        "hand": {"body": carrier, "pose": shorts(matmul(T, arm.hand.pose)), "link": arm.hand.link},
        "reach": short(layout(arm).size),
        "missing": _missing(visuals),
    }


def _missing(visuals: VisualSet | None) -> list[str]:
    """Text of unreadable files, and the number of entries not listed."""
    entries = visuals.missing if visuals is not None else ()
    more = [f"{len(entries) - MOST_MISSING} more"] if len(entries) > MOST_MISSING else []
    return [str(entry) for entry in entries[:MOST_MISSING]] + more


def _own_shapes(
    arm: Arm, visuals: VisualSet, table: MeshTable, triangles: int
) -> dict[int, list[dict[str, Any]]]:
    shown = [visual for visual in visuals.visuals if visual.link in arm.moving.frames]
    smaller = _reduced(shown, triangles)
    shapes: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for visual in shown:
        body, T = arm.moving.frames[visual.link]
        mesh = smaller.get(id(visual.mesh), visual.mesh)
        crease = CREASE if mesh is visual.mesh else REDUCED_CREASE
        pose = visual.pose if np.array_equal(T, np.eye(4)) else matmul(T, visual.pose)
        shapes[body].append(_shape(table.index(mesh, crease), pose, visual.colour))
    return shapes


def _reduced(shown: list[Visual], triangles: int) -> dict[int, TriangleMesh]:
    """Simplified meshes by the identity of their originals, if the budget requires it."""
    large = {id(v.mesh): v.mesh for v in shown if v.source.lower().endswith(ENDINGS)}
    given = shares(list(large.values()), triangles)
    return {
        key: reduced(mesh, max(4, share))
        for (key, mesh), share in zip(large.items(), given, strict=True)
        if share < len(mesh.triangles)
    }


def _add_skeleton(
    arm: Arm, visuals: VisualSet | None, table: MeshTable, shapes: dict[int, list[dict[str, Any]]]
) -> None:
    """Add pieces of the skeleton for bodies without shapes."""
    drawn = {body for body, found in shapes.items() if found}
    lost = {
        arm.moving.frames[entry.link][0]
        for entry in (visuals.missing if visuals is not None else ())
        if entry.link in arm.moving.frames
    }
    wanted = set(range(-1, len(arm.moving.bodies))) if not drawn else (lost | {-1}) - drawn
    for piece in skeleton_shapes(arm) if wanted else ():
        if piece.body in wanted and (not drawn or piece.role != "tube" or piece.body in lost):
            shape = _shape(table.index(piece.mesh), piece.pose, piece.role)
            shapes[piece.body].append(shape if piece.joint is None else shape | {"joint": piece.joint})
    for body in range(-1, len(arm.moving.bodies)):
        shapes.setdefault(body, [])


def _shape(mesh: int, pose: Floats, colour: str | None) -> dict[str, Any]:
    return {"mesh": mesh, "pose": shorts(pose), "colour": colour}


def _frames(arm: Arm) -> dict[int, list[dict[str, Any]]]:
    frames: dict[int, list[dict[str, Any]]] = {body: [] for body in range(-1, len(arm.moving.bodies))}
    for link, (body, T) in arm.moving.frames.items():
        frames[body].append({"name": link, "pose": shorts(T)})
    return frames


def _ellipsoid(mass: float, inertia: Floats) -> dict[str, Any] | None:
    found = ellipsoid(mass, inertia)
    if found is None:
        return None
    return {"radii": shorts(found.radii), "rotation": shorts(found.rotation)}
