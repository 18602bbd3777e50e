"""From an arm to a file of code: mistakes that are told, names of files, what they say,
and that they never vary.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from arms import random_arm
from codegen.truths import GENERAL
from drives.making import loaded_arm
from dynamics.cases import simple_drives

import forearm as fa
from forearm import Arm, InputError, Link, NameNotFound
from forearm.codegen.generate import LANGUAGES, generate, identifier, language_of, program_for
from forearm.codegen.languages.naming import RESERVED, legal
from forearm.codegen.program import Op, Program, Ref, Statement, Tree

ARM = fa.load("ascher2")
STILL = Arm(name="still", links=(Link(name="base", mass=1.0),), tree=())


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"function": "gravty"}, NameNotFound, "got 'gravty'; did you mean 'gravity'"),
    ({"function": ("gravity", "mass")}, NameNotFound, "got 'mass'"),
    ({"function": ""}, NameNotFound, "generate, function: expected one of inverse_dynamics,.* got ''"),
    ({"function": []}, InputError, "expected a function"),
    ({"function": ["gravity", 3]}, InputError, "function.*3"),
    ({"language": "pyhton"}, NameNotFound, rf"{', '.join(LANGUAGES)}, got 'pyhton'; did you mean 'python'"),
    ({"language": None}, NameNotFound, "got None"),
    ({"formulation": "kan"}, NameNotFound, "got 'kan'; did you mean 'kane'"),
    ({"formulation": "composite-body"}, NameNotFound, "got 'composite-body'"),
    ({"formulation": 3}, InputError, "formulation must be a name, such as gibbs-appell, got 3"),
    ({"function": "forward_dynamics", "formulation": "kane"}, NameNotFound, "got 'kane'"),
    ({"function": "gravity", "formulation": "kane"}, InputError, "has no formulations"),
    # It stops where the residual is small: at rest without load code without loops would divide 0 by 0.
    (
        {"function": "forward_dynamics", "formulation": "conjugate-gradient"},
        InputError,
        "loop-free code cannot",
    ),
    *(({"name": name}, InputError, "name") for name in ("", 3, "x" * 201)),
    *(
        ({"name": name}, InputError, f"cannot be called '{name}'.*Choose another")
        for name in ("int", "hypot")
    ),
    ({"arm": "puma560"}, InputError, r"expected an Arm, such as fa.load\('puma560'\), got 'puma560'"),
    ({"arm": STILL}, InputError, "'still' has no movable joint"),
]


@pytest.mark.parametrize(("wrong", "kind", "said"), WRONG)
def test_mistakes_are_told(wrong: dict[str, Any], kind: type[Exception], said: str) -> None:
    asked: dict[str, Any] = {"arm": ARM, "function": "inverse_dynamics", "language": "c"}
    with pytest.raises(kind, match=said):
        generate(**(asked | wrong))


@pytest.mark.slow
def test_names_become_identifiers_and_are_arm_and_functions_while_that_fits() -> None:
    names = {"Torque": "torque", "my arm, v2": "my_arm_v2", "2dof": "arm_2dof", "_a_": "a", "a--b": "a_b"}
    for given_name, made in (names | {"tau\u00e9": "tau"}).items():
        assert identifier(given_name) == made
        assert generate(ARM, "gravity", name=given_name).name == made
    assert generate(ARM, ("gravity", "gravity")) == generate(ARM, ("gravity",)) == generate(ARM, "gravity")
    assert generate(ARM, ("gravity", "inertia_matrix")).name == "ascher2_gravity_inertia_matrix"
    everything = generate(ARM, GENERAL, "fortran").name  # which ends names at 63
    assert len(everything) < 55
    assert everything.startswith("ascher2")
    long = ARM.replace(name="a_very_long_manipulator_name_of_a_company")
    asked = ("inverse_dynamics", "forward_dynamics", ["bias", "gravity"], ["bias", "coriolis_matrix"])
    made_names = [generate(long, functions).name for functions in asked]
    assert len(set(made_names)) == 4
    assert made_names[0].endswith("_inverse_dynamics")
    assert max(map(len, made_names)) <= 50


@pytest.mark.parametrize(
    ("language", "endings"),
    [
        ("c", (".c", ".h")),
        ("cpp", (".hpp",)),
        ("fortran", (".f90",)),
        ("python", (".py",)),
        ("javascript", (".mjs",)),
        ("latex", (".tex",)),
        ("rust", (".rs",)),
        ("cuda", (".cu", ".cuh")),
        ("matlab", (".m", "_sfun.m")),
        ("st", (".st", "_methods.st")),
    ],
)
def test_files(language: str, endings: tuple[str, ...], tmp_path: Path) -> None:
    """What other tests find of programs holds of the files."""
    source = generate(ARM, "inverse_dynamics", language)
    program = program_for(ARM, "inverse_dynamics", readable=language == "latex")
    assert (source.text, source.header) == language_of(language).write(program)
    paths = source.save(tmp_path / "new" / "folder")
    assert [path.name for path in paths] == [f"ascher2_inverse_dynamics{ending}" for ending in endings]
    assert list(source.files()) == [path.name for path in paths]
    for path, text in zip(paths, source.files().values(), strict=True):
        assert path.read_text(encoding="utf-8") == text
        assert text.endswith("\n")
        assert "\r" not in text
        assert text.isascii() or language == "latex"
    assert source.language == language
    assert bool(source.header) == (language in ("c", "cuda"))


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_head_says_what_a_caller_must_know(language: str) -> None:
    arm = fa.load("puma560")
    source = generate(arm, "inverse_dynamics", language)
    whole = " ".join(
        (source.header + source.text).replace("*", " ").replace("!", " ").replace("%", " ").split()
    )
    pieces = [
        "Inverse dynamics of puma560, 6 joints",
        f"Generated by forearm {fa.__version__}",
        "rotors' inertia",
        "Coulomb friction",
    ]
    pieces += [f"{source.counts.mul} multiplications", f"{source.counts.add} additions"]
    if language != "latex":
        pieces += ["joint1, joint2, joint3, joint4, joint5, joint6", "N m", "rad/s^2", "-9.81", "regrouped"]
    for piece in pieces:
        assert piece in whole, piece
    assert "friction" not in generate(arm.rigid(), "inverse_dynamics", language).text.split("inertia")[0]


def walk(tree: Tree) -> Iterator[Tree]:
    yield tree
    for operand in tree.operands if isinstance(tree, Op) else ():
        yield from walk(operand)


def assert_sound(program: Program) -> None:
    """Every name is set once, before it is used; no name means two things,
    whatever the language thinks of case.
    """
    outside = {a.name for a in (*program.inputs, *program.outputs)} | (
        {"k", "p"} if program.parameters else set()
    )
    values: set[str] = set()

    def check(statements: tuple[Statement, ...], known: dict[str, int], made: dict[str, int]) -> None:
        written: dict[str, set[int]] = {name: set() for name in made}
        own: set[str] = set()
        for statement in statements:
            for ref in (t for t in walk(statement.value) if isinstance(t, Ref)):
                if ref.index is None:
                    assert ref.name in own, f"{ref.name} is used before it is set"
                else:
                    assert ref.index < known[ref.name]
            target = statement.target
            if target.index is None:
                assert target.name.lower() not in {name.lower() for name in values | outside}, (
                    f"{target.name} is set twice"
                )
                assert target.name.lower() not in RESERVED
                assert re.fullmatch(r"[A-Za-z]\w{0,62}", target.name, flags=re.ASCII)
                own.add(target.name)
                values.add(target.name)
            else:
                assert target.index not in written[target.name]
                written[target.name].add(target.index)
        assert written == {name: set(range(size)) for name, size in made.items()}, "an entry is left unset"

    check(program.prepare, {"p": len(program.parameters)}, {"k": program.kept} if program.parameters else {})
    known = {a.name: a.size for a in program.inputs} | {"k": program.kept}
    check(program.statements, known, {a.name: a.size for a in program.outputs})


@pytest.mark.slow
@pytest.mark.parametrize("function", GENERAL)
def test_programs_are_sound(function: str) -> None:
    for arm in (simple_drives(random_arm(21, 3, "frames", tree=True, mimic=True)), ARM):
        assert_sound(legal(program_for(arm, function)))


@pytest.mark.slow
def test_programs_of_many_functions_and_parameters_are_sound() -> None:
    # which refuses symbols of joints
    functions = [function for function in GENERAL if function != "base_regressor"]
    assert_sound(legal(program_for(fa.load("puma560-dhanaraj3"), functions, "all")))
    assert_sound(
        legal(program_for(fa.load("chain3"), ("inverse_dynamics", "inertia_matrix"), "all", "gibbs-appell"))
    )


def test_names_of_links_stay_in_comments() -> None:
    """Links may be called anything: words of C, ends of comments, backslashes,
    line breaks of other alphabets.
    """
    arm = random_arm(3, 3, "frames", fixed=False).rigid()
    names = dict(
        zip(
            (link.name for link in arm.links), ("base", "int", "*/ x = 1; /*", "tau\u00fc \\ //"), strict=True
        )
    )
    links = tuple(Link(name=names[k.name], mass=k.mass, com=k.com, inertia=k.inertia) for k in arm.links)
    tree = tuple(
        fa.Joint(
            name=f"q[{i}]", kind=j.kind, parent=names[j.parent], child=names[j.child], placement=j.placement
        )
        for i, j in enumerate(arm.tree)
    )
    renamed = Arm(
        name="arm */ \u00e9", links=links, tree=tree, gravity=arm.gravity, source="of */ nowhere \\"
    )
    assert_sound(legal(program_for(renamed, ("inverse_dynamics", "reactions"), "int")))
    text = generate(renamed, "inverse_dynamics", "c").text
    assert text.count("/*") == text.count("*/")
    assert [statement(line) for line in code_of(text)] == [
        statement(line) for line in code_of(generate(arm, "inverse_dynamics", "c").text)
    ]


def statement(line: str) -> str:
    return re.sub(r"void \w+\(", "void f(", line)


def code_of(text: str) -> list[str]:
    """The lines of a C file without comments and includes."""
    return [
        line
        for line in re.sub(r"/\*.*?\*/", "", text, flags=re.S).splitlines()
        if line.strip() and "#include" not in line
    ]


DETERMINED = """
import hashlib, warnings
warnings.simplefilter("ignore")
import forearm as fa
stanford = fa.load("stanford")
made = [fa.generate(stanford, ("inverse_dynamics", "inertia_matrix", "jacobian"), language) for language in ("c", "python")]
made.append(fa.generate(fa.load("stanford-dhanaraj3"), "forward_dynamics", "cpp", parameters=["link2", "gravity", "link3.com"]))
made.append(fa.generate(fa.load("ascher2"), "inverse_dynamics", "latex"))
made.append(fa.generate(fa.load("chain3"), "inverse_dynamics_derivatives", "fortran"))
for source in made:
    print(source.name, hashlib.sha256((source.text + source.header).encode()).hexdigest())
