"""Common style of all figures: a white background, colours and dashes that are distinguishable without colour
vision, reproducible files.

The background is white and opaque in every format, so that a picture looks the same on paper, on a light page
and on a dark one.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from io import BytesIO
from typing import Any, ParamSpec

import numpy as np

from forearm.charts import QUIET, Band, Bars, Chart, Curve, CurveLook, Mark, PointLabel, Rule, thinned
from forearm.errors import InputError
from forearm.palette import BLACK, BLUE, COLOURS, DASHES, FILLS, GREEN, ORANGE, PURPLE, RED, SKY
from forearm.reading.textfile import write_bytes
from forearm.spatial import Floats
from forearm.values import check_ending

__all__ = [
    "BLACK", "BLUE", "COLOURS", "FILLS", "FORMATS", "GREEN", "GREY", "LETTER", "LINE", "ORANGE", "PANEL",
    "PURPLE", "RED", "SKY", "SMALL", "THIN", "WIDE", "WIDTH", "dash", "draw_chart", "draw_space",
    "draw_stacked", "drawn", "figure_bytes", "legend_beside", "legend_of_figure", "look", "new_figure",
    "put_heading", "put_title", "save_figure", "shown", "single", "stacked",
]  # fmt: skip

P = ParamSpec("P")
FORMATS = (".png", ".svg", ".pdf")
WIDTH, WIDE = 8.0, 11.0  # inches: of most figures, and of those with two columns or with many labels
TITLE, TEXT, SMALL = 10.0, 9.0, 8.0  # points: titles, axis labels, everything else
LINE, THIN = 1.4, 0.9  # points: curves, and auxiliary lines
DPI = 150
GREY = "#666666"  # of auxiliary lines
INKS = {QUIET: GREY, "block": "#ececec", "ink": BLACK}
MANY = 20_000  # points of a curve
ROWS, PANEL, COLUMN = (
    10,
    1.7,
    4.2,
)  # stacked charts; inches: height of one, width of a column if there are several
LONGEST = 28  # letters of a name
ROW, LETTER = 0.165, 0.58  # inches per line of a legend; width of a letter relative to its size
LOOK = {
    "figure.dpi": DPI, "savefig.dpi": DPI, "figure.facecolor": "white", "savefig.facecolor": "white",
    "savefig.transparent": False, "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"],
    "font.size": TEXT, "axes.titlesize": TITLE, "axes.titlelocation": "left", "axes.labelsize": TEXT,
    "xtick.labelsize": SMALL, "ytick.labelsize": SMALL, "legend.fontsize": SMALL,
    "legend.title_fontsize": SMALL, "legend.frameon": False, "legend.handlelength": 3.2,
    "lines.linewidth": LINE, "lines.markersize": 5.0, "axes.grid": True, "axes.axisbelow": True,
    "grid.color": "#dddddd", "grid.linewidth": 0.6, "axes.spines.top": False, "axes.spines.right": False,
    "hatch.linewidth": 0.6, "svg.hashsalt": "forearm", "pdf.fonttype": 42,
}  # fmt: skip


def drawn(make: Callable[P, Any]) -> Callable[P, Any]:
    """Decorator for functions that make a figure: applies our style regardless of matplotlib's settings."""

    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> Any:
        with _our_look():
            figure = make(*args, **kwargs)
            # ticks are created when a figure is shown, possibly under other settings
            for axes in figure.axes:
                axes.tick_params(which="both", labelsize=SMALL, color=BLACK, labelcolor=BLACK)
        return figure

    return made


@contextmanager
def _our_look() -> Iterator[None]:
    """Our matplotlib settings; an error with the install command if matplotlib is missing."""
    try:
        from matplotlib import style
    except ImportError as error:
        raise InputError("a picture needs matplotlib: pip install 'forearm[plot]'") from error
    with style.context(["default", LOOK]):
        yield


