"""URDF files that are broken, absurd or meant to do harm: each is refused at once,
in words that name the place.
"""

from __future__ import annotations

import itertools
import math
import random
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import patience
from refusals import refused

import forearm as fa
from forearm.arm import Arm
from forearm.errors import ForearmError, InputError, ModelError
from forearm.files.urdf_read import arm_from_urdf
from forearm.files.urdf_write import urdf_text
from forearm.kinematics import link_poses
from forearm.reading.xml import MAX_XML_BYTES

KINOVA = Path(__file__).parent.parent / "data" / "kinova_mico.urdf"

# Each file here is made and read in 2 s or less. The alarm is for those that would hold the reader for long.
PATIENCE = 5

pytestmark = pytest.mark.filterwarnings("ignore::forearm.errors.IgnoredWarning")


@pytest.fixture(autouse=True)
def _alarm() -> Iterator[None]:
    with patience(PATIENCE):
        yield


def read(text: str | bytes) -> Arm:
    return arm_from_urdf(text.encode() if isinstance(text, str) else text, "bad.urdf")


def robot(*blocks: str) -> str:
    """The blocks, one to a line from line 2 on."""
    return '<robot name="r">\n' + "\n".join(blocks) + "\n</robot>\n"


def links(*names: object) -> str:
    return "".join(f'<link name="{name}"/>' for name in names)


def joint(name: str, parent: object, child: object, inside: str = "", kind: str = "continuous") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{inside}</joint>'


def assert_refused(text: str | bytes, message: str, error: type[ForearmError] = InputError) -> None:
    """The text is refused with exactly this message behind the name of the file."""
    with pytest.raises(error) as caught:
        read(text)
    assert str(caught.value) == f"bad.urdf{message}"


# --- XML that does harm --------------------------------------------------------------------------------

NO_DOCTYPE = (
    ", line 2: a document type declaration (<!DOCTYPE ...>) is not allowed, as it can "
    "define entities; remove it."
)


def test_billion_laughs() -> None:
    entities = "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(12))
    text = f'<?xml version="1.0"?>\n<!DOCTYPE robot [<!ENTITY l0 "lol">{entities}]>\n<robot name="&l12;"/>'
    assert_refused(text, NO_DOCTYPE)


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE robot SYSTEM "http://127.0.0.1:1/x.dtd">',
        '<!DOCTYPE robot [<!ENTITY % p SYSTEM "file:///dev/zero"> %p;]>',
        "<!DOCTYPE robot>",
    ],
)
def test_external_entities_are_not_fetched(doctype: str) -> None:
    assert_refused(
        f'<?xml version="1.0"?>\n{doctype}\n<robot name="r"><link name="&x;"/></robot>', NO_DOCTYPE
    )


def test_entity_that_nobody_defined() -> None:
    assert_refused(robot('<link name="&x;"/>'), ", line 2, column 1: not valid XML: undefined entity.")


@pytest.mark.slow
def test_hundred_thousands_of_links() -> None:
    text = robot(*(f'<link name="l{i}"/>' for i in range(200_000)))
    assert_refused(text, ", line 10002: more than 10000 <link> elements; the file is too large.")


@pytest.mark.long
def test_million_joints() -> None:
    text = robot(*(joint(f"j{i}", "a", "b") for i in range(100_000)))
    assert_refused(text, ", line 20002: more than 20000 <joint> elements; the file is too large.")


@pytest.mark.long
def test_million_elements() -> None:
    text = robot(links("a"), "<t/>\n" * 1_000_000)
    assert_refused(text, ", line 500001: more than 500000 elements; the file is too large.")


def test_deep_nesting() -> None:
    text = '<robot name="r">\n' + "<link>\n" * 100_000 + "</link>" * 100_000 + "</robot>"
    assert_refused(text, ", line 201: elements nested deeper than 200.")


def test_file_too_large(tmp_path: Path) -> None:
    file = tmp_path / "large.urdf"
    with file.open("wb") as stream:
        stream.truncate(MAX_XML_BYTES + 1)
    with refused(r"InputError.*large\.urdf: larger than the 32 MB allowed for such a file\.$"):
        fa.load(file)


