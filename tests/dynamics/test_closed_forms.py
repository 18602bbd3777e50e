"""Closed forms by hand, and the printed answers of other engines' test suites
(tests/data/vectors, sources inside).
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from dynamics.cases import (
    FORWARD,
    INERTIA,
    INVERSE,
    Array,
    assert_agree,
    geometric_jacobian,
    random_state,
    with_armature,
    with_kinds,
)

import forearm as fa
from forearm import Arm, Frame, Joint, Link, dynamics, from_dh
from forearm.dynamics.reference import INERTIA as MATRICES
from forearm.dynamics.reference import INVERSE as METHODS
from forearm.kinematics import forward as hand_pose
from forearm.model import Model, RigidBody, model_of
from forearm.spatial import parallel_axis, pose

VECTORS = Path(__file__).parent.parent / "data" / "vectors"

EXACT = 1e-12  # relative: closed forms of a few operations
HALF_OF_3_DIGITS = 0.5e-3
HALF_OF_4_DIGITS = 0.5e-4
KDL_ACCELERATION = 1e-3  # the file's own tolerance: KDL solves with the rounded torques that it prints
SYMPYBOTICS = 1e-12  # printed with 15 digits, values up to 31; the file's check found 6e-14
RBDL = 1e-13  # printed with 15 digits, values up to 6
# the closed form's distance from this parameter set is in the file, from another recursion
PANDA_SAME_DIFFERENCE = 1e-9
D4_MATRIX, D4_VELOCITY = 1.5e-5, 8.2e-5  # Dhanaraj's listing has constants of five or six digits

every_inverse = pytest.mark.parametrize("formulation", INVERSE)


def vectors(name: str) -> Any:
    return json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))


def assert_near(found: Any, printed: Any, tolerance: float) -> None:
    np.testing.assert_allclose(
        np.asarray(found, dtype=float), np.asarray(printed, dtype=float), rtol=0, atol=tolerance
    )


def turning_arm(bodies: list[tuple[str, Any, Any, float, Any, Any]], gravity: Any) -> Arm:
    """Bodies as (parent, axis, offset of the joint, mass, centre of mass, inertia about it),
    called body1, body2, ...
    """
    links, joints = [Link(name="base")], []
    for i, (parent, axis, offset, mass, com, inertia) in enumerate(bodies, start=1):
        links.append(Link(name=f"body{i}", mass=mass, com=com, inertia=inertia))
        placement = Frame(xyz=offset, axis=axis)
        joints.append(
            Joint(name=f"joint{i}", kind="revolute", parent=parent, child=f"body{i}", placement=placement)
        )
    return Arm(name="turning", links=tuple(links), tree=tuple(joints), gravity=gravity)


# ---- one and two links, by hand


@every_inverse
def test_one_link(formulation: str) -> None:
    """tau = (u . I_O u) qdd - u . (R c x m g), with the inertia about any axis u through the joint;
    f = m (qdd - u . g), wherever the centre of mass is.
    """
    turning, sliding = (
        with_kinds(random_arm(seed, 1, "frames", fixed=False), kind)
        for seed, kind in ((130, "R"), (131, "P"))
    )
    joint, link = turning.joints[0], turning.links[1]
    q, qd, qdd = random_state(turning, 1)
    u = joint.axis
    weight = joint.transform(float(q[0]))[:3, :3].T @ (link.mass * turning.gravity)
    about_joint = link.inertia + parallel_axis(link.mass, link.com)
    truth = u @ about_joint @ u * qdd - u @ np.cross(link.com, weight)
    assert_agree(dynamics.inverse(turning, q, qd, qdd, formulation), truth, EXACT)
    u = sliding.joints[0].transform()[:3, :3] @ sliding.joints[0].axis
    truth = sliding.links[1].mass * (qdd - u @ sliding.gravity)
    assert_agree(dynamics.inverse(sliding, q, qd, qdd, formulation), truth, EXACT)


def double_pendulum() -> tuple[Arm, Callable[[Array, Array, Array], tuple[Array, Array]]]:
    """A planar arm in a vertical plane, and its textbook M and torque with centres of
    mass off the links' lines.
    """
    l1, m1, m2, I1, I2, g = 0.83, 2.7, 1.9, 0.37, 0.29, 9.81
    c1, c2 = np.array([0.41, 0.07]), np.array([0.33, -0.11])
    tensors = [np.diag([0.2, 0.3, I1]), np.diag([0.15, 0.25, I2])]
    arm = from_dh(
        "double",
        [(0, 0, 0, 0), (l1, 0, 0, 0)],
        convention="modified",
        mass=[m1, m2],
        com=[(*c1, 0.2), (*c2, -0.3)],
        inertia=tensors,
        gravity=(0.0, -g, 0.0),
    )

    def turn(angle: float, v: Array) -> Array:
        return np.array(
            [math.cos(angle) * v[0] - math.sin(angle) * v[1], math.sin(angle) * v[0] + math.cos(angle) * v[1]]
        )

    def closed(q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
        reach = l1 * turn(float(q[1]), c2)[0]  # l1 . (centre of link 2 from joint 2)
        M22 = I2 + m2 * c2 @ c2
        M12 = M22 + m2 * reach
        M11 = I1 + m1 * c1 @ c1 + m2 * (l1**2 + 2.0 * reach) + M22
        M = np.array([[M11, M12], [M12, M22]])
        h = -m2 * l1 * turn(float(q[1]), c2)[1]
        velocity = np.array([h * (2.0 * qd[0] * qd[1] + qd[1] ** 2), -h * qd[0] ** 2])
        x1, x2 = turn(float(q[0]), c1)[0], turn(float(q[0] + q[1]), c2)[0]
        hold = g * np.array([m1 * x1 + m2 * (l1 * math.cos(q[0]) + x2), m2 * x2])
        return M, M @ qdd + velocity + hold

    return arm, closed


def test_double_pendulum() -> None:
    arm, closed = double_pendulum()
    for seed in range(3):
        state = random_state(arm, seed)
        M, tau = closed(*state)
        for formulation in INVERSE:
            assert_agree(dynamics.inverse(arm, *state, formulation), tau, EXACT)
        for method in INERTIA:
            assert_agree(dynamics.inertia_matrix(arm, state.q, method), M, EXACT)


SPONG = vectors("spong_two_link")


def spong_arm() -> Arm:
    """Point masses of 1 kg in the middle of two links of 1 m that turn about y."""
    mass = (1.0, (0.5, 0, 0), np.zeros((3, 3)))
    return turning_arm(
        [("base", (0, 1, 0), (0, 0, 0), *mass), ("body1", (0, 1, 0), (1, 0, 0), *mass)], (0, 0, -9.81)
    )


@every_inverse
def test_spong_gravity(formulation: str) -> None:
    arm, rest = spong_arm(), np.zeros(2)
    for case in SPONG["gravity_over_g"]:
        assert_near(dynamics.inverse(arm, case["q"], rest, rest, formulation) / 9.81, case["tau"], 1e-15)


# ---- PUMA 560 of the Robotics Toolboxes

RTB = vectors("rtb_puma560")
WRENCH = "wrench_exerted_by_tip_on_environment_tip_frame_fxyz_nxyz"


def rtb_answers(case: Any) -> list[Array]:
    """What is printed, by every formulation or method that there is for it."""
    given, arm = case["inputs"], fa.load("puma560")
    q, qd, qdd, tau = (given.get(name) for name in ("q", "qd", "qdd", "tau"))
    if case["fn"].startswith("rne"):
        arm = arm.replace(gravity=given["gravity"]) if "gravity" in given else arm
        # What the tip exerts on its surroundings is minus what they exert on it.
        wrench = -np.array(given.get(WRENCH, np.zeros(6)))
        return [dynamics.inverse(arm, q, qd, qdd, name, wrench[:3], wrench[3:]) for name in INVERSE]
    if case["fn"].startswith("accel"):
        return [dynamics.forward(arm, q, qd, tau, method) for method in FORWARD]
    if case["fn"].startswith("coriolis"):
        return [dynamics.coriolis_matrix(arm, q, qd)]
    if case["fn"].startswith("gravload"):
        return [dynamics.gravity(arm, q)]
    matrices = [dynamics.inertia_matrix(arm, q, method) for method in INERTIA]
    if case["fn"].startswith("itorque"):
        return [matrices[0] @ qdd]
    if case["fn"].startswith(("inertia_x", "cinertia")):
        inverse_jacobian = np.linalg.inv(geometric_jacobian(arm, np.array(q)))
        return [inverse_jacobian.T @ matrices[0] @ inverse_jacobian]
    assert case["fn"].startswith("inertia (")
    return matrices


@pytest.mark.parametrize("case", RTB["cases"], ids=lambda case: case["fn"])
def test_rtb_puma(case: Any) -> None:
    assert case["decimals"] == 4
    for found in rtb_answers(case):
        assert_near(found, case["expected"], HALF_OF_4_DIGITS)


# ---- Motoman SIA10 of Orocos KDL

KDL = vectors("orocos_kdl_motoman_sia10")


def kdl_arm() -> Arm:
    rows = np.column_stack([KDL["a"], KDL["alpha"], KDL["d"], np.zeros(7)])
    arm = from_dh(
        "sia10",
        rows,
        convention="standard",
        mass=KDL["mass"],
        com=KDL["com_link_frame"],
        inertia=[np.diag(d) for d in KDL["inertia_diag_about_com"]],
        gravity=KDL["gravity"],
        tool=pose(None, (0, 0, KDL["tool_z"])),
    )
    return with_armature(arm, np.array(KDL["armature_joint_side"]))


def test_kdl() -> None:
    arm, rest, expected = kdl_arm(), np.zeros(7), KDL["expected"]
    load = expected["tool_force"], expected["tool_moment"]
    q, qd, T = KDL["q"], KDL["qd"], hand_pose(arm, KDL["q"])
    assert_near(T[:3, 3], expected["fk_position"], HALF_OF_3_DIGITS)
    assert_near(T[:3, :3], expected["fk_rotation"], HALF_OF_3_DIGITS)
    for formulation in INVERSE:
        hold = dynamics.inverse(arm, q, rest, rest, formulation)
        moving = dynamics.inverse(arm, q, qd, rest, formulation)
        loaded = dynamics.inverse(arm, q, qd, rest, formulation, *load)
        assert_near(hold, expected["gravity_torque"], HALF_OF_3_DIGITS)
        assert_near(moving - hold, expected["coriolis_torque"], HALF_OF_3_DIGITS)
        assert_near(loaded, expected["T_noninertial_with_wrench"], HALF_OF_3_DIGITS)
    for method in INERTIA:
        assert_near(dynamics.inertia_matrix(arm, q, method), expected["H"], HALF_OF_4_DIGITS)
    for method in FORWARD:
        qdd = dynamics.forward(arm, q, qd, rest, method, *load)
        assert_near(qdd, expected["qdd_with_zero_joint_torque"], KDL_ACCELERATION)


# ---- chains and a tree of RBDL

RBDL_CASES = vectors("rbdl_chains")["cases"]
TREE = next(case for case in RBDL_CASES if case["name"] == "simple tree 3D (branching)")


def rbdl_arm(case: Any) -> Arm:
    if case is TREE:  # bodies a, b1, c1, b2, c2 as the note of the case has them
        one = np.eye(3)
        bodies: Any = [
            ("base", (0, 0, 1), (0, 0, 0), 1.0, (1, 0, 0), one),
            ("body1", (0, 1, 0), (1, 0, 0), 1.0, (0, 1, 0), one),
            ("body2", (1, 0, 0), (0, 1, 0), 1.0, (0, 0, 1), one),
            ("body1", (0, 1, 0), (-0.5, 0, 0), 1.0, (0, 1, 0), one),
            ("body4", (1, 0, 0), (0, -0.5, 0), 1.0, (0, 0, 1), one),
        ]
        return turning_arm(bodies, case["gravity"])
    given = case["inertia_about_com"]
    unit = [[1.0, 1.0, 1.0]] * len(case["axes"]) if given == "identity 3x3" else given
    rows = zip(case["axes"], case["joint_offsets_in_parent"], case["mass_com"], unit, strict=True)
    # its bodies without mass have no inertia either
    bodies = [
        (
            f"body{i}" if i else "base",
            axis,
            offset,
            mass,
            com,
            np.diag(diagonal) if mass else np.zeros((3, 3)),
        )
        for i, (axis, offset, (mass, com), diagonal) in enumerate(rows)
    ]
    return turning_arm(bodies, case["gravity"])


@pytest.mark.parametrize("case", RBDL_CASES, ids=lambda case: case["name"])
def test_rbdl_chains_and_tree(case: Any) -> None:
    arm = rbdl_arm(case)
    rest = np.zeros(arm.n)
    for method in FORWARD:
        found = dynamics.forward(arm, rest if case is TREE else case["q"], rest, rest, method)
        assert_near(found, case["expected_qdd"], RBDL)


# ---- Panda, closed form of its authors

PANDA = vectors("panda_gaz2019_closed_form")


@pytest.mark.parametrize("case", PANDA["cases"], ids=["case0", "case1", "case2"])
def test_panda_is_as_far_from_the_closed_form_as_its_parameters_are(case: Any) -> None:
    """The distance that the file has from another recursion, which took g = 9.81 and not the
    closed form's 9.80665.
    """
    arm = fa.load("panda").rigid().replace(gravity=(0.0, 0.0, -9.81))
    hold = dynamics.gravity(arm, case["q"])
    found = {
        "gravity": hold - case["gravity"],
        "M": dynamics.inertia_matrix(arm, case["q"]) - case["mass_matrix"],
        "c": dynamics.bias(arm, case["q"], case["dq"]) - hold - case["coriolis_vector"],
    }
    for name, truth in case["independent_rne_on_feasible_params_max_abs_diff"].items():
        assert np.abs(found[name]).max() == pytest.approx(truth, abs=PANDA_SAME_DIFFERENCE)


# ---- PUMA 560 of SymPyBotics; the random parameters are no real bodies, so an Arm refuses them
# and a Model takes them

SYM = vectors("sympybotics_puma560")


def sympybotics_arm(case: Any) -> Arm:
    rows = [(a, alpha, d, 0.0) for alpha, a, d in case["dh_rows_alpha_a_d"]]
    return from_dh("sympybotics", rows, convention=case["dh_convention"], gravity=SYM["gravity"])


def sympybotics_model(case: Any) -> Model:
    """Ten numbers a link: the tensor about the link's origin, m r, m."""
    bare = model_of(sympybotics_arm(case))
    bodies = []
    for body, ten in zip(bare.bodies, np.array(case["dynparm"], dtype=float).reshape(-1, 10), strict=True):
        xx, xy, xz, yy, yz, zz = ten[:6]
        m = float(ten[9])
        r = ten[6:9] / m if m else ten[6:9]
        about_centre = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - parallel_axis(m, r)
        bodies.append(
            RigidBody(body.parent, body.revolute, body.Rb, body.pb, body.Ra, body.pa, m, r, about_centre)
        )
    return dataclasses.replace(bare, bodies=tuple(bodies))


