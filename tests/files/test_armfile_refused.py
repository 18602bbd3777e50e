"""What is no arm file is refused by name and place, by the reader and, where it can
know, by the JSON Schema.
"""

from __future__ import annotations

import copy
import json
import math
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from arms import every_kind, random_arm
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from forearm import Arm, ForearmError, InputError, ModelError, arms, load
from forearm.files.armfile import SCHEMA, json_schema
from forearm.files.armfile_read import arm_from_document
from forearm.files.armfile_write import arm_text, to_document
from forearm.files.builtin import folder
from forearm.reading.textfile import MAX_TOML_BYTES, parse_toml

BUILT_IN = [name for name in arms() if name != "chainN"]
VALIDATOR = jsonschema.Draft202012Validator(json_schema())


def read(text: str, name: str = "arm.toml") -> Arm:
    return arm_from_document(parse_toml(text.encode(), name), name)


def read_back(arm: Arm) -> Arm:
    return read(arm_text(arm))


def sound() -> dict[str, Any]:
    """A document with every table in it."""
    document = to_document(random_arm(11, n=3, convention="modified", mimic=True, tree=True))
    return tomllib.loads("") | copy.deepcopy(document)


Change = Callable[[dict[str, Any]], object]


def put(*path: str | int, value: Any) -> Change:
    """Set the value at a path of keys and indices."""

    def change(document: dict[str, Any]) -> None:
        at: Any = document
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value

    return change


def drop(*path: str | int) -> Change:
    """Take away what is at a path of keys and indices."""

    def change(document: dict[str, Any]) -> None:
        at: Any = document
        for key in path[:-1]:
            at = at[key]
        del at[path[-1]]

    return change


def moving(document: dict[str, Any]) -> int:
    return next(i for i, j in enumerate(document["joint"]) if "motor" in j)


MOTOR = moving(sound())
MIMIC = next(i for i, j in enumerate(sound()["joint"]) if "mimic" in j)
JOINT, LINK = f"joint '{sound()['joint'][MOTOR]['name']}'", f"link '{sound()['link'][1]['name']}'"
FOLLOWER = f"joint '{sound()['joint'][MIMIC]['name']}'"

