"""Options of time-optimal motion through points."""

from __future__ import annotations

from dataclasses import dataclass

POINTS = 1000  # intervals of the grid


@dataclass(frozen=True)
class PathOptions:
    """Options of a time-optimal request besides points and limits, as in `fa.time_optimal`.

    Attributes:
        continuity: of the spline through the waypoints: 0 (straight lines, stopping at corners), 1, 2 or 4.
        tolerance: largest distance from the straight lines between waypoints, rad (m); None: unlimited.
            Waters III.
        duration: of the motion, s; None: the shortest.
        points: approximate number of intervals of the path for which the speed is computed.
        start_speed, end_speed: ds/dt at the ends; 0: at rest.
        payload: (least, most) mass in the hand, kg; None: no payload.
        payload_com: its centre of mass in the hand frame, m.
    """

    continuity: int = 2
    tolerance: float | None = None
    duration: float | None = None
    points: int = POINTS
    start_speed: float = 0.0
    end_speed: float = 0.0
    payload: tuple[float, float] | None = None
    payload_com: tuple[float, float, float] = (0.0, 0.0, 0.0)
