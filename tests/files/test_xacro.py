"""xacro expanded as xacro itself does, without running any of it, and names of robot_descriptions."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from patience import patience

import forearm as fa
from forearm.errors import IgnoredWarning, InputError
from forearm.files import xacro_expressions
from forearm.files.urdf_read import expanded_robot
from forearm.reading.xml import Element, parse_xml

DATA = Path(__file__).parent.parent / "data" / "xacro"
HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'


@pytest.fixture(autouse=True)
def _alarm() -> Iterator[None]:
    with patience(5):
        yield


def load(folder: Path, body: str, **options: Any) -> fa.Arm:
    """The arm in a file `x.xacro`, whose line 2 is this body."""
    (folder / "x.xacro").write_text(f"{HEAD}\n{body}\n</robot>\n", encoding="utf-8")
    return fa.load(folder / "x.xacro", **options)


def refusal(folder: Path, body: str) -> str:
    with pytest.raises(InputError) as caught:
        load(folder, body)
    return str(caught.value)


# --- as xacro does -----------------------------------------------------------------------------------------


def test_cases_recorded_from_xacro(tmp_path: Path) -> None:
    """Scopes, lazy values, macros, blocks, namespaces, YAML, arithmetic: the trees that xacro 2.1.1 makes."""
    shutil.copytree(DATA, tmp_path, dirs_exist_ok=True)
    cases = (DATA / "cases.txt").read_text(encoding="utf-8").splitlines()
    recorded = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))["trees"]
    assert len(cases) == len(recorded) > 100
    path = tmp_path / "case.xacro"
    for case, expected in zip(cases, recorded, strict=True):
        root = parse_xml(f"{HEAD}{case}</robot>".encode(), path.name)
        try:
            made = tree(expanded_robot(root, path, {}))
        except InputError:
            made = None
        assert made == expected, case


def tree(element: Element) -> list[Any]:
    """An element as the record has it."""
    attributes = {key: text for key, text in element.attributes.items() if not key.startswith("xmlns")}
    text = "" if element.children else element.text.strip()
    return [element.tag, attributes, text, [tree(child) for child in element.children]]


MAIN = """<xacro:include filename="$(find parts)/urdf/links.xacro"/>
<xacro:arg name="prefix" default="left_"/>
<xacro:property name="config" value="${xacro.load_yaml('$(find parts)/config/arm.yaml')}"/>
<link name="world"/>
<xacro:member name="upper" parent="world" limits="${config['limits']['upper']}">
  <origin xyz="0 0 ${config.upper.height / 2}" rpy="0 0 ${pi / 4}"/>
</xacro:member>
<xacro:member name="lower" parent="$(arg prefix)upper" limits="${config.limits.lower}" mass="${2 ** 0.5}">
  <origin xyz="${config.upper.length} 0 0"/>