@pytest.mark.slow
def test_long_text_and_long_names() -> None:
    assert read(robot(links("a"), "x" * 20_000_000)).n == 0
    assert read(robot(links("a"), f'<t a="{"x" * 20_000_000}"/>')).n == 0
    with refused("InputError.*a link's name must be printable text of 1 to 200 characters, got 'xxxxx"):
        read(robot(links("x" * 1_000_000)))


@pytest.mark.parametrize(
    "text",
    [
        robot(links("x" * 1_000_000)),
        robot(links("a", "b"), joint("x" * 1_000_000, "a", "b")),
        robot(links("a", "b"), joint("j", "x" * 1_000_000, "b")),
        robot(links("a", "b"), joint("j", "a", "b", f'<mimic joint="{"x" * 1_000_000}"/>')),
    ],
    ids=["link", "joint", "parent", "mimic"],
)
def test_message_stays_readable(text: str) -> None:
    with pytest.raises(ForearmError) as caught:
        read(text)
    assert len(str(caught.value)) < 2000


# --- text that is no URDF ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", ", line 1, column 1: not valid XML: no element found."),
        (b"   \n\n", ", line 3, column 1: not valid XML: no element found."),
        (b"\x00\x01\x02\xff\xfe", ", line 1, column 1: not valid XML: not well-formed (invalid token)."),
        (
            b"\x7fELF\x02\x01\x01" + bytes(64),
            ", line 1, column 1: not valid XML: not well-formed (invalid token).",
        ),
        (b"schema = 1", ", line 1, column 1: not valid XML: syntax error."),
        (
            b"<robot></robot><robot></robot>",
            ", line 1, column 16: not valid XML: junk after document element.",
        ),
        (b"<sdf><model/></sdf>", ", line 1: expected <robot> at the root of a URDF, got <sdf>."),
        (b"<mujoco/>", ", line 1: expected <robot> at the root of a URDF, got <mujoco>."),
        (b'<robot name="a" name="b"/>', ", line 1, column 17: not valid XML: duplicate attribute."),
        (b'<robot name="\xff"/>', ", line 1, column 14: not valid XML: not well-formed (invalid token)."),
        (
            b'<?xml version="1.0" encoding="klingon"?><robot/>',
            ": cannot be read as XML: 'unknown encoding: klingon'.",
        ),
        (b"<robot/>", ": an arm needs at least one link."),
    ],
)
def test_no_urdf(data: bytes, message: str) -> None:
    assert_refused(data, message)


def test_garbage() -> None:
    rng = random.Random(3)
    for size in (1, 10, 100, 1000, 10_000):
        for _ in range(40):
            with refused(r"InputError: bad\.urdf"):
                read(rng.randbytes(size))


def test_xacro() -> None:
    said = " in a file that is not named .xacro; to have it expanded, rename the file to bad.urdf.xacro."
    namespace = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
    for element in ('<xacro:property name="m" value="1"/>', '<link name="a"><xacro:block/></link>'):
        tag = "xacro:block" if "block" in element else "xacro:property"
        assert_refused(f'<robot name="r" {namespace}>{element}</robot>', f", line 1: <{tag}>{said}")
    assert read(f'<robot name="r" {namespace}><link name="a"/></robot>').n == 0  # what xacro leaves behind


@pytest.mark.slow
def test_cut_off_anywhere() -> None:
    data = KINOVA.read_bytes()
    end = data.rindex(b">")
    for length in [*range(0, end, 61), *range(end - 20, end + 1)]:
        with refused(r"InputError: bad\.urdf, line \d+, column \d+: not valid XML: "):
            read(data[:length])


# --- structure -----------------------------------------------------------------------------------------


