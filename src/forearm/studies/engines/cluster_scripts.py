"""A study as cluster jobs: the parts of each share, and the Slurm script."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from forearm.errors import InputError, shorten

SHARE = re.compile(r"(\d{1,9})/(\d{1,9})", re.ASCII)
WORD = re.compile(r"[A-Za-z0-9][\w.,:+-]{0,99}", re.ASCII)  # a word in a line that sbatch itself reads
SECONDS_BEFORE_END = 30  # seconds between the termination request and the end of a job


def part_range(text: str, parts: int) -> list[int]:
    """The parts of share i of N: every Nth part from the ith on, so that shares cost about the same.

    Args:
        text: "i/N" with i from 1 to N, as `--part` takes it.
        parts: Number of parts in the study.
    """
    found = SHARE.fullmatch(text)
    share, shares = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= share <= shares:
        raise InputError(f"expected i/N with i from 1 to N, such as 2/8, got {shorten(text)}.", "part")
    return list(range(share - 1, parts, shares))


def slurm_script(
    command: Sequence[str],
    count: int,
    name: str,
    *,
    cpus: int = 1,
    time_limit: str | None = None,
    memory: str | None = None,
    partition: str | None = None,
    setup: Sequence[str] = (),
) -> str:
    """A script for sbatch: a job array, each job with its share of the parts.

    Submitted again, it computes only what is missing.

    Args:
        command: The words of the command without `--part`, such as ["forearm", "sweep", "study.toml"].
        count: Number of jobs that share the parts.
        name: The name of the job, and of its log files.
        cpus: Processors per job.
        time_limit: Time limit of a job, in sbatch's format, such as "02:00:00" (default: the partition's).
        memory: Memory of a job, such as "4G" (default: the partition's).
        partition: Partition of the jobs (default: the cluster's).
        setup: Shell lines to run first, such as "module load python".
    """
    optional = {"time": time_limit, "mem": memory, "partition": partition}
    options = {
        "job-name": name,
        "array": f"1-{count}",
        "ntasks": "1",
        "cpus-per-task": str(cpus),
        **{key: value for key, value in optional.items() if value is not None},
        "output": f"{name}-%A_%a.log",
        "signal": f"TERM@{SECONDS_BEFORE_END}",
    }
    for key in ("job-name", *(key for key in optional if key in options)):
        if not WORD.fullmatch(options[key]):
            raise InputError(
                f"expected only letters, digits and . , : + - _ for sbatch, got {shorten(options[key])}.", key
            )
    share = f'"${{SLURM_ARRAY_TASK_ID:?submit this with sbatch}}/{count}"'
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH --{key}={value}" for key, value in options.items()),
        "",
        "# Submit this script again to compute what is missing; what is complete is kept.",
        "set -e",  # not -u, which module and conda scripts do not survive
        *setup,
        # since Slurm 22.05 srun does not inherit --cpus-per-task from sbatch
        f"exec srun --cpus-per-task={cpus} {shlex.join(command)} --part {share}",
    ]
    return "\n".join(lines) + "\n"
