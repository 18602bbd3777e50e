"""Mass properties from the shapes of a URDF and a density: against formulas, and each form of file against
the others.
"""

from __future__ import annotations

import math
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from refusals import refused

import forearm as fa
from forearm.parts.obj import read_obj
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
    np.testing.assert_allclose(link.com, PLACE, rtol=0, atol=1e-12)
    np.testing.assert_allclose(link.inertia, TURN @ np.diag(moments) @ TURN.T, rtol=0, atol=1e-12 * mass)


def box_quads(scale: Array) -> list[Array]:
    return [(CORNERS * scale)[list(quad)] for quad in QUADS]


def write_obj(path: Path, size: Array) -> None:
    vertices = "".join(f"v {x!r} {y!r} {z!r} 1.0\n" for x, y, z in (CORNERS * size).tolist())
    faces = [
        f"f {' '.join(f'{i + 1}/7/{k}' if k % 2 else str(i - 8) for i in quad)}\n"
        for k, quad in enumerate(QUADS)
    ]
    path.write_text(
        "# a box\nmtllib x.mtl\no box\nvn 0 0 1\n" + vertices + "s off\n" + "".join(faces), encoding="utf-8"
    )


def write_stl(path: Path, size: Array, binary: bool) -> None:
    quads = box_quads(size)
    triangles = [t for q in quads for t in (q[[0, 1, 2]], q[[0, 2, 3]])]
    if binary:
        data = b"".join(struct.pack("<12fH", 0, 0, 0, *t.ravel(), 0) for t in triangles)
        path.write_bytes(bytes(80) + struct.pack("<I", len(triangles)) + data)
        return
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {x!r} {y!r} {z!r}\n" for x, y, z in t.tolist())
        + "endloop\nendfacet\n"
        for t in triangles
    )
    path.write_text(f"solid box\n{facets}endsolid box\n", encoding="utf-8")


@pytest.mark.parametrize("tag", ["collision", "visual"])
@pytest.mark.parametrize(
    ("shape", "volume", "squares"),
    [
        ('<box size="0.3 0.2 0.5"/>', 0.03, SIDES**2 / 12),
        (
            '<cylinder radius="0.1" length="0.4"/>',
            math.pi * 0.01 * 0.4,
            np.array([0.0025, 0.0025, 0.16 / 12]),
        ),
        ('<sphere radius="0.2"/>', 4 / 3 * math.pi * 0.008, np.full(3, 0.04 / 5)),
    ],
    ids=["box", "cylinder", "sphere"],
)
def test_simple_shapes(tmp_path: Path, shape: str, volume: float, squares: Array, tag: str) -> None:
    assert_is(loaded(write(tmp_path / "r.urdf", shape, tag)), volume, squares)


@pytest.mark.parametrize("form", ["obj", "ascii", "binary"])
def test_meshes_with_a_scale_are_the_same_box(tmp_path: Path, form: str) -> None:
    file = tmp_path / ("box.OBJ" if form == "obj" else "box.stl")
    size = np.array([256.0, 512.0, 1024.0])  # exact in the four bytes of a binary STL
    if form == "obj":
        write_obj(file, size)
    else:
        write_stl(file, size, form == "binary")
    x, y, z = (SIDES / size).tolist()
    shape = f'<mesh filename="{file.name}" scale="{x!r} {-y!r} {z!r}"/>'  # one side mirrored
    assert_is(loaded(write(tmp_path / "r.urdf", shape)), 0.03, SIDES**2 / 12)


def test_several_shapes_add_up(tmp_path: Path) -> None:
    one = loaded(write(tmp_path / "a.urdf", '<box size="0.3 0.2 0.5"/>'))
    two = loaded(write(tmp_path / "b.urdf", '<sphere radius="0.2"/>'))
    both = loaded(write(tmp_path / "c.urdf", '<box size="0.3 0.2 0.5"/>\n<sphere radius="0.2"/>'))
    assert both.mass == pytest.approx(one.mass + two.mass, rel=1e-12)
    np.testing.assert_allclose(both.inertia, one.inertia + two.inertia, rtol=1e-12, atol=1e-15)


def test_links_with_mass_keep_it_and_links_without_shapes_have_none(tmp_path: Path) -> None:
    inertial = '<inertial><mass value="3"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    link = loaded(write(tmp_path / "a.urdf", '<sphere radius="0.2"/>', extra=inertial))
    assert (link.mass, link.inertia[0, 0]) == (3.0, 1.0)
    arm = fa.load(write(tmp_path / "b.urdf", '<sphere radius="0.2"/>'), density=DENSITY)
    assert arm.link("a").massless


