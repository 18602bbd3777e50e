"""Feedforward: the torques of the reference motion, regardless of the actual state. Swartz's use of the
Inverse Arm.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.control.controller import Sample
from forearm.control.controllers.forces import law_of_model, named
from forearm.control.gains import BANDWIDTH, joint_gains
from forearm.control.model_error import without_friction
from forearm.spatial import Floats


class FeedForward:
    """tau = inverse dynamics of the reference motion; nothing is measured, so that errors persist.

    Args:
        arm: the controller's model of the arm.
        friction: whether friction is in the model.
        dropped: terms left out: "no-velocity-terms", "no-gravity" or "own-link-only"; None: full model.
    """

    def __init__(self, arm: Arm, *, friction: bool = True, dropped: str | None = None) -> None:
        self._law = law_of_model(arm if friction else without_friction(arm), "feedforward", dropped)
        self.name = named("feed-forward", friction, dropped)

    @property
    def operations(self) -> float:
        """Operations of the inverse dynamics, and of friction directions."""
        return self._law.counts.operations

    def reset(self) -> None:
        """No state to reset."""

    def command(self, sample: Sample) -> Floats:
        """Torques of the reference motion."""
        tau: Floats = self._law.call(*sample.wanted, sample.ahead[1])
        return tau


class FeedForwardPD:
    """tau = inverse dynamics of the reference motion + M_jj (kp e + kd e'), with each joint's own inertia.

    Args:
        arm: the controller's model of the arm.
        bandwidth: of the critically damped error dynamics, rad/s.
        inertias: factors of the gains (n,), kg m^2 (kg); None: M_jj in mid-range.
        friction: whether friction is in the model.
        dropped: terms left out: "no-velocity-terms", "no-gravity" or "own-link-only"; None: full model.
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
        """Operations of the inverse dynamics, of friction directions, and of the errors and adding them."""
        return self._law.counts.operations

    def reset(self) -> None:
        """No state to reset."""

    def command(self, sample: Sample) -> Floats:
        """Torques of the reference motion, corrected."""
        gains = self.gains
        tau: Floats = self._law.call(sample.q, sample.qd, *sample.wanted, sample.ahead[1], gains.kp, gains.kd)
        return tau
