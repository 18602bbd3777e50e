"""What is no arm file is refused by name and place, by the reader and, where it can
know, by the JSON Schema.
"""

from __future__ import annotations

import copy
import json
import math
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from arms import every_kind, random_arm
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from forearm import Arm, ForearmError, arms, load
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


GONE = object()


def changed(path: str, value: Any) -> dict[str, Any]:
    """The sound document with another value, or none, at a path of keys and indices."""
    *keys, last = [{"M": MOTOR, "F": FOLLOWS}.get(k, int(k) if k.isdigit() else k) for k in path.split(" ")]
    document = sound()
    at: Any = document
    for key in keys:
        at = at[key]
    if value is GONE:
        del at[last]
    else:
        at[last] = value
    return document


def moving(document: dict[str, Any]) -> int:
    return next(i for i, j in enumerate(document["joint"]) if "motor" in j)


MOTOR = moving(sound())
FOLLOWS = next(i for i, j in enumerate(sound()["joint"]) if "mimic" in j)
PLACES = {
    "joint": f"joint '{sound()['joint'][MOTOR]['name']}'",
    "link": f"link '{sound()['link'][1]['name']}'",
    "follower": f"joint '{sound()['joint'][FOLLOWS]['name']}'",
}
# path, value, and the error: its place and words
BROKEN: list[tuple[str, Any, str]] = [
    ("schema", GONE, "arm.toml: .*not an arm file"),
    ("schema", "forearm-arm/0", "arm.toml, schema: .*expected 'forearm-arm/1'"),
    ("name", GONE, "arm.toml: .*missing key 'name'"),
    ("joint", GONE, "arm.toml: .*missing key 'joint'"),
    ("link", GONE, "arm.toml: .*missing key 'link'"),
    ("name", 5, "arm.toml, name: a name must be printable text"),
    ("name", "x" * 201, "arm.toml, name: a name must be printable text of 1 to 200"),
    ("notes", "x" * 20_001, "arm.toml, notes: .*at most 20000 characters, got 20001"),
    ("gravity", -9.81, r"arm.toml, gravity: .*expected a list of 3 values, got -9.81. Wanted: .x, y, z."),
    ("joint M friction coulomb", [0.3], r"arm.toml, {joint}, friction, coulomb: .*such as \[0.3, -0.3\]"),
    (
        "joint M friction coulomb",
        -0.3,
        "arm.toml, {joint}, friction, coulomb: .*must be at least 0, got -0.3",
    ),
    ("link 1 name", GONE, r"arm.toml, link\[2\]: .*missing key 'name': link1 for the link"),
    ("gravity", [0, 0, "g"], r"arm.toml, gravity\[3\]: .*expected a number, got 'g'"),
    ("gravity", {"moon": [0, 0, 0]}, "arm.toml, gravity: .*unknown key 'moon'"),
    ("gravity", {"world": [0, 0, True]}, r"arm.toml, gravity, world\[3\]: .*expected a number, got True"),
    ("base", {"xyz": [0, 0, 0], "rot": 1}, "arm.toml, base: .*unknown key 'rot'"),
    ("base", {"matrix": [[1, 0, 0, 0]] * 3}, "arm.toml, base, matrix: .*a list of 4 values"),
    ("base", {"matrix": [[1, 0, 0]] * 4}, r"arm.toml, base, matrix\[1\]: .*a list of 4 values"),
    ("hand", "link1", "arm.toml, hand: .*got 'link1'. Wanted: . link = ..., xyz = "),
    ("dh_convention", "craig", "arm.toml, dh_convention: .*expected one of standard, modified"),
    ("joint", {"name": "x"}, r"arm.toml, joint: .*write each as \[\[joint\]\]"),
    ("joint 0", 3, r"arm.toml, joint\[1\]: .*expected a table, got 3"),
    ("link 1 mass", "heavy", "arm.toml, {link}, mass: .*expected a number, got 'heavy'"),
    ("link 1 mass", -1, "arm.toml, {link}, mass: .*must be at least 0, got -1"),
    ("link 1 com", [0, 0, 0, 0], "arm.toml, {link}, com: .*a list of 3 values"),
    ("link 1 com", [0, "0 deg", 0], r"arm.toml, {link}, com\[2\]: .*expected a number"),
    ("link 1 inertia about", GONE, "arm.toml, {link}, inertia: .*missing key 'about'"),
    ("link 1 inertia xx", GONE, "arm.toml, {link}, inertia: .*missing key 'xx'"),
    ("link 1 inertia yx", 0, "arm.toml, {link}, inertia: .*unknown key 'yx'"),
    ("link 1 density", 2700, "arm.toml, {link}: .*unknown key 'density'"),
    ("joint M kind", "continuous", "arm.toml, {joint}, kind: .*expected one of revolute, prismatic"),
    ("joint M child", None, "arm.toml, {joint}, child: .*expected text"),
    ("joint M dh alpha", "steep", "arm.toml, {joint}, dh, alpha: .*is not an angle"),
    ("joint M dh a", "90 deg", "arm.toml, {joint}, dh, a: .*expected a number, got '90 deg'"),
    ("joint M dh b", 1, "arm.toml, {joint}, dh: .*unknown key 'b'"),
    ("joint M frame", {"matrix": []}, "arm.toml, {joint}, frame: .*unknown key 'matrix'"),
    ("joint M limits", [0], "arm.toml, {joint}, limits: .*a list of 2 values"),
    ("joint M max_effort", "87 Nm", "arm.toml, {joint}, max_effort: .*expected a number"),
    ("joint M axes", [0, 0, 1], "arm.toml, {joint}: .*unknown key 'axes'; did you mean 'axis'"),
    ("joint F mimic joint", GONE, "arm.toml, {follower}, mimic: .*missing key 'joint'"),
    ("joint F mimic ratio", 2, "arm.toml, {follower}, mimic: .*unknown key 'ratio'"),
    ("joint M motor gear_ratio", "1:50", "arm.toml, {joint}, motor, gear_ratio: .*expected a number"),
    ("joint M motor resistance", 0, "arm.toml, {joint}, motor, resistance: .*must be above 0"),
    ("joint M motor kt", 1, "arm.toml, {joint}, motor: .*unknown key 'kt'"),
    ("joint M friction side", GONE, "arm.toml, {joint}, friction: .*missing key 'side'"),
    ("joint M friction side", "link", "arm.toml, {joint}, friction, side: .*expected one of joint, motor"),
    ("joint M bearing", {"kind": "thrust"}, "arm.toml, {joint}, bearing: .*expected a list of values"),
    ("joint M bearing 0 mu", GONE, r"arm.toml, {joint}, bearing\[1\]: .*missing key 'mu'"),
    ("joint M bearing 0 kind", "ball", r"arm.toml, {joint}, bearing\[1\], kind: .*expected one of journal"),
    ("joint M transmission efficiency", GONE, "arm.toml, {joint}, transmission: .*missing key 'efficiency'"),
    ("joint M transmission efficiency", [1], r"arm.toml, {joint}, transmission, efficiency\[1\]: .*2 values"),
    (
        "joint M freedoms",
        [{"kind": "fixed", "dh": {}}],
        r"arm.toml, {joint}, freedoms.1.: .*unknown key 'dh'",
    ),
]


