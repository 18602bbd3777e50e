"""Control laws inside rollouts: those of `controllers.formulas`, compiled together with the arm."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm, check_arm
from forearm.control.controllers.formulas import CONTROL_LAWS, LawInputs, state_next
from forearm.control.controllers.traced_model import TracedModel
from forearm.control.gains import Gains
from forearm.control.laws import law_gains as law_gains
from forearm.control.model_error import without_friction
from forearm.control.options import ROLLOUT_LAW, RolloutLawOptions
from forearm.errors import InputError
from forearm.kernels.traced_controller import SymbolicModel, TracedController
from forearm.records import flat
from forearm.spatial import Floats
from forearm.values import as_floats, check_choice, check_number, check_whole


@flat(options=RolloutLawOptions)
def rollout_controller(
    arm: Arm,
    law: str,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    *,
    step: float,
    period: int = 1,
    options: RolloutLawOptions = ROLLOUT_LAW,
) -> TracedController:
    """A control law for `Kernel.simulate`, with the reference at each step: the torques of the controller of
    that name in Python.

    Args:
        arm: the controller's model of the arm.
        law: "feedforward", "feedforward_pd", "computed_torque", "pd", "pd_gravity", "pid" or "pid_gravity".
        q: reference coordinates: (n,) or (B, n) throughout, (1, steps, n) or (B, steps, n) per step.
        qd, qdd: reference velocities and accelerations, of the same shape; None: zero.
        step: step size of the rollout, s.
        period: steps between two samples.
        options: gains and model of the law.
    """
    check_arm(arm, "rollout_controller", moves=True)
    formula = CONTROL_LAWS[check_choice(law, CONTROL_LAWS, "rollout_controller, law")]
    seconds = check_number(step, "rollout_controller, step", above=0.0) * check_whole(
        period, "rollout_controller, period", 1
    )
    n, keeps = arm.n, "state" in formula.inputs
    chosen, open_gains = options.gains or law_gains(arm, law, options.bandwidth), options.open_gains
    numbers = {"kp": chosen.kp, "kd": chosen.kd, "ki": chosen.ki * seconds}

    def answer(t: Any, q: Any, qd: Any, wanted: Any, model: SymbolicModel, state: Any, own: Any) -> Any:
        given = {name: wanted[k * n :][:n] for k, name in enumerate(WANTED)}
        gained = {name: own[k * n :][:n] for k, name in enumerate(numbers)} if open_gains else numbers
        x = LawInputs(q=q, qd=qd, state=state, **given, **gained)
        tau = formula.torques(x, TracedModel(model.tracing))
        return (tau, state_next(x)) if keeps else tau

    reference = _reference(arm, q, {"qd": qd, "qdd": qdd}, period)
    believed = arm if options.friction and not law.startswith("p") else without_friction(arm)
    row = gains_row(chosen, seconds) if open_gains else None
    return TracedController(answer, reference, period, arm=believed, state=n if keeps else 0, gains=row)


def gains_row(gains: Gains, period: float) -> Floats:
    """Gains as an open law reads them: kp, kd and ki times the sampling period (s), (3 n,)."""
    return np.concatenate([gains.kp, gains.kd, gains.ki * period])


WANTED = ("q_wanted", "qd_wanted", "qdd_wanted", "qd_ahead")


def _reference(arm: Arm, posture: ArrayLike, rates: dict[str, ArrayLike | None], period: int) -> Floats:
    """Rows of the reference, and of the reference velocity at the next sample."""
    q = as_floats(posture, "rollout_controller, q")
    if q.ndim not in (1, 2, 3) or q.shape[-1] != arm.n:
        raise InputError(
            f"{arm.name!r} has {arm.n} joints, expected shape ({arm.n},), (B, {arm.n}) or (B, "
            f"steps, {arm.n}), got {q.shape}.",
            "rollout_controller",
            "q",
        )
    rows = [q]
    for name, given in rates.items():
        rows.append(np.zeros_like(q) if given is None else as_floats(given, f"rollout_controller, {name}"))
        if rows[-1].shape != q.shape:
            raise InputError(
                f"expected the shape of q, {q.shape}, got {rows[-1].shape}.", "rollout_controller", name
            )
    ahead = rows[1]
    if q.ndim == 3:
        later = np.minimum(np.arange(q.shape[1]) + period, q.shape[1] - 1)
        ahead = ahead[:, later]
    return np.concatenate([*rows, ahead], axis=-1)
