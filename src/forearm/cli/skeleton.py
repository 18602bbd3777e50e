"""A small drawing of an arm for the terminal: two views, lines in Braille dots, joints as letters."""

from __future__ import annotations

import textwrap

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.kinematics.skeleton import Skeleton, skeleton
from forearm.spatial import Floats

VIEWS = (("from the side: x right, z up", (0, 2)), ("from above: x right, y up", (0, 1)))
ROWS = 13
BRAILLE = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def draw(arm: Arm, q: Floats, width: int = 100, unicode: bool = True) -> str:
    """The skeleton at q in two views to one scale, side by side where they fit: # base,
    o revolute, = prismatic, + hand.
    """
    bones = skeleton(arm, q)
    points = bones.points
    low, high = points.min(axis=0), points.max(axis=0)
    is_narrow = width < 2 * len(VIEWS[0][0]) + 4
    columns = max(20, min(48, width if is_narrow else (width - 4) // 2))
    size = (
        max(float((high - low)[0]) / (2 * columns), float((high - low)[1:].max()) / (4 * ROWS), 1e-9) * 1.06
    )
    middle = 0.5 * (low + high)
    views = [_view(bones, axes, middle, size, columns, unicode) for _, axes in VIEWS]
    scale = f"# base, o revolute joint, = prismatic joint, + hand; a column is {2 * size:.3g} m"
    scale = textwrap.fill(scale, max(width, 20))
    if is_narrow:
        under = [
            "\n".join([title, *(line.rstrip() for line in lines)])
            for (title, _), lines in zip(VIEWS, views, strict=True)
        ]
        return "\n".join([*under, scale])
    lines = [f"{a}    {b}".rstrip() for a, b in zip(*views, strict=True)]
    title = f"{VIEWS[0][0]:<{columns}}    {VIEWS[1][0]}"
    return "\n".join([title, *lines, scale])


def _view(
    bones: Skeleton, axes: tuple[int, int], middle: Floats, size: float, columns: int, unicode: bool
) -> list[str]:
    dots = np.zeros((4 * ROWS, 2 * columns), dtype=bool)
    centre = middle[list(axes)]

    def place(point: Floats) -> Floats:
        x, y = (point[list(axes)] - centre) / size
        return np.array([2 * ROWS - 0.5 - y, columns - 0.5 + x])

    for start, end in bones.strokes:
        a, b = place(start), place(end)
        for t in np.linspace(0.0, 1.0, 2 + int(2 * np.abs(b - a).max())):
            row, column = np.clip(np.rint(a + t * (b - a)).astype(int), 0, np.array(dots.shape) - 1)
            dots[row, column] = True
    grid = [
        [_cell(dots[4 * r : 4 * r + 4, 2 * c : 2 * c + 2], unicode) for c in range(columns)]
        for r in range(ROWS)
    ]
    letters = {"revolute": "o", "prismatic": "="}
    marks = [(letters[joint.kind], point) for joint, point, _ in bones.joints]
    for letter, point in [*marks, ("#", np.zeros(3)), ("+", bones.hand)]:
        row, column = np.clip((np.rint(place(point)) // [4, 2]).astype(int), 0, [ROWS - 1, columns - 1])
        grid[row][column] = letter
    return ["".join(line) for line in grid]


def _cell(dots: NDArray[np.bool_], unicode: bool) -> str:
    if not dots.any():
        return " "
    if not unicode:
        return "."
    return chr(0x2800 + sum(BRAILLE[r][c] for r in range(4) for c in range(2) if dots[r, c]))
