"""Mass properties from the shapes of a URDF and a density: against formulas, and each form of file against
the others.
"""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from nearness import assert_near
from numpy.typing import NDArray
from parts.meshes import ascii_stl, binary_stl
from refusals import refused

import forearm as fa
from forearm.spatial import rotation_rpy

Array = NDArray[np.float64]
DENSITY = 1234.5
ORIGIN = '<origin xyz="0.3 -0.2 0.15" rpy="0.4 -0.7 1.1"/>'
PLACE, TURN = np.array([0.3, -0.2, 0.15]), rotation_rpy((0.4, -0.7, 1.1))
SIDES = np.array([0.3, 0.2, 0.5])
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
# A box as quads, outwards, by the indices of CORNERS.
QUADS = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))


def write(path: Path, shapes: str, tag: str = "collision", extra: str = "") -> Path:
    """A URDF whose moving link has these shapes and no <inertial>."""
    bodies = "".join(f"<{tag}>{ORIGIN}<geometry>{shape}</geometry></{tag}>" for shape in shapes.split("\n"))
    path.write_text(
        f'<robot name="r"><link name="a"/>\n<link name="b">{bodies}{extra}</link>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>',
        encoding="utf-8",
    )
    return path


def loaded(path: Path, **reading: object) -> fa.Link:
    return fa.load(path, density=DENSITY, **reading).link("b")  # type: ignore[arg-type]


def assert_is(link: fa.Link, volume: float, mean_squares: Array) -> None:
    """The link is a solid of this volume about ORIGIN; I_xx = m (mean of y^2 + mean of z^2), and so on."""
    mass = DENSITY * volume
    moments = mass * (mean_squares.sum() - mean_squares)
    assert link.mass == pytest.approx(mass, rel=1e-12)
    assert_near(link.com, PLACE, 1e-12)
    assert_near(link.inertia, TURN @ np.diag(moments) @ TURN.T, 1e-12 * mass)


def box_quads(scale: Array) -> list[Array]:
    return [(CORNERS * scale)[list(quad)] for quad in QUADS]


def write_obj(path: Path, size: Array) -> None:
    vertices = [f"v {x!r} {y!r} {z!r} 1.0" for x, y, z in (CORNERS * size).tolist()]
    # by positive and negative indices, with textures and normals
    faces = [
        f"f {' '.join(f'{i + 1}/7/{k}' if k % 2 else str(i - 8) for i in q)}" for k, q in enumerate(QUADS)
    ]
    head = "# a box\nmtllib x.mtl\no box\nvn 0 0 1"
    path.write_text("\n".join([head, *vertices, "s off", *faces]), encoding="utf-8")


def box_stl(size: Array) -> Array:
    return np.array([t for q in box_quads(size) for t in (q[[0, 1, 2]], q[[0, 2, 3]])])


@pytest.mark.parametrize(
    ("tag", "shape", "volume", "squares"),
    [
        ("collision", '<box size="0.3 0.2 0.5"/>', 0.03, SIDES**2 / 12),
        (
            "visual",
            '<cylinder radius="0.1" length="0.4"/>',
            math.pi * 0.01 * 0.4,
            np.array([0.0025, 0.0025, 0.16 / 12]),
        ),
        ("collision", '<sphere radius="0.2"/>', 4 / 3 * math.pi * 0.008, np.full(3, 0.04 / 5)),
    ],
    ids=["box", "cylinder", "sphere"],
)
def test_simple_shapes_and_two_of_them(
    tmp_path: Path, tag: str, shape: str, volume: float, squares: Array
) -> None:
    assert_is(loaded(write(tmp_path / "r.urdf", shape, tag)), volume, squares)
    assert_is(loaded(write(tmp_path / "r.urdf", f"{shape}\n{shape}", tag)), 2 * volume, squares)


@pytest.mark.parametrize("form", ["obj", "ascii", "binary"])
def test_meshes_with_a_scale_are_the_same_box(tmp_path: Path, form: str) -> None:
    file = tmp_path / ("box.OBJ" if form == "obj" else "box.stl")
    size = np.array([256.0, 512.0, 1024.0])  # exact in the four bytes of a binary STL
    if form == "obj":
        write_obj(file, size)
    else:
        file.write_bytes({"ascii": ascii_stl, "binary": binary_stl}[form](box_stl(size)))
    x, y, z = (SIDES / size).tolist()
    shape = f'<mesh filename="{file.name}" scale="{x!r} {-y!r} {z!r}"/>'  # one side mirrored
    assert_is(loaded(write(tmp_path / "r.urdf", shape)), 0.03, SIDES**2 / 12)