@pytest.mark.parametrize("case", SYM["cases"], ids=lambda case: case["name"])
def test_sympybotics(case: Any) -> None:
    model, q, rest, expected = sympybotics_model(case), case["q"], [0.0] * 6, case["expected"]
    for formulation in INVERSE:
        method = METHODS[formulation]
        hold = np.array(method(model, q, rest, rest))
        assert_near(hold, expected["g"], SYMPYBOTICS)
        assert_near(method(model, q, case["qd"], rest) - hold, expected["c"], SYMPYBOTICS)
        assert_near(method(model, q, case["qd"], case["qdd"]), expected["tau"], SYMPYBOTICS)
    for matrix in INERTIA:
        assert_near(MATRICES[matrix](model, q), expected["M"], SYMPYBOTICS)
    if "T" in expected:
        arm = sympybotics_arm(case)
        assert_near(hand_pose(arm, q), expected["T"], SYMPYBOTICS)
        assert_near(geometric_jacobian(arm, np.array(q)), expected["J"], SYMPYBOTICS)


@pytest.mark.parametrize(("name", "convention"), [("puma560", "standard"), ("puma560-akb", "modified")])
def test_built_in_puma_is_that_of_sympybotics(name: str, convention: str) -> None:
    """The built-in arms against the same numbers; Izz of link 3 is 0.066 in the modified
    set there, 0.086 here.
    """
    case = next(c for c in SYM["cases"] if c["name"].startswith(convention))
    arm = fa.load(name).rigid()
    if name == "puma560-akb":
        third = next(link for link in arm.links if link.mass == 4.8)
        inertia = third.inertia.copy()
        assert inertia[2, 2] == 0.086
        inertia[2, 2] = 0.066
        arm = arm.with_link(dataclasses.replace(third, inertia=inertia))
    tau = dynamics.inverse(arm, case["q"], case["qd"], case["qdd"])
    assert_near(tau, case["expected"]["tau"], SYMPYBOTICS)


