"""Phase plane of a time-optimal motion: ds/dt over s below the maximum-velocity curve, coloured by the
binding limit.
"""

from __future__ import annotations

from typing import Any

from forearm.plots.figure import WIDTH, save_figure, single
from forearm.trajectories.shortest_time.phase_plane import phase_plane_chart
from forearm.trajectories.shortest_time.timing import PathTiming

__all__ = ["phase_plane_figure", "save_figure"]


def phase_plane_figure(timing: PathTiming) -> Any:
    """ds/dt over s, its upper bound, and the binding limit by colour."""
    return single(phase_plane_chart(timing), 4.8, WIDTH + 2.2)
