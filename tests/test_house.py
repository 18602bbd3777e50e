"""The house rules that a machine can check: import order, no cycles, citations,
no path of a machine in the sources.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "forearm"
# The order of docs/architecture.md: a room imports from itself and from those before it.
ROOMS = (
    "errors", "portable", "spatial", "values", "palette", "charts", "svg", "tables", "pages", "progress",
    "symbols",
    "reading", "records", "logs", "arm", "model", "drives", "kinematics", "dynamics", "reduction", "checking",
    "parts", "files", "visuals", "counting", "codegen", "kernels", "targets", "frameworks", "trajectories",
    "simulation", "fmi", "interpreter", "schedules", "identification", "control", "viewer", "studies",
    "reproduce", "plots", "benchmarks", "cli",
)  # fmt: skip
# Reached when called, not when imported: the methods of Arm and of Simulation that users expect on them.
DEFERRED_EXCEPTIONS = {
    ("arm.arm", "files.armfile_write"),
    ("arm.arm", "files.urdf_write"),
    ("arm.arm", "files.mjcf.write"),
    ("arm.arm", "reduction.base"),
    ("arm.arm", "reduction.regrouped"),
    ("codegen.generate", "targets.object_source"),
    ("simulation.result", "plots.motion"),
    ("simulation.result", "viewer.door"),
    ("kinematics.numerical", "kernels.numeric_ik"),
    ("kinematics.nearby", "kernels.numeric_ik"),
    ("trajectories.planning", "plots.plans"),
    ("trajectories.shortest_time.timing", "plots.phase_plane"),
    ("identification.logs_against_model", "plots.logs"),
    ("identification.result", "plots.logs"),
    ("control.comparison", "plots.control"),
    ("kinematics.closed_form.solver", "kernels.closed_form_ik"),
    ("kernels.kernel", "frameworks.torch_functions"),
    ("kernels.kernel", "frameworks.casadi_external"),
    ("kernels.kernel", "frameworks.jax_functions"),
}
NO_ROOMS = {"", "__main__"}  # the package itself, and the command as `python -m forearm`
MODULES = sorted(SOURCE.rglob("*.py"))


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@dataclass(frozen=True)
class Module:
    """What the rules ask of a module; its tree is too large to be kept."""

    imports: frozenset[str]  # modules of forearm, wherever in it
    imports_at_top: frozenset[str]
    classes: tuple[str, ...]
    docstring: str | None
    docstrings: str


@cache
def module(path: Path) -> Module:
    """Parsed and gone through once for all rules."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(statements(tree.body))
    documented = [n for n in nodes if isinstance(n, ast.ClassDef | ast.FunctionDef)]
    return Module(
        imports_of(nodes),
        imports_of(tree.body),
        tuple(n.name for n in nodes if isinstance(n, ast.ClassDef)),
        ast.get_docstring(tree),
        "\n".join(ast.get_docstring(n, clean=False) or "" for n in (tree, *documented)),
    )


def statements(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """These statements and those inside them."""
    for node in body:
        yield node
        for inner in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(node, inner, ()))


def literals(text: str) -> list[str]:
    """The strings in a module's text."""
    nodes = ast.walk(ast.parse(text))
    return [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def imports_of(nodes: Sequence[ast.AST]) -> frozenset[str]:
    """The modules of forearm that these nodes import."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {a.name.removeprefix("forearm.") for a in node.names if a.name.startswith("forearm.")}
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("forearm."):
            inner = node.module.removeprefix("forearm.")
            names = {f"{inner}.{a.name}" for a in node.names}
            found |= {n for n in names if (SOURCE / Path(*n.split("."))).with_suffix(".py").exists()} or {
                inner
            }
    return frozenset(found)


def test_imports_point_one_way() -> None:
    wrong = []
    for path in MODULES:
        name = module_name(path)
        if name in NO_ROOMS:
            continue
        room = ROOMS.index(name.split(".")[0])
        for target in module(path).imports:
            if ROOMS.index(target.split(".")[0]) > room and (name, target) not in DEFERRED_EXCEPTIONS:
                wrong.append(f"{name} imports {target}, which is in a later room")
    assert wrong == []


def test_no_cycles_between_modules() -> None:
    graph = {module_name(p): module(p).imports_at_top for p in MODULES}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, f"import cycle: {' -> '.join((*path, name))}"
        if name not in done:
            for target in graph.get(name, ()):
                visit(target, (*path, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_every_class_name_is_defined_once() -> None:
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for name in module(path).classes:
            places.setdefault(name, []).append(module_name(path))
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert twice == {}, "give one of each a name that says what it is"


def test_every_room_is_on_the_map_and_introduces_itself() -> None:
    on_the_map = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for room in ROOMS:
        path = SOURCE / room
        shown = f"`{room}/`" if path.is_dir() else f"`{room}.py`"
        assert shown in on_the_map
        assert f"[{room}]" in on_the_map, f"{room} is not in the drawing"
        assert module(path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).docstring
    rooms = {module_name(p).split(".")[0] for p in MODULES} - NO_ROOMS
    assert rooms == set(ROOMS)
    listed = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", on_the_map, flags=re.M)
    assert tuple(listed) == ROOMS, "the table is in the order in which imports may point"


@pytest.mark.slow
def test_citations_name_a_document_of_the_references() -> None:
    references = (ROOT / "docs" / "references.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^\| (\w+) \|", references, flags=re.M))
    cited = set()
    for path in MODULES:
        cited |= set(
            re.findall(
                r"\b([A-Z][a-z]+) (?:\(\d|[IVX]+\b|p\. \d|\d\.\d+\b|[A-D]\.\d)", module(path).docstrings
            )
        )
    assert cited, "the pattern finds no citation at all"
    cited -= {"Table", "Tables", "Fig", "Figure", "Section", "Appendix"}
    assert cited <= known, f"not in docs/references.md: {cited - known}"


def test_llvm_text_stands_in_the_builder_alone() -> None:
    """Words that only LLVM's text has, in string literals: everything else is written with the builder."""
    words = re.compile(
        r"\b(?:getelementptr|icmp|fcmp|alloca|shufflevector|nounwind|zeroinitializer|(?:insert|extract)element"
        r"|br i1|br label|ret void|call void)\b|= phi (?:i\d|ptr|$)"
    )
    found = set()
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        if words.search(text) and any(map(words.search, literals(text))):
            found.add(module_name(path))
    readers = {"fmi.c_source", "fmi.c_expressions"}  # translate it to C
    assert found - readers == {"kernels.llvm", "kernels.vectors"}


@pytest.mark.slow
def test_sources_name_no_path_of_a_machine() -> None:
    pattern = re.compile(r"(?<![\w.])/(?:work|root|home)/\w+")
    for folder in ("src", "tests", "tools", "docs"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".py", ".toml", ".md", ".json", ".urdf"}:
                assert not pattern.search(path.read_text(encoding="utf-8")), path
