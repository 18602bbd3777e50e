"""Time and peak memory of identifying the Panda from simulated samples, by forearm, by figaroh, or by
Pinocchio and NumPy, in a process of its own: `python tools/identification_memory.py --by figaroh`.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np

from forearm.benchmarks.identification import SAMPLES, measured_panda
from forearm.benchmarks.peers.figaroh import EXTRAS, ZERO, PinocchioFit, samples_of
from forearm.files.builtin import load_builtin
from forearm.identification.from_logs import identify
from forearm.spatial import Floats


class Figaroh(PinocchioFit):
    """The same by figaroh's own functions, as its `BaseIdentification.solve` calls them."""

    who = "figaroh"

    def predicted(self) -> Floats:
        """Efforts of the fit, (N, n)."""
        tools = import_module("figaroh.tools.regressor")
        qr = import_module("figaroh.tools.qrdecomposition")
        m, n = self.measured, self.model.nv
        robot = SimpleNamespace(model=self.model, data=self.model.createData())
        asked: dict[str, Any] = {
            "has_friction": "fv" in self.extras,
            "has_actuator_inertia": "ia" in self.extras,
            "has_joint_offset": "off" in self.extras,
            "is_joint_torques": True,
            "act_idxv": list(range(n)),
        }
        names = {f"link{k}.{i}": 0.0 for k in range(n) for i in range(10)}
        names |= {f"{extra}{j}": 0.0 for extra in self.extras for j in range(n)}
        whole = tools.build_regressor_basic(robot, m.q, m.qd, m.qdd, asked)
        zero, left = tools.get_index_eliminate(whole, names, ZERO)
        reduced = tools.build_regressor_reduced(whole, zero)
        base, _, _, found = qr.QRDecomposer().double_decomposition(m.tau.T.ravel(), reduced, left)
        return self._rows(base @ found)


def main() -> None:
    """Print seconds and peak memory of one fit of the Panda's simulated samples."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--by", choices=("forearm", "figaroh", "pinocchio"), default="forearm")
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--rigid", action="store_true", help="inertial parameters only")
    given = parser.parse_args()
    if given.by == "forearm":
        return _ours(given.samples)
    arm = load_builtin("panda")
    kind = Figaroh if given.by == "figaroh" else PinocchioFit
    peer = kind(arm, samples_of(arm, given.samples), () if given.rigid else EXTRAS)
    if given.by == "figaroh":
        import_module("figaroh.tools.regressor")
    before, start = peak_memory(), time.perf_counter()
    predicted = peer.predicted()
    seconds, after = time.perf_counter() - start, peak_memory()
    left = float(np.sqrt(np.mean((predicted - peer.measured.tau) ** 2)))
    print(f"{peer.who}: {given.samples} samples, {seconds:.2f} s, peak {after:.0f} MB ", end="")
    print(f"({before:.0f} MB before), residual {left:.4f} N m")


def _ours(samples: int) -> None:
    arm, log = measured_panda(samples)
    before = peak_memory()
    identify(arm, {x: log[x] for x in ("t", "q", "tau")}, torque_side="motor")
    print(f"peak {peak_memory():.0f} MB, {before:.0f} MB before, with the log in memory")


def peak_memory() -> float:
    """Of this process, MB."""
    unit = 1024.0**2 if sys.platform == "darwin" else 1024.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


if __name__ == "__main__":
    main()