BROKEN: list[tuple[Change, str, str]] = [
    (drop("schema"), "", "not an arm file"),
    (put("schema", value="forearm-arm/0"), "schema", "expected 'forearm-arm/1'"),
    (drop("name"), "", "missing key 'name'"),
    (drop("joint"), "", "missing key 'joint'"),
    (drop("link"), "", "missing key 'link'"),
    (put("name", value=5), "name", "expected text, got 5"),
    (put("name", value="x" * 201), "name", "at most 200 characters, got 201"),
    (put("source", value=["x"]), "source", "expected text"),
    (put("notes", value="x" * 20_001), "notes", "at most 20000 characters, got 20001"),
    (
        put("gravity", value=-9.81),
        "gravity",
        "expected a list of 3 values, got -9.81. Wanted: [x, y, z] of the free-fall",
    ),
    (
        put("joint", MOTOR, "friction", "coulomb", value=[0.3]),
        f"{JOINT}, friction, coulomb",
        "such as [0.3, -0.3]",
    ),
    (
        put("joint", MOTOR, "friction", "coulomb", value=-0.3),
        f"{JOINT}, friction, coulomb",
        "must be at least 0, got -0.3",
    ),
    (drop("link", 1, "name"), "link[2]", "missing key 'name': link1 for the link that the first joint moves"),
    (put("gravity", value=[0, 0]), "gravity", "expected a list of 3 values"),
    (put("gravity", value=[0, 0, "g"]), "gravity[3]", "expected a number, got 'g'"),
    (put("gravity", value={"moon": [0, 0, 0]}), "gravity", "unknown key 'moon'"),
    (put("gravity", value={"world": [0, 0, True]}), "gravity, world[3]", "expected a number, got True"),
    (put("base", value=[0, 0, 0]), "base", "expected a table"),
    (put("base", value={"xyz": [0, 0, 0], "rot": 1}), "base", "unknown key 'rot'"),
    (put("base", value={"matrix": [[1, 0, 0, 0]] * 3}), "base, matrix", "a list of 4 values"),
    (put("base", value={"matrix": [[1, 0, 0]] * 4}), "base, matrix[1]", "a list of 4 values"),
    (put("base_link", value=0), "base_link", "expected text"),
    (
        put("hand", value="link1"),
        "hand",
        "got 'link1'. Wanted: { link = ..., xyz = ..., rpy = ..., matrix = ... }.",
    ),
    (put("hand", "link", value=4), "hand, link", "expected text"),
    (put("dh_convention", value="craig"), "dh_convention", "expected one of standard, modified"),
    (put("parts", value=7), "parts", "expected text"),
    (put("joint", value={"name": "x"}), "joint", "write each as [[joint]]"),
    (put("link", value="x"), "link", "write each as [[link]]"),
    (put("joint", 0, value=3), "joint[1]", "expected a table, got 3"),
    (put("link", 1, value=[]), "link[2]", "expected a table, got []"),
    (drop("link", 1, "name"), "link[2]", "missing key 'name'"),
    (put("link", 1, "name", value=9), "link[2], name", "expected text, got 9"),
    (put("link", 1, "mass", value="heavy"), f"{LINK}, mass", "expected a number, got 'heavy'"),
    (put("link", 1, "mass", value=-1), f"{LINK}, mass", "must be at least 0, got -1"),
    (put("link", 1, "mass", value=False), f"{LINK}, mass", "expected a number, got False"),
    (put("link", 1, "com", value=[0, 0, 0, 0]), f"{LINK}, com", "a list of 3 values"),
    (put("link", 1, "com", value={"x": 0}), f"{LINK}, com", "a list of 3 values"),
    (put("link", 1, "com", value=[0, "0 deg", 0]), f"{LINK}, com[2]", "expected a number"),
    (put("link", 1, "inertia", value=[1, 1, 1]), f"{LINK}, inertia", "expected a table"),
    (drop("link", 1, "inertia", "about"), f"{LINK}, inertia", "missing key 'about'"),
    (drop("link", 1, "inertia", "xx"), f"{LINK}, inertia", "missing key 'xx'"),
    (put("link", 1, "inertia", "yx", value=0), f"{LINK}, inertia", "unknown key 'yx'"),
    (put("link", 1, "inertia", "xx", value=[1]), f"{LINK}, inertia, xx", "expected a number, got [1]"),
    (put("link", 1, "density", value=2700), LINK, "unknown key 'density'"),
    (
        put("joint", MOTOR, "kind", value="continuous"),
        f"{JOINT}, kind",
        "expected one of revolute, prismatic",
    ),
    (put("joint", MOTOR, "kind", value=1), f"{JOINT}, kind", "got 1"),
    (put("joint", MOTOR, "parent", value=0), f"{JOINT}, parent", "expected text"),
    (put("joint", MOTOR, "child", value=None), f"{JOINT}, child", "expected text"),
    (put("joint", MOTOR, "dh", value=[0, 0, 0, 0]), f"{JOINT}, dh", "expected a table"),
    (put("joint", MOTOR, "dh", "alpha", value=[1]), f"{JOINT}, dh, alpha", "expected a number"),
    (put("joint", MOTOR, "dh", "alpha", value="steep"), f"{JOINT}, dh, alpha", "is not an angle"),
    (put("joint", MOTOR, "dh", "a", value="90 deg"), f"{JOINT}, dh, a", "expected a number, got '90 deg'"),
    (put("joint", MOTOR, "dh", "b", value=1), f"{JOINT}, dh", "unknown key 'b'"),
    (put("joint", MOTOR, "frame", value={"matrix": []}), f"{JOINT}, frame", "unknown key 'matrix'"),
    (put("joint", MOTOR, "limits", value=[0]), f"{JOINT}, limits", "a list of 2 values"),
    (put("joint", MOTOR, "limits", value=[0, {}]), f"{JOINT}, limits[2]", "expected a number"),
    (put("joint", MOTOR, "max_speed", value=-1), f"{JOINT}, max_speed", "must be at least 0"),
    (put("joint", MOTOR, "max_effort", value="87 Nm"), f"{JOINT}, max_effort", "expected a number"),
    (put("joint", MOTOR, "axes", value=[0, 0, 1]), JOINT, "unknown key 'axes'; did you mean 'axis'"),
    (put("joint", MIMIC, "mimic", value="joint1"), f"{FOLLOWER}, mimic", "expected a table"),
    (drop("joint", MIMIC, "mimic", "joint"), f"{FOLLOWER}, mimic", "missing key 'joint'"),
    (put("joint", MIMIC, "mimic", "ratio", value=2), f"{FOLLOWER}, mimic", "unknown key 'ratio'"),
    (
        put("joint", MOTOR, "motor", "gear_ratio", value="1:50"),
        f"{JOINT}, motor, gear_ratio",
        "expected a number",
    ),
    (put("joint", MOTOR, "motor", "resistance", value=0), f"{JOINT}, motor, resistance", "must be above 0"),
    (put("joint", MOTOR, "motor", "rotor_inertia", value=-1), f"{JOINT}, motor, rotor_inertia", "at least 0"),
    (put("joint", MOTOR, "motor", "kt", value=1), f"{JOINT}, motor", "unknown key 'kt'"),
    (drop("joint", MOTOR, "friction", "side"), f"{JOINT}, friction", "missing key 'side'"),
    (
        put("joint", MOTOR, "friction", "side", value="link"),
        f"{JOINT}, friction, side",
        "expected one of joint, motor",
    ),
    (
        put("joint", MOTOR, "friction", "coulomb", value=[1]),
        f"{JOINT}, friction, coulomb",
        "a list of 2 values",
    ),
    (put("joint", MOTOR, "friction", "viscous", value=-1), f"{JOINT}, friction, viscous", "at least 0"),
    (
        put("joint", MOTOR, "bearing", value={"kind": "thrust"}),
        f"{JOINT}, bearing",
        "expected a list of values",
    ),
    (drop("joint", MOTOR, "bearing", 0, "mu"), f"{JOINT}, bearing[1]", "missing key 'mu'"),
    (
        put("joint", MOTOR, "bearing", 0, "kind", value="ball"),
        f"{JOINT}, bearing[1], kind",
        "expected one of journal",
    ),
    (
        drop("joint", MOTOR, "transmission", "efficiency"),
        f"{JOINT}, transmission",
        "missing key 'efficiency'",
    ),
    (
        put("joint", MOTOR, "transmission", "efficiency", value=[1]),
        f"{JOINT}, transmission, efficiency[1]",
        "2 values",
    ),
    (put("joint", MOTOR, "freedoms", value=[{}]), f"{JOINT}, freedoms[1]", "missing key 'kind'"),
    (
        put("joint", MOTOR, "freedoms", value=[{"kind": "fixed", "dh": {}}]),
        f"{JOINT}, freedoms[1]",
        "unknown key 'dh'",
    ),
]


