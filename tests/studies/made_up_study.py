"""Results of a study that are made up, for tests of its report."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.studies.report.source import ReportFigure, ReportVariable

HOSTILE = "</script><b>&amp;\"'"
MOST_BYTES = 2_500_000  # of a page, whatever the study
ROUNDED = 2e-7  # relative: embedded columns are floats of 32 bits


@dataclass(frozen=True, eq=False)
class FakeStudy:
    """Results that are made up."""

    columns: dict[str, NDArray[Any]]
    variables: Sequence[ReportVariable] = ()
    figures: Sequence[ReportFigure] = ()
    name: str = "made up"
    facts: Sequence[tuple[str, str]] = (("arm", "none"),)
    design: str = "random"
    command: str = "forearm sweep study.toml -o 'my results'"
    more_rows: int = 0
    read: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return len(self.columns["row"]) + self.more_rows

    def column(self, name: str, /) -> NDArray[Any]:
        self.read.append(name)
        return self.columns[name]


def study(rows: int = 300, prefix: str = "", seed: int = 4) -> FakeStudy:
    """Three variables, one of them words; figures: a plain one, one over decades, one that more is better of,
    one that is constant; some rows failed.
    """
    random = np.random.default_rng(seed)
    mass, gain = random.uniform(0.5, 4.0, rows), random.normal(0.0, 1.3, rows)
    law = random.choice([f"{prefix}slow", f"{prefix}fast", f"{prefix}none"], rows, p=[0.2, 0.7, 0.1])
    error = 10.0 ** random.uniform(-5.0, 2.0, rows)
    torque = 3.0 + 2.0 * mass + random.normal(0.0, 0.5, rows)
    margin = 50.0 - 5.0 * mass + 3.0 * np.log10(error) + random.normal(0.0, 2.0, rows)
    torque[7::41], margin[7::41], error[9::53] = np.nan, np.inf, np.nan
    columns = {"row": 10 * np.arange(rows) + 3, "mass": mass, "gain": gain, "law": law.astype(object)}
    columns |= {"torque": torque, "error": error, "margin": margin, "fixed": np.full(rows, 2.5)}
    variables = [
        ReportVariable("mass", "kg"),
        ReportVariable("gain"),
        ReportVariable("law", is_numeric=False),
    ]
    figures = [
        ReportFigure("torque", "N m", f"{prefix}peak torque"),
        ReportFigure("error", "m"),
        ReportFigure("margin", "%", better="more"),
        ReportFigure("fixed"),
    ]
    return FakeStudy(columns, variables, figures, f"{prefix}made up", more_rows=20)


def document_in(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="study">(.*?)</script>', page, flags=re.S)
    assert found is not None
    document: dict[str, Any] = json.loads(found[1])
    return document


def numbers_of(column: dict[str, Any]) -> NDArray[np.float64]:
    """A column as the page's script reads it."""
    data = np.frombuffer(base64.b64decode(column["data"]), "<f4").astype(np.float64)
    return data + float(column["base"])


class Outline(HTMLParser):
    """Checks that elements close in order, and collects text by table and attributes."""

    VOID = frozenset({"meta", "br", "link", "img", "input"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def with_attribute(self, name: str) -> list[str]:
        return [
            value or "" for _, attributes in self.tags for key, value in attributes.items() if key == name
        ]


def cells_of(page: str, label: str) -> list[list[str]]:
    """The body of the table of that label, as text."""
    found = re.search(rf'aria-label="{re.escape(label)}"><table>.*?<tbody>(.*?)</tbody>', page, flags=re.S)
    assert found is not None, label
    rows = re.findall(r"<tr>(.*?)</tr>", found[1], flags=re.S)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.S) for row in rows]
    return [[html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in row] for row in cells]
