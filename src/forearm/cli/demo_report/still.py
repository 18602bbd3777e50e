"""The motion as a still picture, for print: some configurations and the hand path as inline SVG, from the
player's viewpoint.
"""

from __future__ import annotations

import math

import numpy as np

from forearm.kinematics import forward
from forearm.kinematics.skeleton import skeleton
from forearm.simulation import Simulation
from forearm.spatial import Floats

POSTURES = 6
WAY = 200  # points of the hand path
YAW, PITCH = -0.95, 0.36  # rad, those of the player
WIDTH, HEIGHT, EDGE = 460.0, 330.0, 14.0


def still_picture(run: Simulation) -> str:
    """Configurations at equal time intervals, later ones darker, and the hand path."""
    times = np.linspace(run.t[0], run.t[-1], POSTURES)
    bones = [np.array(skeleton(run.arm, q).strokes) for q in run.at(times)[0]]
    hand = np.array([forward(run.arm, q)[:3, 3] for q in run.at(np.linspace(run.t[0], run.t[-1], WAY))[0]])
    flat = [_seen(b) for b in bones]
    way = _seen(hand)
    every = np.concatenate([way, *(f.reshape(-1, 2) for f in flat)])
    low, high = every.min(axis=0), every.max(axis=0)
    scale = float(min((np.array([WIDTH, HEIGHT]) - 2.0 * EDGE) / np.maximum(high - low, 1e-9)))
    lines = [
        (
            f'<svg class="still" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" '
            'aria-label="Configurations along the motion">'
        )
    ]
    for k, strokes in enumerate(flat):
        opacity = 0.2 + 0.8 * k / (POSTURES - 1)
        lines += [
            f'<polyline class="bone" opacity="{opacity:.2f}" points="{_points(s, low, scale)}"/>'
            for s in strokes
        ]
    return "\n".join([*lines, f'<polyline class="way" points="{_points(way, low, scale)}"/>', "</svg>"])


def _seen(points: Floats) -> Floats:
    """Points (..., 3) as (..., 2): to the right and up, without perspective."""
    cy, sy, cp, sp = math.cos(YAW), math.sin(YAW), math.cos(PITCH), math.sin(PITCH)
    view = np.array([[-sy, cy, 0.0], [-cy * sp, -sy * sp, cp]])
    seen: Floats = points @ view.T
    return seen


def _points(flat: Floats, low: Floats, scale: float) -> str:
    x, y = (EDGE + scale * (flat - low)).T
    return " ".join(f"{a:.1f},{HEIGHT - b:.1f}" for a, b in zip(x, y, strict=True))
