"""The scene: shapes on moving bodies, decoded and compared; compact, the same every time, plain JSON."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import every_kind, random_arm
from nearness import assert_near
from numpy.typing import NDArray
from refusals import refused
from visuals.shapes_made import same_points, write_obj, write_stl

import forearm as fa
from forearm.visuals import TriangleMesh, Visual, VisualSet, scene, solids

Array = NDArray[np.float64]
SHOWN = 1e-6  # m: what single precision and seven digits leave of lengths of about 1
PANDA_BYTES = 60_000


def decoded(mesh: dict[str, Any]) -> tuple[Array, Array, NDArray[np.int64]]:
    """Positions, normals and triangles, as a renderer reads them."""
    read = {key: base64.b64decode(mesh[key]) for key in ("positions", "normals", "triangles")}
    points, normals = (np.frombuffer(read[key], "<f4").reshape(-1, 3) for key in ("positions", "normals"))
    triangles = np.frombuffer(read["triangles"], "<u4" if mesh["wide"] else "<u2").reshape(-1, 3)
    assert len(points) == len(normals) > triangles.max()
    return points.astype(float), normals.astype(float), triangles.astype(np.int64)


def text_of(arm: fa.Arm, **options: Any) -> str:
    return json.dumps(scene(arm, **options), allow_nan=False, separators=(",", ":"))


def test_links_on_fixed_joints_are_merged_into_their_bodies(tmp_path: Path) -> None:
    """Every visual at the pose of its own link, through the frames of an arm with fixed joints all over."""
    arm = random_arm(5, 3, tree=True, mimic=True)
    rng = np.random.default_rng(2)
    mesh = solids.box(0.1, 0.2, 0.3)
    visuals = []
    for link in arm.links:
        pose = np.eye(4)
        pose[:3] = rng.normal(size=(3, 4))
        visuals.append(Visual(link.name, pose, mesh, None, "box"))
    made = scene(arm, VisualSet(tuple(visuals)))
    assert len(made["meshes"]) == 1
    shapes = {-1: made["base"]["shapes"]} | {i: body["shapes"] for i, body in enumerate(made["bodies"])}
    left = {i: list(found) for i, found in shapes.items()}
    for visual in visuals:
        body, T = arm.moving.frames[visual.link]
        assert_near(np.reshape(left[body].pop(0)["pose"], (4, 4)), T @ visual.pose, SHOWN)
    assert not any(left.values())
    named = [f["name"] for part in (made["base"], *made["bodies"]) for f in part["frames"]]
    assert sorted(named) == sorted(link.name for link in arm.links)
    for i, body in enumerate(made["bodies"]):
        assert body["name"] == arm.moving.bodies[i].joint.child
        for frame in body["frames"]:
            where, T = arm.moving.frames[frame["name"]]
            assert where == i
            assert_near(np.reshape(frame["pose"], (4, 4)), T, SHOWN)


def test_masses_ellipsoids_base_and_hand() -> None:
    arm = random_arm(6, 4)
    made = scene(arm)
    for shown, body in zip(made["bodies"], arm.moving.bodies, strict=True):
        assert shown["mass"] == pytest.approx(body.mass, rel=1e-6)
        assert_near(shown["com"], body.com, SHOWN)
        radii, R = np.array(shown["ellipsoid"]["radii"]), np.reshape(shown["ellipsoid"]["rotation"], (3, 3))
        second = body.mass / 5 * R @ np.diag(radii**2) @ R.T
        assert_near(np.trace(second) * np.eye(3) - second, body.inertia, 1e-5 * body.mass)
    assert_near(np.reshape(made["base"]["pose"], (4, 4)), arm.base, SHOWN)
    carrier, T = arm.moving.frames[arm.hand.link]
    assert (made["hand"]["body"], made["hand"]["link"]) == (carrier, arm.hand.link)
    assert_near(np.reshape(made["hand"]["pose"], (4, 4)), T @ arm.hand.pose, SHOWN)
    massless = fa.from_dh("a", [(0.3, 0.2, 0.1, 0.4)], convention="standard")
    assert scene(massless)["bodies"][0]["ellipsoid"] is None


def test_the_reach_is_the_length_along_the_links() -> None:
    """Of the Panda by its published Denavit-Hartenberg lengths."""
    arm = fa.load("panda")
    lengths = (0.333, 0.316, 0.0825, 0.0825, 0.384, 0.088, 0.107)
    assert scene(arm)["reach"] == pytest.approx(sum(lengths), rel=1e-6)


def test_a_mesh_comes_back_with_unit_normals() -> None:
    mesh = solids.tube(0.3, 0.2, 0.5)
    made = scene(fa.load("chain2"), VisualSet((Visual("link1", np.eye(4), mesh, "#102030", "tube"),)))
    (shape,) = made["bodies"][0]["shapes"]
    assert shape["colour"] == "#102030"
    points, normals, triangles = decoded(made["meshes"][shape["mesh"]])
    assert_near(np.linalg.norm(normals, axis=1), 1.0, 1e-6)
    assert_near(points[triangles], mesh.corners, 1e-7)
    flat = np.cross(
        points[triangles[:, 1]] - points[triangles[:, 0]], points[triangles[:, 2]] - points[triangles[:, 0]]
    )
    assert float(np.einsum("ij,ikj->ik", flat, normals[triangles]).min()) > 0.0


@pytest.mark.slow
def test_the_skeleton_is_small_plain_json_and_the_same_again() -> None:
    assert len(text_of(fa.load("panda"))) < PANDA_BYTES
    for arm in (fa.load("stanford"), *every_kind(4)):
        assert text_of(arm) == text_of(arm)
        made = scene(arm)
        shapes = [s for part in (made["base"], *made["bodies"]) for s in part["shapes"]]
        assert {s["colour"] for s in shapes} <= {"drum", "tube", "hand", "base"}
        assert {s["mesh"] for s in shapes} == set(range(len(made["meshes"])))


URDF = """<robot name="r">
<link name="a"><visual><geometry><mesh filename="ball.stl"/></geometry></visual></link>
<link name="b"><visual><geometry><mesh filename="ball.obj"/></geometry></visual></link>
<link name="c"><visual><geometry><mesh filename="gone.stl"/></geometry></visual></link><link name="d"/>
<joint name="j1" type="continuous"><parent link="a"/><child link="b"/><origin xyz="0 0 1"/></joint>
<joint name="j2" type="continuous"><parent link="b"/><child link="c"/><origin xyz="1 0 0"/></joint>
<joint name="j3" type="continuous"><parent link="c"/><child link="d"/><origin xyz="0 1 0"/></joint></robot>"""


@pytest.mark.slow
def test_mesh_files_share_the_budget_and_missing_ones_leave_a_skeleton(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    large, small = solids.sphere(0.2, 40, 20), solids.sphere(0.1, 40, 20)
    write_stl(tmp_path / "ball.stl", large)
    write_obj(tmp_path / "ball.obj", small)
    arm, found = fa.load(path), fa.load_visuals(path)
    made = scene(arm, found, triangles=800)
    (first,), (second,) = made["base"]["shapes"], made["bodies"][0]["shapes"]
    counts = [len(decoded(made["meshes"][s["mesh"]])[2]) for s in (first, second)]
    assert sum(counts) <= 800
    assert counts[0] == pytest.approx(4 * counts[1], rel=0.05)
    points, _, _ = decoded(made["meshes"][second["mesh"]])
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 0.1, rtol=0.05)
    assert {s["colour"] for s in made["bodies"][1]["shapes"]} >= {"drum"}
    assert made["bodies"][2]["shapes"] == []  # nothing is missing there
    assert len(made["missing"]) == 1
    assert made["missing"][0].startswith("c: gone.stl: ")
    whole = scene(arm, found, triangles=100_000)
    points, _, triangles = decoded(whole["meshes"][whole["base"]["shapes"][0]["mesh"]])
    assert len(triangles) == len(large.triangles)
    same_points(points, large.vertices, 1e-7)


def test_equal_meshes_are_one_and_large_ones_wide() -> None:
    box = solids.box(0.1, 0.2, 0.3)
    twin = TriangleMesh(box.vertices.copy(), box.triangles.copy())
    rng = np.random.default_rng(3)
    soup = TriangleMesh(
        rng.normal(size=(66_000, 3)), np.arange(66_000).reshape(-1, 3)
    )  # two bytes are too few
    visuals = [Visual("link1", np.eye(4), mesh, None, "x") for mesh in (box, twin, soup)]
    made = scene(fa.load("chain2"), VisualSet(tuple(visuals)))
    assert [s["mesh"] for s in made["bodies"][0]["shapes"]] == [0, 0, 1]
    assert [mesh["wide"] for mesh in made["meshes"][:2]] == [False, True]
    points, _, triangles = decoded(made["meshes"][1])
    assert_near(points[triangles], soup.corners, 1e-6)


@pytest.mark.parametrize("wrong", [10, 2.5, True, 10**9])
def test_a_budget_that_is_none(wrong: Any) -> None:
    with refused("InputError.*scene, triangles: expected a whole number from 100"):
        scene(fa.load("chain2"), triangles=wrong)
