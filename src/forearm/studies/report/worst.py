"""The worst rows of each figure, failed rows, and how to reproduce them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from forearm.spatial import Floats
from forearm.studies.report.columns import Places, StudyColumns, digits_of, finite, varies, worst_places
from forearm.studies.report.markup import Heading, grouped, row_command, rows_said, table, value
from forearm.studies.report.source import ReportFigure, label, title_of

MOST_FAILED = 10


@dataclass(frozen=True, eq=False)
class WorstRows:
    """Indices of the worst rows of each figure by name; the first rows with a failed figure; and the number
    of failed rows.
    """

    by_figure: dict[str, Places]
    failed: Places
    failed_count: int

    @property
    def places(self) -> Places:
        """All of them, each once, in order."""
        return np.unique(np.concatenate([self.failed, *self.by_figure.values()]).astype(np.intp))

    def simulated(self, most: int) -> Places:
        """Rows with embedded simulations, up to a number: the first failed, the worst of each figure, the
        second of each, and so on.
        """
        deepest = max((len(places) for places in self.by_figure.values()), default=0)
        ranked = [places[k] for k in range(deepest) for places in self.by_figure.values() if k < len(places)]
        chosen = dict.fromkeys([*self.failed[:1], *ranked, *self.failed[1:]])
        return np.unique(np.array([*chosen][:most], dtype=np.intp))


def worst_rows(columns: StudyColumns, most: int) -> WorstRows:
    """Find them; a constant figure has no worst row.

    Args:
        columns: of the study.
        most: rows per figure.
    """
    failed = np.zeros(columns.done, dtype=bool)
    by_figure = {}
    for figure in columns.source.figures:
        values = columns.floats(figure.name)
        failed |= ~np.isfinite(values)
        shown = most if columns.done == 1 or varies(finite(values)) else 0
        by_figure[figure.name] = _worst(columns, values, figure.better, shown)
    places = np.flatnonzero(failed)
    return WorstRows(by_figure, places[:MOST_FAILED], len(places))


def _worst(columns: StudyColumns, values: Floats, better: str, most: int) -> Places:
    """The worst rows; for sobol-indices only the worst row of each base sample, as its rows often hardly
    differ.
    """
    size = len(columns.source.variables) + 2
    if columns.source.design != "sobol-indices":
        return worst_places(values, better, most)
    places = worst_places(values, better, most * size)
    _, first = np.unique(columns.row[places] // size, return_index=True)
    return places[np.sort(first)[:most]]


def worst_section(columns: StudyColumns, worst: WorstRows, has_simulation: Callable[[int], bool]) -> str:
    """A table per figure, and one of failed rows.

    Args:
        columns: of the study.
        worst: the rows.
        has_simulation: tells whether the page of a row number is embedded.
    """
    if not columns.done or not columns.source.figures:
        return ""
    cells = _Cells(columns, worst.places, has_simulation)
    parts = [_table_of(cells, figure, worst) for figure in columns.source.figures]
    if worst.failed_count:
        shown = len(worst.failed)
        first = f", the first {shown}" if shown < worst.failed_count else ""
        rows = [cells.row(place, columns.source.figures) for place in worst.failed.tolist()]
        heading = f"<h3>Failed: {rows_said(worst.failed_count)}{first}</h3>"
        parts.append(heading + table("rows that failed", cells.header(columns.source.figures), rows))
    said = "Only the worst row of each base sample of the design is listed."
    note = f"<p>{said}</p>" if columns.source.design == "sobol-indices" else ""
    return note + '<p id="simulation-note" class="note" role="status"></p>' + "".join(parts)


def _table_of(cells: _Cells, figure: ReportFigure, worst: WorstRows) -> str:
    figures = [figure, *(f for f in cells.columns.source.figures if f is not figure)]
    places = worst.by_figure[figure.name].tolist()
    which = "largest" if figure.better == "less" else "smallest"
    heading = f"<h3>{escape(title_of(figure))} <small>{which} first</small></h3>"
    if not places:
        good = np.isfinite(cells.columns.floats(figure.name)).any()
        why = "The same in all rows." if good else "All rows failed."
        return f"{heading}<p>{why}</p>"
    rows = [cells.row(place, figures) for place in places]
    return heading + table(f"worst rows by {title_of(figure)}", cells.header(figures), rows)


class _Cells:
    """The cells of some rows; each column is read once."""

    def __init__(self, columns: StudyColumns, places: Places, has_simulation: Callable[[int], bool]) -> None:
        self.columns = columns
        self.has_simulation = has_simulation
        self.place = {place: k for k, place in enumerate(places.tolist())}
        self.texts: dict[str, list[str]] = {}
        for figure in columns.source.figures:
            self.texts[figure.name] = _numbers(columns.floats(figure.name), places)
        for variable in columns.source.variables:
            if variable.is_numeric:
                self.texts[variable.name] = _numbers(columns.floats(variable.name), places)
            else:
                levels = columns.levels(variable.name)
                self.texts[variable.name] = [escape(levels.names[code]) for code in levels.codes[places]]

    def header(self, figures: Sequence[ReportFigure]) -> list[Heading]:
        """Titles of the columns; the first figure is the subject of the table."""
        names = [label(title_of(figure), figure.unit) for figure in figures]
        header = [("row", "number"), ("see it", ""), *((name, "number") for name in names)]
        header[2] = (header[2][0], "number chosen")
        for variable in self.columns.source.variables:
            kind = "number variable" if variable.is_numeric else "variable"
            header.append((label(variable.name, variable.unit), kind))
        return [*header, ("command", "")]

    def row(self, place: int, figures: Sequence[ReportFigure]) -> list[str]:
        """The cells of one row."""
        k, number = self.place[place], int(self.columns.row[place])
        command = row_command(self.columns.source.command, number)
        names = [*(figure.name for figure in figures), *(v.name for v in self.columns.source.variables)]
        return [
            str(number),
            self._buttons(number, command),
            *(self.texts[name][k] for name in names),
            f'<code class="command">{escape(command)}</code>',
        ]

    def _buttons(self, number: int, command: str) -> str:
        copy = (
            f'<button type="button" data-copy="{escape(command)}" aria-label="copy the command of row '
            f'{number}">copy command</button>'
        )
        if not self.has_simulation(number):
            return f'<span class="buttons">{copy}</span>'
        show = (
            f'<button type="button" data-simulation="{number}" aria-label="simulation of row {number} in a '
            'new tab">simulation</button>'
        )
        return f'<span class="buttons">{show}{copy}</span>'


def _numbers(values: Floats, places: Places) -> list[str]:
    digits = digits_of(values)
    return [value(float(x), digits) for x in values[places]]


def failed_said(worst: WorstRows, done: int) -> str:
    """The number of failed rows in words; empty if none.

    Args:
        worst: the rows.
        done: number of computed rows.
    """
    if not worst.failed_count:
        return ""
    return f"{grouped(worst.failed_count)} of {rows_said(done)} have a figure that is not a finite number."
