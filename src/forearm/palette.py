"""Colours and dashes of curves on light and dark backgrounds, and colours of pages.

Curves stand out from their ground by 3 to 1 at least (4.5 on a dark page) and from each other by a CIEDE2000
difference of 13 for every kind of sight; neighbours have other dashes, so that a copy in grey can be read.
`tests/plots` measures it.
"""

from __future__ import annotations

from collections.abc import Mapping

# On white.
BLUE, RED, GREEN, ORANGE, PURPLE, SKY, BLACK = (
    "#083EA6",
    "#BB080B",
    "#23714E",
    "#D18125",
    "#DD59FF",
    "#0090A4",
    "#000000",
)
COLOURS = (BLUE, RED, GREEN, ORANGE, PURPLE, SKY, BLACK)
# The same in their order on a dark page.
ON_DARK = ("#5583DF", "#CF6B2A", "#39FB94", "#CFBB09", "#FB95B9", "#5EB9FB", "#FFFFFF")
# Areas with words on them: Okabe and Ito's colours.
YELLOW = "#F0E442"
FILLS = ("#56B4E9", "#E69F00", "#009E73", YELLOW, "#D55E00", "#CC79A7", "#0072B2")
# Lengths on and off in widths of the line; () is an unbroken one.
# With seven colours they make 42 curves of different looks.
DASHES: tuple[tuple[float, ...], ...] = (
    (), (5.0, 1.8), (1.0, 1.5), (6.0, 1.8, 1.0, 1.8), (2.6, 1.6), (6.0, 1.6, 1.0, 1.6, 1.0, 1.6),
)  # fmt: skip

# What pages are made of, as CSS variables.
PAGE = {
    "ink": "#222",
    "quiet": "#5a5a5a",
    "line": "#d5d5d5",
    "paper": "#fff",
    "block": "#f5f6f7",
    "mark": "#e7f1f8",
    "link": "#005a8e",
    "focus": "#c26a00",
}
PAGE_ON_DARK = {
    "ink": "#e6e6e6",
    "quiet": "#a9b0b6",
    "line": "#42474c",
    "paper": "#16191c",
    "block": "#20252a",
    "mark": "#1f3442",
    "link": "#7cc4f0",
    "focus": "#ffb347",
}


def page_colours(light: Mapping[str, str] | None = None, dark: Mapping[str, str] | None = None) -> str:
    """CSS with the pages' colours and more of one's own: dark ones where the reader's system
    is dark, never on paper.
    """
    day, night = (
        " ".join(f"--{name}: {value};" for name, value in (own | dict(more or {})).items())
        for own, more in ((PAGE, light), (PAGE_ON_DARK, dark))
    )
    return (
        f":root {{ color-scheme: light dark; {day} }}\n@media screen and (prefers-color-scheme: dark) {{ "
        f":root {{ {night} }} }}"
    )