def test_cycles() -> None:
    ring = [joint(f"j{i}", f"l{i}", f"l{(i + 1) % 4}") for i in range(4)]
    assert_refused(
        robot(links("l0", "l1", "l2", "l3"), *ring),
        ": the joints form a cycle through link 'l0': no link is the base.",
        ModelError,
    )
    assert_refused(
        robot(links("a", "b", "l0", "l1", "l2", "l3"), joint("k", "a", "b"), *ring),
        ": joint 'j0' (link 'l1') cannot be reached from the base 'a': the joints around it form a cycle.",
        ModelError,
    )
    assert_refused(
        robot(links("a", "b"), joint("j", "b", "b")),
        ": joint 'j' (link 'b') cannot be reached from the base 'a': the joints around it form a cycle.",
        ModelError,
    )


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        (
            [links("a", "b", "c"), joint("j", "a", "b")],
            ": there are 2 roots, links that no joint moves: 'a', 'c'; an arm has one. Connect the others "
            "with fixed joints or remove them.",
        ),
        (
            [links("base", "hand"), joint("j", "base", "hnd")],
            ": joint 'j': its child link 'hnd' is missing; did you mean 'hand'?",
        ),
        (
            [links("base", "hand"), joint("j", "bass", "hand")],
            ": joint 'j': its parent link 'bass' is missing; did you mean 'base'?",
        ),
        (
            [links("a", "b", "c"), joint("j", "a", "c"), joint("k", "b", "c")],
            (
                ": link 'c' is moved by two joints, 'j' and 'k': closed loops are not "
                "supported; remove one of them."
            ),
        ),
        ([links("a", "a")], ": two links are called 'a'; every link needs a unique name."),
        (
            [links("a", "b", "c"), joint("j", "a", "b"), joint("j", "b", "c")],
            ": two joints are called 'j'; every joint needs a unique name.",
        ),
    ],
    ids=["two roots", "no child", "no parent", "two movers", "two links of a name", "two joints of a name"],
)
def test_no_tree(blocks: list[str], message: str) -> None:
    assert_refused(robot(*blocks), message, ModelError)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("<link/>", ", line 3, <link>: <link> needs the attribute 'name'."),
        ('<link name=""/>', ", line 3, <link>: <link> needs the attribute 'name'."),
        (
            '<link name="  "/>',
            ", line 3, link '  ': a link's name must be printable text of 1 to 200 characters, got '  '.",
        ),
        ('<joint type="fixed"/>', ", line 3, <joint>: <joint> needs the attribute 'name'."),
        ('<joint name="j"/>', ", line 3, joint 'j': <joint> needs the attribute 'type'."),
        ('<joint name="j" type="fixed"/>', ", line 3, joint 'j': <parent link=...> is missing."),
        (
            '<joint name="j" type="fixed"><parent link="a"/></joint>',
            ", line 3, joint 'j': <child link=...> is missing.",
        ),
        (
            '<joint name="j" type="fixed"><parent/><child link="b"/></joint>',
            ", line 3, joint 'j': <parent> needs the attribute 'link'.",
        ),
        (
            joint("j", "a", "b", kind="revolut"),
            ", line 3, joint 'j', type: expected one of revolute, continuous, prismatic, fixed, got "
            "'revolut'; did you mean 'revolute'?",
        ),
        (
            joint("j", "a", "b", kind="ball"),
            ", line 3, joint 'j', type: expected one of revolute, continuous, prismatic, fixed, got 'ball'.",
        ),
        *(
            (
                links("c") + joint("i", "a", "b") + joint("j", "b", "c", kind=kind),
                f", line 3, joint 'j': joints of type '{kind}' are not supported; write their degrees of "
                "freedom as prismatic and revolute joints with massless links between them, or read them "
                "as fixed with strict=False (forearm convert --lenient).",
            )
            for kind in ("floating", "planar", "spherical")
        ),
    ],
)
def test_incomplete_element(block: str, message: str) -> None:
    assert_refused(robot(links("a", "b"), block), message)


# --- numbers -------------------------------------------------------------------------------------------

