"""Times as bars on a logarithmic axis: ours and the peers', one block per measured quantity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from forearm.plots.figure import BLUE, FILLS, SMALL, WIDE, drawn, new_figure, put_title, save_figure
from forearm.tables import duration

__all__ = ["save_figure", "speed_picture"]

Bar = tuple[str, str | None, float]  # quantity measured, package (None for forearm), s
GAP, HEIGHT = 0.45, 0.21  # gap between blocks, in bars; height of a bar, in inches


@drawn
def speed_picture(groups: Mapping[str, Sequence[Bar]]) -> Any:
    """The matplotlib figure: one panel per group, each placed in the shorter column."""
    columns: list[dict[str, Sequence[Bar]]] = [{} for _ in range(min(2, len(groups)))]
    for title, bars in groups.items():
        min(columns, key=_height)[title] = bars
    figure = new_figure(0.5 * WIDE * len(columns), HEIGHT * max(map(_height, columns)))
    parts = figure.subfigures(1, len(columns), squeeze=False)[0]
    for part, column in zip(parts, columns, strict=True):
        panels = part.subplots(
            len(column), 1, squeeze=False, height_ratios=[_height({t: column[t]}) for t in column]
        )[:, 0]
        for axes, (title, bars) in zip(panels, column.items(), strict=True):
            _draw(axes, title, bars)
    return figure


def _height(column: Mapping[str, Sequence[Bar]]) -> float:
    """Height of stacked panels, in bars, with their titles and axes."""
    return sum(_places(bars)[-1] + 5.0 for bars in column.values())


def _places(bars: Sequence[Bar]) -> list[float]:
    """Vertical positions of the bars: one apart, more between blocks."""
    places = [0.0]
    for before, bar in pairwise(bars):
        places.append(places[-1] + 1.0 + (GAP if bar[0] != before[0] else 0.0))
    return places


def _draw(axes: Any, title: str, bars: Sequence[Bar]) -> None:
    places = _places(bars)
    seconds = [bar[2] for bar in bars]
    axes.barh(places, seconds, height=0.82, color=[BLUE if who is None else FILLS[1] for _, who, _ in bars])
    axes.set_yticks(places, [what if who is None else who for what, who, _ in bars])
    for label, (_, who, _) in zip(axes.get_yticklabels(), bars, strict=True):
        label.set_fontweight("bold" if who is None else "normal")
    for place, value in zip(places, seconds, strict=True):
        axes.text(value * 1.06, place, duration(value), va="center", fontsize=SMALL)
    axes.set_ylim(places[-1] + 0.8, -0.8)
    put_title(axes, f"{title} (bold and dark: forearm)")
    axes.grid(visible=False, axis="y")
    least, most = 0.4 * min(seconds), 4.0 * max(seconds)  # room for the number at the end of the longest bar
    axes.set_xscale("log")
    axes.set_xlim(least, most)
    axes.set_xlabel("median time, units at the ticks (logarithmic)")
    ticks = [10.0**k for k in range(-10, 4) if least <= 10.0**k <= most]
    axes.set_xticks(ticks, [duration(t) for t in ticks])
    axes.minorticks_off()
