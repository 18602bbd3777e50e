"""The page of capabilities: places and tests exist, commands parse, calls run,
and what it says is missing is missing.
"""

from __future__ import annotations

import re
import shlex
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pages import resolve

import forearm as fa
from forearm.cli.main import COMMANDS, _parser, _with_negative_numbers
from forearm.codegen.generate import LANGUAGES

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "capabilities.md").read_text(encoding="utf-8")
# Every id of every group, in order: nothing is passed over in silence.
IDS = {
    "A": "1 2 3 4 5 6 7 8 8b 9 10",
    "B": "1 2 3 4 5",
    "C": "1 2 3 4 5",
    "D": "1 2 3 4 5 6 7 8 9 10 11 12",
    "E": "1 2 3 4 5",
    "F": "1 2 3 4 5",
    "G": "1 2 3 4 5",
    "H": "1 2 3 4 4b 5 6",
    "I": "1 2",
    "J": "1 2 3 4",
    "K": "1 2 3 4",
}
STATES = r"done(; .+)?|partly: .+|not yet; .+"


class Row(NamedTuple):
    id: str
    capability: str
    state: str
    where: str
    test: str
    see: str


ROWS = [
    Row(*(cell.strip() for cell in line.strip("|").split(" | ")))
    for line in PAGE.splitlines()
    if re.match(r"\| [A-K]\d", line)
]
FOUND = {row.id: row for row in ROWS}
SEEN = [row for row in ROWS if row.see != "none"]
COMMAND_ROWS = [row for row in SEEN if row.see.startswith("`forearm ")]
CALL_ROWS = [row for row in SEEN if not row.see.startswith("`forearm ")]


def codes(cell: str) -> list[str]:
    """What a cell holds: things in code marks, and nothing else but commas."""
    assert re.fullmatch(r"`[^`]+`(, `[^`]+`)*", cell), cell
    return re.findall(r"`([^`]+)`", cell)


def code(cell: str) -> str:
    """The one thing in code marks that a cell holds."""
    (found,) = codes(cell)
    return found


def test_every_id_has_one_row_in_order() -> None:
    wanted = [f"{group}{number}" for group, numbers in IDS.items() for number in numbers.split()]
    assert [row.id for row in ROWS] == wanted
    assert re.findall(r"^## ([A-Z])\. ", PAGE, flags=re.M) == list(IDS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_state_place_and_test_of_a_row(row: Row) -> None:
    assert re.fullmatch(STATES, row.state), row.state
    if "none" in (row.where, row.test, row.see):
        assert row.state.startswith("not yet")
        assert row.where == row.test == row.see
        return
    for place in codes(row.where):
        resolve(place)
    for test in codes(row.test):
        assert re.fullmatch(r"tests/[\w/]*test_\w+\.py", test)
        assert (ROOT / test).is_file()


@pytest.mark.parametrize("row", COMMAND_ROWS, ids=lambda row: row.id)
def test_command_parses(row: Row) -> None:
    words = shlex.split(code(row.see))[1:]
    assert words[0] in COMMANDS
    # leaves by SystemExit on a wrong value
    _, unknown = _parser(words[0]).parse_known_args(_with_negative_numbers(words))
    assert unknown == []


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the page's own block makes."""
    block = re.search(r"^```python\n(.*?)^```", PAGE, flags=re.M | re.S)
    assert block is not None
    made: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fa.ForearmWarning)
        exec(compile(block[1], "capabilities", "exec"), made)
    return made


@pytest.mark.parametrize("row", CALL_ROWS, ids=lambda row: row.id)
def test_call_runs(row: Row, names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    warnings.simplefilter("ignore", fa.ForearmWarning)
    assert eval(code(row.see), dict(names)) is not None


def test_the_page_names_the_languages_of_today() -> None:
    assert set(re.findall(r"`(\w+)`", FOUND["E1"].capability + FOUND["E3"].capability)) == set(LANGUAGES)


def test_what_is_said_to_be_missing_is_refused() -> None:
    """A row that says less than is there fails here, and is to be written anew."""
    assert "NVIDIA's" in FOUND["E4"].state
    with pytest.raises(fa.InputError, match="compile, device: expected one of cpu, cuda, cuda:1, got 'rocm'"):
        fa.compile(fa.load("ascher2"), device="rocm")
