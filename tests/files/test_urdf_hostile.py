"""URDF files that are broken, absurd or meant to do harm: each is refused at once,
in words that name the place.
"""

from __future__ import annotations

import math
import random
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import patience
from refusals import refused
from sweeps import long

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

LAUGHS = "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(12))


@pytest.mark.parametrize(
    "doctype",
    [
        f'<!DOCTYPE robot [<!ENTITY l0 "lol">{LAUGHS}<!ENTITY x "&l12;">]>',
        '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE robot SYSTEM "http://127.0.0.1:1/x.dtd">',
        '<!DOCTYPE robot [<!ENTITY % p SYSTEM "file:///dev/zero"> %p;]>',
        "<!DOCTYPE robot>",
    ],
)
def test_entities_are_neither_expanded_nor_fetched(doctype: str) -> None:
    text = f'<?xml version="1.0"?>\n{doctype}\n<robot name="r"><link name="&x;"/></robot>'
    said = (
        "a document type declaration (<!DOCTYPE ...>) is not allowed, as it can define entities; remove it."
    )
    assert_refused(text, f", line 2: {said}")


@pytest.mark.parametrize(
    ("block", "count", "said"),
    [
        ('<link name="l"/>', 10_005, "line 10002: more than 10000 <link> elements"),
        *long(
            [
                ("<joint/>", 20_005, "line 20002: more than 20000 <joint> elements"),
                ("<t/>", 500_005, "line 500001: more than 500000 elements"),
            ]
        ),
    ],
)
def test_too_many_elements(block: str, count: int, said: str) -> None:
    assert_refused(robot(*[block] * count), f", {said}; the file is too large.")


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
    long = "x" * 1_000_000
    for text in (
        robot(links(long)),
        robot(links("a", "b"), joint(long, "a", "b")),
        robot(links("a", "b"), joint("j", long, "b")),
        robot(links("a", "b"), joint("j", "a", "b", f'<mimic joint="{long}"/>')),
    ):
        with refused("(?=.{,2000}$)"):
            read(text)


# --- text that is no URDF ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", ", line 1, column 1: not valid XML: no element found."),
        (b"   \n\n", ", line 3, column 1: not valid XML: no element found."),
        (b"\x00\x01\x02\xff\xfe", ", line 1, column 1: not valid XML: not well-formed (invalid token)."),
        (b"schema = 1", ", line 1, column 1: not valid XML: syntax error."),
        (b"<robot/><robot/>", ", line 1, column 9: not valid XML: junk after document element."),
        (b"<sdf><model/></sdf>", ", line 1: expected <robot> at the root of a URDF, got <sdf>."),
        (b'<robot name="a" name="b"/>', ", line 1, column 17: not valid XML: duplicate attribute."),
        (b'<robot name="\xff"/>', ", line 1, column 14: not valid XML: not well-formed (invalid token)."),
        (b'<?xml version="1.0" encoding="x"?><robot/>', ": cannot be read as XML: 'unknown encoding: x'."),
        (b'<robot>\n<link name="&x;"/></robot>', ", line 2, column 1: not valid XML: undefined entity."),
        (b"<robot/>", ": an arm needs at least one link."),
    ],
)
def test_no_urdf(data: bytes, message: str) -> None:
    assert_refused(data, message)


def test_garbage() -> None:
    rng = random.Random(3)
    for size in (1, 10, 100, 1000, 10_000):
        for _ in range(10):
            with refused(r"InputError: bad\.urdf"):
                read(rng.randbytes(size))


def test_xacro() -> None:
    said = " in a file that is not named .xacro; to have it expanded, rename the file to bad.urdf.xacro."
    namespace = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
    for element in ('<xacro:property name="m" value="1"/>', '<link name="a"><xacro:block/></link>'):
        tag = "xacro:block" if "block" in element else "xacro:property"
        assert_refused(f'<robot name="r" {namespace}>{element}</robot>', f", line 1: <{tag}>{said}")
    assert read(f'<robot name="r" {namespace}><link name="a"/></robot>').n == 0  # what xacro leaves behind


