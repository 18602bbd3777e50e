"""Control laws inside rollouts: those of `controllers.formulas`, compiled together with the arm."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm, check_arm
from forearm.control.controllers.formulas import CONTROL_LAWS, LawInputs, state_next
from forearm.control.controllers.traced_model import TracedModel
from forearm.control.gains import BANDWIDTH, Gains, critically_damped, joint_gains
from forearm.control.model_error import without_friction
from forearm.errors import InputError
from forearm.kernels.traced_controller import SymbolicModel, TracedController
from forearm.values import as_floats, check_choice, check_number, check_whole

Floats = NDArray[np.float64]


def rollout_controller(
    arm: Arm,
    law: str,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    *,
    step: float,
    period: int = 1,
    bandwidth: float = BANDWIDTH,
    gains: Gains | None = None,
    friction: bool = True,
    open_gains: bool = False,
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
        bandwidth: of the critically damped error dynamics, rad/s, if no gains are given.
        gains: of torques, or of accelerations for "computed_torque"; None: those of the bandwidth.
        friction: whether friction is in the law's model.
        open_gains: whether gains are runtime inputs, so that other gains need no recompilation: `gains` of
            the controller, (3 n,) as `gains_row` makes them, or (B, 3 n).
    """
    check_arm(arm, "rollout_controller", moves=True)
    formula = CONTROL_LAWS[check_choice(law, CONTROL_LAWS, "rollout_controller, law")]
    seconds = check_number(step, "rollout_controller, step", above=0.0) * check_whole(
        period, "rollout_controller, period", 1
    )
    n, keeps = arm.n, "state" in formula.inputs
    chosen = gains or law_gains(arm, law, bandwidth)
    numbers = {"kp": chosen.kp, "kd": chosen.kd, "ki": chosen.ki * seconds}

    def answer(t: Any, q: Any, qd: Any, wanted: Any, model: SymbolicModel, state: Any, own: Any) -> Any:
        given = {name: wanted[k * n :][:n] for k, name in enumerate(WANTED)}
        gained = {name: own[k * n :][:n] for k, name in enumerate(numbers)} if open_gains else numbers
        x = LawInputs(q=q, qd=qd, state=state, **given, **gained)
        tau = formula.torques(x, TracedModel(model.tracing))
        return (tau, state_next(x)) if keeps else tau

    reference = _reference(arm, q, {"qd": qd, "qdd": qdd}, period)
    believed = arm if friction and not law.startswith("p") else without_friction(arm)
    row = gains_row(chosen, seconds) if open_gains else None
    return TracedController(answer, reference, period, arm=believed, state=n if keeps else 0, gains=row)


def gains_row(gains: Gains, period: float) -> Floats:
    """Gains as an open law reads them: kp, kd and ki times the sampling period (s), (3 n,)."""
    return np.concatenate([gains.kp, gains.kd, gains.ki * period])


WANTED = ("q_wanted", "qd_wanted", "qdd_wanted", "qd_ahead")


def law_gains(arm: Arm, law: str, bandwidth: float, inertias: ArrayLike | None = None) -> Gains:
    """The gains that give a law its bandwidth.

    Args:
        arm: the controller's model of the arm.
        law: its name.
        bandwidth: rad/s.
        inertias: factors of torque gains (n,); None: M_jj in mid-range.
    """
    if law == "computed_torque":
        return critically_damped(arm.n, bandwidth)
    return joint_gains(arm, bandwidth, inertias, integral=law.startswith("pid"))


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
