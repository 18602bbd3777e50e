"""Record Pinocchio's answers for random URDF arms into tests/data/pinocchio.json,
which test_pinocchio_recorded compares.

Pinocchio is no dependency of forearm; `make test-peers` installs it into an environment of its own and runs
this with another target. To record anew: .venv-peers/bin/python tools/record_pinocchio.py
The arms are those of tests/urdf_making.py; forearm itself is not imported. Rows and columns are in
Pinocchio's order of joints, which sorts siblings: `joints` names them, followers left out. Angles are plain
angles here, also of continuous joints.
"""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import recording
import tests_path  # noqa: F401
from numpy.typing import NDArray
from urdf_making import Making, random_urdf

Array = NDArray[np.float64]

TARGET = Path(__file__).parent.parent / "tests" / "data" / "pinocchio.json"
GRAVITY = (2.1, -5.7, -8.3)
STATES = 5
RIGID = Making(links=8, tree=False, mimics=False, drives=False, massless=False)
TURNING = replace(RIGID, kinds=("revolute", "continuous"))
ARMS = {
    "chain": (11, RIGID),
    "turning chain": (12, TURNING),
    "sliding chain": (13, replace(RIGID, links=5, kinds=("prismatic",))),
    "tree": (14, replace(RIGID, links=11, tree=True)),
    "turning tree": (15, replace(TURNING, links=9, tree=True)),
    # Pinocchio takes neither followers of continuous joints nor followers before their
    # leaders: a seed without any.
    "tree with followers": (
        28,
        replace(RIGID, links=11, tree=True, mimics=True, kinds=("revolute", "prismatic", "fixed")),
    ),
}


def main() -> None:
    """Write the file."""
    pinocchio = import_module("pinocchio")  # by name, as the types and tests of forearm do without it
    recorded = {
        "source": recording.source("Pinocchio", "pin", __file__),
        "gravity": GRAVITY,
        "arms": [record(pinocchio, name, random_urdf(seed, making)) for name, (seed, making) in ARMS.items()],
    }
    recording.write(recorded, TARGET, '{"name"', '{"q"')


def record(pin: Any, name: str, urdf: str) -> dict[str, Any]:
    """One arm and what Pinocchio says of it in each of the states."""
    model = pin.buildModelFromXML(urdf, mimic=True)
    model.gravity.linear = np.array(GRAVITY)
    data = model.createData()
    joints = [joint for joint in range(1, model.njoints) if model.joints[joint].nv == 1]
    assert [model.joints[joint].idx_v for joint in joints] == list(range(model.nv))
    links = [frame for frame in model.frames if frame.type == pin.FrameType.BODY]
    hand = max(links, key=lambda frame: len(model.supports[frame.parentJoint]))
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(STATES):
        angles, qd, qdd = rng.uniform(-math.pi, math.pi, model.nv), *rng.normal(size=(2, model.nv)) * 2.0
        rows.append(answers(pin, model, data, joints, links, hand, angles, qd, qdd))
    names = [model.names[joint] for joint in joints]
    return {"name": name, "urdf": urdf, "joints": names, "hand": hand.name, "states": rows}


def answers(
    pin: Any,
    model: Any,
    data: Any,
    joints: list[int],
    links: list[Any],
    hand: Any,
    angles: Array,
    qd: Array,
    qdd: Array,
) -> dict[str, Any]:
    """Every answer in one state.

    Where joints follow others only rnea is asked: aba does not take them, and crba of Pinocchio 4.1 loses the
    coupling of a leader with the joints behind its followers (on the tree below it contradicts its own rnea).
    """
    q, rest = configuration(model, joints, angles), np.zeros(model.nv)

    def rnea(qd: Array, qdd: Array) -> Array:
        return np.array(pin.rnea(model, data, q, qd, qdd))

    said: dict[str, Any] = {"q": angles, "qd": qd, "qdd": qdd, "rnea": rnea(qd, qdd)}
    if model.nv == model.njoints - 1:
        M = pin.crba(model, data, q)
        said["crba"] = np.triu(M) + np.triu(M, 1).T
        said["nonlinear_effects"] = pin.nonLinearEffects(model, data, q, qd).copy()
        said["gravity"] = pin.computeGeneralizedGravity(model, data, q).copy()
        # The torques of another state, so that the accelerations are not those above.
        said["tau"] = 3.0 * qdd[::-1]
        said["aba"] = pin.aba(model, data, q, qd, said["tau"]).copy()
    else:
        said["crba"] = np.array([rnea(rest, unit) - rnea(rest, rest) for unit in np.eye(model.nv)]).T
        said["nonlinear_effects"], said["gravity"] = rnea(qd, rest), rnea(rest, rest)
    pin.forwardKinematics(model, data, q)
    pin.updateFramePlacements(model, data)
    said["placements"] = {
        link.name: data.oMf[model.getFrameId(link.name)].homogeneous[:3].copy() for link in links
    }
    frame = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    said["jacobian"] = pin.computeFrameJacobian(model, data, q, model.getFrameId(hand.name), frame).copy()
    return said


def configuration(model: Any, joints: list[int], angles: Array) -> Array:
    """Pinocchio's q: the coordinate itself, or cos and sin of it for continuous joints."""
    q = np.zeros(model.nq)
    for joint, angle in zip(joints, angles, strict=True):
        at = model.joints[joint].idx_q
        if model.joints[joint].nq == 2:
            q[at : at + 2] = math.cos(angle), math.sin(angle)
        else:
            q[at] = angle
    return q


if __name__ == "__main__":
    main()
