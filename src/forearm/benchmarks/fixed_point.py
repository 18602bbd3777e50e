"""How long one cycle of a controller takes in C, and what fixed point costs or saves beside double on this machine."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from forearm.arm.arm import Arm
from forearm.arm.drive import Friction, Motor
from forearm.benchmarks.timing import Row
from forearm.codegen.generate import generate
from forearm.control.code import controller_code
from forearm.control.fixed_code import fixed_point
from forearm.control.laws import INPUTS, LAWS
from forearm.files.builtin import load_builtin

CALLS = 1_000_000
ROUNDS = 7
CYCLE = 1e-6  # s: what one cycle of computed torque of seven joints should stay under
RANGES = {"q": 2.9, "qd": 2.0, "qdd": 8.0}
DRIVER = """\
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include "@NAME@.h"
int main(void)
{
    @TYPE@ @ARRAYS@;
    double sum = 0.0;
    int round, k, i;
    for (i = 0; i < @N@; i++) { @SET@ }
    for (round = 0; round < @ROUNDS@; round++) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        for (k = 0; k < @CALLS@; k++) {
            q[k % @N@] = (@TYPE@)(q[k % @N@] + @STEP@);
            @CALL@;
            sum += (double)out[0];
        }
        clock_gettime(CLOCK_MONOTONIC, &b);
        printf("%.9g\\n", ((double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec)) / @CALLS@);
    }
    fprintf(stderr, "%g\\n", sum);
    return 0;
}
"""


def rows(peers: bool) -> list[Row]:
    """Cycles of every law for seven joints with friction, and inverse dynamics in fixed point beside double."""
    compiler = shutil.which("cc")
    if compiler is None:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        panda, puma = with_drives(load_builtin("panda")), load_builtin("puma560")
    made = []
    for law in LAWS:
        source = controller_code(panda, law, name="servo")
        seconds = measured(compiler, source.files(), "servo", "servo_step", "double", panda.n, [*INPUTS, "state"])
        bar = CYCLE if law == "computed_torque" else None
        made.append(Row(f"panda with friction, one cycle of {law} in C", seconds, bar))
    for arm in (puma, panda):
        names = ["q", "qd", "qdd"]
        plain = generate(arm, "inverse_dynamics", name="plain")
        double = measured(compiler, plain.files(), "plain", "plain", "double", arm.n, names)
        for word in (32, 16):
            source = fixed_point(arm, "inverse_dynamics", RANGES, word=word, name="fixed").source
            seconds = measured(compiler, source.files(), "fixed", "fixed", f"int{word}_t", arm.n, names)
            title = f"{arm.name}, inverse dynamics in {word} bits"
            made.append(Row(title, seconds, peer="the same in double", peer_seconds=double))
    return made


def with_drives(arm: Arm) -> Arm:
    """The arm with a motor and friction on every joint, so that voltages come out."""
    motor = Motor(
        gear_ratio=100.0, rotor_inertia=1e-5, torque_constant=0.05, resistance=1.0, max_voltage=48.0, max_current=20.0
    )
    friction = Friction(viscous=0.5, coulomb=(0.8, -0.6))
    return arm.replace(
        tree=tuple(j if j.kind == "fixed" else replace(j, motor=motor, friction=friction) for j in arm.tree)
    )  # fmt: skip


def measured(
    compiler: str, files: Mapping[str, str], name: str, function: str, kind: str, n: int, arrays: Sequence[str]
) -> float:
    """Seconds for one call of a compiled function of arrays (n,) that fills the last, the least of some rounds."""
    small = kind != "double"
    unit = "" if small else " * 1e-3"
    entries = {
        "NAME": name, "TYPE": kind, "N": str(n), "ROUNDS": str(ROUNDS), "CALLS": str(CALLS), "STEP": "1" if small else "1e-7",
        "ARRAYS": ", ".join(f"{a}[{n}] = {{0}}" for a in (*arrays, "out")),
        "SET": " ".join(f"{a}[i] = ({kind})({100 + 7 * k} + 31 * i){unit};" for k, a in enumerate(arrays)),
        "CALL": f"{function}({', '.join((*arrays, 'out'))})",
    }  # fmt: skip
    text = DRIVER
    for key, value in entries.items():
        text = text.replace(f"@{key}@", value)
    with tempfile.TemporaryDirectory() as folder:
        for file, content in {**files, "driver.c": text}.items():
            Path(folder, file).write_text(content)
        flags = ["-std=gnu99", "-O3", "-march=native", "-o", "driver", "driver.c", f"{name}.c", "-lm"]
        subprocess.run([compiler, *flags], cwd=folder, check=True)
        done = subprocess.run([str(Path(folder, "driver"))], check=True, capture_output=True, text=True)
    return min(map(float, done.stdout.split()))
