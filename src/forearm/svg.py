"""Charts and drawings as inline SVG for pages, with the colours of their style sheet."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from forearm.charts import Band, Bars, Chart, Curve, CurveLook, Mark, PointLabel, Rule, span, thinned
from forearm.palette import COLOURS, DASHES, ON_DARK, PAGE
from forearm.spatial import Floats

WIDTH = 1.7  # of a curve
LEFT, RIGHT, TOP, BOTTOM = 52.0, 12.0, 10.0, 36.0
INKS = {f"curve{k}": colour for k, colour in enumerate(COLOURS)}
INKS_ON_DARK = {f"curve{k}": colour for k, colour in enumerate(ON_DARK)}


@dataclass(frozen=True)
class Scale:
    """From a quantity to places on the paper: low and high, and where these lie."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, x: Floats) -> Floats:
        """Positions of values."""
        placed: Floats = self.start + (np.asarray(x) - self.low) / (self.high - self.low) * (
            self.end - self.start
        )
        return placed

    def ticks(self, most: int) -> list[float]:
        """Round numbers within, at most so many."""
        step = round_step((self.high - self.low) / most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def round_step(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= least * (1.0 - 1e-9))


@dataclass(frozen=True)
class Drawing:
    """A drawing of curves with its axes.

    Attributes:
        width, height: of the paper.
        x, y: (low, high) of both axes.
        label_x, label_y: what is along them.
    """

    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]
    label_x: str
    label_y: str

    @property
    def across(self) -> Scale:
        """From x to the paper."""
        return Scale(*self.x, LEFT, self.width - RIGHT)

    @property
    def up(self) -> Scale:
        """From y to the paper."""
        return Scale(*self.y, self.height - BOTTOM, TOP)

    def curve(self, x: Floats, y: Floats, kind: str) -> str:
        """A curve with a class of the style sheet; NaN breaks it."""
        return f'<path class="{kind}" d="{outline(self.across(x), self.up(y))}"/>'

    def mark(self, x: float, y: float, kind: str) -> str:
        """A dot."""
        at = f'cx="{float(self.across(np.array(x))):.1f}" cy="{float(self.up(np.array(y))):.1f}"'
        return f'<circle class="{kind}" {at} r="5"/>'

    def text(self, said: str, inside: Sequence[str]) -> str:
        """The element: axes and contents; `said` is its label for screen readers."""
        label = html.escape(said)
        size = f'viewBox="0 0 {self.width:g} {self.height:g}"'
        return "\n".join([f'<svg {size} role="img" aria-label="{label}">', *self._axes(), *inside, "</svg>"])

    def _axes(self) -> list[str]:
        lines, bottom = [], self.height - BOTTOM
        for tick in self.up.ticks(5):
            y = float(self.up(np.array(tick)))
            kind = "zero" if tick == 0.0 else "grid"
            lines.append(
                f'<line class="{kind}" x1="{LEFT:g}" x2="{self.width - RIGHT:g}" y1="{y:.1f}" y2="{y:.1f}"/>'
            )
            lines.append(f'<text x="{LEFT - 6:g}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
        for tick in self.across.ticks(7):
            x = float(self.across(np.array(tick)))
            lines.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP:g}" y2="{bottom:g}"/>')
            lines.append(f'<text x="{x:.1f}" y="{bottom + 15:g}" text-anchor="middle">{tick:g}</text>')
        middle = (LEFT + self.width - RIGHT) / 2
        along, beside = html.escape(self.label_x), html.escape(self.label_y)
        lines.append(f'<text x="{middle:g}" y="{self.height - 4:g}" text-anchor="middle">{along}</text>')
        half = (TOP + bottom) / 2
        turned = f'transform="rotate(-90 12 {half:g})"'
        lines.append(f'<text x="12" y="{half:g}" text-anchor="middle" {turned}>{beside}</text>')
        return lines


def outline(x: Floats, y: Floats) -> str:
    """A polyline as the data of a path; NaN breaks it."""
    parts, pen = [], "M"
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if math.isnan(a) or math.isnan(b):
            pen = "M"
            continue
        parts.append(f"{pen}{a:.1f},{b:.1f}")
        pen = "L" if pen == "M" else ""
    return " ".join(parts)


def chart_svg(chart: Chart, said: str, size: tuple[float, float] = (560.0, 240.0), points: int = 400) -> str:
    """The element of a chart; `said` is its label for screen readers.

    Args:
        chart: with linear axes.
        said: what it shows.
        size: width and height of the paper.
        points: of a curve, at most about so many are drawn.
    """
    x, y = (np.concatenate([np.zeros(0), *_values(chart, axis)]) for axis in "xy")
    ends = (float(np.nanmin(x)), float(np.nanmax(x))) if chart.x_range is None else chart.x_range
    drawing = Drawing(*size, ends, chart.y_range or span(y), chart.x, chart.y)
    return drawing.text(said, [_drawn(drawing, mark, points) for mark in chart.marks])


