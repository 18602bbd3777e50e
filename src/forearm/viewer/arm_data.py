"""The page's data of an arm, as JSON: joints with their limits, adjustable parameters, and the initial state
of the simulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.codegen.simulation_step import held_by_friction
from forearm.control.gains import joint_inertias, largest_bandwidth, stable_inertias
from forearm.drives.coordinates import coordinates_of
from forearm.drives.joint import count_of_loads, held_freedoms
from forearm.drives.motor import constants_of, without_constants
from forearm.errors import ModelError
from forearm.kinematics.limits import limits_of
from forearm.viewer.arm_code import LAWS, open_parameters, why_still
from forearm.viewer.recording import Json

# rad/s^2 and rad/s (m/s^2, m/s): defaults for plans if the arm has no limits
ACCELERATION, VELOCITY = 5.0, 2.0
SHARES = (0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0)
POSTURES, GOLDEN = 24, 0.6180339887498949
STEP = 5e-4  # s: longest simulation step; the energy then drifts by less than 1e-6 in a fall of 60 s


def arm_data(arm: Arm, python: str, command: str) -> Json:
    """Everything but the arm's shapes; `python` and `command` load the arm."""
    lower, upper = _range(arm)
    opened = open_parameters(arm)
    dry = held_freedoms(arm)
    still = why_still(arm)
    return {
        "name": arm.name,
        "title": arm.name,
        "python": python,
        "command": command,
        "n": arm.n,
        "joints": _joints(arm, lower, upper, dry),
        "base": {"pose": _flat(arm.base)},
        "hand": {"body": arm.moving.frames[arm.hand.link][0], "link": arm.hand.link, "pose": _hand(arm)},
        "gravity": arm.gravity.tolist(),
        "home": [_home(a, b) for a, b in zip(lower, upper, strict=True)],
        "stable": [] if still else _stable(arm, lower, upper),
        "longest_delay": largest_bandwidth(1.0, 1),
        "still": still,
        "laws": [] if still else [{"name": x, "label": y, "has_gains": True} for x, y in LAWS.items()],
        "has_motors": not without_constants(arm),
        "payload_at": f"a point in the hand, on {arm.hand.link}",
        "open": _open(arm, opened),
        "state": {
            "sticks": any(held_by_friction(coordinates_of(arm), opened)),
            "dry": dry,
            "rough": held_freedoms(arm.scale_friction(0.0)),  # by other friction
            "loads": 2 * count_of_loads(arm),
        },
        "step": STEP,
    }


def _joints(arm: Arm, lower: Sequence[float], upper: Sequence[float], dry: Sequence[bool]) -> list[Json]:
    volts = [np.inf] * arm.n if without_constants(arm) else constants_of(arm).most_voltage.tolist()
    inertias = joint_inertias(arm).tolist()
    made = []
    for k, joint in enumerate(arm.joints):
        is_turning = joint.kind == "revolute"
        made.append(
            {
                "name": joint.name,
                "kind": joint.kind,
                "unit": "rad" if is_turning else "m",
                "lower": _finite(lower[k]),
                "upper": _finite(upper[k]),
                "velocity": joint.max_speed or VELOCITY,
                "acceleration": ACCELERATION,
                "effort": joint.max_effort,
                "voltage": _finite(volts[k]),
                "friction": dry[k] or joint.friction is not None,
                "inertia": inertias[k],
            }
        )
    return made


def _open(arm: Arm, opened: dict[str, float]) -> Json:
    """The values that users can change, and the indices of each group."""
    names = list(opened)
    places = {name: k for k, name in enumerate(names)}
    link = f"{arm.hand.link}."
    return {
        "values": list(opened.values()),
        "gravity": [places[f"gravity.{axis}"] for axis in "xyz"],
        "payload": [places[name] for name in names if name.startswith(link) and ".friction." not in name],
        "friction": [places[name] for name in names if ".friction." in name],
    }


def _home(lower: float, upper: float) -> float:
    """0, or the middle of a range that excludes it."""
    return 0.0 if lower < 0.0 < upper else round(0.5 * (lower + upper), 3)


def _stable(arm: Arm, lower: Sequence[float], upper: Sequence[float]) -> list[Json]:
    """Permitted factors of joint gains, `stable_inertias`, for increasing bandwidth times period of a loop
    without delay: an entry holds up to its `most`. Sampled at configurations over the ranges.
    """
    spread = [
        [
            low + (high - low) * ((0.5 + (k + 1) * (GOLDEN ** (j + 1))) % 1.0)
            for j, (low, high) in enumerate(zip(lower, upper, strict=True))
        ]
        for k in range(POSTURES)
    ]
    rows = np.clip(np.nan_to_num(np.array(spread), nan=0.0), -np.pi, np.pi)
    made = []
    for share in SHARES:  # rounded, so that the page is the same on every machine
        d = stable_inertias(arm, rows, share, 1.0)
        made.append({"most": share, "inertias": [float(f"{0.999 * x:.3g}") for x in d]})
    return made


def _range(arm: Arm) -> tuple[list[float], list[float]]:
    try:
        lower, upper = limits_of(arm)
    except ModelError:  # limits without any room
        lower, upper = np.full(arm.n, -np.inf), np.full(arm.n, np.inf)
    return lower.tolist(), upper.tolist()


def _hand(arm: Arm) -> list[float]:
    _, T = arm.moving.frames[arm.hand.link]
    return _flat(T @ arm.hand.pose)


def _flat(T: Any) -> list[float]:
    return [float(x) for x in np.asarray(T).ravel()]


def _finite(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None
