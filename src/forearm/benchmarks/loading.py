"""Time until an arm is available: importing, showing, loading."""

from __future__ import annotations

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

from forearm.arm.chain import chain
from forearm.benchmarks.peers import problem
from forearm.benchmarks.timing import BenchmarkRow, median_process_time, median_time
from forearm.files.load import load
from forearm.files.urdf_write import urdf_text

LINKS = 200


def rows(peers: bool) -> list[BenchmarkRow]:
    """Import, two commands, and a URDF of 200 links; compared with MuJoCo's reader if peers are requested."""
    peers = peers and problem("MuJoCo") is None
    empty = median_process_time(["-c", "pass"])
    numpy = median_process_time(["-c", "import numpy"])
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "chain.urdf"
        text = urdf_text(chain(LINKS - 1))
        path.write_text(text, encoding="utf-8")
        toml = Path(folder) / "chain.toml"
        chain(LINKS - 1).save(toml)
        peer = median_time(lambda: _mujoco(text)) if peers else None
        return [
            BenchmarkRow("python starts", empty),
            BenchmarkRow("import numpy", numpy),
            BenchmarkRow("import forearm", median_process_time(["-c", "import forearm"]), bar=0.25),
            BenchmarkRow(
                "forearm --help", median_process_time(["-m", "forearm.cli.main", "--help"]), bar=0.35
            ),
            BenchmarkRow(
                "forearm info puma560",
                median_process_time(["-m", "forearm.cli.main", "info", "puma560"]),
                bar=0.8,
            ),
            BenchmarkRow(
                f"load a URDF of {LINKS} links",
                median_time(lambda: load(path)),
                bar=0.1,
                peer="MuJoCo, parse and compile" if peers else None,
                peer_seconds=peer,
            ),
            BenchmarkRow(f"load an arm file of {LINKS} links", median_time(lambda: load(toml))),
        ]


def _mujoco(text: str) -> object:
    import mujoco

    return mujoco.MjModel.from_xml_string(text)
