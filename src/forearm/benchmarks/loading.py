"""Time until an arm is available: importing, showing, loading."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from forearm.arm.chain import chain
from forearm.benchmarks.peers import wanted
from forearm.benchmarks.timing import BenchmarkRow, median_process_time, median_time
from forearm.files.load import load
from forearm.files.urdf_write import urdf_text

LINKS = 200


def rows(peers: bool) -> Iterator[BenchmarkRow]:
    """Import, two commands, and a URDF of 200 links; compared with MuJoCo's reader if peers are requested."""
    for name, words, bar in (
        ("python starts", ["-c", "pass"], None),
        ("import numpy", ["-c", "import numpy"], None),
        ("import forearm", ["-c", "import forearm"], 0.25),
        ("forearm --help", ["-m", "forearm.cli.main", "--help"], 0.35),
        ("forearm info puma560", ["-m", "forearm.cli.main", "info", "puma560"], 0.8),
    ):
        yield BenchmarkRow(name, median_process_time(words), bar)
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        urdf, toml = Path(folder) / "chain.urdf", Path(folder) / "chain.toml"
        text = urdf_text(chain(LINKS - 1))
        urdf.write_text(text, encoding="utf-8")
        chain(LINKS - 1).save(toml)
        row = BenchmarkRow(f"load a URDF of {LINKS} links", median_time(lambda: load(urdf)), bar=0.1)
        if wanted("MuJoCo", peers):
            read = import_module("mujoco").MjModel.from_xml_string
            row = replace(row, peer="MuJoCo, parse and compile", peer_seconds=median_time(lambda: read(text)))
        yield row
        yield BenchmarkRow(f"load an arm file of {LINKS} links", median_time(lambda: load(toml)))
