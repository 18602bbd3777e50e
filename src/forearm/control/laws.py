"""Joint-space control laws on the expression graph, each one function from a sample to a voltage."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm, check_arm
from forearm.codegen.functions import Traced
from forearm.codegen.tracing import Tracing
from forearm.control.controller import most_torques
from forearm.control.controllers.forces import inputs_named, traced_vectors
from forearm.control.controllers.formulas import CONTROL_LAWS, LawInputs, Vector, clamped, state_next
from forearm.control.controllers.traced_model import TracedModel
from forearm.control.gains import Gains, bandwidth_said, critically_damped, joint_gains
from forearm.control.model_error import without_friction
from forearm.control.options import CODE_LAW, CodeLawOptions
from forearm.control.options import PERIOD as PERIOD
from forearm.drives.motor import constants_of
from forearm.errors import InputError, ModelError, shorten
from forearm.model import symbolic
from forearm.spatial import Floats
from forearm.values import as_floats

LAWS = {
    "computed_torque": (
        "Computed torque: inverse dynamics at q, qd and the acceleration qdd_wanted + kd e' + kp e"
    ),
    "feedforward_pd": "Feed-forward + PD: inverse dynamics of the wanted motion + kp e + kd e'",
    "pd_gravity": "PD + gravity: kp e + kd e' + g(q)",
    "pid_gravity": "PID + gravity: kp e + kd e' + ki T times the sum of e + g(q)",
}
TORQUE_UNITS = {"kp": "N m/rad (N/m)", "kd": "N m s/rad (N s/m)", "ki": "N m/(rad s) (N/(m s))"}
ACCELERATION_UNITS = {"kp": "1/s^2", "kd": "1/s", "ki": "1/s^3"}
INPUTS = ("q", "qd", "q_wanted", "qd_wanted", "qdd_wanted")


@dataclass(frozen=True, eq=False)
class Law:
    """A law traced for an arm: the function, its open gains by name, and its outputs."""

    about: str
    arm: Arm
    traced: Traced
    parameters: dict[str, float]
    output: str  # "voltage" or "tau"
    regrouped: bool
    inputs: dict[str, int]  # inputs of a sample with their lengths
    gains: tuple[str, ...]  # the bandwidth and the gains in words
    state: int = 0  # length of the state,
    kept: str = "nothing"  # and what it holds

    @property
    def has_state(self) -> bool:
        """Whether it stores anything between samples."""
        return self.state > 0


def law_of(arm: Arm, law: str, options: CodeLawOptions = CODE_LAW, open_gains: bool = False) -> Law:
    """A law with the gains of its Python controller, or with the given ones; voltages if every motor is
    known, else torques.

    Voltages and currents stay within the motors' limits, torques within `most` (n,), by default the joints'
    max_effort.
    """
    check_arm(arm, "controller", moves=True)
    integral, bandwidth = law == "pid_gravity", options.bandwidth
    chosen = options.gains or law_gains(arm, law, bandwidth)
    numbers = {"kp": chosen.kp, "kd": chosen.kd, "ki": chosen.ki * options.period}
    for name, row in numbers.items():
        if np.shape(row) != (arm.n,) or not np.isfinite(row).all():
            raise InputError(f"{name} must be {arm.n} finite numbers.", "controller", "gains")
    tracing = Tracing(arm if options.friction else without_friction(arm), {})
    is_open = [name for name in numbers if open_gains and (integral or name != "ki")]
    gained, parameters = gain_symbols(tracing, numbers, is_open)
    names = (*INPUTS, "state") if integral else INPUTS
    given = {name: inputs_named(tracing, name) for name in names}
    x = LawInputs(**given, **gained, qd_ahead=given["qd_wanted"])
    results = {"state_next": state_next(x)} if integral else {}
    tau = CONTROL_LAWS[law].torques(x, TracedModel(tracing))
    tracing.graph.section = "drives"
    output, results[output] = driven_by(arm, tau, x.qd, options.most)
    tracing.name_turns()
    traced = traced_vectors(tracing, names, results)
    inputs, kept = dict.fromkeys(INPUTS, arm.n), (arm.n, "the sum of position errors") if integral else ()
    values = {"kp": chosen.kp, "kd": chosen.kd} | ({"ki": chosen.ki} if integral else {})
    units = ACCELERATION_UNITS if law == "computed_torque" else TORQUE_UNITS
    said = gains_said(values, units, None if options.gains else bandwidth)
    return Law(LAWS[law], arm, traced, parameters, output, tracing.regrouped, inputs, said, *kept)


def gains_said(
    values: Mapping[str, Floats], units: Mapping[str, str], bandwidth: float | None
) -> tuple[str, ...]:
    """Lines that state the gains by name, and the bandwidth they are from if there is one."""
    if not values:
        return ()
    origin = "" if bandwidth is None else f", critically damped, {bandwidth_said(bandwidth)}"
    listed = {name: ", ".join(f"{x:.6g}" for x in row) for name, row in values.items()}
    return (
        f"Gains{origin}:",
        *(f"  {name} = {row} {units.get(name, '')}".rstrip() for name, row in listed.items()),
    )


def gain_symbols(
    tracing: Tracing, values: Mapping[str, Floats], is_open: Collection[str]
) -> tuple[dict[str, Vector], dict[str, float]]:
    """Gains as numbers, or as open parameters such as kp.1, with the values of these."""
    parameters: dict[str, float] = {}
    rows: dict[str, Vector] = {}
    for name, row in values.items():
        numbers = {f"{name}.{i + 1}": float(x) for i, x in enumerate(row)}
        if name in is_open:
            parameters |= numbers
        symbols = [tracing.graph.parameter(key) if name in is_open else x for key, x in numbers.items()]
        rows[name] = symbolic(symbols)
    return rows, parameters


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


def driven_by(arm: Arm, tau: Vector, qd: Vector, most: ArrayLike | None) -> tuple[str, Vector]:
    """Voltages within the motors' limits, V = R tau / K + K qd; torques if a motor is unknown. Swartz
    (11).
    """
    torques = [clamped(x, bound) for x, bound in zip(tau, _bounds(arm, most), strict=True)]
    try:
        c = constants_of(arm)
    except ModelError:
        return "tau", symbolic(torques)
    made = []
    for x, rate, K, R, current, voltage in zip(
        torques, qd, *(v.tolist() for v in (c.K, c.R, c.most_current, c.most_voltage)), strict=True
    ):
        made.append(clamped(clamped(x, abs(K) * current) * (R / K) + rate * K, voltage))
    return "voltage", symbolic(made)


def _bounds(arm: Arm, most: ArrayLike | None) -> list[float]:
    if most is None:
        return list(map(float, most_torques(arm)))
    bounds = as_floats(most, "controller, most")
    if bounds.shape != (arm.n,) or not (bounds > 0.0).all():
        raise InputError(f"expected {arm.n} torques above 0, got {shorten(most)}.", "controller", "most")
    return list(map(float, bounds))
