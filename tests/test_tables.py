"""Text that fits the terminal: paragraphs, and tables whose columns go below where they do not fit beside."""

from __future__ import annotations

import pytest

from forearm.tables import NARROWEST, NARROWEST_NAME, Report, filled, text_table

LONG = "a name of some length that tells rows apart"


def test_paragraphs_are_broken_line_by_line() -> None:
    text = "one two three\nfour five\n\nsix"
    assert filled(text, None) == text
    assert filled(text, 8) == "one two\nthree\nfour\nfive\n\nsix"
    assert filled("one two three", 8, under="  ") == "one two\n  three"


@pytest.mark.parametrize("width", [26, 40, 60, 100])
def test_a_table_fits_and_loses_no_number(width: int) -> None:
    header, row = (
        ["name", "first", "second", "words"],
        [LONG, "-1.23456e-10", "6.5", "not reproducible at all"],
    )
    lines = text_table(header, [row, row], width).splitlines()
    assert max(map(len, lines)) <= width
    for cell in ("-1.23456e-10", "6.5"):
        assert sum(cell in line for line in lines) == 2
    assert all(line.startswith(LONG[: NARROWEST - 1]) for line in lines if "6.5" in line)


def test_the_first_column_keeps_its_width_where_there_is_room() -> None:
    lines = text_table(["name", "words"], [[LONG, "x" * 50]], 60).splitlines()
    assert lines[2].startswith(LONG[: NARROWEST_NAME - 1])
    assert len(lines[2]) <= 60


def test_a_report_is_the_same_in_a_terminal_and_in_a_notebook() -> None:
    inner = Report(before=["a word that is long"], under="  ")
    report = Report(["joint", "q"], [["a<b", "1.5"]], "Where", ["before"], ["", "after"], [inner, Report()])
    assert report.text() == "before\nWhere\njoint    q\n-----  ---\na<b    1.5\nafter\n\na word that is long"
    assert report.text(12).endswith("\n\na word that\n  is long")
    html = report.html()
    assert html.index("<p>before</p>") < html.index("<caption") < html.index("a&lt;b") < html.index("after")
    assert html.endswith("<p>a word that is long</p>")
    assert "<p></p>" not in html
    assert Report(title="alone").html() == "<p>alone</p>"
    assert Report().text() == Report().html() == ""


@pytest.mark.parametrize("width", [40, 60, 80])
def test_names_are_whole_wherever_they_fit_beside_the_first_column(width: int) -> None:
    """They go below instead of being cut; a sentence is cut to what is left."""
    names = [["wrist_3_link-tool0", "shoulder_link", "upper_arm_link", "-1.5 deg"], ["b", "c", "d", "2 deg"]]
    text = text_table(["joint", "parent", "child", "from"], names, width)
    assert max(map(len, text.splitlines())) <= width
    assert "~" not in text
    for cell in (cell for row in names for cell in row):
        assert cell in text


def test_a_cut_sentence_takes_the_room_that_is_left() -> None:
    sentence = "a sentence that is longer than the table may ever be wide"
    rows = [["a_name_of_some_length", "another_name_as_long_as_that", sentence]]
    lines = text_table(["name", "other", "said"], rows, 55).splitlines()
    assert rows[0][1] in lines[2]
    assert max(map(len, lines)) == 55
    assert lines[-1].endswith("~")
