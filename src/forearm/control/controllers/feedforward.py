"""Feed-forward: the torques that the wanted motion needs, whatever the arm does.
Swartz's use of the Inverse Arm.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.control.controller import Sample
from forearm.control.controllers.forces import law_of_model, named
from forearm.control.gains import BANDWIDTH, joint_gains
from forearm.control.model_error import without_friction

Floats = NDArray[np.float64]


class FeedForward:
    """tau = inverse dynamics of the wanted motion; nothing is measured, so that every error stays.

    Args:
        arm: the arm that the controller believes in.
        friction: whether friction is in its model.
        dropped: terms left out: "no-velocity-terms", "no-gravity" or "own-link-only"; None: none.
    """

    def __init__(self, arm: Arm, *, friction: bool = True, dropped: str | None = None) -> None:
        self._law = law_of_model(arm if friction else without_friction(arm), "feedforward", dropped)
        self.name = named("feed-forward", friction, dropped)

    @property
    def operations(self) -> float:
        """Those of the inverse dynamics, and of directions of friction."""
        return self._law.counts.operations

    def reset(self) -> None:
        """Nothing is kept."""

    def command(self, sample: Sample) -> Floats:
        """The wanted motion's torques."""
        tau: Floats = self._law.call(*sample.wanted, sample.ahead[1])
        return tau


class FeedForwardPD:
    """tau = inverse dynamics of the wanted motion + M_jj (kp e + kd e'), each joint's own inertia.

    Args:
        arm: the arm that the controller believes in.
        bandwidth: of critically damped errors, rad/s.
        inertias: what gains are multiplied by (n,), kg m^2 (kg); None: M_jj in mid-range.
        friction: whether friction is in its model.
        dropped: terms left out: "no-velocity-terms", "no-gravity" or "own-link-only"; None: none.
    """

    def __init__(
        self,
        arm: Arm,
        *,
        bandwidth: float = BANDWIDTH,
        inertias: ArrayLike | None = None,
        friction: bool = True,
        dropped: str | None = None,
    ) -> None:
        self._law = law_of_model(arm if friction else without_friction(arm), "feedforward_pd", dropped)
        self.gains = joint_gains(arm, bandwidth, inertias)
        self.name = named("feed-forward + PD", friction, dropped)

    @property
    def operations(self) -> float:
        """Those of the inverse dynamics, of directions of friction, of the errors and of adding them."""
        return self._law.counts.operations

    def reset(self) -> None:
        """Nothing is kept."""

    def command(self, sample: Sample) -> Floats:
        """The wanted motion's torques, corrected."""
        gains = self.gains
        tau: Floats = self._law.call(sample.q, sample.qd, *sample.wanted, sample.ahead[1], gains.kp, gains.kd)
        return tau
