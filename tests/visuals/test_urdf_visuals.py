"""Visuals of a URDF: places, sizes, colours and files by hand-made truths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from refusals import refused
from visuals.shapes_made import same_points, write_obj, write_stl

import forearm as fa
from forearm.spatial import pose, rotation_rpy
from forearm.visuals import TriangleMesh, Visual, solids

Array = NDArray[np.float64]
ORIGIN = '<origin xyz="0.3 -0.2 0.15" rpy="0.4 -0.7 1.1"/>'
T = pose(rotation_rpy((0.4, -0.7, 1.1)), (0.3, -0.2, 0.15))
EXACT = 1e-14


def write(folder: Path, shapes: list[str], robot: str = "") -> Path:
    """A URDF whose second link has these visuals at ORIGIN; each is a shape, with a material behind `|`."""
    pairs = [shape.partition("|") for shape in shapes]
    visuals = "".join(f"<visual>{ORIGIN}<geometry>{g}</geometry>{m}</visual>" for g, _, m in pairs)
    path = folder / "arm.urdf"
    path.write_text(
        f'<robot name="r">{robot}<link name="a"/><link name="b">{visuals}</link>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>',
        encoding="utf-8",
    )
    return path


def points(visual: Visual) -> Array:
    """The vertices in the frame of the link."""
    return np.asarray(visual.mesh.vertices @ visual.pose[:3, :3].T + visual.pose[:3, 3])


def placed(vertices: Array) -> Array:
    return np.asarray(vertices @ T[:3, :3].T + T[:3, 3])


def test_plain_shapes_are_centred_at_their_origin(tmp_path: Path) -> None:
    shapes = [
        '<box size="0.1 0.2 0.3"/>',
        '<cylinder radius="0.07" length="0.5"/>',
        '<sphere radius="0.04"/>',
        '<capsule radius="0.03" length="0.2"/>',
    ]
    found = fa.load_visuals(write(tmp_path, shapes))
    assert (found.missing, found.notes) == ((), ())
    assert [v.source for v in found.visuals] == ["box", "cylinder", "sphere", "capsule"]
    assert {v.link for v in found.visuals} == {"b"}
    truths = [
        solids.box(0.1, 0.2, 0.3),
        solids.cylinder(0.07, 0.5),
        solids.sphere(0.04),
        solids.capsule(0.03, 0.2),
    ]
    for visual, truth in zip(found.visuals, truths, strict=True):
        same_points(points(visual), placed(truth.vertices), EXACT)


def test_meshes_are_scaled_placed_and_read_once(tmp_path: Path) -> None:
    mesh = solids.frustum(0.3, 0.2, 0.7, 9)
    write_obj(tmp_path / "m.obj", mesh)
    shapes = [f'<mesh filename="m.obj" {scale}/>' for scale in ("", 'scale="0.5 -2 3"', "")]
    first, scaled, again = fa.load_visuals(write(tmp_path, shapes)).visuals
    assert first.mesh is again.mesh
    assert first.source == "m.obj"
    same_points(points(first), placed(mesh.vertices), EXACT)
    same_points(points(scaled), placed(mesh.vertices * [0.5, -2.0, 3.0]), EXACT)
    assert scaled.mesh.volume == pytest.approx(3.0 * mesh.volume, rel=1e-12)  # outwards, though mirrored


def test_files_are_found_as_for_the_mass_of_shapes(tmp_path: Path) -> None:
    box = solids.box(0.1, 0.2, 0.3)
    folder = tmp_path / "look"
    (folder / "meshes").mkdir(parents=True)
    (tmp_path / "beside" / "urdf").mkdir(parents=True)
    write_stl(folder / "meshes" / "m.STL", box)
    (tmp_path / "beside" / "meshes").mkdir()
    write_stl(tmp_path / "beside" / "meshes" / "n.stl", box)
    uris = ["package://looks/meshes/m.STL", (folder / "meshes" / "m.STL").as_uri(), "../meshes/n.stl"]
    uris += ["package://beside/meshes/n.stl", "model://nowhere/m.stl", "package://looks/meshes/gone.stl"]
    path = write(tmp_path / "beside" / "urdf", [f'<mesh filename="{uri}"/>' for uri in uris])
    found = fa.load_visuals(path, packages={"looks": folder})
    assert [v.source for v in found.visuals] == ["m.STL", "m.STL", "n.stl", "n.stl"]
    lost, gone = found.missing
    assert (lost.link, lost.file) == ("b", "model://nowhere/m.stl")
    assert "the package 'nowhere' was not found" in lost.reason
    assert gone.file == "package://looks/meshes/gone.stl"
    assert "no such file" in gone.reason


def test_colours_are_written_named_or_none(tmp_path: Path) -> None:
    robot = '<material name="blue"><color rgba="0 0.2 1 1"/></material>'
    robot += '<material name="odd"><color rgba="x"/></material>'
    box = '<box size="1 1 1"/>|'
    materials = [
        '<material name="own"><color rgba="1 0.5 0 0.3"/></material>',
        '<material name="blue"/>',
        '<material name="own"/>',  # one that another link wrote out
        '<material name="odd"/>',
        "",
    ]
    found = fa.load_visuals(write(tmp_path, [box + m for m in materials], robot))
    assert [v.colour for v in found.visuals] == ["#ff8000", "#0033ff", "#ff8000", None, None]


def test_a_dae_brings_its_colours_unless_the_urdf_has_one(tmp_path: Path) -> None:
    (tmp_path / "m.dae").write_text(
        '<COLLADA><library_effects><effect id="e"><profile_COMMON><technique><phong><diffuse>'
        "<color>0 1 0 1</color></diffuse></phong></technique></profile_COMMON></effect></library_effects>"
        '<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>'
        '<library_geometries><geometry id="g"><mesh><source id="p"><float_array>0 0 0 1 0 0 0 1 0'
        '</float_array></source><vertices id="v"><input semantic="POSITION" source="#p"/></vertices>'
        '<triangles material="m">'
        '<input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles></mesh></geometry>'
        "</library_geometries></COLLADA>",
        encoding="utf-8",
    )
    mesh = '<mesh filename="m.dae"/>|'
    shapes = [mesh, mesh + '<material name="x"><color rgba="1 0 0 1"/></material>']
    found = fa.load_visuals(write(tmp_path, shapes))
    assert [v.colour for v in found.visuals] == ["#00ff00", "#ff0000"]


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ('<box size="1 1"/>', "must be three numbers"),
        ('<box size="1 -1 1"/>', "sizes must be above 0"),
        ("<cylinder radius='1'/>", "needs the attribute 'length'"),
        ("<cone/>", "expected a box"),
        ("", "expected one shape"),
        ('<mesh filename="a.ply"/>', "expected a suffix of .stl, .obj, .dae, .msh"),
        ('<mesh filename="bad.stl"/>', "not an STL file"),
        ('<mesh filename="nan.obj"/>', "coordinates must be finite"),
        ('<mesh filename="bad.stl" scale="1 0 1"/>', "scale must not be 0"),
        ('<mesh filename="cube.obj" scale="1 1e20 1"/>', "coordinates must be finite and within"),
        ('<mesh filename="cube.obj" scale="1e-250 1e-250 1e-250"/>', "smaller than 1e-12 m"),
        ('<mesh filename="point.obj"/>', "every triangle is degenerate"),
    ],
)
def test_what_cannot_be_drawn_is_missing_and_the_rest_is_there(
    shape: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "bad.stl").write_bytes(b"nothing")
    (tmp_path / "point.obj").write_text("v 0 0 0\nv 1e-250 0 0\nv 0 1e-200 0\nf 1 2 3\n", encoding="ascii")
    write_obj(tmp_path / "cube.obj", solids.box(1.0, 1.0, 1.0))
    (tmp_path / "nan.obj").write_text("v 0 0 0\nv 1 0 nan\nv 0 1 0\nf 1 2 3\n", encoding="ascii")
    (tmp_path / "line.obj").write_text("v 0 0 0\nv 1 0 0\nf 1 2 1\n", encoding="ascii")
    found = fa.load_visuals(write(tmp_path, [shape, '<box size="1 1 1"/>']))
    assert [v.source for v in found.visuals] == ["box"]
    (missing,) = found.missing
    assert missing.link == "b"
    assert reason in missing.reason
    assert str(missing) == f"b: {missing.file}: {missing.reason}"


def test_visuals_are_frozen() -> None:
    found = fa.load_visuals("cmu-dd").visuals[0]
    assert isinstance(found.mesh, TriangleMesh)
    with pytest.raises(AttributeError):
        found.link = "other"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        found.pose[0, 0] = 2.0


def test_what_is_no_arm_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text("<robots/>")
    for given, words in (
        (path, "InputError.*expected <robot> at the root"),
        (tmp_path / "gone.urdf", "InputError.*no such file"),
        ("pandda", "NameNotFound.*'pandda' is neither a built-in arm .* did you mean 'panda'"),
        (3, "InputError.*expected a name or a path"),
    ):
        with refused(words):
            fa.load_visuals(given)  # type: ignore[arg-type]
    assert fa.load_visuals("panda").visuals == fa.load_visuals("chain7").visuals == ()
