"""Trajectories: bang-bang motions through points, straight Cartesian lines and more, each stored by its
defining parameters.

A request states the goal; the resulting motion is evaluated as q, qd, qdd at any time. Only `planning`
involves torques.
"""

from forearm.logs.motion import MotionLog
from forearm.trajectories.bangbang import Plans, bang_bang, bang_bang_many
from forearm.trajectories.continuous_snap.derivatives import derivatives_of
from forearm.trajectories.continuous_snap.motion import SmoothMotion
from forearm.trajectories.continuous_snap.planner import smooth
from forearm.trajectories.drive_limits import LimitUse
from forearm.trajectories.excitation import Excitation
from forearm.trajectories.jerk_limited.motion import JerkMotion
from forearm.trajectories.jerk_limited.planner import jerk_limited
from forearm.trajectories.jerk_limited.plans import JerkPlans, jerk_limited_many
from forearm.trajectories.limits import MotionLimits, arm_limits
from forearm.trajectories.line_checks import Problem
from forearm.trajectories.lines import HandLine, hand_line
from forearm.trajectories.motion_files import load_motion, load_switching
from forearm.trajectories.path_arguments import as_path
from forearm.trajectories.path_options import PathLimits, PathOptions
from forearm.trajectories.paths import (
    JointPath,
    PathDeviation,
    blended,
    from_function,
    from_motion,
    hand_circle,
    hand_lines,
    load_path,
    path_deviation,
    spline,
    within_envelope,
)
from forearm.trajectories.plan_status import PlanStatus
from forearm.trajectories.planning import Plan, plan
from forearm.trajectories.polygon import Deviation, deviation, within
from forearm.trajectories.recorded import RecordedMotion, read_motion, recorded
from forearm.trajectories.requestfile import read_request
from forearm.trajectories.requests import Request, Waypoint
from forearm.trajectories.series.motion import SeriesMotion
from forearm.trajectories.shortest_time.path_motion import PathMotion
from forearm.trajectories.shortest_time.time_optimal import time_optimal
from forearm.trajectories.shortest_time.timing import LimitSaving, PathTiming
from forearm.trajectories.switching import Switching
from forearm.trajectories.waypoints import through

__all__ = [
    "Deviation",
    "Excitation",
    "HandLine",
    "JerkMotion",
    "JerkPlans",
    "JointPath",
    "LimitSaving",
    "LimitUse",
    "MotionLimits",
    "MotionLog",
    "PathDeviation",
    "PathLimits",
    "PathMotion",
    "PathOptions",
    "PathTiming",
    "Plan",
    "PlanStatus",
    "Plans",
    "Problem",
    "RecordedMotion",
    "Request",
    "SeriesMotion",
    "SmoothMotion",
    "Switching",
    "Waypoint",
    "arm_limits",
    "as_path",
    "bang_bang",
    "bang_bang_many",
    "blended",
    "derivatives_of",
    "deviation",
    "from_function",
    "from_motion",
    "hand_circle",
    "hand_line",
    "hand_lines",
    "jerk_limited",
    "jerk_limited_many",
    "load_motion",
    "load_path",
    "load_switching",
    "path_deviation",
    "plan",
    "read_motion",
    "read_request",
    "recorded",
    "smooth",
    "spline",
    "through",
    "time_optimal",
    "within",
    "within_envelope",
]
