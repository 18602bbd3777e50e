"""Pictures of arms: bones in three dimensions, joints as drums and sliders along their axes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.kinematics.skeleton import Skeleton, skeleton
from forearm.plots.figure import BLUE, GREEN, RED, new_figure, save_figure

BONE, TURN, SLIDE, HAND = "#444444", BLUE, RED, GREEN


def save_picture(arms: Sequence[tuple[Arm, NDArray[np.float64]]], path: str | os.PathLike[str]) -> None:
    """Draw arms, each at its posture, side by side into a .png, .svg or .pdf file."""
    save_figure(picture(arms), path)


def picture(arms: Sequence[tuple[Arm, NDArray[np.float64]]]) -> Any:
    """The matplotlib figure with the arms side by side."""
    figure = new_figure(3.6 * len(arms), 4.0)
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
