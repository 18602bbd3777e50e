"""Controllers asked along a motion without a loop: the arm is where it should be,
and forces meet inverse dynamics.
"""

from __future__ import annotations

import numpy as np
from arms import posture, random_arm
from numpy.typing import NDArray

from forearm import Arm
from forearm.control.controller import Controller, Sample
from forearm.control.reference import Motion
from forearm.kernels import compile
from forearm.trajectories import MotionLimits, Switching, bang_bang

Array = NDArray[np.float64]


def moving_arm(n: int = 3, seed: int = 11) -> tuple[Arm, Switching]:
    """A generic rigid arm and a motion of it with several switches of acceleration,
    begun and ended at speed.
    """
    arm = random_arm(seed, n, "standard", drives=False)
    ends = posture(arm, seed, 2)
    speeds = np.linspace(0.1, 0.3, n)
    return arm, bang_bang(
        ends[0], speeds, ends[1], -speeds, MotionLimits(np.linspace(2.0, 3.0, n), np.linspace(0.9, 1.2, n))
    )


def samples(motion: Motion, period: float, qdd: bool = False) -> list[Sample]:
    """What a controller is told of an arm that is exactly on the motion."""
    t = period * np.arange(int(motion.duration / period) + 1.0)
    rows = list(zip(*(np.asarray(x) for x in motion.at(t)), strict=True))
    return [
        Sample(k, float(t[k]), q, qd, a if qdd else None, (q, qd, a), rows[min(k + 1, len(rows) - 1)])
        for k, (q, qd, a) in enumerate(rows)
    ]


def asked(controller: Controller, motion: Motion, period: float) -> Array:
    """Its forces (m, n) along a motion."""
    controller.reset()
    return np.array([controller.command(sample) for sample in samples(motion, period)])


def truth(arm: Arm, motion: Motion, period: float) -> Array:
    """Inverse dynamics (m, n) at the same times."""
    states = [np.array([s.wanted[i] for s in samples(motion, period)]) for i in range(3)]
    return compile(arm).inverse_dynamics(states[0], states[1], states[2])


def worst(arm: Arm, controller: Controller, motion: Motion, period: float) -> float:
    """The largest difference, of the largest force."""
    right = truth(arm, motion, period)
    return float(np.abs(asked(controller, motion, period) - right).max() / np.abs(right).max())


def order(errors: list[float]) -> float:
    """The power by which errors fall when what makes them is halved again and again:
    the slope of the logarithms.
    """
    return float(np.polyfit(np.arange(len(errors)), -np.log2(errors), 1)[0])
