"""Pareto fronts of two figures, over all rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.spatial import Floats
from forearm.studies.report.columns import Places, StudyColumns
from forearm.studies.report.source import ReportFigure

MOST_FIGURES = 12  # selectable figures: 66 pairs


def cost_of(values: Floats, better: str) -> Floats:
    """A figure as a cost, inf if failed.

    Args:
        values: the figure, (rows,).
        better: "less" or "more".
    """
    cost = values if better == "less" else -values
    return np.where(np.isfinite(cost), cost, np.inf)


def pareto_front(first: Floats, second: Floats, order: NDArray[np.intp] | None = None) -> Places:
    """Rows that no other row dominates, smallest first cost first; of rows with equal costs the first. Costs
    are (rows,), inf if failed; `order` sorts by the first.

    A row is on the front if its second cost is below those of all earlier rows, and no later row of the same
    first cost is on it.
    """
    order = np.argsort(first, kind="stable") if order is None else order
    costs = second[order]
    before = np.full(len(costs), np.inf)
    before[1:] = np.minimum.accumulate(costs[:-1])
    on = order[costs < before]
    on = on[np.isfinite(first[on])]
    last = np.ones(len(on), dtype=bool)
    last[:-1] = first[on][1:] != first[on][:-1]
    return on[last]


def front_figures(columns: StudyColumns) -> list[ReportFigure]:
    """Figures with fronts: those with finite values, at most MOST_FIGURES."""
    good = [f for f in columns.source.figures if np.isfinite(columns.floats(f.name)).any()]
    return good[:MOST_FIGURES]


def all_fronts(columns: StudyColumns, figures: list[ReportFigure]) -> dict[tuple[int, int], Places]:
    """The front of every pair of figures, by index; each figure is sorted once.

    Args:
        columns: of the study.
        figures: the ones to pair.
    """
    found: dict[tuple[int, int], Places] = {}
    for a, one in enumerate(figures):
        first = cost_of(columns.floats(one.name), one.better)
        order = np.argsort(first, kind="stable")
        for b, other in enumerate(figures[a + 1 :], a + 1):
            found[a, b] = pareto_front(first, cost_of(columns.floats(other.name), other.better), order)
    return found