# Every number there is in a URDF, each a one: the pieces of text around them, and what each is called.
NUMBERS = """\
<robot name="r">
<link name="a"/>
<link name="b"><inertial>
<origin xyz="{xyz of <origin>} 0 0" rpy="0 {rpy of <origin>} 0"/>
<mass value="{value of <mass>}"/>
<inertia ixx="{ixx of <inertia>}" iyy="{iyy of <inertia>}" izz="{izz of <inertia>}" \
ixy="{ixy of <inertia>}" ixz="{ixz of <inertia>}" iyz="{iyz of <inertia>}"/>
</inertial></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/>
<origin xyz="0 0 {xyz of <origin> }" rpy="{rpy of <origin> } 0 0"/><axis xyz="0 0 {xyz of <axis>}"/>
<limit lower="{lower of <limit>}" upper="{upper of <limit>}" effort="{effort of <limit>}" \
velocity="{velocity of <limit>}"/>
<dynamics damping="{damping of <dynamics>}" friction="{friction of <dynamics>}"/></joint>
<link name="c"/>
<joint name="k" type="continuous"><parent link="b"/><child link="c"/>
<mimic joint="j" multiplier="{multiplier of <mimic>}" offset="{offset of <mimic>}"/></joint>
<transmission name="t"><joint name="j"/>
<actuator><mechanicalReduction>{<mechanicalReduction>}</mechanicalReduction>
<motorInertia>{<motorInertia>}</motorInertia></actuator></transmission>
</robot>
"""
PLACES = re.findall(r"\{(.*?)\}", NUMBERS)
SOUND = {"ixy of <inertia>": "0.1", "ixz of <inertia>": "0.1", "iyz of <inertia>": "0.1"}
OWNERS = {
    2: "line 3, link 'b'",
    7: "line 8, joint 'j'",
    13: "line 13, joint 'k'",
    15: "line 15, transmission 't'",
}


def with_number(place: str, value: str) -> str:
    return re.sub(r"\{(.*?)\}", lambda m: value if m[1] == place else SOUND.get(m[1], "1"), NUMBERS)


def owner(place: str) -> str:
    line = NUMBERS[: NUMBERS.index("{" + place + "}")].count("\n")
    return OWNERS[max(at for at in OWNERS if at <= line)]


def test_numbers_are_sound_before_they_are_changed() -> None:
    assert len(PLACES) == len(set(PLACES)) == 22
    assert read(with_number("", "")).n == 1


@pytest.mark.parametrize("value", ["nan", "NaN", "inf", "-inf", "Infinity", "1e400", "-1e400"])
@pytest.mark.parametrize("place", [p for p in PLACES if "<limit>" not in p])
def test_number_that_is_not_finite(place: str, value: str) -> None:
    assert_refused(
        with_number(place, value), f", {owner(place)}: {place.strip()} must be finite, got '{value}'."
    )


@pytest.mark.parametrize("value", ["inf", "Infinity", "1e400", "1e30", "3.4e38"])
def test_bound_that_is_none(value: str) -> None:
    """What is larger than any number of an arm is no bound; to the other side it is none that can be."""
    assert read(with_number("upper of <limit>", value)).joint("j").limits == (1.0, math.inf)
    assert read(with_number("lower of <limit>", f"-{value}")).joint("j").limits == (-math.inf, 1.0)
    assert read(with_number("effort of <limit>", value)).joint("j").max_effort is None
    assert read(with_number("velocity of <limit>", value)).joint("j").max_speed is None
    for place, other in (("upper", f"-{value}"), ("lower", value)):
        assert_refused(
            with_number(f"{place} of <limit>", other),
            ", line 8, joint 'j', limits: lower must not be above upper, got "
            f"{'1 and -inf' if place == 'upper' else 'inf and 1'}. With strict=False (forearm convert "
            "--lenient) the joint has no limits.",
            ModelError,
        )
    assert_refused(
        with_number("effort of <limit>", f"-{value}"),
        ", line 8, joint 'j', max_effort: the number must be finite, got -inf.",
    )


