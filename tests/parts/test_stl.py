"""Mesh moments against quadrature and the affine law; STL files sound, broken and mutated."""

import math
import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from nearness import assert_near
from numpy.typing import NDArray
from parts.meshes import ascii_stl, binary_stl
from refusals import refused

from forearm.errors import InputError
from forearm.parts.shapes import Moments, box, sphere
from forearm.parts.stl import MOST_BYTES, MOST_TRIANGLES, check_closed, mesh_moments, read_stl
from forearm.visuals import solids

Array = NDArray[np.float64]
Writer = Callable[[Array], bytes]

ROUNDING = 1e-11  # a hundred operations on numbers of one size, times the conditioning of a random map
SINGLE = 1e-6  # STL stores 24 bits

pytestmark = pytest.mark.filterwarnings("error")

CORNERS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
TETRAHEDRON = CORNERS[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]]


def cube() -> Array:
    """Unit cube 0..1, outside out."""
    return np.asarray(solids.box(1.0, 1.0, 1.0).corners + 0.5)


def ball(segments: int) -> Array:
    return np.asarray(solids.sphere(1.0, segments, segments // 2).corners)


MAP = np.array([[0.31, 0.07, -0.05], [-0.11, 0.43, 0.09], [0.02, -0.13, 0.59]])
SHIFT = np.array([0.7, -0.4, 1.9])


@pytest.fixture
def brick() -> Array:
    """A slanted box with no corner at the origin and no edge along an axis."""
    return np.asarray(cube() @ MAP.T + SHIFT)


def stored(folder: Path, data: bytes) -> Path:
    path = folder / "part.stl"
    path.write_bytes(data)
    return path


def assert_equal(found: Moments, truth: Moments, tolerance: float) -> None:
    assert found.volume == pytest.approx(truth.volume, rel=tolerance)
    size = math.sqrt(float(np.trace(truth.second)) / truth.volume)
    assert_near(found.centroid, truth.centroid, tolerance * size)
    assert_near(found.second, truth.second, tolerance * truth.volume * size**2)


# --- moments -------------------------------------------------------------------------------------------


def test_box_and_tetrahedron_give_their_closed_forms() -> None:
    mesh = cube() * [0.31, 0.57, 0.97] - [0.155, 0.285, 0]
    check_closed(mesh, "box")
    assert_equal(mesh_moments(mesh), box(x=0.31, y=0.57, z=0.97), ROUNDING)
    # Over the simplex of volume 1/6, x has the mean 1/4, x^2 the mean 1/10 and x y the mean 1/20.
    second = (np.full((3, 3), 1 / 20) + np.eye(3) / 20 - 1 / 16) / 6
    assert_equal(mesh_moments(TETRAHEDRON), Moments(1 / 6, np.full(3, 1 / 4), second), ROUNDING)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.floats(-2, 2), min_size=12, max_size=12), st.sampled_from([TETRAHEDRON, cube(), ball(6)]))
def test_affine_law(numbers: list[float], mesh: Array) -> None:
    a, b = np.array(numbers[:9]).reshape(3, 3), np.array(numbers[9:])
    assume(np.linalg.cond(a) < 50 and np.linalg.norm(a) > 1e-2)
    plain = mesh_moments(mesh)
    size = abs(float(np.linalg.det(a)))  # a reflection turns the mesh inside out: same moments
    law = Moments(size * plain.volume, a @ plain.centroid + b, size * a @ plain.second @ a.T)
    assert_equal(mesh_moments(mesh @ a.T + b), law, 1e-10)


def test_ball_mesh_converges_to_the_sphere_with_order_two() -> None:
    truth = sphere(radius=1.0).second[2, 2]
    gaps = [1 - mesh_moments(ball(n)).second[2, 2] / truth for n in (16, 32, 64)]
    assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.05)
    assert gaps[1] / gaps[2] == pytest.approx(4, rel=0.02)


