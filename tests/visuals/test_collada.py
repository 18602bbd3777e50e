"""Collada files against the same mesh in STL and OBJ, and nodes, units, axes and colours made by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from nearness import assert_near
from numpy.typing import NDArray
from refusals import refused
from visuals.shapes_made import same_points, triangle_set, write_obj, write_stl

from forearm.parts.obj import read_obj
from forearm.parts.stl import read_stl
from forearm.spatial import pose, rotation_about
from forearm.visuals import TriangleMesh, solids
from forearm.visuals.collada import read_dae

Array = NDArray[np.float64]
SINGLE = 1e-7  # of numbers near 1 in STL's single precision


def numbers(values: Array) -> str:
    return " ".join(repr(float(v)) for v in np.asarray(values).ravel())


def geometry(mesh: TriangleMesh, primitive: str, name: str = "g") -> str:
    """A geometry with positions, and normals that share its index list."""
    count = len(mesh.vertices)
    return f"""<geometry id="{name}"><mesh>
<source id="{name}-pos"><float_array id="{name}-a" count="{3 * count}">{numbers(mesh.vertices)}</float_array>
<technique_common><accessor source="#{name}-a" count="{count}" stride="3"/></technique_common></source>
<source id="{name}-nor"><float_array id="{name}-n" count="3">0 0 1</float_array></source>
<vertices id="{name}-v"><input semantic="POSITION" source="#{name}-pos"/></vertices>
{primitive}</mesh></geometry>"""


def triangles(mesh: TriangleMesh, name: str = "g", material: str = "") -> str:
    """<triangles> with a normal's index in front of each vertex's."""
    p = " ".join(f"0 {i}" for i in mesh.triangles.ravel())
    said = f' material="{material}"' if material else ""
    return (
        f'<triangles count="{len(mesh.triangles)}"{said}>'
        f'<input semantic="NORMAL" source="#{name}-nor" offset="0"/>'
        f'<input semantic="VERTEX" source="#{name}-v" offset="1"/><p>{p}</p></triangles>'
    )


def document(
    geometries: str,
    nodes: str = '<node><instance_geometry url="#g"/></node>',
    asset: str = "",
    more: str = "",
) -> str:
    return f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset>{asset}</asset>{more}
<library_geometries>{geometries}</library_geometries>
<library_visual_scenes><visual_scene id="s">{nodes}</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def alone(path: Path, **options: bool) -> Array:
    """The triangles of a file of one colour."""
    (found,) = read_dae(path, **options).colours.values()
    return found


def test_the_same_mesh_as_dae_stl_and_obj(tmp_path: Path) -> None:
    mesh = solids.frustum(0.3, 0.2, 0.7, 12)
    dae = alone(write(tmp_path / "a.dae", document(geometry(mesh, triangles(mesh)))))
    np.testing.assert_array_equal(dae, read_obj(write_obj(tmp_path / "a.obj", mesh)))
    assert_near(dae, read_stl(write_stl(tmp_path / "a.stl", mesh)), SINGLE)


QUADS = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
CUBE = TriangleMesh(
    np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 2.0) for z in (0.0, 3.0)]),
    np.array([t for a, b, c, d in QUADS for t in ((a, b, c), (a, c, d))]),
)


@pytest.mark.parametrize("tag", ["polylist", "polygons", "ph", "trifans", "tristrips"])
def test_polygons_become_fans(tag: str, tmp_path: Path) -> None:
    head = '<input semantic="VERTEX" source="#g-v" offset="0"/>'
    each = "".join(f"<p>{' '.join(map(str, quad))}</p>" for quad in QUADS)
    bodies = {
        "polylist": f"<polylist count='6'>{head}<vcount>{'4 ' * 6}</vcount>"
        f"<p>{' '.join(str(i) for quad in QUADS for i in quad)}</p></polylist>",
        "polygons": f"<polygons count='6'>{head}{each}</polygons>",
        "ph": f"<polygons count='6'>{head}"
        + "".join(f"<ph><p>{' '.join(map(str, q))}</p><h>0 1 2</h></ph>" for q in QUADS)
        + "</polygons>",
        "trifans": f"<trifans count='6'>{head}{each}</trifans>",
        "tristrips": f"<tristrips count='6'>{head}"
        + "".join(f"<p>{a} {b} {d} {c}</p>" for a, b, c, d in QUADS)
        + "</tristrips>",
    }
    found = alone(write(tmp_path / "a.dae", document(geometry(CUBE, bodies[tag]))))
    if tag != "tristrips":  # whose other diagonal is as good
        assert triangle_set(found) == triangle_set(CUBE.corners)
    a, b, c = found[:, 0], found[:, 1], found[:, 2]
    assert len(found) == 12
    assert float((a * np.cross(b, c)).sum()) / 6 == pytest.approx(6.0, rel=1e-12)  # all of them outwards


def test_nodes_place_geometries_in_their_order(tmp_path: Path) -> None:
    matrix = pose(rotation_about(np.array([0.0, 0.6, 0.8]), 0.7), (0.1, 0.2, 0.3))
    nodes = f"""<node><translate>1 2 3</translate><rotate>0 0 2 90</rotate><scale>1 2 3</scale>
