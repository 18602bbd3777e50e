"""The recipes of docs/conventions.md: MuJoCo live, Pinocchio and the Robotics Toolbox as recorded,
MATLAB by its arithmetic.
"""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from arms import random_arm
from numpy.typing import NDArray

import forearm as fa
from forearm.files.urdf_read import arm_from_urdf

Array = NDArray[np.float64]

HERE = Path(__file__).parent
RECORDED = json.loads((HERE / "data" / "conventions.json").read_text(encoding="utf-8"))
ENGINE = 1e-11  # relative: two engines that round at 1e-16, a few links deep, MuJoCo over principal axes
STEP = 1e-6  # of finite differences of poses: their error is about STEP^2 + 1e-16 / STEP
DIFFERENCE = 1e-8


@pytest.fixture(scope="module")
def recipes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The functions of the page, as a reader has them after its examples."""
    names: dict[str, Any] = {}
    page = (HERE.parent / "docs" / "conventions.md").read_text(encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", fa.ForearmWarning)
        patch.chdir(tmp_path_factory.mktemp("page"))
        for block in re.findall(r"^```python\n(.*?)^```", page, flags=re.M | re.S):
            exec(compile(block, "conventions.md", "exec"), names)
    return names


def agree(ours: Any, theirs: Any, tolerance: float = ENGINE) -> None:
    theirs = np.asarray(theirs)
    np.testing.assert_allclose(
        np.asarray(ours), theirs, rtol=0, atol=tolerance * max(1.0, float(np.abs(theirs).max()))
    )


# ---- Pinocchio


@pytest.fixture(scope="module")
def pinocchio_arm() -> fa.Arm:
    said = RECORDED["pinocchio"]
    return arm_from_urdf(said["urdf"].encode(), "recorded.urdf", said["hand"]).replace(
        gravity=said["gravity"]
    )


@pytest.fixture
def said(recipes: dict[str, Any], pinocchio_arm: fa.Arm) -> dict[str, Any]:
    """What was recorded, per joint in the order of the arm."""
    recorded: dict[str, Any] = RECORDED["pinocchio"]
    per_joint = ("q", "qd", "qdd", "rigid", "armature", "driven", "loaded")
    order = {
        n: np.asarray(recipes["from_order"](pinocchio_arm, recorded["joints"], recorded[n]))
        for n in per_joint
    }
    return recorded | order


@pytest.mark.parametrize("reference", ["LOCAL", "WORLD", "LOCAL_WORLD_ALIGNED"])
def test_pinocchio_jacobian_in_each_reference(
    recipes: dict[str, Any], said: dict[str, Any], pinocchio_arm: fa.Arm, reference: str
) -> None:
    theirs = recipes["from_order"](pinocchio_arm, said["joints"], said["jacobians"][reference])
    agree(recipes["pinocchio_jacobian"](pinocchio_arm, said["q"], reference), theirs)


def test_pinocchio_quaternion_and_torques(
    recipes: dict[str, Any], said: dict[str, Any], pinocchio_arm: fa.Arm
) -> None:
    """With armature and without friction: the recorded model had damping 3 and friction 2 in every joint."""
    ours = recipes["pinocchio_xyzquat"](fa.kinematics.forward(pinocchio_arm, said["q"]))
    theirs = np.array(said["xyzquat"])
    agree(ours[:3], theirs[:3])
    agree(ours[3:] * np.sign(ours[6] * theirs[6]), theirs[3:])
    state = (pinocchio_arm, said["q"], said["qd"], said["qdd"])
    ours = fa.dynamics.inverse(*state)
    agree(ours, said["rigid"])
    agree(ours + said["armature"] * said["qdd"], said["driven"])
    agree(fa.dynamics.inverse(*state, hand_force=said["force"], hand_moment=said["moment"]), said["loaded"])


def test_orders_are_each_others_opposite_also_where_siblings_are_sorted(recipes: dict[str, Any]) -> None:
    recorded = json.loads((HERE / "data" / "pinocchio.json").read_text(encoding="utf-8"))
    sorted_somewhere = False
    for said in recorded["arms"]:
        arm = arm_from_urdf(said["urdf"].encode(), "recorded.urdf", said["hand"]).replace(
            gravity=recorded["gravity"]
        )
        state = said["states"][0]
        q, qd, qdd = (recipes["from_order"](arm, said["joints"], state[name]) for name in ("q", "qd", "qdd"))
        agree(recipes["to_order"](arm, said["joints"], fa.dynamics.inverse(arm, q, qd, qdd)), state["rnea"])
        sorted_somewhere |= said["joints"] != [joint.name for joint in arm.joints]
    assert sorted_somewhere


# ---- the Robotics Toolbox


@pytest.fixture(params=RECORDED["toolbox"], ids=["standard", "modified"])
def toolbox(request: pytest.FixtureRequest, recipes: dict[str, Any]) -> tuple[dict[str, Any], fa.Arm]:
    said = request.param
    arm = recipes["arm_of_links"](
        said["links"], said["kinds"], "modified" if said["modified"] else "standard"
    )
    return said, arm


def test_toolbox_poses_jacobians_and_quaternion(
    toolbox: tuple[dict[str, Any], fa.Arm], recipes: dict[str, Any]
) -> None:
    said, arm = toolbox
    T = fa.kinematics.forward(arm, said["q"])
    agree(T, said["fkine"])
    agree(fa.kinematics.jacobian(arm, said["q"]), said["jacob0"])
    agree(recipes["toolbox_jacobe"](arm, said["q"]), said["jacobe"])
    ours, theirs = fa.kinematics.orientation_of(T[:3, :3], "quaternion_wxyz"), np.array(said["quaternion"])
    agree(ours * np.sign(ours @ theirs), theirs)


def test_toolbox_torques(toolbox: tuple[dict[str, Any], fa.Arm], recipes: dict[str, Any]) -> None:
    said, arm = toolbox
    q, qd, qdd = said["q"], said["qd"], said["qdd"]
    agree(recipes["toolbox_tensor"](said["links"][1]["I"]), said["tensor"])
    agree(arm.gravity, said["gravity"])
    agree(fa.dynamics.inverse(arm, q, qd, qdd), said["rne"])
    agree(fa.dynamics.inertia_matrix(arm, q), said["inertia"])
    agree(fa.dynamics.inverse(arm.replace(gravity=[0.0, 0.0, 5.0]), q, qd, qdd), said["upwards"])
    exerted = np.array(said["wrench"])
    agree(
        fa.dynamics.inverse(arm, q, qd, qdd, hand_force=-exerted[:3], hand_moment=-exerted[3:]),
        said["loaded"],
    )


def test_toolbox_drives_matter(toolbox: tuple[dict[str, Any], fa.Arm]) -> None:
    said, arm = toolbox
    rigid = fa.dynamics.inverse(arm.rigid(), said["q"], said["qd"], said["qdd"])
    assert np.abs(rigid - said["rne"]).min() > 0.1


# ---- MuJoCo


def mujoco_pair(
    recipes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> tuple[fa.Arm, Any]:
    monkeypatch.chdir(tmp_path)
    warnings.simplefilter("ignore", fa.ForearmWarning)
    arm = random_arm(seed, n=5, tree=seed % 2 == 1, fixed=False, drives=True).replace(base=np.eye(4))
    arm = fa.control.without_friction(arm)
    return arm, recipes["mujoco_of"](arm)


@pytest.mark.parametrize("seed", range(4))
def test_mujoco_with_rotors_and_a_load(
    recipes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    arm, model = mujoco_pair(recipes, tmp_path, monkeypatch, seed)
    data: Any = mujoco.MjData(model)
    at = [model.joint(joint.name).dofadr[0] for joint in arm.joints]
    q, qd, qdd = np.random.default_rng(seed).uniform(-1, 1, (3, arm.n))
    data.qpos[at], data.qvel[at] = q, qd
    mujoco.mj_forward(model, data)
    data.qacc[at] = qdd
    mujoco.mj_inverse(model, data)
    assert any(joint.motor and joint.motor.reflected_inertia for joint in arm.joints)
    agree(fa.dynamics.inverse(arm, q, qd, qdd), data.qfrc_inverse[at])

    T = fa.kinematics.forward(arm, q)
    hand = (
        model.body(model.nbody - 1).name
        if "hand" not in [model.body(i).name for i in range(model.nbody)]
        else "hand"
    )
    agree(data.body(hand).xpos, T[:3, 3])
    theirs, ours = data.body(hand).xquat, fa.kinematics.orientation_of(T[:3, :3], "quaternion_wxyz")
    agree(ours * np.sign(ours @ theirs), theirs)
    agree(recipes["mujoco_jacobian"](model, data, hand)[:, at], fa.kinematics.jacobian(arm, q))

    v, w = fa.kinematics.velocity(arm, q, qd)
    spatial = np.zeros(6)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, model.body(hand).id, spatial, 0)
    agree(np.concatenate([w, v]), spatial)

    force, moment = np.random.default_rng(seed + 50).uniform(-5, 5, (2, 3))
    data.body(hand).xfrc_applied[:] = recipes["mujoco_load"](T, force, moment, data.body(hand).xipos)
    tau = fa.dynamics.inverse(arm, q, qd, qdd, hand_force=force, hand_moment=moment)
    data.qfrc_applied[at] = tau
    mujoco.mj_forward(model, data)
    agree(data.qacc[at], qdd, 1e-8)  # a solve by M, whose condition number is some thousands


def test_mujoco_inertia_is_turned_back(
    recipes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames of links in a URDF are those of the arm itself where it is described by frames."""
    arm, model = mujoco_pair(recipes, tmp_path, monkeypatch, 2)
    for link in [arm.link(joint.child) for joint in arm.joints]:
        mass, centre, tensor = recipes["mujoco_inertia"](model, link.name)
        agree(mass, link.mass)
        agree(centre, link.com)
        agree(tensor, link.inertia)