</xacro:member>"""
LINKS = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:macro name="inertia" params="mass radius:=0.05 length">
  <inertial><origin xyz="${length / 2} 0 0"/><mass value="${mass}"/>
    <inertia ixx="${mass * radius**2 / 2}" iyy="${mass * (3 * radius**2 + length**2) / 12}"
             izz="${mass * (3 * radius**2 + length**2) / 12}" ixy="0" ixz="0" iyz="0"/></inertial>
</xacro:macro>
<xacro:macro name="member" params="name parent limits mass:=3.5 prefix:=$(arg prefix) *origin">
  <link name="${prefix}${name}"><xacro:inertia mass="${mass}" length="0.4"/></link>
  <joint name="${prefix + name}_joint" type="revolute">
    <xacro:insert_block name="origin"/><parent link="${parent}"/><child link="${prefix}${name}"/>
    <axis xyz="${' '.join(['0', '1', '0'])}"/>
    <limit lower="${limits.min}" upper="${limits['max']}" effort="30" velocity="${radians(180)}"/>
  </joint>
</xacro:macro>
</robot>
"""
YAML = "limits:\n  upper: {min: !degrees -90, max: !degrees 45}\n  lower: {min: -1, max: 2.5}\n"
YAML += "upper: {height: 0.3, length: !millimeters 400}\n"
PLAIN = """<robot name="r"><link name="world"/>
<link name="left_upper"><inertial><origin xyz="0.2 0 0"/><mass value="3.5"/>
<inertia ixx="0.004375" iyy="0.048854166666666664" izz="0.048854166666666664" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<joint name="left_upper_joint" type="revolute"><origin xyz="0 0 0.15" rpy="0 0 0.7853981633974483"/>
<parent link="world"/><child link="left_upper"/><axis xyz="0 1 0"/>
<limit lower="-1.5707963267948966" upper="0.7853981633974483" effort="30" velocity="3.141592653589793"/>
</joint>
<link name="left_lower"><inertial><origin xyz="0.2 0 0"/><mass value="1.4142135623730951"/>
<inertia ixx="0.001767766952966369" iyy="0.019740064308115944" izz="0.019740064308115944"
ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="left_lower_joint" type="revolute"><origin xyz="0.4 0 0"/>
<parent link="left_upper"/><child link="left_lower"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="2.5" effort="30" velocity="3.141592653589793"/></joint>
</robot>"""


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """A package with macros and numbers, beside a folder `here` for files that use it."""
    for folder, name, text in (("urdf", "links.xacro", LINKS), ("config", "arm.yaml", YAML)):
        (tmp_path / "parts" / folder).mkdir(parents=True)
        (tmp_path / "parts" / folder / name).write_text(text, encoding="utf-8")
    (tmp_path / "here").mkdir()
    return tmp_path / "parts"


def assert_same_arm(arm: fa.Arm, other: fa.Arm) -> None:
    """Same names, kinds and tree; numbers that differ by the rounding of one expression."""
    assert [link.name for link in arm.links] == [link.name for link in other.links]
    named, twins = ([(joint.name, joint.parent, joint.child) for joint in a.tree] for a in (arm, other))
    assert named == twins
    q, qd, qdd = [0.3, -0.7], [0.5, 1.1], [-0.4, 0.9]
    tau, expected = (fa.dynamics.inverse(a, q, qd, qdd) for a in (arm, other))
    assert tau == pytest.approx(expected, rel=1e-14, abs=0.0)  # some ten products and sums
    for joint, twin in zip(arm.joints, other.joints, strict=True):
        assert joint.limits.lower == pytest.approx(twin.limits.lower, rel=1e-15)
        assert joint.limits.upper == pytest.approx(twin.limits.upper, rel=1e-15)


def test_arm_of_macros_and_yaml_is_the_plain_one(parts: Path) -> None:
    (parts / "plain.urdf").write_text(PLAIN, encoding="utf-8")
    plain = fa.load(parts / "plain.urdf")
    arm = load(parts.parent / "here", MAIN, packages={"parts": parts})
    assert arm.name == "r"
    assert_same_arm(arm, plain)
    renamed = parts.rename(parts.parent / "other")
    assert_same_arm(load(parts.parent / "here", MAIN, packages={"parts": renamed}), plain)


def test_packages_around_the_file_are_found_if_they_are_ros_packages(parts: Path) -> None:
    assert refusal(parts.parent / "here", MAIN) == (
        "x.xacro, line 2, <xacro:include>, filename: the package 'parts' was not found; give its folder "
        "with packages={'parts': FOLDER} (--package parts=FOLDER)."
    )
    (parts / "package.xml").write_text("<package/>", encoding="utf-8")
    assert load(parts.parent / "here", MAIN).n == 2
    own = MAIN.replace("$(find parts)/urdf/", "").replace("$(find parts)", "..")
    assert load(parts / "urdf", own).n == 2  # the package around a file is its own


def test_visuals_of_a_xacro_file(tmp_path: Path) -> None:
    shape = '<xacro:property name="r" value="0.1"/><sphere radius="${2 * r}"/>'
    load(tmp_path, f'<link name="a"><visual><geometry>{shape}</geometry></visual></link>')
    (visual,) = fa.load_visuals(tmp_path / "x.xacro").visuals
    assert visual.link == "a"