<node><matrix>{numbers(matrix)}</matrix><instance_geometry url="#g"/></node></node>
<node><scale>-1 1 1</scale><instance_node url="#lent"/></node>"""
    lent = '<library_nodes><node id="lent"><instance_geometry url="#g"/></node></library_nodes>'
    text = document(geometry(CUBE, triangles(CUBE)), nodes, more=lent)
    found = alone(write(tmp_path / "a.dae", text))
    turn = pose(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), (1.0, 2.0, 3.0))
    T = turn @ np.diag([1.0, 2.0, 3.0, 1.0]) @ matrix
    first = CUBE.corners @ T[:3, :3].T + T[:3, 3]
    assert_near(found[:12], first, 1e-12)
    mirrored = TriangleMesh(found[12:].reshape(-1, 3), np.arange(36).reshape(-1, 3))
    assert mirrored.volume == pytest.approx(6.0, rel=1e-12)  # still outwards
    same_points(mirrored.vertices, CUBE.vertices * [-1.0, 1.0, 1.0], 1e-12)


@pytest.mark.parametrize(
    ("up", "x", "y", "z"),
    [
        ("X_UP", (0, 0, 1), (-1, 0, 0), (0, -1, 0)),
        ("Y_UP", (1, 0, 0), (0, 0, 1), (0, -1, 0)),
        ("Z_UP", *np.eye(3)),
    ],
)
def test_units_count_and_the_axis_that_is_up_only_where_asked(
    up: str, x: Array, y: Array, z: Array, tmp_path: Path
) -> None:
    asset = f'<unit name="inch" meter="0.0254"/><up_axis>{up}</up_axis>'
    path = write(tmp_path / "a.dae", document(geometry(CUBE, triangles(CUBE)), asset=asset))
    np.testing.assert_allclose(alone(path), 0.0254 * CUBE.corners, rtol=1e-14)
    R = np.array([x, y, z], dtype=float).T  # where the axes of the file go
    assert np.linalg.det(R) == pytest.approx(1.0)
    assert_near(alone(path, z_up=True), 0.0254 * CUBE.corners @ R.T, 1e-15)
    assert read_dae(path).up_axis == up


def test_colours_of_materials_and_notes_on_the_rest(tmp_path: Path) -> None:
    red = "<lambert><diffuse><color>1 0.25 0 1</color></diffuse></lambert>"
    image = '<phong><diffuse><texture texture="t"/></diffuse></phong>'
    effects = "".join(
        f'<effect id="{name}-fx"><profile_COMMON><technique sid="c">{shading}</technique>'
        "</profile_COMMON></effect>"
        for name, shading in (("red", red), ("image", image))
    )
    materials = "".join(
        f'<material id="{name}"><instance_effect url="#{name}-fx"/></material>' for name in ("red", "image")
    )
    bind = "".join(
        f'<instance_material symbol="{s}" target="#{t}"/>' for s, t in (("one", "red"), ("two", "image"))
    )
    nodes = (
        '<node><instance_geometry url="#g"><bind_material>'
        f"<technique_common>{bind}</technique_common></bind_material>"
        '</instance_geometry><instance_controller url="#skin"/></node>'
    )
    half = TriangleMesh(CUBE.vertices, CUBE.triangles[:6])
    rest = TriangleMesh(CUBE.vertices, CUBE.triangles[6:])
    body = geometry(CUBE, triangles(half, material="one") + triangles(rest, material="two"))
    more = f"<library_effects>{effects}</library_effects><library_materials>{materials}</library_materials>"
    found = read_dae(write(tmp_path / "a.dae", document(body, nodes, more=more)))
    np.testing.assert_array_equal(found.colours["#ff4000"], half.corners)
    np.testing.assert_array_equal(found.colours[None], rest.corners)
    assert found.notes == ("textures were ignored", "<instance_controller> (a skin) was ignored")


def test_without_a_scene_every_geometry_is_shown(tmp_path: Path) -> None:
    text = f"<COLLADA><library_geometries>{geometry(CUBE, triangles(CUBE))}</library_geometries></COLLADA>"
    np.testing.assert_array_equal(alone(write(tmp_path / "a.dae", text)), CUBE.corners)


GOOD = document(geometry(CUBE, triangles(CUBE)))
LOOP = '<library_nodes><node id="n"><instance_node url="#n"/></node></library_nodes>'
# what is put in place of what in a sound file, and the words that refuse it
WRONG = [
    ("<p>0 0", "<p>0 99", "vertex 99 does not exist, there are 8"),
    ("<p>0 0", "<p>0 -1", "an index below 0"),
    ("<p>0 0", "<p>0 0.5", ": expected whole numbers"),
    ("<p>0 0", "<p>0 " + "9" * 30, ": expected whole numbers"),
    ("<p>0 0", "<p>0", "not a multiple of the 2 inputs"),
    ("0.0 0.0 0.0", "0.0 zero 0.0", ": expected numbers"),
    (">0.0 0.0 0.0", ">nan 0.0 0.0", "coordinates must be finite"),
    ("<node>", "<node><scale>1e999 1 1</scale>", ": expected 3 finite numbers"),
    ("<node>", f"<node><matrix>{'1 ' * 15}</matrix>", ": expected 16 finite numbers"),
    ("<asset>", '<asset><unit meter="0"/>', "must be above 0"),
    ("<asset>", "<asset><up_axis>W_UP</up_axis>", "up_axis must be"),
    ('source="#g-v"', 'source="#x"', "has no positions"),
    ('stride="3"', 'stride="2"', "a stride of at least 3"),
    ('offset="1"', 'offset="-1"', "expected a count"),
    ("<COLLADA", "<!DOCTYPE x [<!ENTITY a 'b'>]><COLLADA", "not allowed"),
    ("COLLADA", "robot", "expected <COLLADA> at the root"),
    (GOOD, document("<geometry id='g'/>"), "no triangles"),
    (GOOD, document("", '<node><instance_node url="#n"/></node>', more=LOOP), "nested deeper than"),
]


@pytest.mark.parametrize(("old", "new", "words"), WRONG, ids=[words for *_, words in WRONG])
def test_what_no_file_may_hold(old: str, new: str, words: str, tmp_path: Path) -> None:
    assert old in GOOD
    with refused(f"InputError.*{words}"):
        read_dae(write(tmp_path / "a.dae", GOOD.replace(old, new)))


def test_a_file_that_branches_without_end_is_refused(tmp_path: Path) -> None:
    """Twenty nodes, each with two instances of the next: a million if they were followed."""
    shelf = "".join(
        f'<node id="n{i}"><instance_node url="#n{i + 1}"/><instance_node url="#n{i + 1}"/></node>'
        for i in range(20)
    )
    text = document(
        "", '<node><instance_node url="#n0"/></node>', more=f"<library_nodes>{shelf}</library_nodes>"
    )
    with refused("InputError.*more than 20000 nodes"):
        read_dae(write(tmp_path / "a.dae", text))