def test_links_with_mass_keep_it_and_links_without_shapes_have_none(tmp_path: Path) -> None:
    inertial = '<inertial><mass value="3"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    link = loaded(write(tmp_path / "a.urdf", '<sphere radius="0.2"/>', extra=inertial))
    assert (link.mass, link.inertia[0, 0]) == (3.0, 1.0)
    arm = fa.load(write(tmp_path / "b.urdf", '<sphere radius="0.2"/>'), density=DENSITY)
    assert arm.link("a").massless


def test_packages_by_name_and_around_the_file(tmp_path: Path) -> None:
    meshes, other = tmp_path / "robot" / "meshes", tmp_path / "elsewhere"
    for folder in (meshes, tmp_path / "robot" / "urdf", other):
        folder.mkdir(parents=True)
    write_obj(meshes / "box.obj", SIDES)
    for folder, uri in (
        (tmp_path / "robot" / "urdf", "package://robot//meshes/box.obj"),
        (tmp_path, "model://robot/meshes/box.obj"),
        (other, "package://other/meshes/box.obj"),
        (other, "../robot/meshes/box.obj"),
        (other, f"file://{meshes}/box.obj"),
    ):
        path = write(folder / "r.urdf", f'<mesh filename="{uri}"/>')
        assert_is(loaded(path, packages={"other": tmp_path / "robot"}), 0.03, SIDES**2 / 12)
    with refused(
        "InputError: r.urdf, line 2, link 'b', <mesh>, 'package://gone/box.obj': the package 'gone' was not "
        "found. Give its folder with packages=.'gone': FOLDER. .--package gone=FOLDER"
    ):
        loaded(write(other / "r.urdf", '<mesh filename="package://gone/box.obj"/>'))


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ('<capsule radius="1"/>', "<capsule>: expected a box, cylinder, sphere or mesh; give the link"),
        ('<mesh filename="a.dae"/>', "<mesh>, a.dae: only STL and OBJ are supported; convert the mesh"),
        ("<mesh/>", "<mesh> needs the attribute 'filename'"),
        ('<sphere radius="-1"/>', "<sphere>, sphere: radius is -1.0; expected a number > 0"),
    ],
)
def test_shapes_that_cannot_be_used(tmp_path: Path, shape: str, words: str) -> None:
    path = write(tmp_path / "r.urdf", shape)
    with refused(f"InputError: r.urdf, line 2, link 'b'.*{words}"):
        loaded(path)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert loaded(path, strict=False).massless
    said = [str(w.message) for w in heard]
    assert any(re.match("r.urdf: repaired: line 2, link 'b'.*: read without mass.$", text) for text in said)


def test_visual_stands_in_for_a_collision_that_cannot_be_used(tmp_path: Path) -> None:
    visual = f'<visual>{ORIGIN}<geometry><box size="0.3 0.2 0.5"/></geometry></visual>'
    link = loaded(write(tmp_path / "r.urdf", '<mesh filename="a.dae"/>', extra=visual))
    assert_is(link, 0.03, SIDES**2 / 12)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("v 1 2\n", ", line 1: expected v and three numbers, got 'v 1 2'"),
        ("v 1 2 3\nf 1 2 x\n", ", line 2: vertex 2 is not defined before this face"),
        ("v 1 2 3\nf 1 x\n", ", line 2: expected a vertex, got 'x'"),
        ("v 1 2 3\nf 0 1 1\n", ", line 2: vertex 0 is not defined before this face"),
        ("v 1 2 3\nf -2 1 1\n", ", line 2: vertex -2 is not defined before this face"),
        ("v 1 2 3\n", ": no faces; export a mesh with triangles"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\n", ": the mesh is not closed"),
    ],
)
def test_obj_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "m.obj").write_text(text)
    with refused(f"InputError: r.urdf, line 2, link 'b', <mesh>, .*m.obj{words}"):
        loaded(write(tmp_path / "r.urdf", '<mesh filename="m.obj"/>'))
