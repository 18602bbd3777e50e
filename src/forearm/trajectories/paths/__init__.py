"""Geometric paths, without timing: joint coordinates as piecewise polynomials of a path parameter.

One class, `JointPath`; the other modules construct it: splines, blends, Cartesian paths, functions, motions.
"""

from forearm.trajectories.paths.blends import blended
from forearm.trajectories.paths.envelope import PathDeviation, path_deviation, within_envelope
from forearm.trajectories.paths.functions import from_function
from forearm.trajectories.paths.hand_paths import hand_circle, hand_lines
from forearm.trajectories.paths.joint_path import JointPath
from forearm.trajectories.paths.motions import from_motion
from forearm.trajectories.paths.path_file import load_path
from forearm.trajectories.paths.splines import spline

__all__ = [
    "JointPath",
    "PathDeviation",
    "blended",
    "from_function",
    "from_motion",
    "hand_circle",
    "hand_lines",
    "load_path",
    "path_deviation",
    "spline",
    "within_envelope",
]