def test_cut_off_anywhere() -> None:
    data = KINOVA.read_bytes()
    end = data.rindex(b">")
    for length in [*range(0, end, 611), *range(end - 20, end + 1)]:
        with refused(r"InputError: bad\.urdf, line \d+, column \d+: not valid XML: "):
            read(data[:length])


# --- structure -----------------------------------------------------------------------------------------


def test_cycles_and_other_joints_that_are_no_tree() -> None:
    ring = [joint(f"j{i}", f"l{i}", f"l{(i + 1) % 4}") for i in range(4)]
    nodes = links("l0", "l1", "l2", "l3")
    base = "cannot be reached from the base 'a': the joints around it form a cycle."
    for blocks, message in (
        ([nodes, *ring], ": the joints form a cycle through link 'l0': no link is the base."),
        ([links("a", "b"), nodes, joint("k", "a", "b"), *ring], f": joint 'j0' (link 'l1') {base}"),
        ([links("a", "b"), joint("j", "b", "b")], f": joint 'j' (link 'b') {base}"),
        (
            [links("base", "hand"), joint("j", "base", "hnd")],
            ", joint 'j': its child link 'hnd' is missing; did you mean 'hand'?",
        ),
        ([links("a", "a")], ": two links are called 'a'; every link needs a unique name."),
    ):
        assert_refused(robot(*blocks), message, ModelError)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("<link/>", ", line 3, <link>: <link> needs the attribute 'name'."),
        (
            '<link name="  "/>',
            ", line 3, link '  ', name: a name must be printable text of 1 to 200 characters, got '  '.",
        ),
        ('<joint type="fixed"/>', ", line 3, <joint>: <joint> needs the attribute 'name'."),
        ('<joint name="j" type="fixed"/>', ", line 3, joint 'j': <parent link=...> is missing."),
        (
            '<joint name="j" type="fixed"><parent link="a"/></joint>',
            ", line 3, joint 'j': <child link=...> is missing.",
        ),
        (
            joint("j", "a", "b", kind="revolut"),
            ", line 3, joint 'j', type: expected one of revolute, continuous, prismatic, fixed, got "
            "'revolut'; did you mean 'revolute'?",
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


@pytest.mark.parametrize("place", PLACES)
def test_number_that_is_none(place: str) -> None:
    bound, vector = "<limit>" in place, place.split()[0] in ("xyz", "rpy")
    words = [] if place == "<mechanicalReduction>" else ["one", "true"]  # which generators leave there
    for value in (*words, "1_0", "0x10", "1,5", "--1", "\u0661", "", "1 1", "${m}", "nan", "inf", "1e400"):
        if bound and value in ("inf", "1e400"):
            continue  # what is larger than any number of an arm is no bound
        said = f"must be a number, got {value!a}"
        if value in ("nan", "inf", "1e400") and not bound:
            said = f"must be finite, got '{value}'"
        elif vector and value in ("", "1 1"):
            said = "must be three numbers, got '"
        elif value == "${m}":
            said += "; xacro is expanded in files named .xacro only"
        with refused(re.escape(f"InputError: bad.urdf, {owner(place)}: {place.strip()} {said}")):
            read(with_number(place, value))


@pytest.mark.parametrize("value", ["inf", "1e400", "1e30"])
def test_bound_that_is_none(value: str) -> None:
    """What is larger than any number of an arm is no bound; to the other side it is none that can be."""
    found = read(with_number("upper of <limit>", value)).joint("j")
    assert (found.limits, found.max_effort) == ((1.0, math.inf), 1.0)
    assert read(with_number("lower of <limit>", f"-{value}")).joint("j").limits == (-math.inf, 1.0)
    assert read(with_number("effort of <limit>", value)).joint("j").max_effort is None
    assert read(with_number("velocity of <limit>", value)).joint("j").max_speed is None
    for place, wrong, said in (
        ("upper", f"-{value}", "limits: lower must not be above upper, got 1 and -inf.*--lenient"),
        ("lower", value, "limits: lower must not be above upper, got inf and 1.*--lenient"),
        ("effort", f"-{value}", "max_effort: the number must be finite, got -inf"),
    ):
        with refused(rf"\w+: bad.urdf, line 8, joint 'j', {said}"):
            read(with_number(f"{place} of <limit>", wrong))


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("value of <mass>", "-2", "mass: must be at least 0, got -2"),
        ("ixx of <inertia>", "-1", "inertia: must be positive semidefinite, but its principal moments are "),
        ("ixy of <inertia>", "1.5", "inertia: must be positive semidefinite, but its principal moments are "),
        ("xyz of <axis>", "0", "frame, axis: must not be 0 0 0; give a direction, such as 0 0 1"),
        ("lower of <limit>", "1.5", "limits: lower must not be above upper, got 1.5 and 1"),
        ("effort of <limit>", "-1", "max_effort: must be at least 0, got -1"),
        ("velocity of <limit>", "-1", "max_speed: must be at least 0, got -1"),
        ("damping of <dynamics>", "-1", "friction, viscous: must be at least 0, got -1"),
        ("friction of <dynamics>", "-1", "friction, coulomb: must be at least 0, got -1"),
        ("<motorInertia>", "-1", "motor, rotor_inertia: must be at least 0, got -1"),
    ],
)
def test_number_that_no_arm_has(place: str, value: str, said: str) -> None:
    with refused(f"ModelError: bad.urdf, {owner(place)}[:,] {said}"):
        read(with_number(place, value))