# ---- MATLAB


def test_matlab_inertia_is_about_the_origin_of_the_body(recipes: dict[str, Any]) -> None:
    """A body of point masses: the six numbers as its documentation defines them, summed mass by mass."""
    rng = np.random.default_rng(3)
    masses, points = rng.uniform(0.1, 1.0, 12), rng.uniform(-0.5, 0.5, (12, 3))
    x, y, z = points.T
    sums = [masses @ v for v in (y**2 + z**2, x**2 + z**2, x**2 + y**2, -y * z, -x * z, -x * y)]
    centre = masses @ points / masses.sum()
    link = recipes["link_of_matlab"]("body", float(masses.sum()), centre, sums)
    w = np.array([0.3, -0.7, 0.4])  # turning about the centre of mass: the energy, mass by mass
    energy = 0.5 * masses @ (np.cross(w, points - centre) ** 2).sum(axis=1)
    agree(0.5 * w @ link.inertia @ w, energy)
    agree(recipes["matlab_inertia"](link), sums)


def test_matlab_jacobian_has_angular_rows_first(recipes: dict[str, Any]) -> None:
    arm = random_arm(5, n=5)
    q, qd = np.random.default_rng(4).uniform(-1, 1, (2, arm.n))
    before, after = (fa.kinematics.forward(arm, q + sign * STEP * qd) for sign in (-1.0, 1.0))
    rate = (after - before) / (2.0 * STEP)
    spin = rate[:3, :3] @ fa.kinematics.forward(arm, q)[:3, :3].T
    twist = [spin[2, 1], spin[0, 2], spin[1, 0], *rate[:3, 3]]
    agree(recipes["matlab_jacobian"](arm, q) @ qd, twist, DIFFERENCE)
    agree(recipes["matlab_wrench"]([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), [4.0, 5.0, 6.0, 1.0, 2.0, 3.0])


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_matlab_q_takes_what_its_rows_lose(recipes: dict[str, Any], convention: Any) -> None:
    """A tree made from rows whose joint coordinate is ignored is an arm with 0 there."""
    rows = np.random.default_rng(8).uniform(0.2, 1.0, (4, 4))
    arm = fa.from_dh("arm", rows, convention=convention, joints="RRPR")
    lost = rows * [[1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 0, 1], [1, 1, 1, 0]]
    tree = fa.from_dh("tree", lost, convention=convention, joints="RRPR")
    q = np.array([0.3, -0.4, 0.2, 0.9])
    agree(fa.kinematics.forward(tree, recipes["matlab_q"](arm, q)), fa.kinematics.forward(arm, q))