def test_inside_out_gives_the_same_moments_and_a_cavity_is_taken_off(brick: Array) -> None:
    hollow = np.concatenate([brick, (0.5 * (brick - SHIFT) + SHIFT + 0.05)[:, ::-1]])
    for mesh in (brick[:, ::-1], hollow):
        check_closed(mesh, "part")
    assert_equal(mesh_moments(brick[:, ::-1]), mesh_moments(brick), ROUNDING)
    assert mesh_moments(hollow).volume == pytest.approx(7 / 8 * mesh_moments(brick).volume, rel=ROUNDING)


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_a_needle_is_allowed_at_any_size_and_a_plate_is_not(size: float) -> None:
    stretch = size * np.array([1.0, 1e-5, 1e-5])  # ten times the volume that counts as none
    assert mesh_moments(cube() * stretch).volume == pytest.approx(stretch.prod(), rel=1e-6)
    with refused(r"InputError: plate: the mesh encloses no volume; export the outer skin"):
        mesh_moments(cube() * size * [1.0, 1e-5, 1e-8], "plate")


@pytest.mark.parametrize("function", [mesh_moments, check_closed])
def test_other_arrays_and_bad_coordinates_are_refused(brick: Array, function: Callable[..., object]) -> None:
    for shape in ((0, 3, 3), (4, 3), (4, 3, 2), (9,)):
        with refused(r"InputError: plate: expected triangles of shape \(m, 3, 3\)"):
            function(np.zeros(shape), "plate")
    for value in (math.nan, math.inf, 2e12):
        brick[7, 1, 2] = value
        with pytest.raises(InputError, match=r"^plate: triangle 8 has the corner \(.*(nan|inf|e\+12)\);"):
            function(brick, "plate")


# --- closed or not -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "counts", "first", "named"),
    [
        ("hole", "3 edges are open, 0 doubled and 0", 1, 0),
        ("flipped", "0 edges are open, 0 doubled and 3", 2, 5),
        ("doubled", "0 edges are open, 3 doubled and 0", 1, 0),
        ("hole in the second body", "3 edges are open, 0 doubled and 0", 15, 23),
    ],
)
def test_the_first_fault_of_an_open_mesh_is_located(
    brick: Array, fault: str, counts: str, first: int, named: int
) -> None:
    whole = np.concatenate([brick, brick + 5.0])
    mesh = {
        "hole": brick[1:],
        "flipped": np.concatenate([brick[:5], brick[5:6, ::-1], brick[6:]]),
        "doubled": np.concatenate([brick, brick[:1]]),
        "hole in the second body": whole[:-1],
    }[fault]
    said = (
        f"^part: the mesh is not closed: {counts} inconsistently oriented; the first, of triangle {first}, "
        r"runs from \(.*\) m to \(.*\) m\. Repair the mesh"
    )
    with pytest.raises(InputError, match=said) as caught:
        check_closed(mesh, "part")
    assert sum(f"({x:.9g}, {y:.9g}, {z:.9g})" in str(caught.value) for x, y, z in whole[named]) == 2


def test_corners_a_rounding_apart_are_one(brick: Array) -> None:
    noise = np.random.default_rng(3).uniform(-1, 1, brick.shape)
    diagonal = float(np.linalg.norm(np.ptp(brick.reshape(-1, 3), axis=0)))
    for _ in range(20):  # wherever the corners fall in the welding grid
        check_closed(brick + 2e-7 * diagonal * noise, "part")
        brick = brick + 3.7e-7 * diagonal
    with refused("InputError.*36 edges are open"):
        check_closed(brick + 1e-4 * diagonal * noise, "part")


def test_a_triangle_without_area_does_no_harm_unless_there_are_no_others(brick: Array) -> None:
    check_closed(np.concatenate([brick, brick[:1, [0, 0, 1]]]), "part")
    for mesh in (brick[:, [0, 0, 1]], np.full((4, 3, 3), 0.3)):
        with refused(r"InputError: part: every triangle is degenerate"):
            check_closed(mesh, "part")


# --- files ---------------------------------------------------------------------------------------------