def test_root_may_use_arguments_that_are_declared_inside(tmp_path: Path) -> None:
    (tmp_path / "inner.xacro").write_text(
        HEAD.replace('"r"', '"$(arg kind)"') + '<xacro:arg name="kind" default="small"/>'
        "<link name=\"${xacro.arg('kind')}\"/></robot>"
    )
    assert fa.load(tmp_path / "inner.xacro").name == "small"
    # the way to give a value: a file that sets it and includes the other
    arm = load(tmp_path, '<xacro:arg name="kind" default="large"/><xacro:include filename="inner.xacro"/>')
    assert [link.name for link in arm.links] == ["large"]


def test_environment_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "hidden")
    arm = load(tmp_path, '<link name="$(optenv SECRET two words)"/>')
    assert [link.name for link in arm.links] == ["two words"]


def test_messages_name_the_file_and_line_that_is_meant(parts: Path) -> None:
    (parts / "urdf" / "links.xacro").write_text(LINKS.replace("revolute", "ball"), encoding="utf-8")
    with pytest.raises(InputError, match=r"^links\.xacro, line 9, joint 'left_upper_joint', type: expected"):
        load(parts.parent / "here", MAIN, packages={"parts": parts})
    (parts / "urdf" / "links.xacro").write_text(LINKS.replace("effort", "color"), encoding="utf-8")
    said = r"attribute 'color' of <limit>, 2 times \(first in links\.xacro, line 12\)\.$"
    with pytest.warns(IgnoredWarning, match=rf"^x\.xacro: ignored {said}"):
        load(parts.parent / "here", MAIN, packages={"parts": parts})


def test_warnings_of_the_file_are_passed_on(tmp_path: Path) -> None:
    body = '<link name="a"/><t>${xacro.warning("no mass of", 3)}${xacro.message("quiet")}</t>'
    with pytest.warns(IgnoredWarning) as caught:
        load(tmp_path, body)
    assert str(caught[0].message) == "x.xacro, line 2, <t>: the file warns: 'no mass of 3'"


# --- expanded only if asked --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.urdf", "x.xml", "x.URDF"])
def test_xacro_in_other_files_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(f'{HEAD}\n<link name="a"/>\n<xacro:property name="m" value="1"/></robot>')
    for read in (fa.load, fa.load_visuals):
        with pytest.raises(InputError) as caught:
            read(tmp_path / name, packages={"p": tmp_path})
        assert str(caught.value) == (
            f"{name}, line 3: <xacro:property> in a file that is not named .xacro; to have it expanded, "
            f"rename the file to {name}.xacro."
        )


# --- nothing runs, nothing else is read, nothing explodes ------------------------------------------------