for label in fa.load("panda").base_parameters().labels:
    print(label)
"""  # noqa: E501


@pytest.mark.slow
def test_the_text_is_the_same_in_every_process() -> None:
    here = io.StringIO()
    with contextlib.redirect_stdout(here), warnings.catch_warnings():
        exec(DETERMINED, {})
    command, chance = [sys.executable, "-c", DETERMINED], os.environ | {"PYTHONHASHSEED": "4242"}
    done = subprocess.run(command, env=chance, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 5 + 43
    assert done.stdout == here.getvalue()


@pytest.mark.slow
def test_headers_say_what_columns_are_and_of_drives_only_what_is_in_them() -> None:
    arm = fa.load("puma560")

    def header(arm: Arm, function: str) -> str:
        return " ".join(generate(arm, function).header.replace(" * ", " ").split())

    base = header(arm, "base_regressor")
    assert "0: link1.Iyy + link2.Iyy" in base
    assert "gear ratio" not in base
    assert "link6.Izz" in header(arm, "regressor")
    assert "ratio; viscous and Coulomb friction included" in header(arm, "bias")
    assert "ratio; rotors' inertia included" in header(arm, "inertia_matrix")
    assert "friction of bearings and losses of gears included" in header(loaded_arm("chain", 6, 3), "bias")
    assert "regrouped" in header(ARM, "gravity")
    assert "regrouped" not in header(ARM, "reactions"), "they are of the arm as it is"
