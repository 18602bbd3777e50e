"""Control laws on the expression graph: what the controllers compute, from one sample to a
voltage, as one function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.codegen.functions import MEANINGS, Traced
from forearm.codegen.program import Argument
from forearm.codegen.tracing import Tracing
from forearm.control.controller import most_torques
from forearm.control.controllers.pd import joint_gains
from forearm.control.gains import BANDWIDTH, Gains, critically_damped
from forearm.control.model_error import without_friction
from forearm.drives.joint import held_freedoms
from forearm.drives.motor import constants_of
from forearm.errors import InputError, ModelError, NameNotFound, shorten, suggest
from forearm.symbols import Expr, refined
from forearm.symbols.scalars import sign
from forearm.values import as_floats, check_number

Floats = NDArray[np.float64]
LAWS = {
    "computed_torque": (
        "Computed torque: inverse dynamics at q, qd and the acceleration qdd_wanted + kd e' + kp e"
    ),
    "feedforward_pd": "Feed-forward + PD: inverse dynamics of the wanted motion + kp e + kd e'",
    "pd_gravity": "PD + gravity: kp e + kd e' + g(q)",
    "pid_gravity": "PID + gravity: kp e + kd e' + ki T times the sum of e + g(q)",
}
PERIOD = 1e-3  # s
INPUTS = ("q", "qd", "q_wanted", "qd_wanted", "qdd_wanted")


@dataclass(frozen=True, eq=False)
class Law:
    """A law traced for an arm: the function, the gains that stay parameters by name,
    and what comes out of it.
    """

    name: str
    arm: Arm
    traced: Traced
    parameters: dict[str, float]
    output: str  # "voltage" or "tau"
    has_state: bool
    regrouped: bool


def law_of(
    arm: Arm,
    law: str,
    bandwidth: float = BANDWIDTH,
    gains: Gains | None = None,
    friction: bool = True,
    period: float = PERIOD,
    most: ArrayLike | None = None,
    open_gains: bool = False,
) -> Law:
    """A law with the gains of its controller in Python, or others;
    voltages where every motor is known, torques elsewhere.

    Voltages and currents stay within the motors' limits, torques within `most` (n,),
    by default the joints' max_effort.
    """
    if not isinstance(arm, Arm) or arm.n == 0:
        raise InputError(f"controller: expected an Arm with joints that move, got {shorten(arm)}.")
    if not isinstance(law, str) or law not in LAWS:
        raise NameNotFound(f"controller: there is no law {shorten(law)}; {suggest(str(law), LAWS)}")
    integral = law == "pid_gravity"
    chosen = gains or (
        critically_damped(arm.n, bandwidth)
        if law == "computed_torque"
        else joint_gains(arm, bandwidth, None, integral)
    )
    share = chosen.ki * check_number(period, "controller, period", above=0.0)
    tracing = Tracing(arm if friction else without_friction(arm), {})
    kp, kd, ki, parameters = _gains(tracing, chosen, share, integral, open_gains)
    wanted = [[tracing.graph.input(f"{name}[{i}]") for i in range(arm.n)] for name in INPUTS[2:]]
    e, ed = (
        [w - x for w, x in zip(pair, had, strict=True)]
        for pair, had in ((wanted[0], tracing.q), (wanted[1], tracing.qd))
    )
    pull = [p * x + d * v for p, x, d, v in zip(kp, e, kd, ed, strict=True)]
    results: dict[str, Any] = {}
    if integral:
        sums = [tracing.graph.input(f"state[{i}]") for i in range(arm.n)]
        pull = [a + k * s for a, k, s in zip(pull, ki, sums, strict=True)]
        results["state_next"] = [s + x for s, x in zip(sums, e, strict=True)]
    tau = _torques(tracing, law, pull, wanted)
    tracing.graph.section = "drives"
    output, driven = _driven(arm, tau, tracing.qd, most)
    results[output] = driven
    tracing.name_turns()
    traced = _traced(tracing, {k: np.array(v, dtype=object) for k, v in results.items()}, arm.n, integral)
    return Law(law, arm, traced, parameters, output, integral, tracing.regrouped)


def _gains(
    tracing: Tracing, gains: Gains, share: Floats, integral: bool, is_open: bool
) -> tuple[list[Any], list[Any], list[Any], dict[str, float]]:
    """Numbers, or parameters kp.1, kd.1, ki.1 (times the period) that stay open."""
    values = {"kp": gains.kp, "kd": gains.kd, "ki": share}
    for name, given in values.items():
        if np.shape(given) != (tracing.arm.n,) or not np.isfinite(given).all():
            raise InputError(f"controller, gains: {name} must be {tracing.arm.n} finite numbers.")
    if not is_open:
        return (*(list(map(float, v)) for v in values.values()), {})  # type: ignore[return-value]
    parameters = {
        f"{name}.{i + 1}": float(x)
        for name, v in values.items()
        if name != "ki" or integral
        for i, x in enumerate(v)
    }
    made = {name: tracing.graph.parameter(name) for name in parameters}
    lists = [[made.get(f"{name}.{i + 1}", 0.0) for i in range(tracing.arm.n)] for name in values]
    return lists[0], lists[1], lists[2], parameters


def _torques(t: Tracing, law: str, pull: list[Any], wanted: list[list[Expr]]) -> list[Any]:
    """tau of the law; joints with dry friction that stand, or go astray, are taken to move as wanted."""
    if law == "computed_torque":
        qdd = [a + b for a, b in zip(wanted[2], pull, strict=True)]
        return t.inverse(*_moving(t, wanted[1], qdd))
    if law == "feedforward_pd":
        t.q, rates = wanted[0], wanted[1]
        return [a + b for a, b in zip(t.inverse(rates, wanted[2]), pull, strict=True)]
    return [a + b for a, b in zip(t.inverse(None, None), pull, strict=True)]


def _moving(t: Tracing, wanted: list[Expr], qdd: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Velocities, accelerations and directions of friction:
    measured, or wanted where a joint stands or moves against it.

    Directions are formed of signs alone, so that they are exact in fixed point too.
    """
    rates: list[Any] = []
    ways: list[Any] = []
    for rate, ahead, dry in zip(t.qd, wanted, held_freedoms(t.arm), strict=True):
        way, other = sign(rate), sign(ahead)
        agrees = way * other
        keep = way * way * (1.0 - 0.5 * (agrees * agrees - agrees)) if dry else 1.0  # 1 or 0
        rates.append(keep * rate + (1.0 - keep) * ahead)
        ways.append(keep * way + (1.0 - keep) * other)
    along = t.model.rates(ways)  # a follower may turn the other way
    return rates, qdd, [sign(way) for way in along] if t.model.has_followers else along


