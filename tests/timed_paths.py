"""What a plan along a path uses of every limit, by inverse dynamics between knots: nothing of the planner's
own limits in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import forearm as fa
from forearm.arm.arm import Arm
from forearm.drives.motor import DAC, amplifier_gains, constants_of, voltage_of, without_constants
from forearm.kernels.kept import kernel_of
from forearm.kinematics import forward
from forearm.trajectories.paths import JointPath
from forearm.trajectories.planning import Plan
from forearm.trajectories.shortest_time.path_motion import PathMotion

Array = NDArray[np.float64]
EXCEEDED = 1e-3  # of a limit: what the planner may exceed it by between the places that it looks at
INSIDE = np.concatenate([[1e-6], np.linspace(0.05, 0.95, 10), [1.0 - 1e-6]])  # of every interval
STEP = 1e-4  # of the path, for differences of the hand's position


def moments(motion: PathMotion) -> tuple[Array, Array]:
    """Times inside of every interval, both sides of each jump and the end among them, and s there."""
    t = (motion.times[:-1, None] + INSIDE * np.diff(motion.times)[:, None]).ravel()
    t = np.concatenate([[0.0], t, [motion.duration]])
    return t, motion.along(t)[0]


def shares(plan: Plan, *, dac: DAC | None = None, arm: Arm | None = None, **given: Any) -> dict[str, Array]:
    """needed / allowed of every limit at `moments`, (m, n) or (m, 1); arguments as those of `time_optimal`.

    Args:
        plan: the plan.
        arm: in the place of the plan's, to see what another payload needs.
    """
    motion, arm = plan.motion, plan.arm if arm is None else arm
    assert isinstance(motion, PathMotion)
    t, s = moments(motion)
    q, qd, qdd = motion.at(t)
    tau = kernel_of(arm).inverse_dynamics(q, qd, qdd)
    allowed = {"velocity": _own(arm, "max_speed"), "torque": _own(arm, "max_effort"), "acceleration": None}
    needed = {"velocity": qd, "acceleration": qdd, "torque": tau}
    if not without_constants(arm):
        c = constants_of(arm)
        needed |= {"current": tau / c.K, "voltage": voltage_of(arm, tau, qd)}
        allowed |= {"current": c.most_current, "voltage": c.most_voltage}
        if dac is not None and dac.span is not None:
            most = dac.span if dac.bits is None else dac.span * (1.0 - 0.5**dac.bits)
            needed["DAC"], allowed["DAC"] = (
                needed["voltage"],
                most * np.abs(dac.gain * amplifier_gains(arm, dac)),
            )
    limits = {name.replace("_", " "): limit for name, limit in given.items() if limit is not None}
    if limits.keys() & {"hand speed", "hand acceleration"}:
        speed, rate = hand_motion(arm, q, qd, qdd)
        needed |= {"hand speed": speed[:, None], "hand acceleration": rate[:, None]}
    assert limits.keys() <= needed.keys(), "a limit of nothing that is looked at"
    allowed |= limits
    return {
        kind: np.abs(value) / _limits(allowed[kind], s, value.shape[1])
        for kind, value in needed.items()
        if allowed.get(kind) is not None
    }


def worst(plan: Plan, **given: Any) -> dict[str, float]:
    """The largest share of each kind of limit."""
    return {kind: float(used.max()) for kind, used in shares(plan, **given).items()}


def check_kept(plan: Plan, exceeded: float = EXCEEDED, **given: Any) -> None:
    """No limit is exceeded by more than a share of it."""
    beyond = {kind: used for kind, used in worst(plan, **given).items() if not used <= 1.0 + exceeded}
    assert not beyond, beyond


def timed(arm: Arm, path: Any, **given: Any) -> Plan:
    """`time_optimal`, whose limits are then looked at."""
    plan = fa.time_optimal(arm, path, **given)
    others = {"start_speed", "end_speed", "duration", "continuity", "tolerance", "points", "step", "payload"}
    check_kept(plan, **{name: value for name, value in given.items() if name not in others})
    return plan


def hand_motion(arm: Arm, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
    """Speed and acceleration of the hand's origin, (m,) each, by differences of its pose along
    q + t qd + t^2 qdd / 2.
    """
    fastest = np.maximum(np.abs(qd).max(axis=1), np.sqrt(np.abs(qdd).max(axis=1)))
    h = 1e-2 / np.maximum(fastest, 1e-9)[:, None]
    p = [
        forward(arm, q + k * h * qd + 0.5 * (k * h) ** 2 * qdd)[:, :3, 3]
        for k in (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
    ]
    v = (-p[0] + 9.0 * p[1] - 45.0 * p[2] + 45.0 * p[4] - 9.0 * p[5] + p[6]) / (60.0 * h)
    a = (2.0 * p[0] - 27.0 * p[1] + 270.0 * p[2] - 490.0 * p[3] + 270.0 * p[4] - 27.0 * p[5] + 2.0 * p[6]) / (
        180.0 * h * h
    )
    return np.linalg.norm(v, axis=1), np.linalg.norm(a, axis=1)


def _own(arm: Arm, name: str) -> Array:
    values = [getattr(joint, name) for joint in arm.joints]
    return np.array([np.inf if value is None else value for value in values])


def _limits(given: Any, s: Array, width: int) -> Array:
    """Of a limit given as a number, one per joint, a function of s or a pair: (m, width) or what goes with
    it.
    """
    if callable(given):
        found = np.asarray(given(s), dtype=np.float64)
        return found[:, None] if found.ndim == 1 and len(found) == len(s) else found
    if isinstance(given, tuple) and len(given) == 2 and np.ndim(given[0]) == 1:
        values = np.asarray(given[1], dtype=np.float64).reshape(len(given[0]), -1)
        return np.stack([np.interp(s, given[0], column) for column in values.T], axis=1)
    return np.broadcast_to(np.asarray(given, dtype=np.float64), (len(s), width))


def random_way(arm: Arm, seed: int, count: int = 5, reach: float = 0.8) -> Array:
    """Waypoints (count, n) within a part of the joints' limits."""
    from arms import limits_of

    lower, upper = limits_of(arm)
    rng = np.random.default_rng([seed, count])
    return np.asarray(reach * (lower + (upper - lower) * rng.random((count, arm.n))))


def drive_limits(arm: Arm, path: JointPath, seed: int) -> dict[str, Any]:
    """Limits of torque, current and voltage, (n,) each, some times what moving slowly along a path takes."""
    rng = np.random.default_rng([seed, 21])
    q, dq, _ = path.at(np.linspace(0.0, path.length, 300))
    tau = [kernel_of(arm).inverse_dynamics(q, rate * dq, 0.0 * q) for rate in (0.0, 1e-6, 1e-2)]
    held, times = np.abs(tau).max(axis=(0, 1)), rng.uniform(1.6, 3.0, (3, arm.n))
    c = constants_of(arm)
    back = np.abs(c.K) * _own(arm, "max_speed") * rng.uniform(0.2, 0.8, arm.n)
    return {
        "torque": times[0] * held,
        "current": times[1] * held / np.abs(c.K),
        "voltage": times[2] * held * c.R / np.abs(c.K) + back,
    }


def same_path(plan: Plan, points: ArrayLike) -> float:
    """The largest distance of a point from the plan's configurations at `moments`."""
    t, _ = moments(plan.motion)  # type: ignore[arg-type]
    q = plan.at(t)[0]
    apart = np.linalg.norm(q[None] - np.asarray(points)[:, None], axis=2).min(axis=1)
    return float(apart.max())