def key(chart: Chart, *more: str) -> str:
    """The legend of a chart: its named marks, each once, and further entries."""
    named = {mark.name: mark for mark in chart.marks if isinstance(mark, Curve | Band) and mark.name}
    entries = (key_entry(name, mark) for name, mark in named.items())
    return f'<ul class="key">{"".join((*entries, *more))}</ul>'


def key_entry(name: str, mark: Curve | Band) -> str:
    """An entry of a legend."""
    if isinstance(mark, Band):
        shape = f'<rect width="34" height="10" {_filled(mark.colour, mark.opacity)}/>'
    elif mark.look.joined:
        shape = f'<path d="M0,5 L34,5" {_stroked(mark.look)}/>'
    else:
        shape = f'<circle cx="17" cy="5" r="4.5" {_filled(mark.look.colour)}/>'
    return f'<li><svg viewBox="0 0 34 10">{shape}</svg>{html.escape(name)}</li>'


def _values(chart: Chart, axis: str) -> Iterator[Floats]:
    """What its axis must contain."""
    for mark in chart.marks:
        if isinstance(mark, Rule):
            yield np.array([mark.at] if mark.along == axis else [])
        elif isinstance(mark, Bars):
            yield mark.edges if axis == "x" else mark.heights
        elif isinstance(mark, Band) and axis == "y":
            yield np.concatenate([mark.low, mark.high])
        else:
            yield np.atleast_1d(getattr(mark, axis))


def _drawn(drawing: Drawing, mark: Mark, points: int) -> str:
    match mark:
        case Band():
            there = outline(drawing.across(mark.x), drawing.up(mark.low))
            back = outline(drawing.across(mark.x[::-1]), drawing.up(mark.high[::-1]))
            return f'<path d="{there} L{back[1:]} Z" {_filled(mark.colour, mark.opacity)}/>'
        case Bars():
            return f'<path d="{_outlined(drawing, mark)}" {_filled(mark.colour, 0.75)}/>'
        case Rule():
            at = np.full(2, mark.at)
            if mark.along == "x":
                return _line(drawing, at, np.array(drawing.y), mark.look)
            return _line(drawing, np.array(drawing.x), at, mark.look)
        case PointLabel():
            at_x, at_y = float(drawing.across(np.array(mark.x))), float(drawing.up(np.array(mark.y)))
            return f'<text x="{at_x + 6:.1f}" y="{at_y - 6:.1f}">{html.escape(mark.text)}</text>'
    if mark.look.joined:
        x, y = thinned(mark.x, mark.y, points)
        return _line(drawing, x, y, mark.look)
    places = zip(drawing.across(mark.x).tolist(), drawing.up(mark.y).tolist(), strict=True)
    dot = f'r="{0.6 * mark.look.size:g}" {_filled(mark.look.colour)}'
    return "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" {dot}/>' for x, y in places)


def _line(drawing: Drawing, x: Floats, y: Floats, look: CurveLook) -> str:
    return f'<path d="{outline(drawing.across(x), drawing.up(y))}" {_stroked(look)}/>'


def _outlined(drawing: Drawing, bars: Bars) -> str:
    """All bars as one path."""
    x, y = drawing.across(bars.edges), drawing.up(bars.heights)
    floor = float(drawing.up(np.array(0.0)))
    return " ".join(
        f"M{a:.1f},{floor:.1f} V{top:.1f} H{b:.1f} V{floor:.1f} Z"
        for a, b, top in zip(x[:-1].tolist(), x[1:].tolist(), y.tolist(), strict=True)
        if top < floor
    )


def _stroked(look: CurveLook) -> str:
    dashes = " ".join(f"{2.0 * length:g}" for length in DASHES[look.dash]) or "none"
    width = f"{WIDTH * look.width:g}"
    return f'style="stroke: {_ink(look.colour)}; stroke-width: {width}; stroke-dasharray: {dashes}"'


def _filled(colour: int | str, opacity: float = 1.0) -> str:
    return f'style="fill: {_ink(colour)}; fill-opacity: {opacity:g}; stroke: none"'


def _ink(colour: int | str) -> str:
    """A colour of the style sheet; where there is none, that of paper."""
    if isinstance(colour, str):
        return f"var(--{colour}, {PAGE[colour]})"
    return f"var(--curve{colour}, {COLOURS[colour]})"