@pytest.mark.parametrize("place", [p for p in PLACES if "<limit>" in p])
def test_bound_that_is_no_number(place: str) -> None:
    assert_refused(with_number(place, "nan"), f", {owner(place)}: {place} must be a number, got 'nan'.")


@pytest.mark.parametrize("value", ["one", "1_0", "0x10", "1,5", "--1", "1e", "\u0661", "None", "true"])
@pytest.mark.parametrize("place", PLACES)
def test_number_that_is_none(place: str, value: str) -> None:
    if place == "<mechanicalReduction>" and value.isalpha() and value.isascii():
        return  # generators of URDF leave words there: test_urdf_as_found
    shown = ascii(value)
    assert_refused(
        with_number(place, value), f", {owner(place)}: {place.strip()} must be a number, got {shown}."
    )


@pytest.mark.parametrize("place", PLACES)
def test_number_that_xacro_should_have_made(place: str) -> None:
    assert_refused(
        with_number(place, "${m}"),
        f", {owner(place)}: {place.strip()} must be a number, got '${{m}}'; xacro is expanded in "
        "files named .xacro only.",
    )


@pytest.mark.parametrize("place", [p for p in PLACES if p.split()[0] not in ("xyz", "rpy")])
def test_empty_number(place: str) -> None:
    assert_refused(with_number(place, ""), f", {owner(place)}: {place.strip()} must be a number, got ''.")


@pytest.mark.parametrize("place", [p for p in PLACES if p.split()[0] in ("xyz", "rpy")])
@pytest.mark.parametrize("value", ["", "1 1"])
def test_vector_of_other_than_three(place: str, value: str) -> None:
    with pytest.raises(InputError) as caught:
        read(with_number(place, value))
    what = f"bad.urdf, {owner(place)}: {place.strip()} must be three numbers, got '"
    assert str(caught.value).startswith(what)


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("value of <mass>", "-2", "mass: must be at least 0, got -2."),
        ("ixx of <inertia>", "-1", "inertia: must be positive semidefinite, but its principal moments are "),
        ("ixy of <inertia>", "1.5", "inertia: must be positive semidefinite, but its principal moments are "),
        ("xyz of <axis>", "0", "axis: must not be 0 0 0; give the direction of the joint, such as 0 0 1."),
        ("lower of <limit>", "1.5", "limits: lower must not be above upper, got 1.5 and 1."),
        ("effort of <limit>", "-1", "max_effort: must be at least 0, got -1."),
        ("velocity of <limit>", "-1", "max_speed: must be at least 0, got -1."),
        ("damping of <dynamics>", "-1", "friction, viscous: must be at least 0, got -1."),
        ("friction of <dynamics>", "-1", "friction, coulomb: must be at least 0, got -1."),
        ("<motorInertia>", "-1", "motor, rotor_inertia: must be at least 0, got -1."),
    ],
)
def test_number_that_no_arm_has(place: str, value: str, said: str) -> None:
    with pytest.raises(ModelError) as caught:
        read(with_number(place, value))
    assert str(caught.value).startswith(
        (f"bad.urdf, {owner(place)}: {said}", f"bad.urdf, {owner(place)}, {said}")
    )


SIZES = ("1e308", "1.7e308", "1e200", "-1e200", "5e-324", "0", "-0.0", "9" * 300)


