"""Sensitivities of the figures: Sobol' indices if the design allows, otherwise rank correlations."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.studies.report.columns import StudyColumns, spread_sample
from forearm.studies.report.index_bars import index_bars
from forearm.studies.report.markup import grouped, paragraph, rows_said, table
from forearm.studies.report.source import ReportFigure, label, title_of

if TYPE_CHECKING:
    from forearm.studies.sensitivity import SobolIndices

MOST_ROWS = 50_000  # ranked rows: enough for two digits of a correlation
FEWEST_ROWS = 4  # fewest rows for which a correlation is printed


@dataclass(frozen=True)
class Sensitivities:
    """The section as HTML, and the importance of each variable for some figure, from 0 to 1."""

    html: str = ""
    importance: dict[str, float] = field(default_factory=dict)


def sensitivities(columns: StudyColumns) -> Sensitivities:
    """Indices or correlations, depending on the design."""
    source = columns.source
    if not columns.done or not source.figures or not source.variables:
        return Sensitivities()
    return _indices(columns) if source.design == "sobol-indices" else _correlations(columns)


# ------------------------------------------------------------------------------------------- Sobol' indices


def _indices(columns: StudyColumns) -> Sensitivities:
    names = [variable.name for variable in columns.source.variables]
    importance = dict.fromkeys(names, 0.0)
    panels, dropped = [], 0
    for figure in columns.source.figures:
        try:
            found = _indices_of(columns, figure)
        except InputError as error:
            return Sensitivities(paragraph(f"Sobol' indices cannot be computed: {error}"), importance)
        panels.append(_panel(figure, names, found))
        dropped = max(dropped, found.dropped)
        for name, total in zip(names, found.total.tolist(), strict=True):
            importance[name] = max(importance[name], total if math.isfinite(total) else 0.0)
    left_out = (
        f" Up to {grouped(dropped)} base samples of a figure are excluded because one of their rows failed "
        "or is not computed yet."
        if dropped
        else ""
    )
    key = (
        '<ul class="key"><li><span class="first"></span>first order</li><li><span class="total"></span>total'
        '</li><li><span class="whisker"></span>95 % interval, by bootstrap</li></ul>'
    )
    text = (
        "Fractions of a figure's variance over the ranges of the study. First order: explained by the "
        "variable alone. Total: including all its interactions; a total near 0 means that the variable can "
        "be fixed. Estimates may lie slightly outside 0 to 1; drawings end at -0.1 and 1.1." + left_out
    )
    return Sensitivities(f'{paragraph(text)}{key}<div class="panels">{"".join(panels)}</div>', importance)


def _indices_of(columns: StudyColumns, figure: ReportFigure) -> SobolIndices:
    from forearm.studies.sensitivity import sobol_indices  # imported on use: only this design needs it

    source = columns.source
    values = np.full(source.rows, np.nan)  # rows not yet computed are dropped like failed ones
    values[columns.row] = columns.floats(figure.name)
    return sobol_indices(values, len(source.variables))


def _panel(figure: ReportFigure, names: list[str], found: SobolIndices) -> str:
    caption = f"<figcaption>{escape(title_of(figure))}</figcaption>"
    if not np.isfinite(found.total).any():
        why = "does not vary" if found.samples else "has no base sample without failed rows"
        return f"<figure>{caption}<p>No indices: the figure {why}.</p></figure>"
    return f"<figure>{caption}{index_bars(names, found, title_of(figure))}</figure>"


# ---------------------------------------------------------------------------------------- rank correlations


def _correlations(columns: StudyColumns) -> Sensitivities:
    source = columns.source
    numeric = [variable for variable in source.variables if variable.is_numeric]
    if not numeric:
        return Sensitivities()
    places = spread_sample(columns.done, MOST_ROWS)
    inputs = np.stack([columns.floats(variable.name)[places] for variable in numeric], axis=1)
    found = np.stack([_ranked(inputs, columns.floats(f.name)[places]) for f in source.figures], axis=1)
    strongest = np.max(np.where(np.isfinite(found), np.abs(found), 0.0), axis=1)
    order = np.argsort(-np.round(strongest, 6), kind="stable").tolist()
    counts = [np.isfinite(columns.floats(figure.name)[places]).sum() for figure in source.figures]
    doubts = [2.0 / math.sqrt(max(int(count), 1)) for count in counts]
    header = [("variable", ""), *((title_of(figure), "heat") for figure in source.figures)]
    rows = [
        [escape(label(numeric[k].name, numeric[k].unit)), *map(_cell, found[k].tolist(), doubts)]
        for k in order
    ]
    importance = {variable.name: float(x) for variable, x in zip(numeric, strongest, strict=True)}
    said = "Spearman's rank correlations of variables with figures"
    sampled = f" of a sample of {rows_said(len(places))}" if len(places) < columns.done else ""
    text = (
        f"Spearman's rank correlation{sampled}, the strongest variable first: +1 if the figure always "
        "increases with the variable, -1 if it always decreases. It shows monotonic trends of one "
        "variable at a time; a value near 0 does not exclude a minimum inside the range or an "
        f"interaction. Grey: within {_between(doubts)} of 0, which is not significant."
    )
    return Sensitivities(paragraph(text) + table(said, header, rows), importance)


def _ranked(inputs: Floats, values: Floats) -> Floats:
    from forearm.studies.sensitivity import rank_correlations  # imported on use, as above

    if np.isfinite(values).sum() < FEWEST_ROWS:
        return np.full(inputs.shape[1], np.nan)
    return rank_correlations(inputs, values)


def _between(doubts: list[float]) -> str:
    """The common bound, or its range if figures have different numbers of rows."""
    low, high = f"{min(doubts):.2g}", f"{max(doubts):.2g}"
    return low if low == high else f"{low} to {high} (depending on the figure's valid rows)"


def _cell(x: float, doubt: float) -> str:
    """A correlation on a background of its sign and size."""
    if not math.isfinite(x):
        return '<span class="heat weak">-</span>'
    text = f"{x:+.2f}"
    if abs(x) < doubt or text in ("+0.00", "-0.00"):
        return f'<span class="heat weak">{text}</span>'
    side = "rises" if x > 0.0 else "falls"
    return f'<span class="heat {side}" style="--share:{100.0 * abs(x):.0f}%">{text}</span>'
