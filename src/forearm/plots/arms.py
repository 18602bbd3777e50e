"""Pictures of arms: bones in three dimensions, joints as drums and sliders along their axes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.kinematics.skeleton import Skeleton, skeleton
from forearm.reading.textfile import write_bytes

# Okabe and Ito's colours: told apart by every kind of sight, and in grey print.
BONE, TURN, SLIDE, HAND = "#444444", "#0072B2", "#D55E00", "#009E73"
FORMATS = (".png", ".svg", ".pdf")


def save_picture(arms: Sequence[tuple[Arm, NDArray[np.float64]]], path: str | os.PathLike[str]) -> None:
    """Draw arms, each at its posture, side by side into a .png, .svg or .pdf file."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"{path}: a picture ends in {', '.join(FORMATS)}.")
    figure = picture(arms)
    buffer = BytesIO()
    # No date in the file, so that the same arm gives the same bytes.
    metadata = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[suffix]
    figure.savefig(buffer, format=suffix[1:], dpi=110, metadata=metadata)
    write_bytes(path, buffer.getvalue())


def picture(arms: Sequence[tuple[Arm, NDArray[np.float64]]]) -> Any:
    """The matplotlib figure with the arms side by side."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("a picture needs matplotlib: pip install 'forearm[plot]'") from error
    figure = Figure(figsize=(3.6 * len(arms), 4.0), layout="constrained")
    for k, (arm, q) in enumerate(arms):
        axes = figure.add_subplot(1, len(arms), k + 1, projection="3d")
        _draw(axes, skeleton(arm, q))
        axes.set_title(f"{arm.name}, {arm.n} joints", fontsize=10)
    return figure


def _draw(axes: Any, bones: Skeleton) -> None:
    points = bones.points
    size = float(np.ptp(points, axis=0).max())
    for stroke in bones.strokes:
        axes.plot(*stroke.T, color=BONE, linewidth=3.5, solid_capstyle="round")
    for joint, point, axis in bones.joints:
        ends = np.array([point - 0.045 * size * axis, point + 0.045 * size * axis])
        axes.plot(*ends.T, color=TURN if joint.kind == "revolute" else SLIDE, linewidth=9, solid_capstyle="butt")
    axes.plot(*bones.hand, marker="o", color=HAND, markersize=7)
    axes.plot([0], [0], [0], marker="s", color=BONE, markersize=9)
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    for name, centre in zip("xyz", middle, strict=True):
        getattr(axes, f"set_{name}lim")(centre - 0.55 * size, centre + 0.55 * size)
        getattr(axes, f"set_{name}label")(f"{name} m", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.set_box_aspect((1, 1, 1), zoom=0.86)  # room for the label of z
    axes.view_init(elev=22, azim=-62)
