"""Every URDF of the package example-robot-data, loaded and computed, beside Pinocchio:
arms, hands, humanoids, quadrupeds.

`make test-peers` installs both into an environment of their own and runs this: .venv-peers/bin/python
tests/compare_robots.py Torques by the reference and by a kernel, and the inertia matrix, at one random
state of the rigid arm on a fixed base. Files that forearm refuses are named with the reason. Exit 1
where an answer differs.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import forearm as fa

Floats = NDArray[np.float64]
TOLERANCE = 1e-12  # of the largest value: rounding through some ten bodies in a row
COMPILED = 12  # joints at most: larger ones take seconds to compile, and the reference says as much


def main() -> int:
    """Compare all, one line each."""
    pin = import_module("pinocchio")
    data = (
        Path(import_module("cmeel").__file__ or "").parent.parent
        / "cmeel.prefix"
        / "share"
        / "example-robot-data"
    )
    files = sorted(data.rglob("*.urdf"))
    compared, refused, worst = 0, 0, 0.0
    warnings.simplefilter("ignore", fa.ForearmWarning)
    for path in files:
        try:
            arm = fa.load(path).rigid()
        except fa.ForearmError as error:
            refused += 1
            print(f"{path.name:36s} refused: {error}")
            continue
        if arm.n:
            apart = difference(pin, path, arm)
            compared, worst = compared + 1, max(worst, apart)
            print(
                f"{path.name:36s} {arm.n:3d} joints  {apart:.1e}{'' if apart <= TOLERANCE else '  differs'}"
            )
    print(
        f"{compared} robots compared, largest difference {worst:.1e} of the largest value; {refused} "
        f"of {len(files)} refused"
    )
    return 0 if compared and worst <= TOLERANCE else 1


def difference(pin: Any, path: Path, arm: fa.Arm) -> float:
    """The largest difference of torques and inertia matrix, relative to the largest value of each."""
    model = pin.buildModelFromUrdf(str(path))
    model.armature[:] = 0.0
    q, qd, qdd = np.random.default_rng(1).uniform(-1.0, 1.0, (3, arm.n))
    # of ours in each of Pinocchio's joints, in the order of its names
    share, offset = freedoms(arm, list(model.names)[1:])
    rows = [model.joints[model.getJointId(name)] for name in list(model.names)[1:]]
    places = [joint.idx_v for joint in rows]
    configuration, v, a = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    for joint, value in zip(rows, share @ q + offset, strict=True):
        turned = (np.cos(value), np.sin(value)) if joint.nq == 2 else (value,)
        configuration[joint.idx_q : joint.idx_q + joint.nq] = turned
    v[places], a[places] = share @ qd, share @ qdd
    tau = share.T @ pin.rnea(model, model.createData(), configuration, v, a)[places]
    M = pin.crba(model, model.createData(), configuration)
    M = np.triu(M) + np.triu(M, 1).T
    pairs = [
        (fa.dynamics.inverse(arm, q, qd, qdd), tau),
        (fa.dynamics.inertia_matrix(arm, q), share.T @ M[np.ix_(places, places)] @ share),
    ]
    other = fa.from_pinocchio(model).rigid()
    order = [list(model.names).index(joint.name) - 1 for joint in other.joints]
    state = [(share @ q + offset)[order], (share @ qd)[order], (share @ qdd)[order]]
    theirs = pin.rnea(model, model.createData(), configuration, v, a)[np.array(places)[order]]
    pairs.append((fa.dynamics.inverse(other, *state), theirs))
    if arm.n <= COMPILED:
        pairs.append((fa.compile(arm).inverse_dynamics(q, qd, qdd), tau))
    return max(float(np.abs(ours - theirs).max() / np.abs(theirs).max()) for ours, theirs in pairs)


def freedoms(arm: fa.Arm, names: list[str]) -> tuple[Floats, Floats]:
    """The coordinate of each joint named is share @ q + offset: followers have that of their leader."""
    joints, ours = {joint.name: joint for joint in arm.tree}, [joint.name for joint in arm.joints]
    share, offset = np.zeros((len(names), arm.n)), np.zeros(len(names))
    for row, name in enumerate(names):
        factor = 1.0
        while name not in ours:
            mimic = joints[name].mimic
            assert mimic is not None, f"{name} is a joint of Pinocchio's and none of ours"
            offset[row] += factor * mimic.offset
            factor, name = factor * mimic.multiplier, mimic.joint
        share[row, ours.index(name)] = factor
    return share, offset


if __name__ == "__main__":
    sys.exit(main())
