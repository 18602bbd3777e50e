"""Every example in the README and the docs is run, and what the text names is there:
commands, options, names, links.
"""

from __future__ import annotations

import argparse
import ast
import re
import shlex
import tomllib
import warnings
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from reproduced import reproduced
from sweeps import long

import forearm as fa
from forearm.cli.main import COMMANDS, _parser, _with_negative_numbers, main
from forearm.control.code import controller_code
from forearm.control.hand_laws import HAND_LAWS
from forearm.control.laws import LAWS
from forearm.files.armfile_read import arm_from_document
from forearm.parts.database import read_parts
from forearm.simulation import Schedule

ROOT = Path(__file__).parent.parent
# By tests/test_api_page.py.
GENERATED = [ROOT / "docs" / "api.md", *sorted((ROOT / "docs" / "api").glob("*.md"))]
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page not in GENERATED),
]
BLOCK = re.compile(r"^```.*?^```", flags=re.M | re.S)
RUN = {"python", "toml", "console"}  # by the tests of this file, wherever they stand
SHOWN = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", flags=re.M | re.S)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.(\d*))?(?:e([-+]?\d+))?(?![\w.]*\w)")
# Blocks of other kinds, each with the test that runs it or holds it against what happens;
# what a clock measured is left.
OTHERS = {
    ("code.md", "c"): "codegen/test_controller_page.py",
    ("code.md", "sh"): "codegen/test_controller_page.py",
    ("command-line.md", "csv"): "test_docs.py",
    ("controllers-in-c.md", "c"): "test_docs.py",
    ("sim.md", "text"): "interpreter/test_session.py",
    ("targets.md", "c"): "targets/test_targets_page.py",
    ("targets.md", "js"): "targets/test_targets_page.py",
    ("simulation.md", "text"): "test_docs.py",
    ("engines.md", "bash"): "studies/test_engines_page.py",
    ("performance.md", "sh"): "measured",
    ("performance.md", "text"): "measured",
    ("recipes/control-and-boards.md", "text"): "test_docs.py",
    ("recipes/describing-an-arm.md", "text"): "test_docs.py",
    ("recipes/learning-from-logs.md", "text"): "test_docs.py",
    ("recipes/motions.md", "text"): "test_docs.py",
    ("recipes/speed.md", "text"): "test_docs.py",
}
# Pages whose blocks another test runs, for what they define.
ELSEWHERE = ("capabilities.md", "conventions.md", "documents/")
# Examples that take seconds: what they call has tests of its own, and make test-long runs them.
LONG_PYTHON = {
    "checks.md-1",
    "control.md-4",
    "elastic-joints.md-5",
    "elastic-joints.md-8",
    "identification.md-4",
    "motions.md-2",
    "optimise.md-2",
    "payload.md-1",
    "payload.md-2",
    "simulation.md-5",
    "studies.md-1",
    "trajectories.md-8",
    "waters-control.md-1",
    "waters-control.md-3",
}
LONG_CONSOLE = {
    "identification.md-1",
    "index.md-1",
    "motions.md-2",
    "recipes/control-and-boards.md-4",
    "recipes/control-and-boards.md-5",
    "recipes/learning-from-logs.md-1",
    "recipes/learning-from-logs.md-3",
    "recipes/learning-from-logs.md-4",
    "studies.md-1",
    "trajectories.md-1",
}


def name_of(page: Path) -> str:
    """By its folder below docs: motions.md, recipes/motions.md."""
    return page.relative_to(ROOT / "docs").as_posix() if page.parent != ROOT else page.name


@cache
def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@cache
def between_blocks(page: Path) -> str:
    return BLOCK.sub("", text_of(page))


@cache
def blocks(language: str) -> tuple[tuple[str, str], ...]:
    pattern = re.compile(rf"^```{language}\n(.*?)^```", flags=re.M | re.S)
    return tuple(
        (f"{name_of(page)}-{index + 1}", text)
        for page in PAGES
        for index, text in enumerate(pattern.findall(text_of(page)))
    )


