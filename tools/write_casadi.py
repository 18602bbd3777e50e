"""Let Pinocchio's algorithms become C through CasADi, for `forearm bench --peers`:
into the folder casadi of this environment.

The wheels of Pinocchio that pip installs have no `pinocchio.casadi`, but its headers: tools/write_casadi.cpp
is built against them, which takes a minute or two and a C++ compiler. `make bench-peers` runs this where the
files are not there yet.
"""

from __future__ import annotations

import subprocess
import warnings
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from forearm.benchmarks.kernels import ARMS
from forearm.benchmarks.peers.casadi import FOLDER, FUNCTIONS
from forearm.benchmarks.peers.pinocchio import Pinocchio
from forearm.files.builtin import load_builtin

# Pinocchio's own build sets these for its long lists of joints.
LIMITS = (
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=10",
)
ROUNDING = 1e-12  # what reading angles from URDF leaves of 0 and 1


def main() -> None:
    """Build the writer, and let it write for every arm."""
    FOLDER.mkdir(exist_ok=True)
    pinocchio, casadi = import_module("pinocchio"), import_module("casadi")
    prefix, other = Path(str(pinocchio.__file__)).parents[4], Path(str(casadi.__file__)).parent
    with TemporaryDirectory() as folder:
        includes = [f"-I{p}" for p in (prefix / "include", prefix / "include" / "eigen3", other / "include")]
        writer = Path(folder, "writer")
        link = [f"-L{other}", "-lcasadi", f"-Wl,-rpath,{other}", "-Wl,--allow-shlib-undefined"]
        source = Path(__file__).with_suffix(".cpp")
        subprocess.run(
            ["c++", "-std=c++17", "-O0", *LIMITS, *includes, str(source), "-o", str(writer), *link],
            check=True,
        )
        for name in ARMS:
            subprocess.run([str(writer)], input=numbers(name), text=True, cwd=folder, check=True)
            title = (
                f"/* {name}, rigid: Pinocchio {pinocchio.__version__} through CasADi, by "
                "tools/write_casadi.py. */\n"
            )
            for function in FUNCTIONS:
                text = Path(folder, f"{function}.c").read_text(encoding="utf-8")
                (FOLDER / f"{name}.{function}.c").write_text(title + text, encoding="utf-8")
                print(f"{name}.{function}.c: {len(text.splitlines())} lines")


def numbers(name: str) -> str:
    """What the writer reads; turns by right angles made exact, or CasADi would multiply by
    6e-17 where a zero stands.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arm = load_builtin(name).rigid()
    model = Pinocchio(arm, np.zeros((3, 1, arm.n))).model
    said: list[Any] = [model.nv]
    for k in range(1, model.njoints):
        place, body = model.jointPlacements[k], model.inertias[k]
        assert model.joints[k].shortname() == "JointModelRZ"
        said += [model.parents[k], *exact(place.rotation), *exact(place.translation)]
        said += [body.mass, *body.lever, *body.inertia.ravel()]
    return " ".join(str(v) for v in said)


def exact(values: Any) -> list[float]:
    """0, 1 and -1 where they are meant."""
    flat, whole = np.ravel(values), np.round(np.ravel(values))
    meant = (np.abs(flat - whole) < ROUNDING) & (np.abs(whole) <= 1.0)
    return [float(v) + 0.0 for v in np.where(meant, whole, flat)]


if __name__ == "__main__":
    main()
