"""Facts of a study, and statistics of each figure of merit."""

from __future__ import annotations

import math
from html import escape

import numpy as np

from forearm.spatial import Floats
from forearm.studies.report.columns import StudyColumns, digits_of, finite
from forearm.studies.report.markup import DIGITS, grouped, table, value
from forearm.studies.report.source import title_of

NAMES = ("mean", "std", "min", "5%", "median", "95%", "max")
QUANTILES = (0.0, 0.05, 0.5, 0.95, 1.0)


def statistics(values: Floats) -> dict[str, float]:
    """Mean, standard deviation of the sample and quantiles of the finite values, and the number of others."""
    good = finite(values)
    found = [math.nan] * len(NAMES)
    if len(good):
        with np.errstate(over="ignore", invalid="ignore"):
            std = good.std(ddof=1) if len(good) > 1 else math.nan
            found = [float(x) for x in (good.mean(), std, *np.quantile(good, QUANTILES))]
    return dict(zip(NAMES, found, strict=True)) | {"failed": len(values) - len(good)}


def facts_table(columns: StudyColumns) -> str:
    """Properties and progress of the study."""
    source = columns.source
    facts = [*source.facts, ("rows computed", f"{grouped(columns.done)} of {grouped(source.rows)}")]
    lines = "".join(f'<tr><th scope="row">{escape(k)}</th><td>{escape(v)}</td></tr>' for k, v in facts)
    return f'<div class="wide"><table class="facts"><tbody>{lines}</tbody></table></div>'


def figures_table(columns: StudyColumns) -> str:
    """One row per figure: its statistics."""
    header = [("figure", ""), ("unit", ""), ("better", "")]
    header += [(name.replace("%", " %"), "number") for name in (*NAMES, "failed")]
    rows = []
    for figure in columns.source.figures:
        values = columns.floats(figure.name)
        found, digits = statistics(values), digits_of(values)
        cells = [_cell(found[name], DIGITS if name == "std" else digits) for name in NAMES]
        failed = f"<b>{grouped(int(found['failed']))}</b>" if found["failed"] else "0"
        name = escape(title_of(figure))
        name += f" <small>{escape(figure.name)}</small>" if figure.name != title_of(figure) else ""
        rows.append([name, escape(figure.unit), figure.better, *cells, failed])
    return table("statistics of each figure of merit", header, rows) if rows else ""


def _cell(x: float, digits: int) -> str:
    return "-" if math.isnan(x) else value(x, digits)
