"""Facts of a study, and statistics of each figure of merit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

import numpy as np

from forearm.spatial import Floats
from forearm.studies.report.columns import StudyColumns, digits_of, finite
from forearm.studies.report.markup import DIGITS, grouped, table, value
from forearm.studies.report.source import title_of

QUANTILES = (0.0, 0.05, 0.5, 0.95, 1.0)


@dataclass(frozen=True)
class FigureStatistics:
    """Statistics of a figure over the rows that did not fail; std is the sample standard deviation."""

    mean: float
    std: float
    least: float
    low: float
    median: float
    high: float
    most: float
    failed: int


def statistics(values: Floats) -> FigureStatistics:
    """Mean, standard deviation and quantiles of the finite values, and the number of others."""
    good = finite(values)
    failed = len(values) - len(good)
    if not len(good):
        none = math.nan
        return FigureStatistics(none, none, none, none, none, none, none, failed)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(good.mean())
        std = float(good.std(ddof=1)) if len(good) > 1 else math.nan
        least, low, median, high, most = (float(x) for x in np.quantile(good, QUANTILES))
    return FigureStatistics(mean, std, least, low, median, high, most, failed)


def facts_table(columns: StudyColumns) -> str:
    """Properties and progress of the study."""
    source = columns.source
    facts = [*source.facts, ("rows computed", f"{grouped(columns.done)} of {grouped(source.rows)}")]
    lines = "".join(f'<tr><th scope="row">{escape(k)}</th><td>{escape(v)}</td></tr>' for k, v in facts)
    return f'<div class="wide"><table class="facts"><tbody>{lines}</tbody></table></div>'


def figures_table(columns: StudyColumns) -> str:
    """One row per figure: its statistics."""
    words = ["mean", "std", "min", "5 %", "median", "95 %", "max", "failed"]
    header = [("figure", ""), ("unit", ""), ("better", ""), *((word, "number") for word in words)]
    rows = []
    for figure in columns.source.figures:
        values = columns.floats(figure.name)
        s, digits = statistics(values), digits_of(values)
        cells = [_cell(s.mean, digits), _cell(s.std, DIGITS)]
        cells += [_cell(x, digits) for x in (s.least, s.low, s.median, s.high, s.most)]
        failed = f"<b>{grouped(s.failed)}</b>" if s.failed else "0"
        name = escape(title_of(figure))
        name += f" <small>{escape(figure.name)}</small>" if figure.name != title_of(figure) else ""
        rows.append([name, escape(figure.unit), figure.better, *cells, failed])
    return table("statistics of each figure of merit", header, rows) if rows else ""


def _cell(x: float, digits: int) -> str:
    return "-" if math.isnan(x) else value(x, digits)
