"""Record what Pinocchio and the Robotics Toolbox say of one arm each, for the recipes of docs/conventions.md.

Neither is a dependency of forearm. To record anew, where both are installed (`make bench-peers` does that):
.venv-peers/bin/python tools/record_conventions.py
forearm itself is not imported. test_conventions compares.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import recording
import tests_path  # noqa: F401
from numpy.typing import NDArray
from record_pinocchio import TURNING, configuration
from urdf_making import random_urdf

Array = NDArray[np.float64]

TARGET = Path(__file__).parent.parent / "tests" / "data" / "conventions.json"
GRAVITY = (1.3, -2.1, -9.2)  # what falls, falls so


def of_pinocchio() -> dict[str, Any]:
    """Jacobians in the three references, the hand as a quaternion, what drives add,
    a load on the last link.
    """
    pin = import_module("pinocchio")
    urdf = random_urdf(21, TURNING)
    model = pin.buildModelFromXML(urdf)
    model.gravity.linear = np.array(GRAVITY)
    data = model.createData()
    rng = np.random.default_rng(5)
    angles, qd, qdd = rng.uniform(-2.5, 2.5, (3, model.nv))
    q = configuration(model, list(range(1, model.njoints)), angles)
    hand = max(
        (f for f in model.frames if f.type == pin.FrameType.BODY),
        key=lambda f: len(model.supports[f.parentJoint]),
    )
    at = model.getFrameId(hand.name)
    references = ("LOCAL", "WORLD", "LOCAL_WORLD_ALIGNED")
    jacobians = {
        r: pin.computeFrameJacobian(model, data, q, at, getattr(pin.ReferenceFrame, r)).copy()
        for r in references
    }
    pin.framesForwardKinematics(model, data, q)
    armature, force, moment = rng.uniform(0.1, 0.9, model.nv), *rng.uniform(-5.0, 5.0, (2, 3))
    rigid = pin.rnea(model, data, q, qd, qdd).copy()
    # The load is given in the frame of the hand and reaches the joint that carries it by the
    # hand's placement there.
    loads = [pin.Force.Zero() for _ in range(model.njoints)]
    loads[hand.parentJoint] = hand.placement.act(pin.Force(force, moment))
    loaded = pin.rnea(model, data, q, qd, qdd, loads).copy()
    model.armature[:], model.damping[:], model.friction[:] = armature, 3.0, 2.0
    return {
        "version": pin.__version__,
        "urdf": urdf,
        "hand": hand.name,
        "joints": list(model.names)[1:],
        "gravity": GRAVITY,
        "q": angles,
        "qd": qd,
        "qdd": qdd,
        "jacobians": jacobians,
        "xyzquat": pin.SE3ToXYZQUAT(data.oMf[at]),
        "rigid": rigid,
        "armature": armature,
        "driven": pin.rnea(model, data, q, qd, qdd).copy(),
        "force": force,
        "moment": moment,
        "loaded": loaded,
    }


def of_toolbox(modified: bool) -> dict[str, Any]:
    """A chain with drives and a sliding joint: poses, Jacobians, torques with friction, a load,
    and both signs of gravity.
    """
    rtb, sm = import_module("roboticstoolbox"), import_module("spatialmath")
    rng = np.random.default_rng(6 + modified)
    kinds = "RRPR"
    rows = [toolbox_link(rng, kind) for kind in kinds]
    ending = "MDH" if modified else "DH"
    made = [
        getattr(rtb, ("Revolute" if kind == "R" else "Prismatic") + ending)(**row)
        for kind, row in zip(kinds, rows, strict=True)
    ]
    robot = rtb.DHRobot(made)
    q, qd, qdd = rng.uniform(0.2, 1.2, (3, 4)) * np.array([1.0, -1.0, 1.0, 1.0])
    T = robot.fkine(q)
    wrench = rng.uniform(-5.0, 5.0, 6)
    return {
        "version": rtb.__version__,
        "modified": modified,
        "kinds": kinds,
        "links": rows,
        "q": q,
        "qd": qd,
        "qdd": qdd,
        "fkine": T.A,
        "jacob0": robot.jacob0(q),
        "jacobe": robot.jacobe(q),
        "quaternion": sm.UnitQuaternion(T.R).A,
        "gravity": robot.gravity,
        "rne": robot.rne(q, qd, qdd),
        "upwards": robot.rne(q, qd, qdd, gravity=[0.0, 0.0, 5.0]),
        "wrench": wrench,
        "loaded": robot.rne(q, qd, qdd, fext=wrench),
        "inertia": robot.inertia(q),
        "tensor": made[1].I,
    }


def toolbox_link(rng: np.random.Generator, kind: str) -> dict[str, Any]:
    """One link in the toolbox's own words; its I is (Ixx, Iyy, Izz, Ixy, Iyz,
    Ixz) about the centre of mass.
    """
    a, alpha, other, offset = rng.uniform(0.2, 0.9, 4)
    I = [*rng.uniform(0.2, 0.3, 3), *rng.uniform(0.01, 0.05, 3)]  # noqa: E741
    body = {"m": rng.uniform(1, 5), "r": rng.uniform(-0.3, 0.3, 3), "I": I}
    drive = {
        "Jm": rng.uniform(1e-4, 1e-3),
        "G": rng.uniform(10.0, 30.0),
        "B": rng.uniform(1e-3, 1e-2),
        "Tc": [0.3, -0.5],
    }
    return {"a": a, "alpha": alpha, "offset": offset, "d" if kind == "R" else "theta": other} | body | drive


if __name__ == "__main__":
    said = {"pinocchio": of_pinocchio(), "toolbox": [of_toolbox(modified) for modified in (False, True)]}
    recording.write(said, TARGET)