@pytest.mark.parametrize("place", [p for p in PLACES if p != "friction of <dynamics>"])
@pytest.mark.parametrize("value", SIZES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_number_of_any_size_gives_an_arm_or_an_error(place: str, value: str) -> None:
    """What is refused is refused in words; what is taken can be computed with and written."""
    arm, said = read_or_words(with_number(place, value))
    if arm is None:
        assert said.startswith((f"bad.urdf, {owner(place)}: ", f"bad.urdf, {owner(place)}, "))
    else:
        assert set(link_poses(arm, [0.3])) == {"a", "b", "c"}
        assert read(urdf_text(arm)) == arm


def read_or_words(text: str) -> tuple[Arm | None, str]:
    try:
        return read(text), ""
    except ForearmError as error:
        return None, str(error)


def test_large_friction_is_written_as_it_was_read() -> None:
    arm = read(with_number("friction of <dynamics>", "1e30"))
    assert read(urdf_text(arm)) == arm


def test_numpy_does_not_speak() -> None:
    said = []
    for place, value in itertools.product(PLACES, SIZES):
        try:
            read_or_words(with_number(place, value))
        except RuntimeWarning as warning:
            said.append(f"{place} = {value}: {warning}")
    assert said == []


SUM = '<link name="{}"><inertial><mass value="1e308"/></inertial></link>'


def test_masses_that_overflow_together() -> None:
    text = robot(
        links("a"),
        *map(SUM.format, "bcd"),
        joint("j", "a", "b"),
        joint("k", "b", "c", kind="fixed"),
        joint("l", "c", "d", kind="fixed"),
    )
    arm, said = read_or_words(text)
    assert said.startswith("bad.urdf") if arm is None else len(arm.moving.bodies) == 1


def test_mimics_that_overflow_together() -> None:
    follow = [
        joint(f"j{i}", i, i + 1, f'<mimic joint="j{i - 1}" multiplier="1e200" offset="-1e200"/>')
        for i in (1, 2, 3)
    ]
    with refused(""):
        read(robot(links(*range(5)), joint("j0", 0, 1), *follow))


# --- size that is allowed ------------------------------------------------------------------------------


@pytest.mark.long
def test_long_chain() -> None:
    n = 5000
    text = robot(links(*range(n + 1)), *(joint(f"j{i}", i, i + 1) for i in reversed(range(n))))
    arm = read(text)
    assert (arm.n, arm.hand.link, arm.joints[0].name) == (n, str(n), "j0")
    assert len(arm.moving.bodies) == n


@pytest.mark.long
def test_wide_tree() -> None:
    n = 9999
    arm = read(robot(links("base", *range(n)), *(joint(f"j{i}", "base", i) for i in range(n))))
    assert (arm.n, arm.hand.link) == (n, "0")


@pytest.mark.slow
def test_cycle_beside_a_long_chain() -> None:
    n = 2000
    chain = [joint(f"j{i}", i, i + 1) for i in range(n)]
    text = robot(links(*range(n + 1), "a", "b"), *chain, joint("k", "a", "b"), joint("l", "b", "a"))
    said = ": joint 'k' (link 'b') cannot be reached from the base '0': the joints around it form a cycle."
    assert_refused(text, said, ModelError)


@pytest.mark.long
def test_long_chain_of_mimics() -> None:
    n = 9000
    chain = [joint(f"j{i}", i, i + 1, f'<mimic joint="j{i - 1}"/>' if i else "") for i in range(n)]
    arm = read(robot(links(*range(n + 1)), *chain))
    assert (arm.n, len(arm.moving.bodies)) == (1, n)


@pytest.mark.long
def test_many_transmissions() -> None:
    n, m = 9999, 10_000
    gear = '<transmission><joint name="j5"/><mechanicalReduction>7</mechanicalReduction></transmission>'
    arm = read(robot(links(*range(n)), *(joint(f"j{i}", i, i + 1) for i in range(n - 1)), *[gear] * m))
    assert arm.joint("j5").motor == fa.Motor(gear_ratio=7.0)


@pytest.mark.long
def test_many_names_like_the_missing_one() -> None:
    rng = random.Random(1)
    missing, *names = ("".join(rng.choices("ab", k=190)) + str(i) for i in range(9999))
    with refused(f"ModelError.*joint 'j': its parent link '{missing}' is missing"):
        read(robot(links(*names), joint("j", missing, names[5])))


def test_many_kinds_of_things_to_read_over() -> None:
    attributes = " ".join(f'a{i}="1"' for i in range(5000))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read(
            f'<robot name="r" {attributes}><link name="a"/>{"".join(f"<t{i}/>" for i in range(5000))}</robot>'
        )
    assert len(caught) == 1
    assert str(caught[0].message).endswith("; and 9980 more kinds.")
