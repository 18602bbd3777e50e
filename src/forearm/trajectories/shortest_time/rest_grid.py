"""Nodes along a path that lie closer where the motion starts from rest or comes to rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def rest_grid(s: Array, rests: Sequence[int], intervals: int = 4, nodes: int = 24) -> Array:
    """Nodes s with more of them next to rest, where they are equally far apart in time under constant jerk.

    From rest a constant jerk comes as far as the cube of the time: of a thousand equal intervals the first one
    takes a tenth of the time that half the path takes.

    Args:
        s: nodes, increasing, (N + 1,).
        rests: indices of those where the motion is at rest.
        intervals: how many next to each rest are divided anew; fewer where another rest is near.
        nodes: how many lie there instead.
    """
    N = len(s) - 1
    at = sorted(set(rests))
    cubes = (np.arange(nodes + 1) / nodes) ** 3
    added = []
    for k in at:
        for way in (-1, 1):
            others = [abs(other - k) for other in at if (other - k) * way > 0]
            reach = min(intervals, min(others) // 2 if others else intervals, k if way < 0 else N - k)
            if reach > 0:
                added.append(s[k] + cubes[1:-1] * (s[k + way * reach] - s[k]))
    kept = np.ones(N + 1, bool)
    for k in at:
        for way in (-1, 1):
            others = [abs(other - k) for other in at if (other - k) * way > 0]
            reach = min(intervals, min(others) // 2 if others else intervals, k if way < 0 else N - k)
            for step in range(1, reach):
                kept[k + way * step] = False
    return np.sort(np.concatenate([s[kept], *added]))
