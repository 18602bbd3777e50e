"""Visuals of MJCF files against the geoms and meshes that MuJoCo itself compiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from refusals import refused
from visuals.shapes_made import same_points, write_obj, write_stl

import forearm as fa
from forearm.visuals import Visual, VisualSet, solids

Array = NDArray[np.float64]
SINGLE = 3e-7  # of lengths of about 1 that MuJoCo keeps in single precision
GENERIC = solids.OF_PARTS["prism"](
    {"points": [(0.0, 0.0), (0.31, -0.02), (0.12, 0.11), (0.04, 0.42)], "length": 0.23}
)

EVERYTHING = """<mujoco model="m"><compiler angle="radian" meshdir="assets" eulerseq="ZXy"/>
<default><geom rgba="0.2 0.4 0.6 1"/><mesh scale="0.9 1.1 1.3"/>
 <default class="look"><geom type="mesh" contype="0" conaffinity="0" group="2"/></default>
 <default class="hit"><geom group="3" type="capsule"/></default></default>
<asset><mesh file="wedge.stl"/>
 <mesh name="turned" file="wedge.obj" refpos="0.1 -0.2 0.05" refquat="0.9 0.1 -0.3 0.2" scale="1.5 -0.5 2"/>
 <mesh name="inline" scale="1 1 1" vertex="0 0 0 .4 0 0 0 .3 0 0 0 .2" face="0 2 1 0 1 3 1 2 3 2 0 3"/>
 <material name="steel" rgba="0.5 0.75 0.25 1"/></asset>
<worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="base" pos="0.1 0.2 0.3" euler="0.2 0.3 0.4">
 <geom name="pad" type="box" size="0.1 0.2 0.05" pos="0.01 0.02 0.03" quat="0.8 0.1 0.4 -0.2"/>
 <body name="one" pos="0 0.1 0.5"><joint name="j1" axis="0 1 0.3"/>
  <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
  <geom class="look" mesh="wedge" pos="0.1 0.05 0.2" axisangle="1 2 3 0.7"/>
  <frame pos="0.2 0 0.1" euler="0.5 -0.2 0.3">
   <geom class="look" mesh="turned" zaxis="1 0.2 0.1" material="steel" rgba="0.5 0.5 0.5 1"/></frame>
  <geom class="hit" fromto="0 0 0 0.1 0.2 0.3" size="0.05"/>
  <body name="two" pos="0.3 0 0"><joint name="j2" type="slide" axis="1 0 0"/>
   <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
   <geom name="rod" type="cylinder" fromto="0.1 0 0.2 -0.1 0.3 0.4" size="0.04"/>
   <geom name="pill" type="capsule" size="0.05 0.2" xyaxes="1 1 0 0 1 1"/>
   <geom name="egg" type="ellipsoid" size="0.05 0.1 0.2" pos="0.2 0.1 0"/>
   <geom name="ball" size="0.07" rgba="1 0 0 1"/>
   <geom name="ghost" size="0.3" rgba="1 0 0 0"/>
   <geom class="look" mesh="inline" group="0" pos="-0.2 0 0.1"/>
  </body></body></body></worldbody></mujoco>"""


def compiled(folder: Path) -> tuple[Any, Any]:
    model: Any = mujoco.MjModel.from_xml_path(str(folder / "arm.xml"))
    data: Any = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def written(folder: Path, text: str = EVERYTHING) -> Path:
    (folder / "assets").mkdir(exist_ok=True)
    write_stl(folder / "assets" / "wedge.stl", GENERIC)
    write_obj(folder / "assets" / "wedge.obj", GENERIC)
    path = folder / "arm.xml"
    path.write_text(text)
    return path


def in_world(visual: Visual, model: Any, data: Any) -> Array:
    """An affine (4, 4) from the mesh to the world, by MuJoCo's pose of the body."""
    body = model.body(visual.link).id
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = data.xmat[body].reshape(3, 3), data.xpos[body]
    return np.asarray(T @ visual.pose)


def moved(T: Array, points: Array) -> Array:
    return np.asarray(points @ T[:3, :3].T + T[:3, 3])


def mesh_points(model: Any, data: Any, geom: int) -> Array:
    """What MuJoCo draws for a geom of a mesh, which it has centred and turned, in the world."""
    mesh = model.geom_dataid[geom]
    first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
    points = model.mesh_vert[first : first + count].astype(float)
    return np.asarray(points @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom])


def shown(found: VisualSet, source: str) -> list[Visual]:
    return [visual for visual in found.visuals if visual.source == source]


def test_meshes_lie_where_mujoco_draws_them(tmp_path: Path) -> None:
    found = fa.load_visuals(written(tmp_path))
    model, data = compiled(tmp_path)
    assert found.missing == ()
    kinds = [int(g) for g in range(model.ngeom) if model.geom_type[g] == mujoco.mjtGeom.mjGEOM_MESH]
    assert len(kinds) == 3
    for geom, source in zip(kinds, ("wedge.stl", "wedge.obj", "inline"), strict=True):
        (visual,) = shown(found, source)
        assert visual.link == model.body(model.geom_bodyid[geom]).name
        T = in_world(visual, model, data)
        same_points(moved(T, visual.mesh.vertices), mesh_points(model, data, geom), SINGLE)
        outwards = visual.mesh.moved(T)
        assert outwards.volume > 0.0


