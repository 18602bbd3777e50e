"""The page of `forearm reproduce --html`: every figure is on it, nothing is fetched,
nothing put in becomes markup.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from reproduced import reproduced

from forearm.cli import reproduce as command
from forearm.cli.main import main
from forearm.cli.reproduce_report import MARKS, OPENED, report_page
from forearm.reproduce import DOCUMENTS, Item, Result
from forearm.reproduce.catalogue import Verdict, pictures, title_of
from forearm.reproduce.kinds import KINDS
from forearm.reproduce.totals import headline
from forearm.tables import number

VOID = ("meta", "img", "input")


class Read(HTMLParser):
    """A page as a browser takes it: tags in balance, addresses, and the grid of each table with
    its rowspans filled in.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.tables: list[list[list[str]]] = []
        # of a column: the row in which a cell began, and how many more rows it has
        self.below: dict[int, tuple[int, int]] = {}
        self.in_cell = False
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.addresses += [value or "" for key, value in attrs if key in ("src", "href")]
        self.ids += [value or "" for key, value in attrs if key == "id"]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("th", "td"):
            self.in_cell = True
            self.tables[-1][-1].append("")
            more = int(given.get("rowspan") or 1) - 1
            if more:
                self.below[len(self.tables[-1][-1]) - 1] = (len(self.tables[-1]) - 1, more)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag in ("th", "td"):
            self.in_cell = False
        if tag == "tr":
            row = len(self.tables[-1]) - 1
            for column, (first, more) in self.below.items():
                if first < row <= first + more:
                    self.tables[-1][-1].insert(column, self.tables[-1][first][column])
        if tag == "table":
            self.below = {}

    def handle_data(self, data: str) -> None:
        if self.in_cell:
            self.tables[-1][-1][-1] += data


def made(verdict: Verdict, ours: float | None = 1.5, text: str = "plain", reason: str = "") -> Result:
    item = Item(
        document="waters",
        id=f"id {text}",
        place=f"p. {text}",
        title=f"title {text}",
        kind="recomputed",
        assumed=f"assumed {text}",
    )
    return Result(item, f"label {text}", "2", ours, verdict, reason, item.kind)


@pytest.mark.slow
def test_every_figure_stands_on_the_page_with_its_verdict_and_reason() -> None:
    results = list(reproduced("waters"))
    read = Read(report_page(results))
    summary, *tables = read.tables
    rows = [[*row, *[""] * (6 - len(row))] for table in tables for row in table[1:]]
    wanted = [
        [r.label, r.printed, "-" if r.ours is None else number(r.ours, 7), r.verdict, r.kind, r.reason]
        for id_ in dict.fromkeys(r.item.id for r in results)
        for r in results
        if r.item.id == id_
    ]
    found = [[*row[:3], next(v for v in MARKS if row[3].endswith(v)), *row[4:]] for row in rows]
    assert found == wanted
    counts = [*(str(sum(r.verdict == v for r in results)) for v in MARKS), str(len(results))]
    assert summary[-1] == ["Waters", "all kinds", *counts]
    assert [row[1] for row in summary[1:-1]] == [k for k in KINDS if any(r.kind == k for r in results)]


@pytest.mark.slow
def test_several_documents_are_summed_and_linked() -> None:
    results = [*reproduced("swartz"), *reproduced("silver")]
    read = Read(report_page(results))
    sums = [row for row in read.tables[0] if row[1] in ("kind", "all kinds")]
    assert [row[0] for row in sums] == ["document", "Swartz", "Silver", "together"]
    columns = list(zip(*sums[1:], strict=True))[2:]
    assert all(int(a) + int(b) == int(c) for a, b, c in columns)
    assert headline(results) in report_page(results)
    assert {address.removeprefix("#") for address in read.addresses} == {"summary", "swartz", "silver"}
    assert set(read.ids) == {
        "summary",
        "swartz",
        "silver",
        "only-all",
        *(f"only-{v.replace(' ', '-')}" for v in MARKS),
    }
    assert title_of("silver") in report_page(results)


def test_long_tables_are_folded_up_and_say_what_is_in_them() -> None:
    short = [replace(made("exact"), label=f"figure {k}") for k in range(OPENED)]
    page = report_page(short)
    assert '<details class="item" open>' in page
    assert f'title="{OPENED} exact"' in page
    page = report_page([*short, made("differs", reason="r")])
    assert '<details class="item">' in page
    assert f'title="{OPENED} exact"' in page
    assert 'title="1 differs"' in page


def test_one_verdict_can_be_looked_at_alone() -> None:
    """What the style sheet hides are rows by their class: whole groups, so that no reason loses its row."""
    results = [
        made("exact"),
        made("differs", reason="r"),
        made("differs", reason="r"),
        made("not reproducible", None, reason="r"),
    ]
    page = report_page(results)
    classes = re.findall(r'<tr class="([a-z-]+)">', page[page.index("</table>") :])
    assert classes == ["exact", "differs", "differs", "not-reproducible"]
    for verdict in MARKS:
        kind = verdict.replace(" ", "-")
        assert f'type="radio" name="only" id="only-{kind}"' in page
        assert f"body:has(#only-{kind}:checked) :is(.item tbody tr:not(.{kind})," in page


