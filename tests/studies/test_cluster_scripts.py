"""Shares of parts, and the script for Slurm as bash runs it."""

from __future__ import annotations

import os
import shutil
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from forearm.errors import InputError
from forearm.studies.engines.cluster_scripts import part_range, slurm_script

COMMAND = ["forearm", "sweep", "my study.toml", "--out", 'it\'s $HOME; `ls` \\ "here" *', "--name", "-x=#"]


def test_shares_are_disjoint_and_complete() -> None:
    for parts, shares in product((0, 1, 2, 7, 60), (1, 2, 3, 7, 64)):
        taken = [part_range(f"{i}/{shares}", parts) for i in range(1, shares + 1)]
        assert sorted(part for share in taken for part in share) == list(range(parts))
        assert max(map(len, taken)) - min(map(len, taken)) <= 1


@pytest.mark.parametrize("text", ["3", "0/4", "5/4", "-1/4", "1/4/", "1.0/4", "\u0661/\u0664"])
def test_other_texts_are_refused(text: Any) -> None:
    with pytest.raises(InputError, match="part: expected i/N with i from 1 to N, such as 2/8, got"):
        part_range(text, 10)


def test_the_script_in_full() -> None:
    script = slurm_script(
        ["forearm", "sweep", "a b.toml"],
        40,
        "arms",
        cpus=8,
        time_limit="1-02:00:00",
        memory="4G",
        partition="long",
        setup=["module load python"],
    )
    assert script == (
        "#!/bin/bash\n"
        "#SBATCH --job-name=arms\n"
        "#SBATCH --array=1-40\n"
        "#SBATCH --ntasks=1\n"
        "#SBATCH --cpus-per-task=8\n"
        "#SBATCH --time=1-02:00:00\n"
        "#SBATCH --mem=4G\n"
        "#SBATCH --partition=long\n"
        "#SBATCH --output=arms-%A_%a.log\n"
        "#SBATCH --signal=TERM@30\n"
        "\n"
        "# Submit this script again to compute what is missing; what is complete is kept.\n"
        "set -e\n"
        "module load python\n"
        "exec srun --cpus-per-task=8 forearm sweep 'a b.toml' --part "
        '"${SLURM_ARRAY_TASK_ID:?submit this with sbatch}/40"\n'
    )


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_every_word_of_the_command_arrives(tmp_path: Path) -> None:
    srun = tmp_path / "srun"
    srun.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
    srun.chmod(0o755)
    script = tmp_path / "job.sh"
    script.write_text(slurm_script(COMMAND, 12, "arms", cpus=3))
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_ARRAY_TASK_ID": "7"}
    ran = subprocess.run(["bash", str(script)], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.split("\0")[:-1] == ["--cpus-per-task=3", *COMMAND, "--part", "7/12"]
    outside = {key: value for key, value in environment.items() if key != "SLURM_ARRAY_TASK_ID"}
    alone = subprocess.run(["bash", str(script)], env=outside, capture_output=True, text=True, check=False)
    assert alone.returncode != 0, "outside of an array there is no share"
    assert "submit this with sbatch" in alone.stderr


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"name": "a b"}, "job-name: expected only letters"),
        ({"name": "x\n#SBATCH --uid=0"}, "job-name: expected only letters"),
        ({"time_limit": "1:00 --x"}, "time: expected only letters"),
        ({"memory": ""}, "mem: expected only letters"),
        ({"partition": "a\nb"}, "partition: expected only letters"),
    ],
)
def test_what_sbatch_would_misread_is_refused(change: dict[str, Any], text: str) -> None:
    given: dict[str, Any] = {"command": ["forearm"], "count": 2, "name": "arms"} | change
    with pytest.raises(InputError) as caught:
        slurm_script(**given)
    assert text in str(caught.value)
