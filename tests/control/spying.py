"""A smooth motion, and a controller that keeps what it is told along it."""

from __future__ import annotations

import numpy as np

import forearm as fa
from forearm import control
from forearm.control.controller import Sample
from forearm.control.reference import Smooth


class Spy:
    """A controller that keeps what it is told, and asks for a torque that tells the sample."""

    name, operations = "spy", 7.0

    def __init__(self, n: int, scale: float = 0.0) -> None:
        self.n, self.scale = n, scale

    def reset(self) -> None:
        self.samples: list[Sample] = []

    def command(self, sample: Sample) -> np.ndarray:
        self.samples.append(sample)
        return np.full(self.n, self.scale * (sample.k + 1.0))


def wave(arm: fa.Arm, duration: float = 0.5) -> Smooth:
    return control.smooth(np.linspace(-0.2, 0.3, arm.n), np.linspace(0.5, -0.4, arm.n), duration)
