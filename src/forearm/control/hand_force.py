"""External forces on the hand of a plant, and their joint torques."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.arm.elastic import elastic_freedoms
from forearm.control.actuators import Actuators
from forearm.control.controller import Pair
from forearm.drives.joint import depends_on_load
from forearm.errors import InputError, ModelError, shorten
from forearm.kernels.kept import kernel_of
from forearm.kernels.kernel import Kernel
from forearm.spatial import Floats
from forearm.values import as_floats, frozen_array

# Force and moment (6,) at the hand's origin, base axes: constant, or a function of t, q (n,) and qd (n,).
HandForce = ArrayLike | Callable[[float, Floats, Floats], ArrayLike]


@dataclass(frozen=True, eq=False)
class AppliedForce:
    """A force on the hand, evaluated once per period."""

    kernel: Kernel
    given: Callable[[float, Floats, Floats], ArrayLike]

    @staticmethod
    def of(plant: Arm, force: HandForce, actuators: Actuators) -> AppliedForce:
        """A force on the hand of a torque-driven plant."""
        if actuators.by_voltage:
            raise InputError(
                "expected a torque-driven plant, got voltages; omit dac and voltage.", "run", "hand_force"
            )
        if elastic := [plant.joints[j].name for j in elastic_freedoms(plant)]:
            raise ModelError(
                f"elastic joints of {plant.name!r}: {', '.join(elastic)}. A force on the hand "
                "would act on links and not on motors, which is not simulated; remove the "
                "elasticity, arm.with_drives(elasticity=None), or the force.",
                "run",
                "hand_force",
            )
        if depends_on_load(plant):
            raise InputError(
                f"friction of {plant.name!r} depends on the load, to which a force on the "
                "hand contributes differently from a motor; use "
                "control.without_friction(arm) as the plant.",
                "run",
                "hand_force",
            )
        if callable(force):
            return AppliedForce(kernel_of(plant), force)
        fixed = frozen_array(force, (6,), "run, hand_force")
        return AppliedForce(kernel_of(plant), lambda t, q, qd: fixed)

    def at(self, t: float, q: Floats, qd: Floats) -> Pair:
        """The force (6,), and J^T times it (n,)."""
        force = as_floats(self.given(t, q.copy(), qd.copy()), "run, hand_force")
        if force.shape != (6,) or not np.isfinite(force).all():
            raise InputError(
                f"expected 6 finite numbers at {t:.6g} s, got {shorten(force.tolist())}.", "run", "hand_force"
            )
        return force, force @ self.kernel.jacobian(q)