def test_round_trips(tmp_path: Path, brick: Array) -> None:
    mesh = ball(8) @ MAP.T + SHIFT
    for header in (b"", b"solid part"):
        found = read_stl(stored(tmp_path, binary_stl(mesh, header)))
        np.testing.assert_array_equal(found, mesh.astype(np.float32))
    check_closed(found, "part")
    assert_equal(mesh_moments(found), mesh_moments(mesh), SINGLE)
    solids = stored(tmp_path, ascii_stl(brick) + ascii_stl(brick + 3))
    np.testing.assert_array_equal(read_stl(solids), np.concatenate([brick, brick + 3]))


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda text: text.upper(),
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.replace(b"\n", b"\r"),
        lambda text: b"\n \t\n" + text.replace(b"\n", b" \n\n\t "),
        lambda text: text.replace(b"solid part", b"solid"),
        lambda text: text.replace(b"solid part", b"solid facet normal vertex"),
        lambda text: text.replace(b"normal 0 0 0", b"normal nan nan nan"),
        lambda text: text + b" ",
    ],
)
def test_ascii_habits_are_tolerated(tmp_path: Path, brick: Array, rewrite: Callable[[bytes], bytes]) -> None:
    np.testing.assert_array_equal(read_stl(stored(tmp_path, rewrite(ascii_stl(brick)))), brick)


@pytest.mark.parametrize("make", [ascii_stl, binary_stl])
def test_scale(tmp_path: Path, brick: Array, make: Writer) -> None:
    path = stored(tmp_path, make(brick))
    np.testing.assert_allclose(read_stl(path, scale=0.001), 0.001 * read_stl(path), rtol=1e-15)
    for scale in (0, -1.0, math.nan, math.inf, "mm"):
        with refused(r"InputError.*part.stl: scale is .*; expected a number > 0"):
            read_stl(path, scale=scale)  # type: ignore[arg-type]
    with refused(r"InputError.*triangle 1 has the corner .* correct the scale"):
        read_stl(path, scale=1e12)


@pytest.mark.parametrize("header", [b"", b"solid part", b"solid" + b" " * 75])
def test_truncated_binary(tmp_path: Path, brick: Array, header: bytes) -> None:
    data = binary_stl(brick, header)
    for length in (*range(0, 100, 3), 83, 84, *range(101, len(data), 50), len(data) - 1):
        with pytest.raises(InputError, match=r"part\.stl: ") as caught:
            read_stl(stored(tmp_path, data[:length]))
        if header != b"solid" + b" " * 75 and length >= 84:  # nothing else tells that one from text
            text = f"the header announces 12 triangles in 684 bytes, but the file has {length}: truncated"
            assert text in str(caught.value)


def test_truncated_ascii(tmp_path: Path, brick: Array) -> None:
    data = ascii_stl(brick[:1])
    complete = data.rindex(b"endsolid") + len(b"endsolid")
    for length in range(0, complete, 3):
        with pytest.raises(
            InputError, match=r"part\.stl: (not an STL file|line \d+ is |truncated|the header announces)"
        ):
            read_stl(stored(tmp_path, data[:length]))
    for length in (complete, len(data) - 1):
        assert len(read_stl(stored(tmp_path, data[:length]))) == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            b"outer loop",
            b"inner loop",
            r"line 3 is 'inner loop' where outer is expected; export the mesh again",
        ),
        (b"  facet", b"  facts", r"line 2 is 'facts normal 0 0 0' where facet or endsolid is expected"),
        (b"endloop", b"vertex 1 2 3", r"line 7 is 'vertex 1 2 3' where endloop is expected"),
        (
            b"vertex ",
            b"vertex 1 ",
            r"line 4 is 'vertex 1 .*; expected vertex and three numbers; export the mesh again",
        ),
        (b"vertex ", b"vertex 1_", r"line 4 is 'vertex 1_.*; expected vertex and three numbers"),
        (b"endsolid part\n", b"", r"truncated: the text ends at line 85 without endsolid"),
        (b"endsolid part\n", b"endsolid\nfacet", r"line 87 is 'facet' where solid is expected"),
    ],
)
def test_bad_ascii_is_located(tmp_path: Path, brick: Array, old: bytes, new: bytes, message: str) -> None:
    with refused(rf"InputError.*part\.stl: {message}"):
        read_stl(stored(tmp_path, ascii_stl(brick).replace(old, new, 1)))