def test_titles_are_those_of_the_references() -> None:
    references = (Path(__file__).parents[2] / "docs" / "references.md").read_text(encoding="utf-8")
    for document in DOCUMENTS:
        assert f"| {document.capitalize()} | {title_of(document)} |" in references


def test_neighbours_share_a_reason_only_within_one_verdict() -> None:
    same = [
        made("differs", reason="r"),
        made("differs", reason="r"),
        made("not reproducible", None, reason="r"),
        made("exact"),
    ]
    page = report_page(same)
    assert 'rowspan="2">r<' in page
    assert page.count('rowspan="1">r<') == 1
    assert [row[5] for row in Read(page).tables[1][1:]] == ["r", "r", "r", ""]
    assert "why" not in Read(report_page([made("exact")])).tables[1][0]


@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script>", "</td></table>", '" onload="x', "a & b < c", "&lt;b&gt;"]
)
def test_what_is_put_in_never_becomes_markup(hostile: str) -> None:
    plain, other = (
        report_page([made("differs", text=t, reason=t)], {"waters": {t: b"png"}}) for t in ("plain", hostile)
    )
    assert Read(other).tags == Read(plain).tags
    assert Read(other).tables[1][1][0] == f"label {hostile}"
    assert Read(other).tables[1][1][5] == hostile


def test_pictures_are_inside_and_nothing_is_fetched() -> None:
    read = Read(
        report_page([made("exact")], {"waters": {"fig": b"\x89PNG bytes"}, "mata": {"of another": b"x"}})
    )
    (picture,) = [a for a in read.addresses if not a.startswith("#")]
    assert base64.b64decode(picture.removeprefix("data:image/png;base64,")) == b"\x89PNG bytes"
    (known,) = (p for p in pictures("waters") if p.drawn)
    captioned = report_page([made("exact")], {"waters": {known.drawn: b"x"}})
    assert f"<figcaption>Waters, {known.place}: {known.what}</figcaption>" in captioned
    page = report_page([made("exact")])
    assert "default-src 'none'" in page
    assert not {"script", "link", "iframe", "img"} & set(Read(page).tags)
    assert "url(" not in page
    assert "@import" not in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def _luminance(colour: str) -> float:
    full = colour if len(colour) == 7 else "#" + "".join(2 * c for c in colour[1:])
    parts = [int(full[k : k + 2], 16) / 255.0 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_marks_differ_in_sign_and_colour_and_can_be_read() -> None:
    signs, grounds, _ = zip(*MARKS.values(), strict=True)
    assert len(set(signs)) == len(set(grounds)) == len(MARKS)
    for _, ground, ink in MARKS.values():
        dark, light = sorted((_luminance(ground), _luminance(ink)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, ground  # contrast that WCAG 2 asks of text


@pytest.mark.slow
def test_command_writes_the_page_and_leaves_json_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.html"
    results = list(reproduced("swartz"))
    monkeypatch.setattr(command, "reproduce", lambda *_: iter(results))
    outputs = []
    for options in (["--html", str(path)], ["--html", str(path), "--json"], ["--json"]):
        assert main(["reproduce", "swartz", *options]) == 0
        outputs.append((capsys.readouterr().out, path.read_bytes()))
    assert f"wrote {path}" in outputs[0][0]
    assert outputs[1] == outputs[2], "the same input gives the same bytes"
    assert json.loads(outputs[2][0])["results"]
    assert list(tmp_path.iterdir()) == [path], "no temporary file is left"


@pytest.mark.slow
def test_command_puts_figures_in_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    from forearm.plots.figure import new_figure

    monkeypatch.setitem(command.DRAWN, "swartz", lambda: {"drawn": new_figure(1.0, 1.0)})
    path = tmp_path / "page.html"
    assert main(["reproduce", "swartz", "--html", str(path)]) == 0
    assert "img" not in Read(path.read_text(encoding="utf-8")).tags
    assert main(["reproduce", "swartz", "--html", str(path), "--with-figures"]) == 0
    (picture,) = [a for a in Read(path.read_text(encoding="utf-8")).addresses if a.startswith("data:")]
    assert base64.b64decode(picture.partition(",")[2]).startswith(b"\x89PNG\r\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--with-figures"], "give --html FILE too"),
        (["--html", "page.txt"], "a page ends in .html or .htm"),
        (["--html", "nowhere/page.html"], "there is no folder"),
        (["--html", ""], "--html: expected a value, got ''"),
        (["--html", "."], "--html .: a page ends in .html or .htm."),
        (["--figures", __file__], f"--figures {__file__}: a file, not a folder; name a folder."),
    ],
)
def test_refused_before_anything_is_computed(
    options: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "reproduce", lambda *_: pytest.fail("computed"))
    assert main(["reproduce", "swartz", *options]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert list(tmp_path.iterdir()) == []