@pytest.mark.parametrize(("change", "place", "words"), BROKEN)
def test_broken_documents_are_refused_by_reader_and_schema(change: Change, place: str, words: str) -> None:
    document = sound()
    change(document)
    with pytest.raises((InputError, ModelError)) as caught:
        arm_from_document(document, "arm.toml")
    where = f"arm.toml, {place}: " if place else "arm.toml: "
    assert str(caught.value).startswith(where)
    assert words in str(caught.value)
    assert not VALIDATOR.is_valid(document)


BEYOND_THE_SCHEMA: list[tuple[Change, str]] = [
    (put("name", value=" "), "arm's name must be printable"),
    (put("link", 1, "name", value=""), "a link's name must be printable"),
    (
        put("link", 1, "mass", value=math.nan),
        "arm.toml, " + LINK + ", mass: the number must be finite, got nan",
    ),
    (put("link", 1, "mass", value=10**400), LINK + ", mass: the number must be finite"),
    (put("link", 1, "com", value=[0, math.inf, 0]), LINK + ", com[2]: the number must be finite"),
    (
        put("link", 1, "inertia", "xy", value=50.0),
        "arm.toml: " + LINK + ", inertia: must be positive semidefinite",
    ),
    (put("joint", MOTOR, "limits", value=[1, 0]), "arm.toml, " + JOINT),
    (
        put("joint", MOTOR, "motor", "gear_ratio", value=0),
        "arm.toml, " + JOINT + ": motor, gear_ratio: must not be 0",
    ),
    (put("joint", MOTOR, "dh", "alpha", value="9 radishes"), "is not an angle"),
    (put("joint", MOTOR, "friction", "coulomb", value=[-1, 1]), "arm.toml, " + JOINT + ": friction, coulomb"),
    (put("joint", MOTOR, "transmission", "efficiency", value=[]), "at least one pair"),
    (put("joint", MIMIC, "mimic", "joint", value="nobody"), "mimics joint 'nobody', which is missing"),
    (put("joint", MOTOR, "parent", value="nowhere"), "its parent link 'nowhere' is missing"),
    (put("joint", MOTOR, "frame", value={}), "give either dh"),
    (put("hand", "link", value="nowhere"), "got 'nowhere'"),
    (
        put("base", value={"matrix": np.diag([1.0, 1.0, -1.0, 1.0]).tolist()}),
        "arm.toml, base: the upper left 3x3",
    ),
    (drop("dh_convention"), "the convention is missing"),
    (drop("link", 1), "is missing"),
    (put("link", 1, "name", value="part2"), "link"),
    (put("parts", value="x.parts.toml"), "arm.toml, parts: 'x.parts.toml' cannot be found without"),
]