ESCAPE = (
    "[g := (g.gi_frame.f_back.f_back.f_back for x in [1]), [f for f in g][0].f_globals['_'+'_builtins_'+'_']"
    "['_'+'_import_'+'_']('os').system('id > owned')][1]"
)
NOT_ALLOWED = {
    ESCAPE: "assignment with :=",
    "(y := 1)": "assignment with :=",
    "lambda: 1": "lambda",
    "(lambda x: x)(1)": "lambda",
    "[x for x in ().__class__.__base__.__subclasses__()]": "a comprehension",
    "(x for x in [1]).gi_frame": "a comprehension",
    "[*[1]]": "an argument with *",
    "len(*[[1]])": "an argument with *",
    "f'a'": "an f-string",
    "await x": "a coroutine",
    "1 << 10**9": "this operator",
    "~1": "this operator",
    "1 @ 2": "this operator",
}
A_DOT = (
    "().__class__", "().__class__.__bases__[0].__subclasses__()", "''.__class__.__mro__", "(1).real",
    "[].append",
    "sin.__self__", "math.sin.__globals__", "xacro.load_yaml.call", "str.format", "list.__subclasses__",
    "dict.fromkeys", "' '.join",
)  # fmt: skip
UNKNOWN = (
    "type(1)", "getattr(1, 'real')", "open('/etc/passwd').read()", "__import__('os').system('id > owned')",
    "__builtins__", "eval('1')", "exec('1')", "globals()", "vars()", "print(1)", "breakpoint()", "object()",
    "\uff4fpen('x')", "\U0001d4ee\U0001d4ff\U0001d4ea\U0001d4f5('1')", "math.__loader__",
    "math.factorial(10**6)",
    "comb(10**6, 10**5)", "hash('a')", "filter(str, [1])", "xacro.abs_filename('x')",
)  # fmt: skip
INVALID = ("import os", "a = 1", "1; 2", "", "().\uff3f\uff3fclass\uff3f\uff3f", "(" * 300, "1 " * 900)
LARGE = "a value of more than 20000 items and characters"
TOO_LARGE = {
    "9**9**9": "a power of more than 1024 bits.",
    "2**1025": "a power of more than 1024 bits.",
    "2**1000 * 2**1000": "an integer of more than 1024 bits.",
    "int('9' * 4000)": "an integer of more than 1024 bits.",
    "'a' * 10**9": f"{LARGE}.",
    "10**9 * [0]": f"{LARGE}.",
    "range(10**9)": f"{LARGE}.",
    "'a'.replace('', 'b' * 19000)": f"{LARGE}.",
    "('b' * 9000).join(list('abcdef'))": f"{LARGE}.",
    "list(map(range, [9000] * 9000))": f"{LARGE}.",
    "[[0] * 9000] * 9000": f"{LARGE}, or nested deeper than 20.",
    "[" * 30 + "]" * 30: f"{LARGE}, or nested deeper than 20.",
    "-" * 500 + "1": "nested deeper than 100.",
    "1" + "+1" * 500: "nested deeper than 100.",
    "1" + " " * 3000 + "+1": "longer than 2000 characters.",
    "round(5, -10**9)": "round: expected at most 400 digits, got -1000000000.",
    "2.0**99999": "cannot be evaluated: ",
    "(-8)**0.5": "expected a number, text, list or dictionary, got a complex.",
    "1j": "expected a number, text, list or dictionary, got a complex.",
    "b'a'": "expected a number, text, list or dictionary, got a bytes.",
    "'\\x1b[31m'": "text with characters that XML does not allow: '\\x1b[31m'.",
    "'\\ud800'": "text with characters that XML does not allow: '\\ud800'.",
    "'%999999999d' % 1": "text cannot be formatted with %; join it with +.",
    "'a'.format(1)": "text has no method 'format'; there are: split, strip,",
    "dict(a=1).pop('a')": "no key 'pop'; there are: a.",
    "dict(**dict(a=1))": "arguments by name are for dict(...) only; give them by position.",
    "max(1, 2, key=len)": "arguments by name are for dict(...) only; give them by position.",
    "math": "a namespace is no value; name something in it.",
    "[math]": "expected a number, text, list or dictionary, got a Namespace.",
    "pi()": "expected a function before (...), got float 3.14",
    "1/0": "cannot be evaluated: division by zero.",
    "python.sum([[1], [2]])": "sum: expected numbers.",
    "map(1, [2])": "map expects a function and lists.",
    "xacro.fatal('no', 'more')": "the file stops here: 'no more'.",
}


def hostile() -> Iterator[tuple[str, str]]:
    """Expressions, each with the start of its refusal."""
    for text, what in NOT_ALLOWED.items():
        yield text, f"{what} is not allowed: only numbers, text, lists, arithmetic, comparisons, conditions, "
    for text in A_DOT:
        yield text, "."
    for text in UNKNOWN:
        yield text, "'"
    for text in INVALID:
        yield text, "not a valid expression: "
    yield from TOO_LARGE.items()


