"""The time of one cycle of a controller in C, and of fixed point compared with double on this machine."""

from __future__ import annotations

import shutil

from forearm.arm.drive import Friction, Motor
from forearm.benchmarks.in_c import seconds_in_c
from forearm.benchmarks.timing import BenchmarkRow, relative
from forearm.benchmarks.work import each_joint
from forearm.codegen.generate import generate
from forearm.control.code import controller_code
from forearm.control.fixed_code import fixed_point
from forearm.control.laws import INPUTS, LAWS
from forearm.files.builtin import load_builtin

CYCLE = 1e-6  # s: limit for one cycle of computed torque with seven joints
MOTOR = Motor(
    gear_ratio=100.0,
    rotor_inertia=1e-5,
    torque_constant=0.05,
    resistance=1.0,
    max_voltage=48.0,
    max_current=20.0,
)  # so that the output is voltages
FRICTION = Friction(viscous=0.5, coulomb=(0.8, -0.6))
RANGES = {"q": 2.9, "qd": 2.0, "qdd": 8.0}


def rows(peers: bool) -> list[BenchmarkRow]:
    """Cycles of every law for seven joints with friction,
    and inverse dynamics in fixed point compared with double.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        return []
    panda, puma = each_joint(load_builtin("panda"), motor=MOTOR, friction=FRICTION), load_builtin("puma560")
    made = []
    for law in LAWS:
        source = controller_code(panda, law, name="servo")
        seconds = seconds_in_c(compiler, source.files(), "servo_step", panda.n, [*INPUTS, "state"])
        bar = CYCLE if law == "computed_torque" else None
        made.append(BenchmarkRow(f"panda with friction, one cycle of {law} in C", seconds, bar))
    for arm in (puma, panda):
        names = ["q", "qd", "qdd"]
        plain = generate(arm, "inverse_dynamics", name="plain")
        double = seconds_in_c(compiler, plain.files(), "plain", arm.n, names)
        for word in (32, 16):
            source = fixed_point(arm, "inverse_dynamics", RANGES, word=word, name="fixed").source
            seconds = seconds_in_c(compiler, source.files(), "fixed", arm.n, names, f"int{word}_t")
            title = f"{arm.name}, inverse dynamics in {word} bits"
            made.append(relative(title, seconds, "the same in double", double, None))
    return made
