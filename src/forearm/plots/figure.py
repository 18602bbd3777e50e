"""One look for every figure: a white ground, colours and dashes that every eye tells apart,
files the same from run to run.

The ground is white and opaque in every format, so that a picture reads the same on paper,
on a light page and on a dark one.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from io import BytesIO
from typing import Any, ParamSpec

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.palette import BLACK, BLUE, COLOURS, DASHES, FILLS, GREEN, ORANGE, PURPLE, RED, SKY, YELLOW
from forearm.reading.textfile import write_bytes
from forearm.values import check_ending

__all__ = [
    "BLACK", "BLUE", "COLOURS", "DASHES", "FILLS", "FORMATS", "GREEN", "GREY", "LETTER", "LINE", "ORANGE",
    "PURPLE", "RED", "SKY", "SMALL", "THIN", "WIDE", "WIDTH", "YELLOW", "dash", "drawn", "figure_bytes",
    "legend_beside", "legend_of_figure", "look", "new_figure", "of_joints", "put_heading", "put_title",
    "save_figure", "shown",
]  # fmt: skip

P = ParamSpec("P")
FORMATS = (".png", ".svg", ".pdf")
WIDTH, WIDE = 8.0, 11.0  # inches: of most figures, and of those with two columns or with labels all over
TITLE, TEXT, SMALL = 10.0, 9.0, 8.0  # points: titles, names of axes, everything else
LINE, THIN = 1.4, 0.9  # points: curves, and lines that help to read them
DPI = 150
GREY = "#666666"  # of lines that help to read
LONGEST = 28  # letters of a name
ROW, LETTER = 0.165, 0.58  # inches that a line of a legend takes; what a letter is wide, of its size
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
    """For functions that make a figure: whatever matplotlib was set to elsewhere, it has our look."""

    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> Any:
        with _our_look():
            figure = make(*args, **kwargs)
            for axes in figure.axes:  # ticks are made when a figure is shown: perhaps under other settings
                axes.tick_params(which="both", labelsize=SMALL, color=BLACK, labelcolor=BLACK)
        return figure

    return made


@contextmanager
def _our_look() -> Iterator[None]:
    """Says what to install where matplotlib is missing."""
    try:
        from matplotlib import style
    except ImportError as error:
        raise InputError("a picture needs matplotlib: pip install 'forearm[plot]'") from error
    with style.context(["default", LOOK]):
        yield


def new_figure(width: float, height: float) -> Any:
    """An empty matplotlib figure, in inches, that no window and no list of pyplot's holds on to."""
    with _our_look():
        from forearm.plots.picture import Picture

        return Picture(figsize=(width, height), layout="constrained")


def look(k: int) -> dict[str, Any]:
    """Colour and dashes of the k-th of several curves: neighbours differ in both, 42 in one or the other."""
    return {"color": COLOURS[k % len(COLOURS)], "linestyle": dash(k)}


def dash(k: int) -> Any:
    """The k-th dashes as matplotlib takes them."""
    lengths = DASHES[k % len(DASHES)]
    return (0, lengths) if lengths else "-"


def shown(name: str) -> str:
    """A name as text, never as mathematics nor hidden by a leading underscore;
    the middle of a long one is left out.
    """
    text = name if len(name) <= LONGEST else f"{name[: LONGEST // 2 - 2]}...{name[-(LONGEST // 2) :]}"
    text = text.replace("$", r"\$")
    return f"\u200b{text}" if text.startswith("_") else text


def put_title(axes: Any, text: str) -> None:
    """A title at the left of some axes, in lines as long as these are wide."""
    axes.set_title(_lines(text, axes.bbox.width / axes.figure.dpi), loc="left", parse_math=False)


def put_heading(figure: Any, text: str) -> None:
    """A title over a figure of many panels that have titles of their own."""
    figure.suptitle(
        _lines(text, 0.75 * figure.get_figwidth()), x=0.01, ha="left", fontsize=TITLE, parse_math=False
    )


def _lines(text: str, inches: float) -> str:
    letters = max(20, int(72.0 * inches / (LETTER * TITLE)))
    return "\n".join(textwrap.wrap(text, letters, max_lines=3, placeholder=" ..."))


def legend_beside(axes: Any, **more: Any) -> None:
    """What the curves of one panel are, to the right of it."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, **more)


def legend_of_figure(figure: Any, height: float, groups: Sequence[tuple[str, Any]]) -> None:
    """What the curves of several panels are, to the right of all:
    groups of (heading, axes), in columns as tall as it.
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


def of_joints(arm: Arm, turning: str, sliding: str) -> str:
    """The unit or word for joints that turn, for those that slide, or for both, as the arm has them."""
    kinds = {joint.kind for joint in arm.joints}
    return " or ".join(
        name for kind, name in (("revolute", turning), ("prismatic", sliding)) if kind in kinds
    )


def save_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure as .png, .svg or .pdf, whole or not at all, without a date in it."""
    write_bytes(path, figure_bytes(figure, check_ending(path, FORMATS, "a picture")))


def figure_bytes(figure: Any, suffix: str = ".png") -> bytes:
    """What a file with this ending holds, the same from run to run."""
    buffer = BytesIO()
    metadata = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[suffix]
    with _our_look():
        figure.savefig(
            buffer, format=suffix[1:], dpi=DPI, facecolor="white", transparent=False, metadata=metadata
        )
    return buffer.getvalue()
