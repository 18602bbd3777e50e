"""The speed of generated C: compiled by the system's compiler, called in a loop from C."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

CALLS = 1_000_000
ROUNDS = 7
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


def seconds_in_c(
    compiler: str,
    files: Mapping[str, str],
    function: str,
    n: int,
    arrays: Sequence[str],
    kind: str = "double",
) -> float:
    """Seconds per call of a function of arrays (n,), the first called q, that fills another;
    the minimum of several rounds.

    The files are NAME.c and NAME.h, from `generate` or any other writer of the same form.
    """
    name = next(file for file in files if file.endswith(".c")).removesuffix(".c")
    small = kind != "double"
    unit = "" if small else " * 1e-3"
    entries = {
        "NAME": name,
        "TYPE": kind,
        "N": str(n),
        "ROUNDS": str(ROUNDS),
        "CALLS": str(CALLS),
        "STEP": "1" if small else "1e-7",
        "ARRAYS": ", ".join(f"{a}[{n}] = {{0}}" for a in (*arrays, "out")),
        "SET": " ".join(f"{a}[i] = ({kind})({100 + 7 * k} + 31 * i){unit};" for k, a in enumerate(arrays)),
        "CALL": f"{function}({', '.join((*arrays, 'out'))})",
    }
    text = DRIVER
    for key, value in entries.items():
        text = text.replace(f"@{key}@", value)
    with tempfile.TemporaryDirectory() as folder:
        for file, content in {**files, "driver.c": text}.items():
            Path(folder, file).write_text(content, encoding="utf-8")
        flags = ["-std=gnu99", "-O3", "-march=native", "-o", "driver", "driver.c", f"{name}.c", "-lm"]
        subprocess.run([compiler, *flags], cwd=folder, check=True)
        done = subprocess.run([str(Path(folder, "driver"))], check=True, capture_output=True, text=True)
    return min(map(float, done.stdout.split()))
