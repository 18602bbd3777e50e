"""Time to generate code, and its speed after compilation by a C compiler."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial

from forearm.arm.arm import Arm
from forearm.benchmarks.in_c import seconds_in_c
from forearm.benchmarks.timing import BenchmarkRow, median_time
from forearm.codegen.generate import generate
from forearm.codegen.tracing import Tracing
from forearm.files.builtin import load_builtin
from forearm.model import Scalar, model_of
from forearm.reduction.frames import chain_of
from forearm.reduction.plan import PLAIN_PLAN
from forearm.reduction.search import search_plan
from forearm.symbols import Graph, refined

SINES = {
    "sines.h": "void sines(const double q[6], double out[6]);\n",
    "sines.c": """\
#include <math.h>
#include "sines.h"
void sines(const double q[6], double out[6])
{
    for (int i = 0; i < 6; i++) out[i] = cos(q[i]) * sin(q[i]);
}
""",
}
ARGUMENTS = ("q", "qd", "third")


def rows(peers: bool) -> Iterator[BenchmarkRow]:
    """Tracing, searching, writing;
    and one evaluation of the C code, compiled here and called in a loop from C.
    """
    arms = {name: load_builtin(name).rigid() for name in ("puma560-akb", "panda", "chain50")}
    for name, bar in (("panda", 0.2), ("chain50", 2.0)):
        traced = _trace(arms[name])
        seconds = median_time(partial(_trace, arms[name]))
        yield BenchmarkRow(f"inverse dynamics of {name} traced", seconds, bar)
        yield BenchmarkRow(f"and refined, {name}", median_time(partial(refined, *traced)))
    chain = chain_of(model_of(arms["panda"]))
    yield BenchmarkRow("a plan for panda found", median_time(lambda: search_plan(chain)))
    seconds = median_time(lambda: generate(arms["panda"], "inverse_dynamics"))
    yield BenchmarkRow("C for panda written, plan known", seconds)
    compiler = shutil.which("cc")
    if compiler is None:
        return
    for name in ("puma560-akb", "panda"):
        for function in ("inverse_dynamics", "forward_dynamics"):
            source = generate(arms[name], function)
            title = f"{name}, {function} in C, {source.counts.mul} + {source.counts.add}"
            seconds = seconds_in_c(compiler, source.files(), source.name, arms[name].n, ARGUMENTS)
            yield BenchmarkRow(title, seconds)
    seconds = seconds_in_c(compiler, SINES, "sines", 6, ["q"])
    yield BenchmarkRow("sine and cosine of six angles, C library", seconds)


def _trace(arm: Arm) -> tuple[Graph, list[Scalar]]:
    tracing = Tracing(arm, {}, plan=PLAIN_PLAN)
    return tracing.graph, tracing.inverse(tracing.qd, tracing.qdd)