@cache
def outputs() -> dict[str, str]:
    """What a block of text right behind an example shows of its output."""
    return {
        f"{name_of(page)}-{index + 1}": shown
        for page in PAGES
        for index, (_, shown) in enumerate(SHOWN.findall(text_of(page)))
        if shown
    }


def assert_same_output(printed: str, shown: str) -> None:
    """The same words, and numbers that differ by one unit of the last digit shown at most."""
    printed, shown = (" ".join(text.split()).replace("[ ", "[") for text in (printed, shown))
    assert NUMBER.sub("0", printed) == NUMBER.sub("0", shown), printed
    for one, other in zip(NUMBER.finditer(printed), NUMBER.finditer(shown), strict=True):
        unit = 10.0 ** (int(other[2] or 0) - len(other[1] or ""))
        assert abs(float(one[0]) - float(other[0])) <= 1.01 * unit, f"{one[0]}, the page has {other[0]}"


# Examples that need more than the tests do; tests/frameworks runs them.
FRAMEWORKS = re.compile(r"^(?:import|from) (?:torch|jax|casadi)\b", flags=re.M)
ON_GPU = re.compile(r'device="cuda')  # tests/kernels/cuda runs these


# tests/studies/test_engines_page.py runs these
ENGINES = re.compile(r"^(?:import|from) (?:distributed|ray|mpi4py|loky|submitit)\b", flags=re.M)


def needs_more(text: str) -> bool:
    """Whether an example takes a framework, a GPU or an engine."""
    return any(kind.search(text) is not None for kind in (FRAMEWORKS, ON_GPU, ENGINES))


def in_quiet_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    warnings.simplefilter("ignore", fa.ForearmWarning)


