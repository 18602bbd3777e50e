"""What docs/engines.md shows: scripts run for real where their engine is installed, commands parse; so do
scripts of recipes with an engine.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from studies.test_engines import DaskProcesses
from studies.test_study import STUDY, folder  # noqa: F401

from forearm.cli.main import _parser
from forearm.studies.engines.sweep import sweep
from forearm.studies.results import StudyResults

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"
RECIPES = PAGE.parent / "recipes" / "speed.md"
PATIENCE = 300.0  # s
ENGINES = ("distributed", "ray", "mpi4py", "loky", "submitit")
FEWER = re.compile(r"(workers=)\d+")  # than the page has


def blocks(language: str, page: Path = PAGE) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def engine_of(script: str) -> str:
    found = re.search(rf"^(?:from|import) ({'|'.join(ENGINES)})\b", script, flags=re.M)
    return found[1] if found else "forearm"


SCRIPTS = blocks("python") + [
    script for script in blocks("python", RECIPES) if engine_of(script) != "forearm"
]


def test_every_engine_has_its_script() -> None:
    assert {engine_of(script) for script in blocks("python")} == {"forearm", *ENGINES}


def test_commands_are_those_of_the_program() -> None:
    lines = [line for block in blocks("bash") for line in block.splitlines()]
    ours = [line.partition("forearm sweep ")[2] for line in lines if "forearm sweep" in line]
    assert len(ours) == len([line for line in lines if "forearm sweep" in line]) >= 6
    for line in ours:
        words = ["sweep", *shlex.split(line.partition(" > ")[0])]
        assert _parser("sweep").parse_known_args(words)[1] == [], line


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS, ids=engine_of)
def test_scripts_give_the_rows(script: str, folder: Path) -> None:  # noqa: F811
    engine = engine_of(script)
    pytest.importorskip(engine)
    (folder / "study.toml").write_text(STUDY.replace("seed = 3", "seed = 3\nrows_per_part = 5"), "utf-8")
    script = FEWER.sub(r"\g<1>2", script).replace('address="auto"', "num_cpus=2, include_dashboard=False")
    words = [sys.executable, "run.py"]
    if engine == "mpi4py":
        mpiexec = Path(sys.executable).with_name("mpiexec")
        if not mpiexec.exists():
            pytest.skip("no mpiexec beside Python: pip install mpich")
        words = [str(mpiexec), "-n", "3", sys.executable, "-m", "mpi4py.futures", "run.py"]
    cluster = DaskProcesses(folder / "dask") if "tcp://host:8786" in script else None
    try:
        if cluster is not None:
            script = script.replace("tcp://host:8786", cluster.address)
        (folder / "run.py").write_text(script, encoding="utf-8")
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        ran = subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, check=False, timeout=PATIENCE
        )
    finally:
        if cluster is not None:
            cluster.close()
    assert ran.returncode == 0, ran.stderr.decode()
    found, truth = StudyResults.read(folder / "results"), sweep(folder / "study.toml")
    for name, column in truth.table().items():
        assert list(found[name]) == list(column), name
