"""One look for every figure: colours that every eye tells apart, and files that are the same from run to run."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import Any

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.reading.textfile import write_bytes

# Okabe and Ito's colours: told apart by every kind of sight, and in grey print.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
COLOURS = (BLUE, RED, GREEN, ORANGE, PURPLE, SKY, BLACK)
DASHES = ("-", "--", ":", "-.")  # tell those of one colour apart
MAX_LABELS = 24
FORMATS = (".png", ".svg", ".pdf")


def new_figure(width: float, height: float) -> Any:
    """An empty matplotlib figure, in inches; says what to install where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("a picture needs matplotlib: pip install 'forearm[plot]'") from error
    return Figure(figsize=(width, height), layout="constrained")


def look(k: int) -> dict[str, str]:
    """Colour and dashes of the k-th of several curves."""
    return {"color": COLOURS[k % len(COLOURS)], "linestyle": DASHES[k // len(COLOURS) % len(DASHES)]}


def of_joints(arm: Arm, turning: str, sliding: str) -> str:
    """The unit or word for joints that turn, for those that slide, or for both, as the arm has them."""
    kinds = {joint.kind for joint in arm.joints}
    return ", ".join(name for kind, name in (("revolute", turning), ("prismatic", sliding)) if kind in kinds)


def save_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure as .png, .svg or .pdf, whole or not at all, without a date in it."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"{path}: a picture ends in {', '.join(FORMATS)}.")
    write_bytes(path, figure_bytes(figure, suffix))


def figure_bytes(figure: Any, suffix: str = ".png") -> bytes:
    """What a file with this ending holds, the same from run to run."""
    buffer = BytesIO()
    metadata = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[suffix]
    figure.savefig(buffer, format=suffix[1:], dpi=110, metadata=metadata)
    return buffer.getvalue()
