"""Pictures of arms in three dimensions: links as lines, joints as cylinders and sliders along their axes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.kinematics.skeleton import Skeleton, skeleton
from forearm.plots.figure import BLUE, GREEN, RED, draw_space, drawn, new_figure, put_title, save_figure
from forearm.spatial import Floats

BONE, TURN, SLIDE, HAND = "#777777", BLUE, RED, GREEN
TICKS = 5  # at most


def save_picture(arms: Sequence[tuple[Arm, Floats]], path: str | os.PathLike[str]) -> None:
    """Draw arms, each in its configuration, side by side into a .png, .svg or .pdf file."""
    save_figure(picture(arms), path)


@drawn
def picture(arms: Sequence[tuple[Arm, Floats]]) -> Any:
    """The matplotlib figure with the arms side by side."""
    figure = new_figure(max(3.3 * len(arms), 4.2), 4.0)
    for k, (arm, q) in enumerate(arms):
        axes = figure.add_subplot(1, len(arms), k + 1, projection="3d")
        _draw(axes, skeleton(arm, q))
        put_title(axes, f"{arm.name}, {arm.n} joint{'' if arm.n == 1 else 's'}")
    _legend(figure, {joint.kind for arm, _ in arms for joint in arm.joints})
    return figure


def _draw(axes: Any, bones: Skeleton) -> None:
    points = bones.points
    size = float(np.ptp(points, axis=0).max())
    for stroke in bones.strokes:
        axes.plot(*stroke.T, color=BONE, linewidth=3.5, solid_capstyle="round")
    for joint, point, axis in bones.joints:
        ends = np.array([point - 0.045 * size * axis, point + 0.045 * size * axis])
        if joint.kind == "revolute":
            axes.plot(*ends.T, color=TURN, linewidth=8, solid_capstyle="butt")
        else:  # with a white core, so that it can be distinguished in greyscale
            axes.plot(*ends.T, color=SLIDE, linewidth=8, solid_capstyle="butt")
            axes.plot(*ends.T, color="white", linewidth=3, solid_capstyle="butt")
    axes.plot(*bones.hand, marker="o", color=HAND, markersize=7)
    axes.plot([0], [0], [0], marker="s", color=BONE, markersize=9)
    draw_space(axes, points, 1.0, TICKS, 0.8)  # room for the label of z
    axes.view_init(elev=22, azim=-62)


def _legend(figure: Any, kinds: set[str]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    there = [
        Patch(color=TURN, label="revolute joint") if "revolute" in kinds else None,
        Patch(facecolor="white", edgecolor=SLIDE, linewidth=2.0, label="prismatic joint")
        if "prismatic" in kinds
        else None,
        Line2D([], [], linestyle="none", marker="o", color=HAND, label="hand"),
        Line2D([], [], linestyle="none", marker="s", color=BONE, label="base"),
    ]
    handles = [handle for handle in there if handle is not None]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), handlelength=1.2)