@pytest.mark.parametrize("uri", ["package://robot//meshes/box.obj", "model://robot/meshes/box.obj"])
def test_packages_by_name_and_around_the_file(tmp_path: Path, uri: str) -> None:
    meshes, urdf = tmp_path / "robot" / "meshes", tmp_path / "robot" / "urdf"
    meshes.mkdir(parents=True)
    urdf.mkdir()
    write_obj(meshes / "box.obj", SIDES)
    shape = f'<mesh filename="{uri}"/>'
    inside = loaded(write(urdf / "r.urdf", shape))
    beside = loaded(write(tmp_path / "r.urdf", shape))
    assert_is(inside, 0.03, SIDES**2 / 12)
    assert beside == inside
    other = tmp_path / "elsewhere" / "r.urdf"
    other.parent.mkdir()
    shape = shape.replace("//robot", "//other")
    assert loaded(write(other, shape), packages={"other": tmp_path / "robot"}) == inside
    assert loaded(write(other, '<mesh filename="../robot/meshes/box.obj"/>')) == inside
    assert loaded(write(other, f'<mesh filename="file://{meshes}/box.obj"/>')) == inside
    with pytest.raises(fa.InputError) as caught:
        loaded(write(other, shape))
    assert str(caught.value) == (
        f"r.urdf, line 2, link 'b', <mesh>: '{uri.replace('//robot', '//other')}': the package 'other' was "
        f"not found. Give its folder with packages={{'other': FOLDER}} (--package other=FOLDER)."
    )


BAD = [
    (
        '<capsule radius="1"/>',
        "<capsule>: expected a box, cylinder, sphere or mesh; give the link an <inertial>.",
    ),
    (
        '<mesh filename="a.dae"/>',
        "<mesh>: a.dae: only STL and OBJ are supported; convert the mesh, or give the link an <inertial>.",
    ),
    ("<mesh/>", ": <mesh> needs the attribute 'filename'."),
    ('<sphere radius="-1"/>', "<sphere>: sphere: radius is -1.0; expected a number > 0"),
]


@pytest.mark.parametrize(("shape", "said"), BAD)
def test_shapes_that_cannot_be_used(tmp_path: Path, shape: str, said: str) -> None:
    path = write(tmp_path / "r.urdf", shape)
    with pytest.raises(fa.InputError) as caught:
        loaded(path)
    assert str(caught.value).startswith("r.urdf, line 2, link 'b'")
    assert said in str(caught.value)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert loaded(path, strict=False).massless
    assert any(
        str(w.message).startswith("r.urdf: repaired: line 2, link 'b'")
        and str(w.message).endswith(": read without mass.")
        for w in heard
    )


def test_visual_stands_in_for_a_collision_that_cannot_be_used(tmp_path: Path) -> None:
    visual = f'<visual>{ORIGIN}<geometry><box size="0.3 0.2 0.5"/></geometry></visual>'
    link = loaded(write(tmp_path / "r.urdf", '<mesh filename="a.dae"/>', extra=visual))
    assert_is(link, 0.03, SIDES**2 / 12)


def test_open_mesh_is_refused(tmp_path: Path) -> None:
    write_obj(tmp_path / "box.obj", SIDES)
    text = (tmp_path / "box.obj").read_text()
    (tmp_path / "box.obj").write_text(text[: text.rindex("f ")])
    with refused(r"InputError: r\.urdf, line 2, link 'b', <mesh>: box\.obj: the mesh is not closed"):
        loaded(write(tmp_path / "r.urdf", '<mesh filename="box.obj"/>'))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("v 1 2\n", ", line 1: expected v and three numbers, got 'v 1 2'."),
        ("v 1 2 3\nf 1 2 x\n", ", line 2: vertex 2 is not defined before this face."),
        ("v 1 2 3\nf 1 x\n", ", line 2: expected a vertex, got 'x'."),
        ("v 1 2 3\nf 0 1 1\n", ", line 2: vertex 0 is not defined before this face."),
        ("v 1 2 3\nf -2 1 1\n", ", line 2: vertex -2 is not defined before this face."),
        ("v 1 2 3\n", ": no faces; export a mesh with triangles."),
    ],
)
def test_obj_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "m.obj"
    path.write_text(text)
    with pytest.raises(fa.InputError) as caught:
        read_obj(path)
    assert str(caught.value) == f"{path}{said}"
