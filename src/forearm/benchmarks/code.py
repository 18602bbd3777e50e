"""How long code takes to make, and how fast it is once a C compiler has had it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path

from forearm.arm.arm import Arm
from forearm.benchmarks.timing import Row, median_time
from forearm.codegen.generate import generate, program_for
from forearm.codegen.tracing import Tracing
from forearm.files.builtin import load_builtin
from forearm.model import Scalar, model_of
from forearm.reduction.frames import chain_of
from forearm.reduction.plan import PLAIN_PLAN
from forearm.reduction.search import best_plan
from forearm.symbols import Graph, refined

CALLS = 2_000_000
SINES = """\
#include <math.h>
#include "sines.h"
void sines(const double q[6], const double qd[6], const double third[6], double out[6])
{
    (void)qd, (void)third;
    for (int i = 0; i < 6; i++) out[i] = cos(q[i]) * sin(q[i]);
}
"""
DRIVER = """\
#include <stdio.h>
#include <time.h>
#include "NAME.h"
int main(void)
{
    double q[N] = {0}, qd[N] = {0}, third[N] = {0}, out[N] = {0}, sum = 0.0;
    struct timespec a, b;
    double best = 1e9;
    for (int i = 0; i < N; i++) { q[i] = 0.1 * i + 0.3; qd[i] = 0.2 - 0.1 * i; third[i] = 0.4; }
    for (int round = 0; round < 5; round++) {
        clock_gettime(CLOCK_MONOTONIC, &a);
        for (int k = 0; k < CALLS / 5; k++) {
            q[k % N] += 1e-7;
            NAME(q, qd, third, out);
            sum += out[0];
        }
        clock_gettime(CLOCK_MONOTONIC, &b);
        const double took = ((double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec)) / (CALLS / 5);
        if (took < best) best = took;
    }
    printf("%.6g %g\\n", best, sum);
    return 0;
}
"""


def rows(peers: bool) -> list[Row]:
    """Tracing, searching, writing; and one evaluation of the C, compiled here, called in a loop from C."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arms = {name: load_builtin(name).rigid() for name in ("puma560-akb", "panda", "chain50")}
    made = []
    for name, bar in (("panda", 0.2), ("chain50", 2.0)):
        arm = arms[name]
        traced = _trace(arm)
        made.append(Row(f"inverse dynamics of {name} traced", median_time(lambda a=arm: _trace(a)), bar))  # type: ignore[misc]
        made.append(Row(f"and refined, {name}", median_time(lambda t=traced: refined(*t))))  # type: ignore[misc]
    chain = chain_of(model_of(arms["panda"]))
    made.append(Row("a plan for panda found", median_time(lambda: best_plan.__wrapped__(chain))))
    made.append(Row("C for panda written, plan known", median_time(lambda: generate(arms["panda"], "inverse_dynamics"))))
    compiler = shutil.which("cc")
    for name in ("puma560-akb", "panda") if compiler else ():
        for function in ("inverse_dynamics", "forward_dynamics"):
            counts = program_for(arms[name], function).counts
            title = f"{name}, {function} in C, {counts.mul} + {counts.add}"
            source = generate(arms[name], function)
            made.append(Row(title, _compiled(str(compiler), source.name, arms[name].n, source.files())))
    if compiler:
        head = "void sines(const double q[6], const double qd[6], const double third[6], double out[6]);\n"
        files = {"sines.c": SINES, "sines.h": head}
        made.append(Row("sine and cosine of six angles, C library", _compiled(compiler, "sines", 6, files)))
    return made


def _trace(arm: Arm) -> tuple[Graph, list[Scalar]]:
    tracing = Tracing(arm, {}, plan=PLAIN_PLAN)
    return tracing.graph, tracing.inverse(tracing.qd, tracing.qdd)


def _compiled(compiler: str, name: str, n: int, files: dict[str, str]) -> float:
    """Seconds for one call of a function of three arrays that fills a fourth, compiled from these files."""
    with tempfile.TemporaryDirectory() as folder:
        head = f"#define NAME {name}\n#define N {n}\n#define CALLS {CALLS}\n"
        for file, text in (files | {"driver.c": head + DRIVER.replace("NAME.h", f"{name}.h")}).items():
            Path(folder, file).write_text(text)
        flags = ["-std=gnu99", "-O3", "-march=native", "-o", "driver", "driver.c", f"{name}.c", "-lm"]
        subprocess.run([compiler, *flags], cwd=folder, check=True)
        run = subprocess.run([str(Path(folder, "driver"))], capture_output=True, text=True, check=True)
    return float(run.stdout.split()[0])