def _driven(arm: Arm, tau: list[Any], qd: list[Expr], most: ArrayLike | None) -> tuple[str, list[Any]]:
    """Voltages within the limits of motors, V = R tau / K + K qd; torques where a motor is
    not known. Swartz (11).
    """
    bounds = _bounds(arm, most)
    tau = [_clamped(x, bound) for x, bound in zip(tau, bounds, strict=True)]
    try:
        c = constants_of(arm)
    except ModelError:
        return "tau", tau
    made = []
    for i, (x, rate) in enumerate(zip(tau, qd, strict=True)):
        held = _clamped(x, abs(float(c.K[i])) * float(c.most_current[i]))
        made.append(_clamped(held * float(c.R[i] / c.K[i]) + rate * float(c.K[i]), float(c.most_voltage[i])))
    return "voltage", made


def _bounds(arm: Arm, most: ArrayLike | None) -> list[float]:
    if most is None:
        return [float(b) for b in most_torques(arm)]
    bounds = as_floats(most, "controller, most")
    if bounds.shape != (arm.n,) or not (bounds > 0.0).all():
        raise InputError(f"controller, most: expected {arm.n} torques above 0, got {shorten(most)}.")
    return [float(b) for b in bounds]


def _clamped(x: Any, bound: float) -> Any:
    """x within +-bound, (|x + b| - |x - b|) / 2."""
    if not np.isfinite(bound):
        return x
    return 0.5 * (abs(x + bound) - abs(x - bound))


def _traced(tracing: Tracing, results: dict[str, Any], n: int, has_state: bool) -> Traced:
    wanted = {f"{name}_wanted": f"the same, wanted: {MEANINGS[name]}" for name in ("q", "qd", "qdd")}
    said = {name: f"measured: {MEANINGS[name]}" for name in ("q", "qd")} | wanted
    inputs = [Argument(name, (n,), said[name]) for name in INPUTS]
    outputs = []
    if has_state:
        inputs.append(Argument("state", (n,), "sum of the position errors so far, all 0 at the start"))
        outputs.append(Argument("state_next", (n,), "the sum with this sample's errors"))
    if "voltage" in results:
        outputs.append(Argument("voltage", (n,), "voltages for the motors, within their limits, V"))
    else:
        outputs.append(Argument("tau", (n,), "motor torque times gear ratio, N m (N where a joint slides)"))
    graph, tables = refined(tracing.graph, results)
    return Traced(graph, tables, tuple(inputs), tuple(outputs))
