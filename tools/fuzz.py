"""Break files at random and see that every reader gives an answer or an error of its own, soon.

    .venv/bin/python tools/fuzz.py --count 20000

Each run takes a fresh seed, which it prints; `--seed S --index i --reader R` makes input number i again.
"""

from __future__ import annotations

import dataclasses
import json
import math
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import tests_path  # noqa: F401
from fuzzing import Fuzzer, Subject
from mjcf_making import MjcfMaking, random_mjcf
from mutations import BYTES, TOKENS, Mutator, stl_field, toml_tree, xml_tree
from urdf_making import Making, random_urdf

from forearm.arm import Arm, Joint
from forearm.checking.links import inertia_without_mass, triangle_violations
from forearm.errors import ForearmError
from forearm.files.armfile_read import arm_from_document
from forearm.files.armfile_write import arm_text
from forearm.files.builtin import folder as builtin_folder
from forearm.files.mjcf.read import arm_from_mjcf
from forearm.files.mjcf.write import mjcf_text
from forearm.files.urdf_read import arm_from_urdf, expanded_robot
from forearm.files.urdf_write import urdf_text
from forearm.kinematics import link_poses
from forearm.parts.database import Component, read_parts
from forearm.parts.stl import check_closed, mesh_moments, read_stl
from forearm.reading.textfile import parse_toml
from forearm.reading.xml import parse_xml
from forearm.studies.description import manifest_of as study_manifest
from forearm.studies.description import study_of
from forearm.studies.study_file import read_study

DATA = Path(__file__).parent.parent / "tests" / "data"
TAME = 1e30  # numbers up to here must not overflow when bodies are merged

# --- what must hold of every file ----------------------------------------------------------------------


def check_armfile(data: bytes, _folder: Path) -> None:
    """An arm, finite, that can be computed with and comes back from its own file equal; or a ForearmError."""
    arm = arm_from_document(parse_toml(data, "fuzz.toml"), "fuzz.toml")
    with _accepted():
        _check_arm(arm)
        urdf_text(arm)
        back = arm_from_document(parse_toml(arm_text(arm).encode(), "back.toml"), "back.toml")
        assert back == arm, "the arm that was saved and read back differs"


def check_urdf(data: bytes, _folder: Path) -> None:
    """An arm, finite, that can be computed with and comes back from the URDF written of it
    equal; or a ForearmError.
    """
    arm = arm_from_urdf(data, "fuzz.urdf")
    with _accepted():
        _check_arm(arm)
        back = arm_from_urdf(urdf_text(arm).encode(), "back.urdf")
        assert back == arm, "the arm that was written and read back differs"


def check_xacro(data: bytes, folder: Path) -> None:
    """An expanded tree that any reader of URDF may be given; or a ForearmError."""
    path = folder / "fuzz.xacro"
    root = expanded_robot(parse_xml(data, path.name), path, {})
    with _accepted():
        stack = [root]
        for element in stack:
            stack += element.children
            assert not element.tag.startswith("xacro:"), "a directive is left"
            assert all(isinstance(text, str) for text in (element.text, *element.attributes.values()))


def check_mjcf(data: bytes, _folder: Path) -> None:
    """An arm, finite, that can be computed with and comes back from the MJCF written of it with the same
    joints; or a ForearmError.
    """
    arm = arm_from_mjcf(data, "fuzz.xml")
    with _accepted():
        _check_arm(arm)
        back = arm_from_mjcf(mjcf_text(arm).encode(), "back.xml")
        moving = [
            [(j.name, j.kind, j.limits, j.mimic) for j in a.tree if j.kind != "fixed"] for a in (arm, back)
        ]
        assert moving[0] == moving[1], "the arm that was written and read back differs"


def check_parts(data: bytes, folder: Path) -> None:
    """Links with finite mass, centre and inertia; or a ForearmError."""
    (folder / "fuzz.parts.toml").write_bytes(data)
    links = read_parts(folder / "fuzz.parts.toml")
    with _accepted():
        assert all(_finite(node.in_link) for node in links), "a mass property is not finite"
        assert all(isinstance(node, Component) and list(node.walk()) for node in links)


def check_stl(data: bytes, folder: Path) -> None:
    """Finite triangles, and finite moments where they are closed; or a ForearmError."""
    (folder / "fuzz.stl").write_bytes(data)
    triangles = read_stl(folder / "fuzz.stl")
    assert np.isfinite(triangles).all(), "a coordinate is not finite"
    check_closed(triangles, "fuzz.stl")
    moments = mesh_moments(triangles, "fuzz.stl")
    assert _finite((moments.volume, moments.centroid, moments.second)), "a moment is not finite"


def check_study(data: bytes, folder: Path) -> None:
    """A study whose rows are numbers or names, and that comes back from plain data; or a ForearmError."""
    (folder / "fuzz.toml").write_bytes(data)
    study = read_study(folder / "fuzz.toml")
    with _accepted():
        last = study.row(study.rows - 1)
        assert all(isinstance(x, str) or math.isfinite(x) for x in last.values()), "a value is not finite"
        back = study_of(json.loads(json.dumps(study_manifest(study), allow_nan=False)))
        assert back.row(study.rows - 1) == last, "the study that was written and read back differs"


@contextmanager
def _accepted() -> Iterator[None]:
    """Within it a ForearmError is a failure: the reader has said yes."""
    try:
        yield
    except ForearmError as error:
        raise AssertionError(f"accepted, then {type(error).__name__}: {error}") from error


