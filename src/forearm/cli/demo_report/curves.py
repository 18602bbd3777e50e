"""Two curves over time as inline SVG, the space between them shaded; colours come from the page's style."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from forearm.spatial import Floats
from forearm.svg import Scale

WIDTH, HEIGHT = 460.0, 170.0
LEFT, RIGHT, TOP, BOTTOM = 48.0, 8.0, 8.0, 34.0
POINTS = 600  # of a curve


def torque_curves(t: Floats, without: Floats, with_: Floats, title: str) -> str:
    """One joint: torques (m,) without and with friction over times (m,)."""
    shown = np.unique(np.linspace(0, len(t) - 1, min(POINTS, len(t))).round().astype(int))
    t, without, with_ = t[shown], without[shown], with_[shown]
    across = Scale(float(t[0]), float(t[-1]), LEFT, WIDTH - RIGHT)
    up = _vertical(np.concatenate([without, with_]))
    x, y0, y1 = across(t), up(without), up(with_)
    label = html.escape(f"Torque of {title} over time, with friction and without")
    return "\n".join(
        [
            f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{label}">',
            *_grid(across, up),
            f'<path class="between" d="{_path(x, y1)} L{_path(x[::-1], y0[::-1])[1:]} Z"/>',
            f'<path class="without" d="{_path(x, y0)}"/>',
            f'<path class="with" d="{_path(x, y1)}"/>',
            "</svg>",
        ]
    )


def _vertical(values: Floats) -> Scale:
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    room = 0.06 * (high - low) or 1.0
    return Scale(low - room, high + room, HEIGHT - BOTTOM, TOP)


def _grid(across: Scale, up: Scale) -> list[str]:
    lines = []
    for tick in up.ticks(4):
        y = float(up(np.array(tick)))
        kind = "zero" if tick == 0.0 else "grid"
        lines.append(f'<line class="{kind}" x1="{LEFT:g}" x2="{WIDTH - RIGHT:g}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(f'<text x="{LEFT - 6:g}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for tick in across.ticks(6):
        x = float(across(np.array(tick)))
        lines.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP:g}" y2="{HEIGHT - BOTTOM:g}"/>')
        lines.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 15:g}" text-anchor="middle">{tick:g}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    lines.append(f'<text x="{middle:g}" y="{HEIGHT - 4:g}" text-anchor="middle">time, s</text>')
    return lines


def _path(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> str:
    return "M" + " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
