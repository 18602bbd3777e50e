"""Grid nodes along a path, denser where the motion starts from rest or comes to rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from forearm.errors import InputError, shorten
from forearm.spatial import Floats
from forearm.values import as_floats, check_whole


def rest_grid(s: ArrayLike, rests: Sequence[int], intervals: int = 4, parts: int = 24) -> Floats:
    """Nodes s refined next to rest, equally spaced in time under constant jerk.

    From rest a constant jerk covers a distance proportional to the cube of time: of a thousand equal
    intervals the first takes a tenth of the total time.

    Args:
        s: nodes, increasing, (N + 1,).
        rests: indices of those where the motion is at rest; they remain nodes.
        intervals: number of intervals next to each rest that are redivided; fewer if another rest is near.
        parts: number of new intervals.
    """
    nodes = as_floats(s, "rest_grid, s")
    if nodes.ndim != 1 or not (np.diff(nodes) > 0).all():
        raise InputError(f"expected increasing numbers, got {shorten(nodes.tolist())}.", "rest_grid", "s")
    N = len(nodes) - 1
    at = sorted({check_whole(k, "rest_grid, rests", minimum=0, maximum=N) for k in rests})
    cubes = (np.arange(1, parts) / parts) ** 3
    is_kept = np.ones(N + 1, bool)
    added = []
    for k in at:
        before = max((other for other in at if other < k), default=-k)
        after = min((other for other in at if other > k), default=2 * N - k)
        for way, room in ((-1, (k - before) // 2), (1, (after - k) // 2)):
            reach = min(intervals, room)
            if reach > 0:
                is_kept[[k + way * i for i in range(1, reach)]] = False
                added.append(nodes[k] + cubes * (nodes[k + way * reach] - nodes[k]))
    return np.sort(np.concatenate([nodes[is_kept], *added]))