@pytest.mark.parametrize(
    ("make", "value"), [(ascii_stl, math.nan), (ascii_stl, 3e38), (binary_stl, -math.inf), (binary_stl, 3e38)]
)
def test_bad_numbers_in_a_file(tmp_path: Path, brick: Array, make: Writer, value: float) -> None:
    brick[4, 2, 1] = value
    with refused(r"InputError.*part\.stl: triangle 5 has the corner .*coordinates must be"):
        read_stl(stored(tmp_path, make(brick)))


def test_signalling_nan_and_double_overflow(tmp_path: Path, brick: Array) -> None:
    data = bytearray(binary_stl(brick))
    data[96:100] = bytes.fromhex("0100a07f")
    with refused(r"InputError.*triangle 1 has the corner .nan"):
        read_stl(stored(tmp_path, bytes(data)))
    brick[0, 0, 0] = 1e305
    with refused(r"InputError.*triangle 1 has the corner .inf"):
        read_stl(stored(tmp_path, ascii_stl(brick)), scale=1e6)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"not an STL file \(0 bytes\)"),
        (b"\n" * 200, "the header announces .*: truncated or not an STL file; export"),
        (bytes(84), "expected 1 to 1000000 triangles, got 0"),
        (b"solid part\nendsolid part\n", "no facet in 2 lines"),
        (b"solid", "truncated: the text ends at line 1 without endsolid"),
        (bytes(80) + b"\xff" * 4 + bytes(50), "the header announces 4294967295 triangles"),
        ("solid \xe9\n\xe9".encode("latin-1"), "line 2 is "),
    ],
)
def test_empty_and_garbage(tmp_path: Path, data: bytes, message: str) -> None:
    with refused(rf"InputError.*part\.stl: {message}"):
        read_stl(stored(tmp_path, data))


@pytest.mark.slow
def test_too_large(tmp_path: Path) -> None:
    path = tmp_path / "part.stl"
    for size, message in (
        (MOST_BYTES + 1, "larger than the 64 MB allowed"),
        (84 + 50 * (MOST_TRIANGLES + 1), "got 1000001"),
    ):
        with path.open("wb") as file:
            file.write(bytes(80) + (MOST_TRIANGLES + 1).to_bytes(4, "little"))
            file.truncate(size)
        with pytest.raises(InputError, match=message):
            read_stl(path)


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("missing.stl", "pipe", ".", "a\0b", "x" * 5000):
        with pytest.raises(
            InputError, match=r"no such file|a folder, not a file|cannot be read|a pipe or a device"
        ):
            read_stl(tmp_path / name)


@pytest.mark.slow
def test_mutated_files_raise_nothing_else(tmp_path: Path, brick: Array) -> None:
    rng = random.Random(20240611)
    seeds = [binary_stl(brick), binary_stl(brick, b"solid part"), ascii_stl(brick)]
    read = closed = longest = 0
    for case in range(450):
        data = bytearray(seeds[case % 3])
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(data) + 1)
            end = min(len(data), at + rng.randint(1, 30))
            insert = rng.choice([b"nan", b"\n", b"solid", b"1e999", b"\0", b"-", rng.randbytes(7)])
            kind = rng.randrange(5)
            if kind == 0:
                data[at:end] = rng.randbytes(end - at)
            elif kind == 1 and at < len(data):
                data[at] ^= 1 << rng.randrange(8)
            else:
                data[at : end if kind == 2 else at] = (b"", insert, data[at:end])[max(kind - 2, 0)]
        try:
            mesh = read_stl(stored(tmp_path, bytes(data)))
            read += 1
            assert np.isfinite(mesh).all()
            check_closed(mesh, "part")
            closed += 1
            assert mesh_moments(mesh, "part").volume > 0
        except InputError as error:
            longest = max(longest, len(str(error)))
    assert 25 < read < 425  # the mutations neither all kill nor all spare
    assert 2 < closed < read
    assert 0 < longest < 500 + len(str(tmp_path))