def python_examples() -> list[Any]:
    cases = [
        case for case in blocks("python") if not needs_more(case[1]) and not case[0].startswith(ELSEWHERE)
    ]
    return [case for case in cases if case[0] not in LONG_PYTHON] + long(
        case for case in cases if case[0] in LONG_PYTHON
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text"), python_examples(), ids=lambda v: v if len(v) < 40 else "")
def test_python_example_runs(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    in_quiet_folder(tmp_path, monkeypatch)
    for framework in re.findall(r"^import (torch|jax|casadi)\b", text, flags=re.M):
        pytest.importorskip(framework)
    write_study(name)
    code = compile(text, name, "exec")
    exec(code, {"__name__": "example"})
    assert "fa." in text, f"{name}: an example shows forearm"
    if name in outputs():
        assert_same_output(capsys.readouterr().out, outputs()[name])


@pytest.mark.parametrize(
    ("printed", "shown", "is_same"),
    [
        ("0.51 s, joint1", "0.50 s,\n  joint1", True),
        ("0.52 s, joint1", "0.50 s, joint1", False),
        ("0.50 s, joint2", "0.50 s, joint1", False),
        ("[ -0.  2.1e-03]", "[0. 2.0e-03]", True),
        ("[0. 2.2e-03]", "[0. 2.0e-03]", False),
        ("(7,) True", "(7,) False", False),
    ],
)
def test_outputs_are_the_same_to_a_unit_of_the_last_digit(printed: str, shown: str, is_same: bool) -> None:
    if is_same:
        assert_same_output(printed, shown)
    else:
        with pytest.raises(AssertionError):
            assert_same_output(printed, shown)


@pytest.mark.parametrize(("name", "text"), blocks("toml"), ids=lambda v: v if len(v) < 40 else "")
def test_file_example_loads(name: str, text: str, tmp_path: Path) -> None:
    document = tomllib.loads(text)
    if document["schema"].startswith("forearm-arm"):
        assert arm_from_document(document, name).n == len(document["joint"])
    elif document["schema"].startswith("forearm-study"):
        path = tmp_path / "study.toml"
        path.write_text(text, encoding="utf-8")
        assert [v.name for v in fa.Study.read(path).variables] == [*document["vary"]]
    else:
        path = tmp_path / "example.parts.toml"
        path.write_text(text, encoding="utf-8")
        assert [node.name for node in read_parts(path)] == [link["name"] for link in document["link"]]


def command_lines() -> list[tuple[str, list[str]]]:
    return [
        (name, [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")])
        for name, text in blocks("console")
    ]


def quick_and_long() -> list[Any]:
    """Comparisons of all controllers take seconds each, and so do whole stories from file to payload."""
    slow = [
        case
        for case in command_lines()
        if case[0] in LONG_CONSOLE or any("control compare" in line for line in case[1])
    ]
    return [*(case for case in command_lines() if case not in slow), *long(slow)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "lines"), quick_and_long(), ids=lambda v: v if isinstance(v, str) else "")
def test_console_example_runs(
    name: str, lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_quiet_folder(tmp_path, monkeypatch)
    assert lines, f"{name}: no line starts with '$ '"
    monkeypatch.setattr("forearm.cli.reproduce.reproduce", lambda document, _: reproduced(document))
    Path("log.csv").write_text(blocks("csv")[0][1], encoding="utf-8")  # the log that examples read
    write_study(name)
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "forearm"
        assert main(arguments) == 0, line


@pytest.mark.slow
def test_examples_that_are_left_to_long_runs_are_there_and_import_what_there_is() -> None:
    examples, lines = dict(blocks("python")), dict(command_lines())
    assert examples.keys() >= LONG_PYTHON
    for name in LONG_PYTHON:
        imports = [node for node in ast.parse(examples[name]).body if isinstance(node, ast.ImportFrom)]
        for node in imports:
            module = import_module(str(node.module))
            assert all(hasattr(module, one.name) for one in node.names), name
    for name in LONG_CONSOLE:
        for line in lines[name]:
            _, *words = shlex.split(line)
            assert _parser(words[0]).parse_known_args(_with_negative_numbers(words))[1] == [], line


def test_readme_shows_the_two_commands_and_a_picture_on_its_first_screen() -> None:
    screen = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:20])
    assert "make demo" in screen
    assert "make test" in screen
    picture = re.search(r"!\[.*?\]\((.*?)\)", screen)
    assert picture is not None
    assert (ROOT / picture[1]).is_file()


def in_the_text(page: Path) -> list[str]:
    """What stands in code marks between the blocks."""
    return re.findall(r"`([^`\n]+)`", between_blocks(page))


@cache
def options_of(command: str) -> frozenset[str]:
    """Its options, and those of its actions."""
    (commands,) = (a.choices for a in _parser(command)._actions if isinstance(a, argparse._SubParsersAction))
    return frozenset(options_in(commands[command]))


def options_in(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from options_in(inner)


def write_study(name: str) -> None:
    """The study that examples of this page read: its own, or that of the page about studies."""
    own = [text for text in of_that_kind(name.rpartition("-")[0], "toml") if "forearm-study" in text]
    study = own or of_that_kind("studies.md", "toml")
    Path("study.toml").write_text(study[0], encoding="utf-8")


def of_that_kind(page: str, language: str) -> list[str]:
    return [text for name, text in blocks(language) if name.rpartition("-")[0] == page]


def test_every_other_kind_of_block_has_its_test() -> None:
    found = {
        (name_of(page), kind)
        for page in PAGES
        for kind in re.findall(r"^```([a-z]+)$", text_of(page), flags=re.M)
    }
    assert {(page, kind) for page, kind in found if kind not in RUN} == set(OTHERS)
    for (page, _), test in OTHERS.items():
        assert test == "measured" or page in (ROOT / "tests" / test).read_text(encoding="utf-8"), (
            f"{test}: nothing of {page}"
        )


@pytest.mark.slow
def test_commands_and_options_in_the_text_exist() -> None:
    """A command without words in capitals for what the reader gives is parsed whole."""
    for code in sorted({code for page in PAGES for code in in_the_text(page)}):
        if re.fullmatch(r"--[a-z][a-z-]*", code):
            assert any(code in options_of(command) for command in COMMANDS) or code == "--version", code
        if not code.startswith("forearm ") or code.startswith("forearm -") or "COMMAND" in code:
            continue
        words = shlex.split(re.split(r" (?:\\?\||<) |\\\|", code)[0])[1:]
        assert words[0] in COMMANDS, code
        options = [word.strip("[]") for word in words if word.strip("[").startswith("--")]
        assert options_of(words[0]).issuperset(options), code
        if options and not re.search(r"\b[A-Z]+\b", code):
            assert _parser(words[0]).parse_known_args(_with_negative_numbers(words))[1] == [], code


def test_names_of_the_package_in_the_text_exist() -> None:
    for page in PAGES + GENERATED:
        for code in in_the_text(page):
            dotted = re.match(r"(?:fa|forearm)((?:\.\w+)+)", code)
            if dotted is not None:
                assert resolved(f"forearm{dotted[1]}") is not None, (page.name, code)


@cache
def resolved(path: str) -> object:
    """A module, or a name in one, or in a class or value of one."""
    try:
        return import_module(path)
    except ModuleNotFoundError:
        owner, _, name = path.rpartition(".")
        return getattr(resolved(owner), name)


@cache
def slugs(page: Path) -> set[str]:
    """The anchors of a page: those of its headings, as mkdocs and GitHub write them, and its own."""
    text = between_blocks(page)
    found = re.findall(r"^#+ (.+)$", text, flags=re.M)
    own = re.findall(r'^<a id="([^"]+)"></a>$', text, flags=re.M)
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in found} | {*own}


def test_links_lead_to_pages_and_headings() -> None:
    for page in PAGES + GENERATED:
        for target in re.findall(r"\]\(([^)\s]+)\)", between_blocks(page)):
            path, _, anchor = target.partition("#")
            assert "://" not in target, f"{page.name}: {target}: a link out of the documentation"
            to = page if not path else (page.parent / path).resolve()
            assert to.exists(), (page.name, target)
            assert not anchor or anchor in slugs(to), (page.name, target)


def test_every_page_is_in_the_navigation_once() -> None:
    named = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), flags=re.M)
    assert sorted(named) == sorted(name_of(page) for page in [*PAGES[1:], *GENERATED])