def test_hostile_expressions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text, reason in hostile():
        value = quoteattr("${" + text + "}")
        said = refusal(tmp_path, f'<xacro:property name="m" value={value}/><link name="${{m}}"/>')
        place, _, rest = said.partition(" value: ${")
        assert place == "x.xacro, line 2, <xacro:property name='m'>,", text
        assert f"}}: {reason}" in rest, (text, said)
        if text in A_DOT:
            assert rest.endswith(" is not allowed: a dot is for keys of a dictionary only."), text
        if text in UNKNOWN:
            assert " is not defined; " in rest, text
    assert os.listdir(tmp_path) == ["x.xacro"]


def test_text_of_properties_is_no_format(tmp_path: Path) -> None:
    """Braces cannot stand in an expression, but in a property that it uses."""
    for value, use in (("{0.__class__}", "m.format(1)"), ("{a.b}", "m.format_map(m)"), ("%s", "m % 1")):
        said = refusal(tmp_path, f'<xacro:property name="m" value="{value}"/><link name="${{{use}}}"/>')
        assert said.startswith(f"x.xacro, line 2, <link>, name: ${{{use}}}: text "), said


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder `here`, beside files that it must not read and links that lead to them."""
    here = tmp_path / "here"
    here.mkdir()
    (tmp_path / "secret.xacro").write_text(f'{HEAD}<link name="secret"/></robot>', encoding="utf-8")
    (tmp_path / "secret.yaml").write_text("secret: 1\n", encoding="utf-8")
    (here / "link.xacro").symlink_to(tmp_path / "secret.xacro")
    (here / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    (here / "up").symlink_to(tmp_path)
    (here / "loop").symlink_to("loop")
    os.mkfifo(here / "pipe")
    return here


def test_files_outside_are_not_read(outside: Path) -> None:
    beyond = (
        "outside the folders that this file may read, its own and those of its packages; give its folder "
    )
    secret = str(outside.parent / "secret")
    names = ("../secret", secret, "link", "up/secret", "up/../up/secret")
    for name in names:
        said = refusal(outside, f'<xacro:include filename="{name}.xacro" optional="true"/>')
        assert said.startswith("x.xacro, line 2, <xacro:include>, filename: '"), said
        assert beyond in said
        said = refusal(outside, f"<link name=\"${{xacro.load_yaml('{name}.yaml')}}\"/>")
        assert said.startswith("x.xacro, line 2, <link>, name: ${xacro.load_yaml("), said
        assert beyond in said
    arm = load(outside, '<xacro:include filename="link.xacro"/>', packages={"any": outside.parent})
    assert [link.name for link in arm.links] == ["secret"]  # what is given may be read


def test_names_that_are_no_files(outside: Path) -> None:
    (outside / "doctype.xacro").write_text('<!DOCTYPE a [<!ENTITY x SYSTEM "secret">]><robot>&x;</robot>')
    for name, reason in {
        "file:///etc/passwd": "'file:///etc/passwd': expected the path of one file, such as $(find",
        "http://localhost/x": "'http://localhost/x': expected the path of one file, such as $(find",
        "*.xacro": "'*.xacro': expected the path of one file, such as $(find PACKAGE)/arm.xacro.",
        "loop": "'loop' is not the name of a file.",
        "pipe": f"{outside / 'pipe'}: a pipe or a device; ",
        ".": f"{outside}: a folder, not a file.",
        "none.xacro": f"{outside / 'none.xacro'}: no such file.",
        "doctype.xacro": "doctype.xacro, line 1: a document type declaration",
        "$(find ..)/secret.xacro": "the package '..' was not found; give its folder with packages={'..': ",
        "$(find /)/secret.xacro": "the package '/' was not found; ",
        "$(find here)/x.xacro": "the package 'here' was not found; ",
        "$(find etc)/passwd": "the package 'etc' was not found; ",
        "$(env HOME)": "$(env HOME) is not allowed: only $(find PACKAGE), $(arg NAME) and $(optenv NAME ",
        "$(eval 1)": "$(eval 1) is not allowed: ",
        "$(cwd)": "$(cwd) is not allowed: ",
        "$(dirname)": "$(dirname) is not allowed: ",
        "$(arg HOME)": "the argument 'HOME' has no value; declare it with <xacro:arg name='HOME' default=",
    }.items():
        said = refusal(outside, f'<xacro:include filename="{name}"/>')
        place = r"x\.xacro, line 2, <xacro:include>, filename[:,] "
        assert re.match(place + re.escape(reason), said), said


BOMB = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9))
MERGES = BOMB.replace("[x]", "{x: 1}").replace("[*", "{<<: [*").replace("]", "]}")
MANY = "more than 20000 values (with aliases) or nested deeper than 20."
YAMLS = {
    '!!python/object/apply:os.system ["id > owned"]': "line 1: the tag 'tag:yaml.org,2002:python/object/",
    "a: !!python/name:os.system x": "line 1: the tag 'tag:yaml.org,2002:python/name:os.system' is not ",
    "a: !!binary aGk=": "line 1: the tag 'tag:yaml.org,2002:binary' is not allowed; leave it out.",
    "a: !other 1": "line 1: the tag '!other' is not allowed; leave it out.",
    "a: !degrees '().__class__'": "line 1: '().__class__': .__class__ is not allowed: a dot is for keys",
    BOMB: f"line 1: {MANY}",
    MERGES: f"line 1: {MANY}",
    "a: &a [*a]": f"line 1: {MANY}",
    "- " * 30: f"line 1: {MANY}",
    "- " * 9000: "cannot be read as YAML: ",
    "[1]: 2": "line 1: a key must be a number or text.",
    "<<: 3": "line 1: << must refer to a mapping.",
    "a: [": "cannot be read as YAML: ",
    "a: " + "9" * 4000: "an integer of more than 1024 bits.",
    "a: " + "b" * 30000: f"{LARGE}, or nested deeper than 20.",
    "a: 1\n" * 30000: "the file takes more than 400000 steps to expand. ",
    "a: 1\n" * 300_000: "larger than the 1 MB allowed for such a file.",
}


def test_hostile_yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text, reason in YAMLS.items():
        (tmp_path / "y.yaml").write_text(text, encoding="utf-8")
        said = refusal(tmp_path, "<link name=\"${xacro.load_yaml('y.yaml')}\"/>")
        place = r"x\.xacro, line 2, <link>, name[:,] \S*y\.yaml(?:, |: |'\)\}: )"
        assert re.match(place + re.escape(reason), said), said
    assert sorted(os.listdir(tmp_path)) == ["x.xacro", "y.yaml"]


def test_yaml_without_pyyaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / "y.yaml").write_text("a: 1\n", encoding="utf-8")
    assert refusal(tmp_path, "<link name=\"${xacro.load_yaml('y.yaml')}\"/>") == (
        "x.xacro, line 2, <link>, name, y.yaml: load_yaml needs PyYAML; install it with "
        "pip install 'forearm[xacro]'."
    )


def tenfold(first: str, rest: str, inner: str) -> str:
    """Eight generations, each of which uses the one before ten times."""
    texts = (rest.replace("N", str(i)) % (inner.replace("P", str(i - 1)) * 10) for i in range(1, 9))
    return first + "".join(texts)


MACROS = '<xacro:macro name="mN">%s</xacro:macro>', "<xacro:mP/>"
BLOCKS = '<xacro:property name="bN">%s</xacro:property>', '<xacro:insert_block name="bP"/>'
STEPS = "steps to expand. If you trust it, expand it with xacro: xacro FILE > arm.urdf."
CIRCLE = "nested deeper than 150; does one call or include itself?"
EXPLOSIONS = {
    tenfold('<xacro:property name="p0" value="laugh"/>', '<xacro:property name="pN" value="%s"/>', "${pP}")
    + '<link name="${p8}"/>': "<xacro:property name='p4'>, value: text of more than 20000 characters.",
    tenfold('<xacro:property name="p0" value="1"/>', '<xacro:property name="pN" value="${[%s]}"/>', "pP,")
    + '<link name="${p8}"/>': f"{LARGE}, or nested deeper than 20.",
    tenfold('<xacro:macro name="m0"><t/></xacro:macro>', *MACROS) + "<xacro:m8/>": STEPS,
    tenfold('<xacro:macro name="m0"/>', *MACROS) + "<xacro:m8/>": STEPS,
    tenfold('<xacro:property name="b0"/>', *BLOCKS) + '<xacro:insert_block name="b8"/>': STEPS,
    '<xacro:property name="p" value="${list(range(4000))}"/>' + '<t k="${python.sum(p)}"/>' * 100: STEPS,
    f'<xacro:macro name="m" params="{" ".join(f"a{i}:=1" for i in range(900))}"/>'
    + "<xacro:m/>" * 100: STEPS,
    f'<xacro:macro name="m">{" " * 200_000}<t/></xacro:macro>' + "<xacro:m/>" * 100: STEPS,
    '<xacro:macro name="m"><t ' + " ".join(f'a{i}=""' for i in range(900)) + "/></xacro:macro>"
    + "<xacro:m/>" * 100: STEPS,
    '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>': CIRCLE,
    '<xacro:property name="b"><xacro:insert_block name="b"/></xacro:property>'
    '<xacro:insert_block name="b"/>': CIRCLE,
    '<xacro:include filename="x.xacro"/>': CIRCLE,
    '<xacro:include filename="x.xacro" ns="a"/>': CIRCLE,
    "".join(f'<xacro:property name="p{i}" value="${{p{i + 1}}}"/>' for i in range(99))
    + '<t k="${p0}"/>': "properties that need one another, or more than 50 in a row (p45 -> p46 -> p47 ",
    '<xacro:macro name="m" params="' + "a:=${ " * 2000 + '"/>': "params: longer than 8000 characters.",
    '<xacro:macro name="m" params="a:=' + "x" * 7000 + "'\"/>": 'params: cannot be read from "a:=xxxx',
    '<link name="' + "$${" * 9000 + '"/>': "name: text of more than 20000 characters.",
    '<link name="' + "${" * 9000 + '"/>': "has no end; write $${ or $$( for the text.",
}  # fmt: skip


@pytest.mark.slow
def test_explosions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xacro_expressions, "MAX_STEPS", 20_000)  # a twentieth, to be quick
    for body, reason in EXPLOSIONS.items():
        said = refusal(tmp_path, body)
        assert said.startswith("x.xacro, line "), said
        assert reason in said, said


def test_more_links_than_an_arm_has(tmp_path: Path) -> None:
    links = tenfold('<xacro:macro name="m0"><link name="a"/></xacro:macro>', *MACROS)
    said = "x.xacro, line 2: expands to more than 10000 <link> elements."
    assert refusal(tmp_path, f"{links}<xacro:m8/>") == said


MACRO = '<xacro:macro name="arm" params="%s"/>'
MISTAKES = {
    '<xacro:property value="1"/>': ": <xacro:property> needs the attribute 'name'.",
    '<xacro:property name="a b" value="1"/>': ", <xacro:property>, name: expected a name of letters, digits "
    "and underscores, with no digit and at most one underscore in front, got 'a b'.",
    '<xacro:arg name="a"/>': ": the argument 'a' has no default; declare it with one in a xacro file that "
    "includes this one.",
    '<xacro:property name="pose" value="1"/><link name="${posse}"/>': ", <link>, name: ${posse}: 'posse' is "
    "not defined; did you mean 'pose'?",
    f"{MACRO % 'a'}<xacro:am/>": ", <xacro:am>: there is no macro 'am' (is its file included?); did you mean "
    "'arm'?",
    f'{MACRO % "a"}<xacro:arm a="1" b="2"/>': ", <xacro:arm>: the macro has no parameter 'b'; there are: a.",
    f"{MACRO % 'a'}<xacro:arm/>": ", <xacro:arm>, a: this parameter of the macro is missing.",
    f"{MACRO % '*a'}<xacro:arm/>": ", <xacro:arm>: no block for '*a'.",
    f"{MACRO % '*a'}<xacro:arm><b/><c/></xacro:arm>": ", <xacro:arm>: the macro takes no <c>; its blocks are "
    "['*a'].",
    '<xacro:insert_block name="b"/>': ", <xacro:insert_block>: there is no block 'b'.",
    "<xacro:a.b/>": ", <xacro:a.b>: there is no namespace 'a'.",
    '<xacro:macro name="a.b"/>': ", <xacro:macro>, name: 'a.b' cannot be the name of a macro.",
    '<xacro:include filename="x.xacro" ns="*b"/>': ", <xacro:include>, ns: expected a name of letters, ",
    '<xacro:if value="perhaps"/>': ", <xacro:if>, value: expected true, false or a number, got 'perhaps'.",
    '<xacro:element xacro:name="a b"/>': ", <xacro:element>, xacro:name: expected a name of letters, digits, "
    "'_', '-', '.' and ':', got 'a b'.",
    '<xacro:attribute name="a"/>': ": <xacro:attribute> needs the attribute 'value'.",
}  # fmt: skip


def test_mistakes(tmp_path: Path) -> None:
    for body, message in MISTAKES.items():
        assert refusal(tmp_path, body).startswith(f"x.xacro, line 2{message}"), body


# --- robot_descriptions ----------------------------------------------------------------------------------


def describe(folder: Path, name: str, text: str) -> None:
    package = folder / "robot_descriptions"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").touch()
    (package / f"{name}.py").write_text(text, encoding="utf-8")


@pytest.fixture
def descriptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.startswith("robot_descriptions")]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path


def test_name_of_robot_descriptions(descriptions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fa.load("ur5").to_urdf(descriptions / "some.urdf")
    describe(descriptions, "some_description", f"URDF_PATH = {str(descriptions / 'some.urdf')!r}\n")
    assert fa.load("some_description", hand="ee_link").tree == fa.load("ur5").tree
    describe(descriptions, "far_description", "raise OSError('no network')\n")
    with pytest.raises(fa.InputError) as caught:
        fa.load("far_description")
    assert str(caught.value) == (
        "load: robot_descriptions could not provide 'far_description': 'no network'. Descriptions are "
        "downloaded on first use: try again with a network connection, or give the path of a file."
    )
    describe(descriptions, "bare_description", "XACRO_PATH = 'x.xacro'\n")
    with pytest.raises(
        fa.InputError, match=r"^load: robot_descriptions has 'bare_description' as xacro only"
    ):
        fa.load("bare_description")
    for name in [name for name in sys.modules if name.startswith("robot_descriptions")]:
        monkeypatch.delitem(sys.modules, name)


def test_name_that_robot_descriptions_does_not_have(descriptions: Path) -> None:
    describe(descriptions, "some_description", "raise AssertionError('imported')\n")
    neither = r"'\w+' is neither a built-in arm nor a \.toml, \.urdf or \.xml file;"
    with pytest.raises(
        fa.NameNotFound,
        match=f"{neither} robot_descriptions has no such name; did you mean 'some_description'",
    ):
        fa.load("somer_description")
    with pytest.raises(fa.NameNotFound, match=f"{neither} 'ur5' is built in"):
        fa.load("ur5_description")


def test_name_of_robot_descriptions_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forearm.files.described.find_spec", lambda name: None)
    with pytest.raises(fa.NameNotFound, match="need that package: pip install robot_descriptions"):
        fa.load("other_description")


@pytest.mark.slow
def test_neither_is_imported_unless_used(tmp_path: Path) -> None:
    code = (
        "import sys, forearm as fa\nfa.load('ur5').to_urdf('a.urdf')\nfa.load('a.urdf')\n"
        "print([n for n in ('yaml', 'robot_descriptions', 'forearm.files.xacro') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