@pytest.mark.parametrize(("change", "words"), BEYOND_THE_SCHEMA)
def test_what_a_schema_cannot_know_the_reader_refuses(change: Change, words: str) -> None:
    document = sound()
    change(document)
    with pytest.raises(ForearmError) as caught:
        arm_from_document(document, "arm.toml")
    assert str(caught.value).startswith("arm.toml")
    assert words in str(caught.value)


def test_the_sound_document_is_sound() -> None:
    VALIDATOR.validate(sound())
    assert arm_from_document(sound(), "arm.toml") == random_arm(
        11, n=3, convention="modified", mimic=True, tree=True
    )


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    assert json_schema()["properties"]["schema"]["enum"] == [SCHEMA]
    published = folder().parent / "schemas" / "arm.schema.json"
    assert json.loads(published.read_text(encoding="utf-8")) == json_schema()


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_files_follow_the_schema(name: str) -> None:
    assert VALIDATOR.is_valid(tomllib.loads((folder() / f"{name}.toml").read_text(encoding="utf-8")))


@pytest.mark.parametrize("seed", range(3))
def test_written_arms_follow_the_schema(seed: int) -> None:
    for arm in [*every_kind(seed), random_arm(seed, n=0)]:
        document = tomllib.loads(arm_text(arm))
        VALIDATOR.validate(document)
        assert document == to_document(arm)


# ---------------------------------------------------------------------------------------------- hostile files


@pytest.mark.parametrize(
    "data",
    [
        b"a=" + b"[" * 100_000,
        b"a=" + b"{a=" * 100_000,
        b"a=" + b"[" * 100_000 + b"]" * 100_000,
        b"x=1\n" * 2,
        b"[[joint]",
        b"schema = ",
        b"\xff\xfe\x00",
        b"a = " + b"9" * 10_000,
        b'schema = "forearm-arm/1"\x00',
        b"\xef\xbb\xbfschema = 1",
        b"",
        b"[schema]\n[schema]",
    ],
)
def test_what_is_no_toml_is_refused_by_name(data: bytes) -> None:
    with refused(r"InputError: evil\.toml"):
        arm_from_document(parse_toml(data, "evil.toml"), "evil.toml")