def _check_arm(arm: Arm) -> None:
    numbers = list(_numbers(arm))
    assert all(map(math.isfinite, numbers)), "a number of the arm is not finite"
    triangle_violations(arm)
    inertia_without_mass(arm)
    link_poses(arm, np.zeros(arm.n))
    if max(map(abs, numbers), default=0.0) <= TAME:
        for body in arm.moving.bodies:
            merged = (body.mass, body.com, body.inertia, body.before, body.multiplier, body.offset)
            assert _finite(merged), "a merged body is not finite"


def _numbers(value: Any) -> Iterator[float]:
    """Every number of a record; limits that are infinite on their proper side are none."""
    if isinstance(value, np.ndarray):
        yield from value.ravel().tolist()
    elif isinstance(value, float | int):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _numbers(item)
    elif dataclasses.is_dataclass(value):
        for part in dataclasses.fields(value):
            if isinstance(value, Joint) and part.name == "limits":
                yield from (
                    v for v, none in zip(value.limits, (-math.inf, math.inf), strict=True) if v != none
                )
            else:
                yield from _numbers(getattr(value, part.name))


def _finite(values: tuple[Any, ...]) -> bool:
    return all(bool(np.isfinite(v).all()) for v in values)


# --- readers -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reader:
    """A reader, the documents that its inputs are made from, and how."""

    suffix: str
    documents: Callable[[], tuple[bytes, ...]]
    mutators: tuple[Mutator, ...]
    check: Callable[[bytes, Path], None]


@cache
def arm_documents() -> tuple[bytes, ...]:
    """Built-in arm files, and one with every key."""
    files = [DATA / "every_key.toml"] * 4 + sorted(builtin_folder().glob("*.toml"))
    texts = [file.read_bytes() for file in files if not file.name.endswith(".parts.toml")]
    return tuple(text for text in texts if b"\nparts = " not in text)


@cache
def urdf_documents() -> tuple[bytes, ...]:
    """A file as robots have it, and random trees with everything that is read."""
    made = [random_urdf(seed, Making(links=5)).encode() for seed in range(6)]
    return ((DATA / "kinova_mico.urdf").read_bytes(), *made)


@cache
def xacro_documents() -> tuple[bytes, ...]:
    """The cases of tests/data/xacro that xacro accepts and that need no other file."""
    cases = (DATA / "xacro" / "cases.txt").read_text(encoding="utf-8").splitlines()
    trees = json.loads((DATA / "xacro" / "expected.json").read_text(encoding="utf-8"))["trees"]
    kept = [case for case, tree in zip(cases, trees, strict=True) if tree and "filename" not in case]
    return tuple(f'<robot name="r">{case}</robot>'.encode() for case in kept if "yaml" not in case)


@cache
def mjcf_documents() -> tuple[bytes, ...]:
    """Made files, with every way to write a turn, classes, geoms, drives and couplings."""
    return tuple(random_mjcf(seed, MjcfMaking(bodies=5)).encode() for seed in range(8))


@cache
def parts_documents() -> tuple[bytes, ...]:
    """A parts file with every shape."""
    return ((DATA / "every_shape.parts.toml").read_bytes(),)


@cache
def stl_documents() -> tuple[bytes, ...]:
    """A slanted brick, as bytes and as text."""
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    corners = corners @ np.array([[210.0, 30, -20], [10, 150, 40], [-30, 20, 90]]) + [5, -7, 11]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [corners[list(t)] for a, b, c, d in faces for t in ((a, b, c), (a, c, d))]
    binary = bytes(80) + len(triangles).to_bytes(4, "little")
    binary += b"".join(bytes(12) + t.astype("<f4").tobytes() + bytes(2) for t in triangles)
    text = "solid brick\n"
    for t in triangles:
        vertices = "".join(f"vertex {x:.9g} {y:.9g} {z:.9g}\n" for x, y, z in t)
        text += f"facet normal 0 0 0\nouter loop\n{vertices}endloop\nendfacet\n"
    return binary, (text + "endsolid brick\n").encode()


@cache
def study_documents() -> tuple[bytes, ...]:
    """Studies along a motion, and under torques that are held."""
    return tuple(path.read_bytes() for path in sorted((DATA / "studies").glob("*.toml")))


READERS = {
    "toml": Reader(".toml", arm_documents, (*BYTES, *TOKENS, *[toml_tree] * 5), check_armfile),
    "urdf": Reader(".urdf", urdf_documents, (*BYTES, *TOKENS, *[xml_tree] * 5), check_urdf),
    "xacro": Reader(".xacro", xacro_documents, (*BYTES, *TOKENS, *[xml_tree] * 5), check_xacro),
    "mjcf": Reader(".xml", mjcf_documents, (*BYTES, *TOKENS, *[xml_tree] * 5), check_mjcf),
    "parts": Reader(".parts.toml", parts_documents, (*BYTES, *TOKENS, *[toml_tree] * 5), check_parts),
    "study": Reader(".study.toml", study_documents, (*BYTES, *TOKENS, *[toml_tree] * 5), check_study),
    "stl": Reader(".stl", stl_documents, (*BYTES, *TOKENS, *[stl_field] * 5), check_stl),
}


# --- the run -------------------------------------------------------------------------------------------


def broken(reader: Reader, rng: random.Random) -> bytes:
    """A document of the reader, changed once or a few times."""
    data = rng.choice(reader.documents())
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(reader.mutators)(rng, data)
    return data


def _check(reader: Reader, data: bytes, folder: Path) -> None:
    (folder / "brick.stl").write_bytes(stl_documents()[0])
    reader.check(data, folder)


FUZZER = Fuzzer(
    "fuzz.py",
    "--reader",
    {
        name: Subject(partial(broken, reader), partial(_check, reader), bytes, reader.suffix)
        for name, reader in READERS.items()
    },
)


if __name__ == "__main__":
    sys.exit(FUZZER.main(__doc__))
