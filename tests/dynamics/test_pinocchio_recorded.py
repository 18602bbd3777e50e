"""Dynamics and poses against what Pinocchio said of the same URDF texts, recorded by
tools/record_pinocchio.py.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dynamics.cases import (
    FORWARD,
    INERTIA,
    INVERSE,
    LONGEST,
    SERIAL_ONLY,
    Array,
    assert_agree,
    geometric_jacobian,
    random_wrench,
)
from record_pinocchio import ARMS as RECIPES
from record_pinocchio import GRAVITY, STATES
from urdf_making import random_urdf

from forearm import Arm, dynamics
from forearm.files.urdf_read import arm_from_urdf
from forearm.kinematics import link_poses

# `make test-peers` records anew, with the Pinocchio of the day, and names the file.
DATA = Path(os.environ.get("FOREARM_PINOCCHIO", Path(__file__).parent.parent / "data" / "pinocchio.json"))
RECORDED = json.loads(DATA.read_text(encoding="utf-8"))
PINOCCHIO = 1e-12  # relative: both round at 1e-16, some ten links deep
CASES = {
    f"{arm['name']}-{i}": (arm, state) for arm in RECORDED["arms"] for i, state in enumerate(arm["states"])
}

each_case = pytest.mark.parametrize(("said", "state"), CASES.values(), ids=CASES.keys())


class Case:
    """An arm, its joints' places in Pinocchio's order, and the state in the arm's own order."""

    def __init__(self, said: Any, state: Any) -> None:
        self.arm: Arm = arm_from_urdf(said["urdf"].encode(), "recorded.urdf", said["hand"]).replace(
            gravity=GRAVITY
        )
        self.order = [said["joints"].index(joint.name) for joint in self.arm.joints]
        self.state = state
        self.q, self.qd, self.qdd = (self["q"], self["qd"], self["qdd"])

    def __getitem__(self, name: str) -> Array:
        """A vector, or the last dimension of an array, in the order of the arm's joints."""
        return np.array(self.state[name])[..., self.order]

    def formulations(self) -> list[str]:
        serial = [name for name in INVERSE if self.arm.is_serial or name not in SERIAL_ONLY]
        return [name for name in serial if self.arm.n <= LONGEST.get(name, self.arm.n)]

    @property
    def has_followers(self) -> bool:
        return any(joint.mimic for joint in self.arm.tree)


def told_apart(urdf: str) -> tuple[list[str], list[float]]:
    """A text without its numbers, and the numbers."""
    number = r"-?\d+\.\d+(?:e-?\d+)?"
    return re.split(number, urdf), [float(text) for text in re.findall(number, urdf)]


def test_the_recording_is_of_the_arms_of_the_recorder() -> None:
    assert DATA.stat().st_size < 400_000
    assert tuple(RECORDED["gravity"]) == GRAVITY
    for (name, recipe), arm in zip(RECIPES.items(), RECORDED["arms"], strict=True):
        assert arm["name"] == name
        (words, numbers), (made_words, made_numbers) = map(told_apart, (arm["urdf"], random_urdf(*recipe)))
        assert words == made_words
        assert np.allclose(numbers, made_numbers, rtol=0.0, atol=1e-12)  # rounded as the machine likes
    assert all(len(arm["states"]) == STATES for arm in RECORDED["arms"])
    cases = [Case(*case) for case in CASES.values()]
    assert any(case.has_followers for case in cases)
    assert any(case.order != sorted(case.order) for case in cases), "an arm whose siblings Pinocchio sorts"
    assert {case.arm.is_serial for case in cases} == {True, False}


@each_case
def test_inverse_dynamics_and_inertia(said: Any, state: Any) -> None:
    case = Case(said, state)
    arm, motion = case.arm, (case.q, case.qd, case.qdd)
    for name in case.formulations():
        assert_agree(dynamics.inverse(arm, *motion, name), case["rnea"], PINOCCHIO)
    for method in INERTIA:
        assert_agree(dynamics.inertia_matrix(arm, case.q, method), case["crba"][case.order], PINOCCHIO)
    assert_agree(dynamics.bias(arm, case.q, case.qd), case["nonlinear_effects"], PINOCCHIO)
    assert_agree(dynamics.gravity(arm, case.q), case["gravity"], PINOCCHIO)


@each_case
def test_forward_dynamics_and_poses_of_links(said: Any, state: Any) -> None:
    """By articulated bodies there; with followers, which that does not take,
    the torques of the inverse dynamics.
    """
    case = Case(said, state)
    tau, truth = (case["rnea"], case.qdd) if case.has_followers else (case["tau"], case["aba"])
    condition = float(np.linalg.cond(case["crba"]))
    for method in FORWARD:
        if method != "articulated-body" or not case.has_followers:
            found = dynamics.forward(case.arm, case.q, case.qd, tau, method)
            assert_agree(found, truth, PINOCCHIO * condition)
    poses = link_poses(case.arm, case.q)
    assert set(poses) == set(state["placements"])
    for name, placement in state["placements"].items():
        assert_agree(poses[name][:3], placement, PINOCCHIO)


@each_case
def test_jacobian_of_the_hand(said: Any, state: Any) -> None:
    """As poses give it, and as a load on the hand shows it: tau(load) - tau = -J^T (R force, R moment)."""
    case = Case(said, state)
    J, motion = case["jacobian"], (case.q, case.qd, case.qdd)
    if not case.has_followers:
        assert_agree(geometric_jacobian(case.arm, case.q), J, PINOCCHIO)
    R = np.array(state["placements"][said["hand"]])[:, :3]
    force, moment = random_wrench(1)
    free = dynamics.inverse(case.arm, *motion)
    found = dynamics.inverse(case.arm, *motion, "newton-euler", force, moment) - free
    truth = -J.T @ np.concatenate([R @ force, R @ moment])
    np.testing.assert_allclose(found, truth, rtol=0, atol=PINOCCHIO * np.abs(free).max())
