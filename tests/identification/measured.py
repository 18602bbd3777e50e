"""Logs as they would be measured, of arms that are known: noise, steps, delay, offsets, gains, clipping.

Two sources: inverse dynamics along a given motion, and a closed loop whose joints stick.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from arms import limits_of
from identification.true_arms import behind_gear
from numpy.typing import ArrayLike, NDArray

import forearm as fa
from forearm import Arm
from forearm.control import PD, run
from forearm.drives.motor import voltage_of
from forearm.identification.measured_log import torque_constants
from forearm.kinematics.limits import middle
from forearm.logs.table import write_table

Floats = NDArray[np.float64]
Effort = Literal["tau", "current", "voltage"]
RANGE, SPEED, ACCELERATION = 0.8, 0.7, 8.0  # shares of limits that a motion uses, and rad/s^2 (m/s^2)
FASTEST = 2.0  # rad/s (m/s), where an arm says nothing


class AnyMotion(Protocol):
    """What can be followed."""

    @property
    def duration(self) -> float:
        """Its length, s."""
        ...

    def at(self, t: Any) -> tuple[Floats, Floats, Floats]:
        """q, qd, qdd."""
        ...


@dataclass(frozen=True, eq=False)
class FourierMotion:
    """q(t) = centre + sum_k a_k sin(k w t) + b_k cos(k w t); coefficients are (n, harmonics)."""

    duration: float
    frequency: float
    centre: Floats
    a: Floats
    b: Floats

    def at(self, t: Any) -> tuple[Floats, Floats, Floats]:
        """q, qd, qdd (..., n)."""
        k = 2.0 * np.pi * self.frequency * np.arange(1.0, self.a.shape[1] + 1.0)
        phase = np.asarray(t, dtype=np.float64)[..., None] * k
        s, c = np.sin(phase), np.cos(phase)
        q = s @ self.a.T + c @ self.b.T
        qd = (c * k) @ self.a.T - (s * k) @ self.b.T
        qdd = -(s * k**2) @ self.a.T - (c * k**2) @ self.b.T
        return self.centre + q, qd, qdd


def excited_motion(
    arm: Arm, duration: float = 10.0, seed: int = 0, *, harmonics: int = 5, period: float | None = None
) -> FourierMotion:
    """A random Fourier series of every joint within limits of position, speed and acceleration."""
    rng = np.random.default_rng([seed, arm.n, 11])
    lower, upper = limits_of(arm)
    frequency = 1.0 / (duration if period is None else period)
    a, b = rng.normal(size=(2, arm.n, harmonics)) / np.sqrt(np.arange(1.0, harmonics + 1.0))
    made = FourierMotion(duration, frequency, np.zeros(arm.n), a, b)
    q, qd, qdd = made.at(np.linspace(0.0, 1.0 / frequency, 2000))
    most_speed = np.array([j.max_speed or FASTEST for j in arm.joints])
    reach = 0.5 * RANGE * np.minimum(upper - lower, 2.0 * np.pi)
    shares = [
        reach / np.abs(q).max(axis=0),
        SPEED * most_speed / np.abs(qd).max(axis=0),
        ACCELERATION / np.abs(qdd).max(axis=0),
    ]
    size = np.min(shares, axis=0)[:, None]
    return FourierMotion(duration, frequency, middle(arm), size * a, size * b)


def measured(
    arm: Arm,
    motion: AnyMotion,
    *,
    side: Literal["motor", "link"] = "motor",
    rate: float = 1000.0,
    q_noise: ArrayLike = 0.0,
    q_step: ArrayLike = 0.0,
    effort_noise: ArrayLike = 0.0,
    is_share: bool = False,
    effort_step: ArrayLike = 0.0,
    clip: ArrayLike | None = None,
    delay: float = 0.0,
    offset: ArrayLike = 0.0,
    gain: ArrayLike = 1.0,
    effort: Effort = "tau",
    payload: Mapping[str, Any] | None = None,
    derivatives: bool = False,
    jitter: float = 0.0,
    seed: int = 0,
) -> dict[str, Floats]:
    """A log of the arm along a motion: t, q and the effort, from its inverse dynamics.

    Args:
        arm: the arm as it is.
        motion: what it does.
        side: where the torque is measured, before the gear (times its ratio) or behind it.
        rate: samples per second.
        q_noise, q_step: of encoders, rad (m).
        effort_noise, effort_step: N m (N), A or V; noise as a share of each joint's rms where `is_share`.
        clip: largest effort that is logged, either sign.
        delay: of the effort behind the motion, s.
        offset, gain: logged = gain * true + offset.
        effort: what is logged.
        payload: mass, com, inertia of a load in the hand.
        derivatives: whether qd and qdd, exact, are logged too.
        jitter: of the times of samples, which are logged as they were, s; uniform.
        seed: of the noise.
    """
    rng = np.random.default_rng([seed, 23])
    t = np.arange(0.0, motion.duration, 1.0 / rate)
    t = t + jitter * rng.uniform(-0.5, 0.5, len(t)) if jitter else t
    loaded = arm if payload is None else arm.with_payload(**payload)
    q, qd, qdd = motion.at(t)
    at = motion.at(t - delay)
    tau = fa.compile(behind_gear(loaded) if side == "link" else loaded).inverse_dynamics(*at)
    log = {"t": t, "q": read_by_encoder(q, q_noise, q_step, rng)}
    if derivatives:
        log |= {"qd": qd, "qdd": qdd}
    true = as_effort(arm, tau, at[1], effort)
    sigma = np.asarray(effort_noise) * (np.sqrt(np.mean(true**2, axis=0)) if is_share else 1.0)
    log[effort] = read_by_sensor(true, sigma, effort_step, clip, offset, gain, rng)
    return log


def closed_loop(
    arm: Arm,
    motion: AnyMotion,
    *,
    rate: float = 1000.0,
    bandwidth: float = 25.0,
    controller_of: Arm | None = None,
    q_noise: ArrayLike = 0.0,
    q_step: ArrayLike = 0.0,
    effort_noise: ArrayLike = 0.0,
    effort: Effort = "tau",
    seed: int = 0,
) -> dict[str, Floats]:
    """A log of the arm under a PD that follows a motion, sticking where friction holds joints.

    Torques are held for a period, as drives do: those of a row act in the period that begins there, half a
    period later on average. Sensors of the log are not those of the controller.
    """
    rng = np.random.default_rng([seed, 29])
    made = run(
        arm if controller_of is None else controller_of,
        PD(arm if controller_of is None else controller_of, bandwidth=bandwidth),
        motion,
        period=1.0 / rate,
        plant=arm,
    )
    true = as_effort(arm, made.tau, made.qd, effort)
    return {
        "t": np.array(made.t),
        "q": read_by_encoder(made.q, q_noise, q_step, rng),
        effort: read_by_sensor(true, effort_noise, 0.0, None, 0.0, 1.0, rng),
    }


def as_effort(arm: Arm, tau: Floats, qd: Floats, effort: Effort) -> Floats:
    """Torques, or the currents or voltages that motors make them of."""
    if effort == "voltage":
        return voltage_of(arm, tau, qd)
    return np.asarray(tau / torque_constants(arm)) if effort == "current" else tau


def read_by_encoder(q: Floats, noise: ArrayLike, step: ArrayLike, rng: np.random.Generator) -> Floats:
    """Positions with noise, in steps."""
    return in_steps(q + np.asarray(noise) * rng.normal(size=q.shape), step)


def read_by_sensor(
    effort: Floats,
    noise: ArrayLike,
    step: ArrayLike,
    clip: ArrayLike | None,
    offset: ArrayLike,
    gain: ArrayLike,
    rng: np.random.Generator,
) -> Floats:
    """Efforts with gain, offset and noise, in steps, within what the sensor can tell."""
    loud = np.asarray(gain) * effort + np.asarray(offset) + np.asarray(noise) * rng.normal(size=effort.shape)
    stepped = in_steps(loud, step)
    return stepped if clip is None else np.clip(stepped, -np.asarray(clip), np.asarray(clip))


def in_steps(x: Floats, step: ArrayLike) -> Floats:
    """To whole multiples of a step; a step of 0 leaves them."""
    width = np.broadcast_to(np.asarray(step, dtype=np.float64), x.shape)
    safe = np.where(width > 0.0, width, 1.0)
    return np.asarray(np.where(width > 0.0, np.round(x / safe) * safe, x))


ROS = {"q": "position", "qd": "velocity", "qdd": "acceleration", "tau": "effort", "current": "current"}
SPELLINGS = {
    "ours": ("t", "{ours}{k}"),
    "ros": ("time", "/joint_states/{joint}/{theirs}"),
    "brackets": ("timestamp", "field.{theirs}[{i}]"),
}


def as_columns(arm: Arm, log: Mapping[str, Floats], spelling: str = "ours") -> dict[str, Floats]:
    """The columns of a log under names that files have."""
    times, form = SPELLINGS[spelling]
    table = {times: log["t"]}
    for key, values in log.items():
        if key != "t":
            for i, joint in enumerate(arm.joints):
                name = form.format(ours=key, theirs=ROS.get(key, key), k=i + 1, i=i, joint=joint.name)
                table[name] = values[:, i]
    return table


def write_log(path: Path, arm: Arm, log: Mapping[str, Floats], spelling: str = "ros") -> Path:
    """A log as a file, CSV or Parquet by its ending."""
    write_table(path, as_columns(arm, log, spelling))
    return path
