"""Curves as inline SVG for pages; their colours come from the page's style sheet."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forearm.palette import COLOURS, DASHES, ON_DARK
from forearm.spatial import Floats

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

    def area(self, x: Floats, low: Floats, high: Floats, kind: str) -> str:
        """The area between two curves."""
        there, back = (
            outline(self.across(x), self.up(low)),
            outline(self.across(x[::-1]), self.up(high[::-1])),
        )
        return f'<path class="{kind}" d="{there} L{back[1:]} Z"/>'

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


def look_of(k: int) -> str:
    """The classes of the k-th of several curves, as `curve_rules` has them."""
    return f"c{k % len(COLOURS)} d{k % len(DASHES)}"


def curve_rules() -> str:
    """CSS for the classes of `look_of`: the colours and dashes of pictures."""
    colours = [f".c{k} {{ stroke: var(--curve{k}); }}" for k in range(len(COLOURS))]
    dashes = [
        f".d{k} {{ stroke-dasharray: {' '.join(f'{2.0 * length:g}' for length in lengths)}; }}"
        for k, lengths in enumerate(DASHES)
        if lengths
    ]
    return "\n".join([*colours, *dashes])
