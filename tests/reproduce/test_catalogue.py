"""How printed text is judged, and that every listed picture is drawn or said not to be."""

from __future__ import annotations

import itertools
import re

import pytest

from forearm.cli import reproduce as command
from forearm.cli.main import main
from forearm.reproduce import DOCUMENTS, catalogue, reproduce
from forearm.reproduce.catalogue import judge, pictures

LISTED = ("swartz", "waters", "silver", "mata")


@pytest.mark.parametrize(
    ("printed", "ours", "verdict"),
    [
        ("> 100000", 119106.0, "exact"),
        ("> 100,000", 99999.0, "differs"),
        ("> 5", 5.0, "differs"),
        ("< 5", 4.9, "exact"),
        ("< 5", 5.1, "differs"),
        ("> 5", None, "not reproducible"),
        ("695/6", 695.0 / 6.0, "exact"),
        ("695/6", 115.83, "differs"),
        ("0.000000000000", 3e-16, "within rounding"),
        ("0.000000000000", 1e-12, "differs"),
        ("0", 0.0, "exact"),
        ("0", 0.4, "differs"),
        ("0", 1e-15, "differs"),
        ("1", 1.4, "within rounding"),
    ],
)
def test_bounds_fractions_and_zeros(printed: str, ours: float | None, verdict: str) -> None:
    assert judge(printed, ours) == verdict


@pytest.mark.slow
def test_what_comes_next_is_told() -> None:
    told: list[tuple[float, float, str]] = []
    results = reproduce("silver", lambda *how_far: told.append(how_far))
    items = catalogue("silver")
    for result in itertools.islice(results, 5):
        assert result.item.place in told[-1][2]
    names = [*(f"Silver, {item.place}" for item in items), "operation counts"]
    assert told == [(k, len(names), name) for k, name in enumerate(names[: len(told)])]


def test_every_picture_is_drawn_or_has_a_reason() -> None:
    assert {picture.document for picture in pictures()} >= set(LISTED)
    for picture in pictures():
        assert bool(picture.drawn) != bool(picture.reason), picture


@pytest.mark.long
def test_what_is_said_to_be_drawn_is_what_is_drawn() -> None:
    for document in LISTED:
        names = {picture.drawn for picture in pictures(document) if picture.drawn}
        assert names == set(command.DRAWN[document]() if document in command.DRAWN else ()), document


def test_all_numbered_figures_are_listed() -> None:
    last = {"swartz": 2, "waters": 5, "mata": 4}
    for document, count in last.items():
        named: set[int] = set()
        for picture in pictures(document):
            for first, end in re.findall(r"Figs?\. (\d+)(?:-(\d+))?", picture.place):
                named |= set(range(int(first), int(end or first) + 1))
        assert named == set(range(1, count + 1)), document
    assert set(DOCUMENTS) >= set(LISTED)


@pytest.mark.slow
def test_the_command_says_what_is_not_drawn(capsys: pytest.CaptureFixture[str], tmp_path: object) -> None:
    assert main(["reproduce", "silver", "--figures", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "no figure of silver is drawn" in text
    assert "not drawn: Silver, Fig. 3.1" in text