@pytest.mark.parametrize("place", PLACES)
def test_number_of_any_size_gives_an_arm_or_an_error(place: str) -> None:
    """What is refused is refused in words; what is taken can be computed with and written, in silence."""
    for value in ("1e30", "1.7e308", "1e200", "-1e200", "5e-324", "0", "-0.0", "9" * 300):
        try:
            arm = read(with_number(place, value))
        except ForearmError as error:
            said = str(error)
        else:
            said = f"bad.urdf, {owner(place)}: "
            assert set(link_poses(arm, [0.3])) == {"a", "b", "c"}
            assert read(urdf_text(arm)) == arm
        assert said.startswith((f"bad.urdf, {owner(place)}: ", f"bad.urdf, {owner(place)}, "))


def test_masses_and_mimics_that_overflow_together() -> None:
    heavy = [f'<link name="{name}"><inertial><mass value="1e308"/></inertial></link>' for name in "bcd"]
    welds = joint("j", "a", "b"), joint("k", "b", "c", kind="fixed"), joint("l", "c", "d", kind="fixed")
    follow = [
        joint(f"j{i}", i, i + 1, f'<mimic joint="j{i - 1}" multiplier="1e200" offset="-1e200"/>')
        for i in (1, 2, 3)
    ]
    for text in (robot(links("a"), *heavy, *welds), robot(links(*range(5)), joint("j0", 0, 1), *follow)):
        with refused(".*bad.urdf"):
            read(text)


# --- size that is allowed ------------------------------------------------------------------------------


@pytest.mark.long
def test_long_chain() -> None:
    n = 5000
    text = robot(links(*range(n + 1)), *(joint(f"j{i}", i, i + 1) for i in reversed(range(n))))
    arm = read(text)
    assert (arm.n, arm.hand.link, arm.joints[0].name) == (n, str(n), "j0")
    assert len(arm.moving.bodies) == n


def test_cycle_beside_a_long_chain() -> None:
    n = 800
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


def test_many_kinds_of_things_to_read_over() -> None:
    attributes = " ".join(f'a{i}="1"' for i in range(5000))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read(
            f'<robot name="r" {attributes}><link name="a"/>{"".join(f"<t{i}/>" for i in range(5000))}</robot>'
        )
    assert len(caught) == 1
    assert str(caught[0].message).endswith("; and 9980 more kinds.")
