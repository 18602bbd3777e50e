"""Cartesian impedance: a spring and a damper between the hand and its reference. Hogan 1985."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.control.controller import Sample
from forearm.control.controllers.arm_law import JOINTS, ArmLaw
from forearm.control.controllers.hand_formulas import ImpedanceTerms, impedance
from forearm.control.controllers.hand_gains import directions_given, posture_numbers, task_of, usual_masses
from forearm.control.model_error import without_friction
from forearm.control.options import HAND, HandOptions
from forearm.records import flat, with_fields
from forearm.spatial import Floats
from forearm.values import check_number


@with_fields
class Impedance:
    """tau = J^T (K e + D e') + g(q), with e the translation and rotation vector from the hand to its
    reference, base axes: a force F displaces the hand by K^-1 F.

    With `feedforward` and `velocity_terms` Lambda e'' + D e' + K e = F. A posture acts in the null space if
    the arm is redundant, with `feedforward`, or if `posture` is given; with as many joints as directions it
    shows only near singular configurations.

    Args:
        arm: the controller's model of the arm.
        stiffness: K of the directions `axes`, (m,) or (m, m), N/m and N m/rad; None: w^2 of the `bandwidth`
            times the mean apparent mass of the hand in mid-range.
        damping: D likewise, N s/m and N m s/rad; None: 2 `ratio` sqrt(K_jj Lambda_j) at each sample, with
            Lambda_j = 1 / (J M^-1 J^T)_jj.
        ratio: damping ratio, 1 is critical.
        feedforward: whether Lambda (xdd - J' qd) is added to the force.
        velocity_terms: whether C qd and friction are added to g(q).
        options: bandwidth w, directions and posture.
    """

    @flat(options=HandOptions)
    def __init__(
        self,
        arm: Arm,
        stiffness: ArrayLike | None = None,
        damping: ArrayLike | None = None,
        *,
        ratio: float = 1.0,
        feedforward: bool = False,
        velocity_terms: bool = False,
        options: HandOptions = HAND,
    ) -> None:
        task, w = task_of(arm, options), options.bandwidth
        m = len(task.rows)
        K = w * w * usual_masses(arm, task) if stiffness is None else stiffness
        numbers = {"stiffness": directions_given(K, m, "stiffness")}
        if damping is None:
            numbers["ratio"] = np.array([check_number(ratio, "ratio", minimum=0.0)])
        else:
            numbers["damping"] = directions_given(damping, m, "damping")
        chooses = arm.n > m or feedforward or options.posture is not None or options.avoid_limits is not None
        terms = ImpedanceTerms(feedforward, velocity_terms, chooses)
        if chooses:
            numbers |= posture_numbers(arm, options)
        self.law = ArmLaw(
            "impedance",
            f"Impedance: J^T (K e + D e'{' + Lambda (xdd - Jd qd)' if feedforward else ''}) + "
            f"{'C qd + g(q)' if velocity_terms else 'g(q)'}",
            arm if velocity_terms else without_friction(arm),
            dict.fromkeys(JOINTS, arm.n),
            numbers,
            (task, terms),
            lambda x, model: impedance(x, model, task, terms),
        )
        said = ["impedance", *(["feed-forward"] if feedforward else [])]
        self.name = ", ".join([*said, *(["velocity terms"] if velocity_terms else [])])

    @property
    def stiffness(self) -> Floats:
        """K (m, m)."""
        return _square(self.law.numbers["stiffness"])

    @property
    def operations(self) -> float:
        """Operations of the law, with the forward kinematics of the reference."""
        return self.law.operations

    def reset(self) -> None:
        """No state to reset."""

    def command(self, sample: Sample) -> Floats:
        """Joint torques of the spring and damper force, plus gravity torques."""
        tau: Floats = self.law.command(sample.q, sample.qd, *sample.wanted, sample.ahead[1])
        return tau


def _square(flat: Floats) -> Floats:
    side = round(len(flat) ** 0.5)
    return np.diag(flat) if side * side != len(flat) or len(flat) == 1 else flat.reshape(side, side)