@pytest.mark.parametrize(("path", "value", "words"), BROKEN)
def test_broken_documents_are_refused_by_reader_and_schema(path: str, value: Any, words: str) -> None:
    document = changed(path, value)
    with refused(r"\w+: " + words.format(**PLACES)):
        arm_from_document(document, "arm.toml")
    assert not VALIDATOR.is_valid(document)


BEYOND_THE_SCHEMA: list[tuple[str, Any, str]] = [
    ("name", " ", ".*name: a name must be printable"),
    ("link 1 mass", math.nan, "arm.toml, {link}, mass: the number must be finite, got nan"),
    ("link 1 com", [0, math.inf, 0], r".*{link}, com\[2\]: the number must be finite"),
    ("link 1 inertia xy", 50.0, "arm.toml, {link}, inertia: must be positive semidefinite"),
    ("joint M limits", [1, 0], "arm.toml, {joint}"),
    ("joint M motor gear_ratio", 0, "arm.toml, {joint}, motor, gear_ratio: must not be 0"),
    ("joint M dh alpha", "9 radishes", ".*is not an angle"),
    ("joint M transmission efficiency", [], ".*at least one pair"),
    ("joint F mimic joint", "nobody", ".*mimics joint 'nobody', which is missing"),
    ("joint M parent", "nowhere", ".*its parent link 'nowhere' is missing"),
    ("joint M frame", {}, ".*give either dh"),
    ("hand link", "nowhere", ".*got 'nowhere'"),
    ("base", {"matrix": np.diag([1.0, 1.0, -1.0, 1.0]).tolist()}, "arm.toml, base: the upper left 3x3"),
    ("dh_convention", GONE, ".*the convention is missing"),
    ("parts", "x.parts.toml", "arm.toml, parts: 'x.parts.toml' cannot be found without"),
]