@drawn
def stacked(charts: Sequence[Chart], heading: str = "", width: float = WIDTH, beside: bool = False) -> Any:
    """Charts over one axis, in columns if there are many; one legend, or one beside each."""
    columns = -(-len(charts) // ROWS)
    rows = -(-len(charts) // columns)
    height = 0.8 + sum(PANEL * chart.height for chart in charts[:rows])
    figure = new_figure(max(width, COLUMN * columns + 1.0), height)
    draw_stacked(figure, charts, height, columns, beside)
    if heading:
        put_heading(figure, heading)
    return figure


def draw_stacked(
    figure: Any, charts: Sequence[Chart], height: float, columns: int = 1, beside: bool = False
) -> None:
    """Draw charts that share an axis into a figure or a part of it, with their legend."""
    rows = -(-len(charts) // columns)
    ratios = [chart.height for chart in charts[:rows]]
    axes = figure.subplots(rows, columns, sharex=True, squeeze=False, height_ratios=ratios).T.ravel()
    for empty in axes[len(charts) :]:
        empty.set_visible(False)
    for k, (axis, chart) in enumerate(zip(axes, charts, strict=False)):
        is_last = (k + 1) % rows == 0 or k + 1 == len(charts)
        draw_chart(axis, replace(chart, x=chart.x if is_last else "", y=chart.y.replace(", ", "\n", 1)))
        axis.tick_params(labelbottom=is_last)
        axis.margins(x=0.01)
        if beside:
            legend_beside(axis)
    if not beside:
        groups = [
            (chart.legend, axis)
            for chart, axis in zip(charts, axes, strict=False)
            if chart.legend is not None
        ]
        legend_of_figure(figure, height, groups)
    figure.align_ylabels(list(axes[: len(charts)]))


@drawn
def single(chart: Chart, height: float, width: float = WIDTH, **legend: Any) -> Any:
    """One chart with its legend to the right."""
    figure = new_figure(width, height)
    axes = figure.add_subplot()
    draw_chart(axes, chart)
    if axes.get_legend_handles_labels()[0]:
        legend_beside(axes, **legend)
    return figure


def draw_chart(axes: Any, chart: Chart) -> None:
    """Draw the marks of a chart, its labels and title."""
    for mark in chart.marks:
        _draw_mark(axes, mark)
    for name, label, ends, ticks in (
        ("x", chart.x, chart.x_range, chart.x_ticks),
        ("y", chart.y, chart.y_range, chart.y_ticks),
    ):
        axes.set(**{f"{name}label": label})
        if name in chart.log:
            axes.set(**{f"{name}scale": "log"})
        if ends is not None:
            axes.set(**{f"{name}lim": ends})
        if ticks is not None:
            axes.set(**{f"{name}ticks": list(ticks), f"{name}ticklabels": list(ticks.values())})
            axes.minorticks_off()
    if chart.title:
        put_title(axes, chart.title)


def _draw_mark(axes: Any, mark: Mark) -> None:
    name = getattr(mark, "name", "")
    label = {"label": shown(name)} if name else {}
    match mark:
        case Curve():
            x, y = thinned(mark.x, mark.y, MANY)
            drawstyle = "steps-post" if mark.steps else "default"
            joined = mark.look.joined
            layer = {"zorder": 2.0 if joined else 2.5, "clip_on": joined, "drawstyle": drawstyle}
            axes.plot(x, y, **label, **style_of(mark.look), **layer)
        case Band():
            fill = {"color": ink(mark.colour), "alpha": mark.opacity, "linewidth": 0.0, "zorder": 1.0}
            axes.fill_between(mark.x, mark.low, mark.high, **label, **fill)
        case Bars():
            axes.stairs(mark.heights, mark.edges, fill=True, color=ink(mark.colour), **label)
        case Rule():
            draw = axes.axvline if mark.along == "x" else axes.axhline
            draw(mark.at, zorder=1.5, **style_of(mark.look))
        case PointLabel():
            axes.annotate(mark.text, (mark.x, mark.y), textcoords="offset points", xytext=(8, -10))


def draw_space(axes: Any, points: Floats, flattest: float, ticks: int, zoom: float) -> None:
    """A box with equal scales around points (..., 3); each side at least this share of the longest, which has
    at most so many ticks.
    """
    from matplotlib.ticker import MaxNLocator

    flat = points.reshape(-1, 3)
    low, high = np.nanmin(flat, axis=0), np.nanmax(flat, axis=0)
    sides = 1.1 * np.maximum(high - low, max(flattest * float((high - low).max()), 1e-9))
    for name, middle, side in zip("xyz", 0.5 * (low + high), sides, strict=True):
        axes.set(**{f"{name}lim": (middle - 0.5 * side, middle + 0.5 * side)})
        along = getattr(axes, f"{name}axis")
        along.set_label_text(f"{name}, m", fontsize=SMALL)
        along.set_major_locator(MaxNLocator(max(2, round(ticks * side / sides.max()))))
    axes.set_box_aspect(sides, zoom=zoom)


def ink(colour: int | str) -> str:
    """A colour of the palette, or of what stands back."""
    return COLOURS[colour] if isinstance(colour, int) else INKS[colour]


def style_of(look: CurveLook) -> dict[str, Any]:
    """A look as matplotlib's keywords."""
    style = {"color": ink(look.colour), "linestyle": dash(look.dash), "linewidth": LINE * look.width}
    marks = {"marker": look.marker or ("" if look.joined else "o"), "markersize": look.size}
    return style | marks | ({} if look.joined else {"linestyle": "none"})


def new_figure(width: float, height: float) -> Any:
    """An empty matplotlib figure, in inches, not registered with any window or pyplot."""
    with _our_look():
        from forearm.plots.picture import Picture

        return Picture(figsize=(width, height), layout="constrained")


def look(k: int) -> dict[str, Any]:
    """Colour and dashes of the k-th of several curves."""
    return {"color": COLOURS[k % len(COLOURS)], "linestyle": dash(k)}


def dash(k: int) -> Any:
    """The k-th dash pattern in matplotlib's form."""
    lengths = DASHES[k % len(DASHES)]
    return (0, lengths) if lengths else "-"


def shown(name: str) -> str:
    """A name or words as plain text, never as mathematics nor hidden by a leading underscore; long names are
    abbreviated in the middle.
    """
    is_whole = len(name) <= LONGEST or " " in name
    text = name if is_whole else f"{name[: LONGEST // 2 - 2]}...{name[-(LONGEST // 2) :]}"
    text = text.replace("$", r"\$")
    return f"\u200b{text}" if text.startswith("_") else text


def put_title(axes: Any, text: str) -> None:
    """Left-aligned title of axes, wrapped to their width."""
    axes.set_title(_lines(text, axes.bbox.width / axes.figure.dpi), loc="left", parse_math=False)


def put_heading(figure: Any, text: str) -> None:
    """Title of a figure whose panels have titles of their own."""
    figure.suptitle(
        _lines(text, 0.75 * figure.get_figwidth()), x=0.01, ha="left", fontsize=TITLE, parse_math=False
    )


def _lines(text: str, inches: float) -> str:
    letters = max(20, int(72.0 * inches / (LETTER * TITLE)))
    return "\n".join(textwrap.wrap(text, letters, max_lines=3, placeholder=" ..."))


def legend_beside(axes: Any, **more: Any) -> None:
    """Legend of one panel, to the right of it."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, **more)


def legend_of_figure(figure: Any, height: float, groups: Sequence[tuple[str, Any]]) -> None:
    """Legend of several panels, to the right of all: groups of (heading, axes), in columns of the same
    height.
    """
    from matplotlib.lines import Line2D

    handles: list[Any] = []
    for heading, axes in groups:
        if heading:
            handles.append(Line2D([], [], linestyle="none", label=heading))
        handles += axes.get_legend_handles_labels()[0]
    if handles:
        columns = -(-len(handles) // max(1, int((height - 0.4) / ROW)))
        figure.legend(handles=handles, loc="outside right upper", ncols=columns)


def save_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure as .png, .svg or .pdf, atomically and without a date."""
    write_bytes(path, figure_bytes(figure, check_ending(path, FORMATS, "a picture")))


def figure_bytes(figure: Any, suffix: str = ".png") -> bytes:
    """Content of a file of this type, reproducible."""
    buffer = BytesIO()
    metadata = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[suffix]
    with _our_look():
        figure.savefig(
            buffer, format=suffix[1:], dpi=DPI, facecolor="white", transparent=False, metadata=metadata
        )
    return buffer.getvalue()
