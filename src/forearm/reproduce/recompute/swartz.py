"""Swartz's integration formula, and his program `sim` run from a recorded session."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from forearm.drives.motor import torque_of
from forearm.dynamics import inverse
from forearm.errors import InputError
from forearm.files.builtin import load_builtin
from forearm.interpreter.interpreter import Interpreter
from forearm.interpreter.lines import TextLines
from forearm.interpreter.session import Session
from forearm.kernels import compile
from forearm.reading.textfile import read_bytes
from forearm.reproduce.recompute import Figures
from forearm.simulation import simulate
from forearm.simulation.arguments import Accuracy
from forearm.spatial import Floats

Acceleration = Callable[[Floats, Floats], Floats]

ARM = "cmu-dd"
SESSION = Path(__file__).parent.parent / "sessions" / "swartz.sim"
MAX_BYTES = 100_000
SHOWN = re.compile(r"^(\w+) = ([^#]*)")
START, VOLTAGE = (0.1, 0.4, -0.2, 0.8, 0.3, -0.3), (1.0, -5.0, 0.5, -3.0, 0.2, 0.1)
TIME, STEPS = 0.2, (4e-3, 2e-3)  # s; steps from which the orders are measured


def step(F: Acceleration, theta: Floats, omega: Floats, h: float, as_printed: bool) -> tuple[Floats, Floats]:
    """One step of Swartz p. 13, with - h c1 in c3 as printed, or with - h k1 as order 3 requires."""
    c1, k1 = omega, F(theta, omega)
    c2 = omega + 0.5 * h * k1
    k2 = F(theta + 0.5 * h * c1, c2)
    c3 = omega + 2.0 * h * k2 - h * (c1 if as_printed else k1)
    k3 = F(theta + 2.0 * h * c2 - h * c1, c3)
    return theta + h / 6.0 * (c1 + 4.0 * c2 + c3), omega + h / 6.0 * (k1 + 4.0 * k2 + k3)


def by_hand(h: float, as_printed: bool) -> Floats:
    """theta after TIME by steps of the formula, with constant motor voltages."""
    arm = load_builtin(ARM)
    kernel = compile(arm)

    def F(theta: Floats, omega: Floats) -> Floats:
        return kernel.forward_dynamics(theta, omega, torque_of(arm, np.array(VOLTAGE), omega))

    theta, omega = np.array(START), np.zeros(arm.n)
    for _ in range(round(TIME / h)):
        theta, omega = step(F, theta, omega, h, as_printed)
    return theta


def orders() -> Figures:
    """Swartz p. 13: the orders of our rk3 and of the formula as printed, from halving the step."""
    arm = load_builtin(ARM)
    run = partial(simulate, arm, START, np.zeros(arm.n), TIME, voltage=VOLTAGE)
    truth = run(method="dp87", accuracy=Accuracy(rtol=1e-12, atol=1e-13)).q[-1]
    ends = {
        "rk3": [run(method="rk3", step=h).q[-1] for h in STEPS],
        "as printed": [by_hand(h, as_printed=True) for h in STEPS],
    }
    errors = {name: [np.abs(q - truth).max() for q in found] for name, found in ends.items()}
    return {f"order, {name}": math.log2(coarse / fine) for name, (coarse, fine) in errors.items()}


@lru_cache(maxsize=1)
def played() -> tuple[dict[str, list[Floats]], Session]:
    """The session run by the interpreter: the values shown under each name, and the final session."""
    wrong: list[str] = []
    out, lines = io.StringIO(), TextLines(io.StringIO(read_bytes(SESSION, MAX_BYTES).decode()))
    interpreter = Interpreter(load_builtin(ARM), lines, out, wrong.append, None, None)
    if interpreter.run() != 0:
        raise InputError(f"{' '.join(wrong)}", SESSION.name)
    shown: dict[str, list[Floats]] = {}
    for line in out.getvalue().splitlines():
        if found := SHOWN.match(line):
            shown.setdefault(found[1], []).append(np.array(found[2].split(), dtype=np.float64))
    return shown, interpreter.session


def session() -> Figures:
    """Swartz pp. 13-15: his statements on the program as residuals in the recorded session, the largest over
    the joints.
    """
    shown, _ = played()
    arm, omega = load_builtin(ARM), np.array([0.2, -0.1, 0.3, 0.1, -0.2, 0.4])
    R, K = np.array([(j.motor.resistance, j.motor.torque_constant) for j in arm.joints if j.motor]).T
    set_voltage, set_torque = np.array(VOLTAGE), np.array([6.0, -20.0, 1.0, -2.0, 0.3, 0.05])
    return {
        "forward_arm after inverse_arm, alpha": _apart(
            shown["alpha"][0], np.array([1.0, 0.5, -1.0, 0.5, 1.0, 2.0])
        ),
        "torque from voltage": _apart(shown["torque"][1], K * (set_voltage - K * omega) / R),
        "voltage from torque": _apart(shown["voltage"][1], R * set_torque / K + K * omega),
        "gravity 9.80621 against a lifted base, torque": _apart(shown["torque"][2], _lifted(9.80621)),
        "gravity -9.80621 against a lowered base, torque": _apart(shown["torque"][3], _lifted(-9.80621)),
        "in one run and continued, theta": _apart(shown["theta"][0], shown["theta"][2]),
    }


def _lifted(g: float) -> Floats:
    """Torques at START without gravity and with the base accelerated by (0, 0, g). Swartz p. 4."""
    arm = load_builtin(ARM).replace(gravity=(0.0, 0.0, 0.0))
    rest, none = np.zeros(arm.n), np.zeros(3)
    return inverse(arm, START, rest, rest, base_motion=(none, none, np.array([0.0, 0.0, g])))


def _apart(a: Floats, b: Floats) -> float:
    return float(np.abs(a - b).max())
