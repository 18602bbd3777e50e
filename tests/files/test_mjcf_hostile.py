"""MJCF files that are broken, absurd or meant to do harm: each is refused at once,
in words that name the place.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import patience
from refusals import refused

import forearm as fa
from forearm.arm import Arm
from forearm.errors import ForearmError
from forearm.files.mjcf.include import MAX_INCLUDED
from forearm.files.mjcf.read import arm_from_mjcf

PATIENCE = 5  # s; each file here is read in less than one
INERTIAL = '<inertial pos="0 0 0.1" mass="1" diaginertia="0.1 0.1 0.1"/>'

pytestmark = pytest.mark.filterwarnings("ignore::forearm.errors.IgnoredWarning")


@pytest.fixture(autouse=True)
def _alarm() -> Iterator[None]:
    with patience(PATIENCE):
        yield


def read(text: str | bytes) -> Arm:
    return arm_from_mjcf(text.encode() if isinstance(text, str) else text, "bad.xml")


def mujoco(*blocks: str) -> str:
    """The blocks, one to a line from line 2 on."""
    return "<mujoco>\n" + "\n".join(blocks) + "\n</mujoco>\n"


def world(inside: str) -> str:
    return f"<worldbody>{inside}</worldbody>"


def moving(joint: str = "", body: str = "", inertial: str = INERTIAL) -> str:
    """A body on one joint, with more attributes of either."""
    return mujoco(world(f'<body name="b" {body}><joint name="j" {joint}/>{inertial}</body>'))


def assert_refused(text: str | bytes, message: str) -> None:
    """The text is refused with exactly this message behind the name of the file."""
    with pytest.raises(ForearmError) as caught:
        read(text)
    assert str(caught.value) == f"bad.xml{message}"


def test_document_types_are_refused() -> None:
    entities = "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(12))
    for doctype in (
        f'<!DOCTYPE mujoco [<!ENTITY l0 "lol">{entities}]>',
        '<!DOCTYPE mujoco [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE mujoco SYSTEM "http://127.0.0.1:1/x.dtd">',
    ):
        assert_refused(
            f'\n{doctype}\n<mujoco model="&l12;"/>',
            ", line 2: a document type declaration (<!DOCTYPE ...>) is not allowed, as it can define "
            "entities; remove it.",
        )


def test_too_many_bodies() -> None:
    text = mujoco("<worldbody>", *('<body name="b"/>' for _ in range(20_000)), "</worldbody>")
    assert_refused(text, ", line 10003: more than 10000 <body> elements; the file is too large.")


def test_deep_nesting() -> None:
    text = mujoco(world("<body>" * 100_000 + "</body>" * 100_000))
    assert_refused(text, ", line 2: elements nested deeper than 200.")


def test_frames_and_defaults_as_deep_as_allowed() -> None:
    frames = "<frame>" * 190 + '<body name="b"><joint/>' + INERTIAL + "</body>" + "</frame>" * 190
    assert read(mujoco(world(frames))).n == 1
    classes = "".join(f'<default class="c{i}">' for i in range(190)) + "</default>" * 190
    with refused("InputError.*no body has a hinge"):
        read(mujoco(f"<default>{classes}</default>"))


def test_includes_nested_deeper_than_one_file_may_be(tmp_path: Path) -> None:
    """Each file is within bounds; together they are not."""
    for i in range(3):
        inner = f'<include file="f{i + 1}.xml"/>' if i < 2 else ""
        text = "<body>" * 100 + inner + "</body>" * 100
        (tmp_path / f"f{i}.xml").write_text(f"<mujoco>{world(text) if i == 0 else text}</mujoco>")
    with refused(r"InputError.*f1\.xml, line 1: elements nested deeper than 200\.$"):
        fa.load(tmp_path / "f0.xml")


def test_too_many_includes(tmp_path: Path) -> None:
    count = MAX_INCLUDED + 5
    for i in range(count):
        (tmp_path / f"f{i}.xml").write_text("<mujoco/>")
    files = "".join(f'<include file="f{i}.xml"/>' for i in range(count))
    (tmp_path / "arm.xml").write_text(f"<mujoco>{files}</mujoco>")
    with refused(rf"InputError.*is one of more than {MAX_INCLUDED}; include each file once\.$"):
        fa.load(tmp_path / "arm.xml")


@pytest.mark.slow
def test_included_files_are_bounded_together(tmp_path: Path) -> None:
    for i in range(3):
        (tmp_path / f"f{i}.xml").write_text(f"<mujoco><!--{'x' * 15_000_000}--></mujoco>")
    files = "".join(f'<include file="f{i}.xml"/>' for i in range(3))
    (tmp_path / "arm.xml").write_text(f"<mujoco>{files}</mujoco>")
    with refused(r"InputError.*f2\.xml: larger than the 1 MB allowed"):
        fa.load(tmp_path / "arm.xml")


def test_text_includes_nothing() -> None:
    assert_refused(
        mujoco('<include file="x.xml"/>'), ", line 2: <include> needs a folder; load the file by its path."
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<robot/>", ", line 1: expected <mujoco> at the root of MJCF, got <robot>."),
        ("<mujoco/>", ": no body has a hinge or a slide joint, so there is no arm."),
        (
            moving('axis="0 0 0"'),
            ", line 2, <joint> 'j', frame, axis: must not be 0 0 0; give a direction, such as 0 0 1.",
        ),
        (moving('axis="1 2"'), ", line 2, <joint> 'j': axis must be 3 numbers, got '1 2'."),
        (moving('ref="nan"'), ", line 2, <joint> 'j': ref must be finite, got 'nan'."),
        (
            moving('type="helix"'),
            ", line 2, <joint> 'j': unknown type 'helix'; there are: hinge, slide, ball, free.",
        ),
        (moving('armature="1e40"'), ", line 2, <joint> 'j': armature must not exceed 1e+30, got '1e40'."),
        (
            moving(body='quat="1 0 0 0" euler="0 0 0"'),
            ", line 2, <body> 'b': quat and euler both define a rotation; give one.",
        ),
        (moving(body='quat="0 0 0 0"'), ", line 2, <body> 'b': quat must not be all zeros."),
        (
            moving(inertial='<inertial pos="0 0 0"/>'),
            ", line 2, <inertial>: the attribute 'mass' is missing.",
        ),
        (
            moving(inertial='<inertial mass="-1"/>'),
            ", line 2, <body> 'b', link 'b', mass: must be at least 0, got -1.",
        ),
        (
            moving(inertial='<geom type="box" size="1"/>'),
            ", line 2, <geom>: size must be 3 numbers, got '1'.",
        ),
        (
            moving(inertial='<geom type="capsule" size="1" fromto="1 2 3 1 2 3"/>'),
            ", line 2, <geom>: the two points of fromto must differ.",
        ),
        (
            moving(inertial='<frame scale="2"/>'),
            ", line 2, <frame>: scaling frames are not supported; expand the bodies.",
        ),
        (
            moving(inertial='<replicate count="9"/>'),
            ", line 2: <replicate> is not supported; write the copies out, or give the compiled model to "
            "fa.from_mujoco.",
        ),
        (
            mujoco('<compiler eulerseq="xyw"/>'),
            ", line 2, <compiler>: eulerseq must be three of x, y, z, X, Y, Z, got 'xyw'.",
        ),
        (
            mujoco('<compiler coordinate="global"/>'),
            ", line 2, <compiler>: coordinate='global' is not supported (MuJoCo dropped it in 2.3.4); "
            "convert "
            "the file with an older MuJoCo first.",
        ),
        (
            mujoco("<default><default/></default>"),
            ", line 2: a <default> inside another needs the attribute 'class'.",
        ),
        (
            mujoco(world('<body name="a"/>'), '<compiler settotalmass="3"/>'),
            ": settotalmass is 3 kg, but no body has mass to scale.",
        ),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    assert_refused(text, message)


def test_two_bodies_of_one_name() -> None:
    text = mujoco(world(f'<body name="b">{INERTIAL}<body name="b">{INERTIAL}<joint/></body></body>'))
    assert_refused(text, ": two links are called 'b'; every link needs a unique name.")


def test_messages_stay_readable() -> None:
    long = "x" * 1_000_000
    for text in (
        moving(f'class="{long}"'),
        moving(f'axis="{long}"'),
        moving(f'type="{long}"'),
        mujoco(world(f'<body name="{long}"><joint/>{INERTIAL}</body>')),
        mujoco(world(f"<body>{INERTIAL}<joint name='{long}'/></body>")),
    ):
        with pytest.raises(ForearmError) as caught:
            read(text)
        assert len(str(caught.value)) < 2000


def test_many_kinds_of_things_are_one_warning() -> None:
    tags = "".join(f"<t{i}/>" for i in range(5000))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read(mujoco(world(f"<body>{INERTIAL}<joint/>{tags}</body>")))
    (warning,) = caught
    assert len(str(warning.message)) < 4000
    assert str(warning.message).endswith("; and 4980 more kinds.")