@pytest.mark.parametrize(
    ("name", "kind", "truth"),
    [
        ("pad", "box", lambda x, y, z: solids.box(2 * x, 2 * y, 2 * z)),
        ("rod", "cylinder", lambda x, y, z: solids.cylinder(x, 2 * y)),
        ("pill", "capsule", lambda x, y, z: solids.capsule(x, 2 * y)),
        ("egg", "ellipsoid", lambda x, y, z: solids.sphere(1.0).scaled(np.array([x, y, z]))),
        ("ball", "sphere", lambda x, y, z: solids.sphere(x)),
    ],
)
def test_plain_geoms_have_mujoco_s_sizes_and_poses(name: str, kind: str, truth: Any, tmp_path: Path) -> None:
    (visual,) = shown(fa.load_visuals(written(tmp_path)), kind)
    model, data = compiled(tmp_path)
    geom = model.geom(name)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = data.geom_xmat[geom.id].reshape(3, 3), data.geom_xpos[geom.id]
    ours = moved(in_world(visual, model, data), visual.mesh.vertices)
    same_points(ours, moved(T, truth(*map(float, geom.size)).vertices), 1e-9)


def test_only_what_a_viewer_shows_of_the_arm_itself_in_its_colours(tmp_path: Path) -> None:
    found = fa.load_visuals(written(tmp_path))
    colours = {visual.source: visual.colour for visual in found.visuals}
    # no floor, which is no part of the arm, no ghost, no group 3
    assert len(found.visuals) == len(colours) == 8
    assert colours["sphere"] == "#ff0000"
    assert colours["wedge.stl"] == colours["box"] == "#336699"
    assert colours["wedge.obj"] == "#80bf40"  # MuJoCo's own grey means none, so the material's counts
    steel = compiled(tmp_path)[0].material("steel").rgba
    assert [round(255 * float(v)) for v in steel[:3]] == [128, 191, 64]


def geoms(text: str) -> str:
    return (
        '<mujoco><worldbody><body name="b"><joint name="j"/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        f"{text}</body></worldbody></mujoco>"
    )


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ('<geom size="1"/><geom size="2" contype="0" conaffinity="0" group="1"/>', [2.0]),
        ('<geom size="1"/><geom size="2" contype="0" conaffinity="0"/>', [1.0, 2.0]),
        ('<geom size="1"/><geom size="2" group="3"/>', [1.0]),
        ('<geom size="1" group="4"/><geom size="2" group="3"/>', [1.0, 2.0]),
    ],
    ids=["looks in a group of their own", "both in one group", "a hidden group", "hidden groups alone"],
)
def test_groups(text: str, sizes: list[float], tmp_path: Path) -> None:
    found = fa.load_visuals(written(tmp_path, geoms(text)))
    assert [float(visual.pose[0, 0]) for visual in found.visuals] == sizes


@pytest.mark.parametrize(
    ("asset", "reason"),
    [
        ('<mesh name="m" file="gone.stl"/>', "no such file"),
        ('<mesh name="m" file="wedge.stl" scale="0 1 1"/>', "must not be 0"),
        ('<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>', "with vertex and face"),
        ('<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 1 9"/>', "indices from 0 to 3"),
        ('<mesh name="m" builtin="sphere"/>', "only meshes from files"),
    ],
)
def test_meshes_that_cannot_be_had_are_missing(asset: str, reason: str, tmp_path: Path) -> None:
    text = geoms('<geom type="mesh" mesh="m"/><geom size="1"/>')
    text = text.replace("<worldbody>", f'<compiler meshdir="assets"/><asset>{asset}</asset><worldbody>')
    found = fa.load_visuals(written(tmp_path, text))
    assert [visual.source for visual in found.visuals] == ["sphere"]
    (missing,) = found.missing
    assert (missing.link, missing.file) == ("b", "m")
    assert reason in missing.reason


def test_strippath_assetdir_and_includes(tmp_path: Path) -> None:
    text = geoms('<geom type="mesh" mesh="wedge"/>').replace(
        "<worldbody>", '<include file="more.xml"/><worldbody>'
    )
    (tmp_path / "more.xml").write_text(
        '<mujocoinclude><compiler assetdir="assets" strippath="true"/>'
        '<asset><mesh file="C:\\\\somewhere\\\\else\\\\wedge.stl"/></asset></mujocoinclude>',
        encoding="utf-8",
    )
    found = fa.load_visuals(written(tmp_path, text))
    assert [visual.source for visual in found.visuals] == ["wedge.stl"]


def test_a_root_chooses_among_arms(tmp_path: Path) -> None:
    text = geoms('<geom size="1"/>').replace(
        "</worldbody>", '<body name="c"><joint/><geom size="2"/></body></worldbody>'
    )
    path = written(tmp_path, text)
    with refused("InputError.*choose one with root="):
        fa.load_visuals(path)
    assert [visual.link for visual in fa.load_visuals(path, root="c").visuals] == ["c"]


def test_mujoco_s_binary_meshes(tmp_path: Path) -> None:
    mesh = GENERIC
    counts = np.array([len(mesh.vertices), 0, 0, len(mesh.triangles)], "<i4").tobytes()
    data = counts + mesh.vertices.astype("<f4").tobytes() + mesh.triangles.astype("<i4").tobytes()
    text = geoms('<geom type="mesh" mesh="m"/>')
    text = text.replace("<worldbody>", '<asset><mesh name="m" file="m.msh"/></asset><worldbody>')
    (tmp_path / "m.msh").write_bytes(data)
    (visual,) = fa.load_visuals(written(tmp_path, text)).visuals
    same_points(visual.mesh.vertices, mesh.vertices, SINGLE)
    for wrong in (data[:-1], b"", np.array([4, 0, 0, -1], "<i4").tobytes()):
        (tmp_path / "m.msh").write_bytes(wrong)
        (missing,) = fa.load_visuals(tmp_path / "arm.xml").missing
        assert "do not fit its" in missing.reason
