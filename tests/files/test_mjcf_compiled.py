"""Arms from models that MuJoCo compiled: as from their text, and with what only the compiler knows."""

from __future__ import annotations

import sys
import warnings
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
from arms import random_arm
from mjcf_making import random_mjcf
from mujoco_peer import MjcfPeer
from nearness import assert_near
from refusals import refused

import forearm as fa
from forearm import dynamics
from forearm.arm import Joint
from forearm.errors import IgnoredWarning
from forearm.files.mjcf.read import arm_from_mjcf
from forearm.kinematics import forward

ROUNDING = 1e-11  # as against MuJoCo itself
TETRAHEDRON = """<mujoco><asset><mesh name="m" vertex="0 0 0 0.3 0 0 0 0.4 0 0 0 0.5"/></asset><worldbody>
<body name="base"><body name="b" pos="0.1 0.2 0.3"><joint name="j" axis="1 2 3"/>
<geom type="mesh" mesh="m" density="700"/></body></body></worldbody></mujoco>"""


def assert_same(found: Joint, truth: Joint) -> None:
    for key in ("name", "kind", "parent", "child", "friction"):
        assert getattr(found, key) == getattr(truth, key)
    assert found.limits == pytest.approx(truth.limits, rel=1e-14)
    assert (found.max_effort is None) == (truth.max_effort is None)
    assert (found.max_effort or 0.0) == pytest.approx(truth.max_effort or 0.0, rel=1e-14)
    assert (found.motor is None) == (truth.motor is None)
    if found.motor is not None and truth.motor is not None:
        assert found.motor.gear_ratio == truth.motor.gear_ratio
        assert found.motor.rotor_inertia == pytest.approx(truth.motor.rotor_inertia, rel=1e-14)
    assert (found.mimic is None) == (truth.mimic is None)
    if found.mimic is not None and truth.mimic is not None:
        assert (found.mimic.joint, found.mimic.multiplier) == (truth.mimic.joint, truth.mimic.multiplier)
        assert found.mimic.offset == pytest.approx(truth.mimic.offset, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_arm_is_that_of_the_text(seed: int) -> None:
    text = random_mjcf(seed)
    truth = arm_from_mjcf(text.encode(), "made.xml")
    found = fa.from_mujoco(mujoco.MjModel.from_xml_string(text))
    assert (found.name, found.hand.link) == (truth.name, truth.hand.link)
    for mine, other in zip(found.tree, truth.tree, strict=True):
        assert_same(mine, other)
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.uniform(-2, 2, (3, truth.n))
    assert_near(forward(found, q), forward(truth, q), ROUNDING)
    torques = [dynamics.inverse(arm, q, qd, qdd) for arm in (found, truth)]
    assert_near(torques[0], torques[1], ROUNDING * np.abs(torques).max())


def test_meshes_have_their_mass() -> None:
    model = mujoco.MjModel.from_xml_string(TETRAHEDRON)
    arm = fa.from_mujoco(model)
    assert arm.link("b").mass == pytest.approx(700 * 0.3 * 0.4 * 0.5 / 6, rel=1e-6)
    peer = MjcfPeer(TETRAHEDRON, arm)
    peer.move_to(np.array([0.7]), np.array([1.3]))
    np.testing.assert_allclose(dynamics.inertia_matrix(arm, [0.7]), peer.inertia_matrix(), rtol=1e-12)


def test_root_hand_and_gravity() -> None:
    text = """<mujoco><option><flag gravity="disable"/></option><worldbody><body name="torso"><freejoint/>
    <geom size="0.1"/><body name="b"><joint name="j"/><geom size="0.1"/><site name="probe"/></body></body>
    </worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    arm = fa.from_mujoco(model, hand="probe", root="torso")
    assert (arm.base_link, arm.hand.link, arm.gravity.tolist()) == ("torso", "b", [0, 0, 0])
    with refused("InputError: from_mujoco: body 'torso' is on a free joint, so its base is free; root="):
        fa.from_mujoco(model)


def test_one_warning_for_what_was_ignored() -> None:
    text = TETRAHEDRON.replace('name="j"', 'name="j" stiffness="3"').replace(
        'name="b"', 'name="b" gravcomp="1"'
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fa.from_mujoco(mujoco.MjModel.from_xml_string(text))
    (warning,) = caught
    assert warning.category is IgnoredWarning
    assert str(warning.message) == "from_mujoco: ignored gravcomp; springs of joints."
    assert warning.filename == __file__


@pytest.mark.parametrize("given", [None, 3, "arm.xml", SimpleNamespace(nbody=3)])
def test_what_is_no_model(given: object) -> None:
    with refused(r"InputError: from_mujoco: expected a mujoco\.MjModel, got "):
        fa.from_mujoco(given)


@pytest.mark.parametrize("seed", [2, 5])
def test_an_arm_becomes_a_model_and_an_arm_again(seed: int) -> None:
    arm = random_arm(seed, 4)
    model = fa.to_mujoco(arm)
    data = mujoco.MjData(model)
    q = np.linspace(-0.1, 0.1, 4)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    M = np.zeros((4, 4))
    mujoco.mj_fullM(model, data, M)
    assert_near(fa.dynamics.inertia_matrix(arm, q), M, 1e-12 * np.abs(M).max())
    again = fa.from_mujoco(model)
    found, wanted = fa.dynamics.gravity(again, q), fa.dynamics.gravity(arm, q)
    assert_near(found, wanted, 1e-12 * np.abs(wanted).max())


def test_models_of_packages_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mujoco", "pinocchio"):
        monkeypatch.setitem(sys.modules, name, None)
        with refused(rf"InputError.*to_{name}: needs the package {name}: pip install"):
            getattr(fa, f"to_{name}")(fa.load("ascher2"))
    monkeypatch.undo()
    with refused(r"ModelError.*MuJoCo refuses 'puma560'"):
        fa.to_mujoco(fa.load("puma560"))