@pytest.mark.slow
def test_the_interface_of_controllers_in_c_is_that_of_every_law() -> None:
    arm = fa.load("puma560")
    (shown,) = of_that_kind("controllers-in-c.md", "c")
    page = (ROOT / "docs" / "controllers-in-c.md").read_text(encoding="utf-8")
    laws = re.findall(r"^\| `(\w+)` \|", page, flags=re.M)
    assert laws == [*LAWS, *HAND_LAWS]
    for law in laws:
        header = " ".join(controller_code(arm, law).header.split())
        said = " ".join(shown.replace("NAME", f"puma560_{law}").split())
        if law == "admittance":
            said = said.replace("double state[n]", "const double force[6], double state[12]")
        assert said.replace("[n]", f"[{arm.n}]") in header


def test_the_schedule_file_of_the_page_is_read(tmp_path: Path) -> None:
    """Its joints are those of the arm of the first page."""
    arm = arm_from_document(tomllib.loads(of_that_kind("index.md", "toml")[0]), "index.md")
    (shown,) = of_that_kind("simulation.md", "text")
    path = tmp_path / "volts.csv"
    path.write_text(shown, encoding="utf-8")
    read = Schedule.read(path, arm)
    assert read.times.tolist() == [0.0, 0.25, 1.0]
    assert read.values.tolist() == [[4.0, 1.5], [0.0, -1.5], [0.0, 0.0]]
