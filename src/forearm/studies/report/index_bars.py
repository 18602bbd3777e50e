"""Bars of Sobol' indices with their confidence intervals, as inline SVG."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from forearm.spatial import Floats
from forearm.studies.report.markup import shortened
from forearm.svg import Scale

if TYPE_CHECKING:
    from forearm.studies.sensitivity import SobolIndices

MOST_BARS = 20
WIDE, NAMES, VALUES, TOP, ROW = 460.0, 172.0, 92.0, 8.0, 26.0
LONGEST = 24  # characters of a name
LOWEST, HIGHEST = -0.1, 1.1  # largest extent of an axis
FAR = 100.0  # an estimate from too few samples


def index_bars(names: list[str], found: SobolIndices, title: str) -> str:
    """First-order and total indices of a figure, the largest total first.

    Args:
        names: of the variables, (d,).
        found: the indices.
        title: of the figure.
    """
    sizes = np.where(np.isfinite(found.total), np.clip(found.total, -FAR, FAR), -np.inf)
    order = np.argsort(-np.round(sizes, 6), kind="stable").tolist()
    shown = order[:MOST_BARS]
    across = Scale(*_ends(found), NAMES, WIDE - VALUES)
    height = TOP + ROW * len(shown) + 22.0
    parts = _grid(across, height)
    for place, k in enumerate(shown):
        parts += _variable(names[k], found, k, across, TOP + ROW * place)
    said = f"Sobol' indices of {title}; the largest total is that of {names[order[0]]}"
    more = f"<small>{_rest(found, order)}</small>" if len(order) > len(shown) else ""
    return (
        f'<svg viewBox="0 0 {WIDE:g} {height:g}" role="img" aria-label="{escape(said)}">{"".join(parts)}'
        f"</svg>{more}"
    )


def _ends(found: SobolIndices) -> tuple[float, float]:
    limits = np.concatenate([found.first_interval.ravel(), found.total_interval.ravel()])
    limits = limits[np.isfinite(limits)]
    low = max(LOWEST, min(0.0, float(limits.min(initial=0.0))))
    return low, min(HIGHEST, max(0.2, float(limits.max(initial=0.0))))


def _grid(across: Scale, height: float) -> list[str]:
    parts = []
    for tick in across.ticks(5):
        x = _at(across, tick)
        kind = "zero" if tick == 0.0 else "grid"
        parts.append(f'<line class="{kind}" x1="{x}" x2="{x}" y1="{TOP:g}" y2="{height - 18:g}"/>')
        parts.append(f'<text x="{x}" y="{height - 4:g}" text-anchor="middle">{tick:g}</text>')
    return parts


def _variable(name: str, found: SobolIndices, k: int, across: Scale, top: float) -> list[str]:
    """A name, two bars with whiskers, and both values."""
    said = escape(shortened(name, LONGEST))
    text = f'<text x="{NAMES - 8:g}" y="{top + 16:g}" text-anchor="end">{said}</text>'
    first, total = float(found.first[k]), float(found.total[k])
    numbers = f"{_number(first)} / {_number(total)}"
    parts = [text, f'<text x="{WIDE - VALUES + 8:g}" y="{top + 16:g}">{numbers}</text>']
    for kind, index, interval, y in (
        ("first", first, found.first_interval[k], top + 4.0),
        ("total", total, found.total_interval[k], top + 13.0),
    ):
        parts += _bar(kind, index, interval, across, y)
    return parts


def _bar(kind: str, index: float, interval: Floats, across: Scale, y: float) -> list[str]:
    if not math.isfinite(index):
        return []
    a, b = sorted((float(across(np.array(0.0))), float(_at(across, index))))
    parts = [f'<rect class="{kind}" x="{a:.1f}" y="{y:g}" width="{b - a:.1f}" height="8"/>']
    if np.isfinite(interval).all():
        low, high = (_at(across, float(x)) for x in interval)
        parts.append(f'<path class="whisker" d="M{low},{y + 4:g} H{high}"/>')
    return parts


def _at(across: Scale, x: float) -> str:
    """Its position on the axis, clipped to the ends."""
    return f"{float(across(np.array(min(max(x, across.low), across.high)))):.1f}"


def _number(x: float) -> str:
    if not math.isfinite(x):
        return "-"
    return f"{x:.2f}".replace("-0.00", "0.00") if abs(x) < FAR else f"{x:.0e}"


def _rest(found: SobolIndices, order: list[int]) -> str:
    left = order[MOST_BARS:]
    largest = float(np.nan_to_num(found.total[left], nan=0.0).max())
    return f"The other {len(left)} variables have totals of at most {_number(largest)}."
