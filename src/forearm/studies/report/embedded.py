"""Rows embedded for the page's scripts: a sample, the fronts and the extremes, as one JSON document."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.spatial import Floats
from forearm.studies.report.columns import Places, StudyColumns, axis_range, spread_sample, worst_places
from forearm.studies.report.markup import command_parts
from forearm.studies.report.pareto import all_fronts, front_figures
from forearm.studies.report.source import ReportFigure, ReportVariable, title_of

MOST_VALUES = 150_000  # values in the page, about 0.8 MB
MOST_SAMPLED = 3000  # rows of a scatter plot besides its front
MOST_LINES = 600  # rows in the parallel coordinates
MOST_ENDS = 10  # worst and best rows of each figure among the lines
MOST_VARIABLES = 24  # of each row are listed
MOST_AXES = 16
MOST_LEVELS, LONGEST_LEVEL = 200, 60
MOST_AXIS_LEVELS = 12  # levels of a text variable with an axis
FLAT = 1e-3  # of the values themselves: a narrower column is stored as differences
LARGEST = 3e38  # range of 32-bit floats


def embedded_rows(columns: StudyColumns, importance: Mapping[str, float], ends: int) -> dict[str, Any]:
    """The document: columns, row numbers, the rows of each plot, fronts, and axes.

    Args:
        columns: of the study.
        importance: weight of each variable; the least important are dropped if there are too many.
        ends: worst and best rows of each figure to draw.
    """
    figures = front_figures(columns)
    variables = _chosen(columns.source.variables, importance, MOST_VARIABLES)
    most = MOST_VALUES // max(len(figures) + len(variables), 1)
    sample = spread_sample(columns.done, min(MOST_SAMPLED, most // 2))
    lines = sample[spread_sample(len(sample), MOST_LINES)]
    extremes = _extremes(columns, figures, min(max(ends, 1), MOST_ENDS))
    fronts = all_fronts(columns, figures)
    room = (most - len(sample) - len(extremes)) // max(len(fronts), 1)
    kept = {pair: front[spread_ends(len(front), room)] for pair, front in fronts.items()}
    places = np.unique(np.concatenate([sample, lines, extremes, *kept.values()]).astype(np.intp))

    def numbers(some: Places) -> list[int]:
        return [int(k) for k in np.searchsorted(places, some)]

    return {
        "rows": columns.row[places].tolist(),
        "done": columns.done,
        "columns": [
            *(_figure_column(columns, figure, places) for figure in figures),
            *(_variable_column(columns, variable, places) for variable in variables),
        ],
        "sample": numbers(sample),
        "lines": numbers(np.union1d(lines, extremes)),
        "extremes": numbers(extremes),
        "fronts": {
            f"{a},{b}": {"count": len(fronts[a, b]), "rows": numbers(some)} for (a, b), some in kept.items()
        },
        "axes": _axes(columns, figures, variables, importance),
        "command": command_parts(columns.source.command),
    }


def spread_ends(count: int, most: int) -> Places:
    """At most so many of `count` indices, evenly spread, both ends included.

    Args:
        count: number of indices.
        most: largest number to take; at least two are taken.
    """
    if count <= max(most, 2):
        return np.arange(count)
    return np.unique(np.round(np.linspace(0, count - 1, max(most, 2))).astype(np.intp))


def script_json(document: Mapping[str, Any]) -> str:
    """JSON that is safe inside a script element, whatever names it contains."""
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _chosen(
    variables: Sequence[ReportVariable], importance: Mapping[str, float], most: int
) -> list[ReportVariable]:
    """The most important variables, in the study's order; non-numeric ones come before others."""
    order = sorted(
        range(len(variables)),
        key=lambda k: (variables[k].is_numeric, -round(importance.get(variables[k].name, 0.0), 6)),
    )
    return [variables[k] for k in sorted(order[: max(most, 0)])]


def _axes(
    columns: StudyColumns,
    figures: Sequence[ReportFigure],
    variables: Sequence[ReportVariable],
    importance: Mapping[str, float],
) -> list[int]:
    """Columns of the parallel coordinates, variables before figures; text variables with few levels
    included.
    """
    few = [v for v in variables if v.is_numeric or len(columns.levels(v.name).names) <= MOST_AXIS_LEVELS]
    outputs = min(len(figures), max(MOST_AXES // 2, MOST_AXES - len(few)))
    names = {variable.name for variable in _chosen(few, importance, MOST_AXES - outputs)}
    inputs = [len(figures) + k for k, variable in enumerate(variables) if variable.name in names]
    return [*inputs, *range(outputs)]


def _extremes(columns: StudyColumns, figures: Sequence[ReportFigure], most: int) -> Places:
    found = [np.zeros(0, dtype=np.intp)]
    for figure in figures:
        values = columns.floats(figure.name)
        found += [worst_places(values, better, most) for better in ("less", "more")]
    return np.unique(np.concatenate(found))


def _figure_column(columns: StudyColumns, figure: ReportFigure, places: Places) -> dict[str, Any]:
    return _numeric(columns.floats(figure.name), places) | {
        "name": title_of(figure),
        "unit": figure.unit,
        "better": figure.better,
    }


def _variable_column(columns: StudyColumns, variable: ReportVariable, places: Places) -> dict[str, Any]:
    about = {"name": variable.name, "unit": variable.unit}
    if variable.is_numeric:
        return _numeric(columns.floats(variable.name), places) | about
    levels = columns.levels(variable.name)
    names = [_cut(name) for name in levels.names[:MOST_LEVELS]]
    codes = np.minimum(levels.codes[places], MOST_LEVELS)
    most = len(names) - 1  # the first level is the top of an axis; a single one is in the middle
    ends = {"low": most, "high": 0} if most > 0 else {"low": -1, "high": 1}
    return about | ends | {"data": _base64(codes), "base": 0, "log": False, "levels": [*names, "(another)"]}


def _numeric(values: Floats, places: Places) -> dict[str, Any]:
    """A column as 32-bit floats; as differences from its middle if it hardly varies."""
    ends = axis_range(values)
    middle = float(f"{0.5 * ends.low + 0.5 * ends.high:.9g}")
    base = middle if abs(ends.high - ends.low) < FLAT * abs(middle) else 0.0
    own = values[places]
    kept = np.where(np.isfinite(own), np.clip(own - base, -LARGEST, LARGEST), np.nan)
    return {
        "data": _base64(kept),
        "base": base,
        "low": float(f"{ends.low:.9g}"),
        "high": float(f"{ends.high:.9g}"),
        "log": ends.is_log,
    }


def _base64(values: NDArray[Any]) -> str:
    return base64.b64encode(values.astype("<f4").tobytes()).decode("ascii")


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_LEVEL else f"{name[: LONGEST_LEVEL - 3]}..."