@pytest.mark.parametrize("key", ["name", "gravity", "base", "hand", "joint", "link", "unknown"])
@pytest.mark.parametrize("depth", [60, 2000])
def test_tables_very_deep(key: str, depth: int) -> None:
    name = "" if key == "name" else 'name = "x"'
    text = f'schema = "{SCHEMA}"\n{name}\n{key}{".a" * depth} = 1\n'
    with refused(r"InputError: evil\.toml"):
        read(text, "evil.toml")


def test_lists_as_deep_as_the_parser_goes() -> None:
    depth = 200
    text = f'schema = "{SCHEMA}"\nname = {"[" * depth}{"]" * depth}\njoint = []\nlink = []'
    with refused(r"InputError: evil\.toml, name: expected text, got \[\["):
        read(text, "evil.toml")


def test_files_are_bounded(tmp_path: Path) -> None:
    big = tmp_path / "big.toml"
    big.write_bytes(b"#" * (MAX_TOML_BYTES + 1))
    with refused(r"InputError.*big\.toml: larger than the 4 MB allowed"):
        load(big)
    big.write_bytes(b"#" * MAX_TOML_BYTES)
    with refused("InputError.*not an arm file"):
        load(big)


def test_lists_are_bounded() -> None:
    document = sound()
    document["joint"][MOTOR]["transmission"]["efficiency"] = [[0.1, 0.5]] * 10_001
    with refused(r"InputError.*transmission, efficiency: expected at most 10000 entries, got 10001"):
        arm_from_document(document, "arm.toml")
    for key in ("joint", "link"):
        document = sound()
        document[key] = [{}] * 10_001
        with refused(rf"InputError.*arm\.toml, {key}: expected at most 10000 of them, got 10001"):
            arm_from_document(document, "arm.toml")


def test_messages_are_bounded() -> None:
    document = sound()
    document["link"][1]["mass"] = "x" * 1_000_000
    with pytest.raises(InputError) as caught:
        arm_from_document(document, "arm.toml")
    assert len(str(caught.value)) < 300
    document = sound() | {"y" * 100_000: 1}
    with pytest.raises(InputError) as caught:
        arm_from_document(document, "arm.toml")
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("name", ["missing.toml", "folder.toml"])
def test_files_that_are_not_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(
        InputError, match="a folder, not a file" if name.startswith("folder") else "no such file"
    ):
        load(tmp_path / name)


def test_load_names_what_it_knows(tmp_path: Path) -> None:
    with refused(r"NameNotFound.*'puma506' is neither a built-in arm nor .*; did you mean 'puma560'"):
        load("puma506")
    with refused(r"InputError.*must end in \.toml \(arm file\), \.urdf or \.xml \(MJCF\)"):
        load(tmp_path / "arm.json")
    with refused("InputError.*expected a name or a path, got 5"):
        load(5)  # type: ignore[arg-type]


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=6,
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every path into a document."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found += places(item, (*path, key))
    return found


PLACES = places(sound())


@pytest.mark.slow
@given(st.sampled_from(PLACES), json_values)
@settings(max_examples=150)
@pytest.mark.filterwarnings("ignore::forearm.errors.ModelWarning")
def test_anything_anywhere_is_read_or_refused(place: tuple[str | int, ...], value: Any) -> None:
    """A document with one value exchanged gives an arm that can be computed with,
    or an error that names the file.
    """
    document = sound()
    put(*place, value=value)(document)
    try:
        arm = arm_from_document(document, "arm.toml")
    except ForearmError as refused:
        message = str(refused)
    else:
        message = ""
    if message:
        assert message.startswith("arm.toml")
        return
    assert read_back(arm) == arm
    assert VALIDATOR.is_valid(document)