# ---- three joints of the PUMA in Dhanaraj's D.4

D4 = vectors("d4_truth")


def d4_arm(m3: float) -> Arm:
    d = D4["decoded"]
    lever = d["p2"]
    rows = [(0, 0, 0, 0), (0, -math.pi / 2, d["p1"][1], 0), (lever[0], 0, lever[2], 0)]
    return from_dh(
        "d4",
        rows,
        convention="modified",
        mass=[0.0, d["m2"], m3],
        com=[(0, 0, 0), d["cg2"], d["cg3"]],
        inertia=[np.diag([0, 0, d["I1zz"]]), np.diag(d["I2"]), np.diag(d["I3"])],
        gravity=(0, 0, -d["g"]),
    )


@pytest.mark.parametrize("case", D4["cases"], ids=range(len(D4["cases"])))
def test_d4_with_both_of_its_masses(case: Any) -> None:
    decoded, rest = D4["decoded"], np.zeros(3)
    arm = d4_arm(decoded["m3_in_ac"])
    for method in INERTIA:
        assert_near(dynamics.inertia_matrix(arm, case["q"], method), case["ac"], D4_MATRIX)
    arm = d4_arm(decoded["m3_in_vc"])
    for formulation in INVERSE:
        assert_near(dynamics.inverse(arm, case["q"], case["qd"], rest, formulation), case["vc"], D4_VELOCITY)