@pytest.mark.parametrize(("path", "value", "words"), BEYOND_THE_SCHEMA)
def test_what_a_schema_cannot_know_the_reader_refuses(path: str, value: Any, words: str) -> None:
    with refused(r"\w+: (?=arm\.toml)" + words.format(**PLACES)):
        arm_from_document(changed(path, value), "arm.toml")


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


def test_written_arms_follow_the_schema() -> None:
    for arm in [*every_kind(1), random_arm(1, n=0)]:
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


@pytest.mark.parametrize("key", ["name", "gravity", "hand", "link", "unknown"])
def test_tables_very_deep(key: str) -> None:
    name = "" if key == "name" else 'name = "x"'
    for depth in (60, 2000):
        with refused(r"InputError: evil\.toml"):
            read(f'schema = "{SCHEMA}"\n{name}\n{key}{".a" * depth} = 1\n', "evil.toml")
    with refused(r"InputError: evil\.toml"):
        read(f'schema = "{SCHEMA}"\n{name}\n{key} = {"[" * 200}{"]" * 200}', "evil.toml")


def test_files_are_bounded(tmp_path: Path) -> None:
    big = tmp_path / "big.toml"
    for size, words in (
        (MAX_TOML_BYTES + 1, r"InputError.*big\.toml: larger than the 4 MB allowed"),
        (MAX_TOML_BYTES, "InputError.*not an arm file"),
    ):
        big.write_bytes(b"#" * size)
        with refused(words):
            load(big)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (
            "joint M transmission efficiency",
            [[0.1, 0.5]] * 10_001,
            "transmission, efficiency: expected at most 10000 entries, got 10001",
        ),
        ("joint", [{}] * 10_001, r"arm\.toml, joint: expected at most 10000 of them, got 10001"),
        ("link", [{}] * 10_001, r"arm\.toml, link: expected at most 10000 of them, got 10001"),
        ("link 1 mass", "x" * 1_000_000, "(?=.{,300}$)"),
        ("y" * 100_000, 1, "(?=.{,600}$)"),
    ],
)
def test_lists_and_messages_are_bounded(path: str, value: Any, words: str) -> None:
    with refused(r"InputError: (?=.{,600}$).*" + words):
        arm_from_document(changed(path, value), "arm.toml")


def test_load_names_what_it_knows(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    for name, words in (
        (tmp_path / "folder.toml", ".*a folder, not a file"),
        (tmp_path / "missing.toml", ".*no such file"),
        ("puma506", "NameNotFound.*'puma506' is neither a built-in arm nor .*; did you mean 'puma560'"),
        (tmp_path / "arm.json", r"InputError.*must end in \.toml \(arm file\), \.urdf or \.xml \(MJCF\)"),
        (5, "InputError.*expected a name or a path, got 5"),
    ):
        with refused(words):
            load(name)  # type: ignore[arg-type]


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=6,
)


def places(value: Any, path: str = "") -> list[str]:
    """Every path into a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [p for key, item in items for p in places(item, f"{path} {key}".strip())]


@pytest.mark.slow
@given(st.sampled_from(places(sound())), json_values)
@settings(max_examples=80)
@pytest.mark.filterwarnings("ignore::forearm.errors.ModelWarning")
def test_anything_anywhere_is_read_or_refused(path: str, value: Any) -> None:
    """A document with one value exchanged gives an arm that can be computed with,
    or an error that names the file.
    """
    document = changed(path, value)
    try:
        arm = arm_from_document(document, "arm.toml")
    except ForearmError as error:
        message = str(error)
    else:
        message = "arm.toml"
        assert read_back(arm) == arm
        assert VALIDATOR.is_valid(document)
    assert message.startswith("arm.toml")
