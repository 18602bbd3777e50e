"""The trace: every intermediate quantity by link and symbol, against the motion of the links
and against each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arms import OFFSETS, SEVEN_POINTS, random_arm
from dynamics.cases import (
    INVERSE,
    SECOND,
    SECOND_POINTS,
    SERIAL_ONLY,
    Array,
    assert_agree,
    random_state,
    simple_drives,
    with_kinds,
)

import forearm as fa
from forearm import Arm, InputError, dynamics
from forearm.kinematics import link_poses
from forearm.spatial import tilde

TRACED = with_kinds(random_arm(6, 4, "standard"), "RPRR")
BRANCHED = with_kinds(random_arm(7, 5, "frames", tree=True), "RRPRR")

each_arm = pytest.mark.parametrize("arm", [TRACED, BRANCHED], ids=["chain", "tree"])


@each_arm
@pytest.mark.parametrize("formulation", INVERSE)
def test_every_formulation_can_be_traced(formulation: str, arm: Arm) -> None:
    state = random_state(arm, 1)
    if formulation in SERIAL_ONLY and not arm.is_serial:
        with pytest.raises(fa.ModelError, match="serial chains"):
            dynamics.trace(arm, *state, formulation)
        return
    table = dynamics.trace(arm, *state, formulation)
    assert list(table) == [joint.child for joint in arm.joints]
    tau = [row["tau"] if "tau" in row else row["F"] for row in table.values()]
    assert_agree(tau, dynamics.inverse(arm, *state, formulation), 1e-14)
    # What is passed in from the next link the last one does not have.
    if arm is TRACED:
        assert len({tuple(sorted(set(row) - {"f_in"})) for row in table.values()}) == 1
    for row in table.values():
        assert len(row) > 1
        for value in row.values():
            assert type(value) is float or (isinstance(value, np.ndarray) and value.dtype == np.float64)
            assert np.isfinite(value).all()


@each_arm
def test_trace_of_newton_euler_is_the_motion_of_the_links(arm: Arm) -> None:
    """w, v, wd and the accelerations, gravity included, by differences of poses along q(t), Swartz (3);
    F and N from them; then sums.
    """
    q, qd, qdd = random_state(arm, 2)
    t = OFFSETS[:, None]
    path = link_poses(arm, q + t * qd + 0.5 * t * t * qdd)
    table, bodies = dynamics.trace(arm, q, qd, qdd), arm.moving.bodies
    pushes: list[tuple[Array, Array, Array]] = []  # where, force, moment about there, in base axes
    for body in bodies:
        row, poses = table[body.joint.child], path[body.joint.child]
        R = poses[3, :3, :3]
        first, second = (
            np.einsum("t,tij->ij", k, poses[:, :3, :3]) @ R.T for k in (SEVEN_POINTS, SECOND_POINTS)
        )
        w = np.array([first[2, 1], first[0, 2], first[1, 0]])
        turn = second - tilde(w) @ tilde(w)
        centre = poses[:, :3, :3] @ body.com + poses[:, :3, 3]
        truths = {
            "w": R.T @ w,
            "v": R.T @ (SEVEN_POINTS @ poses[:, :3, 3]),
            "wd": R.T @ np.array([turn[2, 1], turn[0, 2], turn[1, 0]]),
            "vd": R.T @ (SECOND_POINTS @ poses[:, :3, 3] - arm.gravity),
            "vd*": R.T @ (SECOND_POINTS @ centre - arm.gravity),
        }
        truths["F"] = body.mass * truths["vd*"]
        truths["N"] = body.inertia @ truths["wd"] + np.cross(truths["w"], body.inertia @ truths["w"])
        for symbol, truth in truths.items():
            size = max(float(np.abs(truth).max()), 1e-3 * float(np.abs(qd).max() ** 2))
            np.testing.assert_allclose(row[symbol], truth, rtol=0, atol=SECOND * 10 * size, err_msg=symbol)
        pushes.append((centre[3], R @ row["F"], R @ row["N"]))
    for i, body in enumerate(bodies):
        joint, row = body.joint, table[body.joint.child]
        R = path[joint.child][3, :3, :3]
        at = path[joint.parent][3] @ joint.before
        z = at[:3, :3] @ joint.axis
        origin = at[:3, 3] + (z * q[i] if joint.kind == "prismatic" else 0.0)
        borne = [pushes[k] for k in range(len(bodies)) if is_behind(arm, k, i)]
        force = np.sum([F for _, F, _ in borne], axis=0)
        moment = np.sum([turn + np.cross(where - origin, F) for where, F, turn in borne], axis=0)
        assert_agree(R @ row["f"], force, 1e-13)
        assert_agree(R @ row["n"], moment, 1e-12)
        tau = z @ (force if joint.kind == "prismatic" else moment)
        assert row["tau"] == pytest.approx(tau, rel=1e-11, abs=1e-12)


def is_behind(arm: Arm, body: int, joint: int) -> bool:
    while body > joint:
        body = arm.moving.bodies[body].parent
    return body == joint


def test_traces_agree_on_what_they_share() -> None:
    """The same quantity under each document's symbol; Silver's in base axes,
    Hollerbach's as poses and their derivatives.
    """
    state = random_state(TRACED, 3)
    tables = {name: dynamics.trace(TRACED, *state, name) for name in INVERSE}
    poses = link_poses(TRACED, state.q)
    for link, row in tables["newton-euler"].items():
        R = poses[link][:3, :3]
        also = {name: table[link] for name, table in tables.items()}
        mne, ga, kane, silver = (
            also[n] for n in ("modified-newton-euler", "gibbs-appell", "kane", "lagrange-silver")
        )
        for other in (mne["w"], ga["w"], kane["w"], R.T @ silver["w"]):
            np.testing.assert_allclose(other, row["w"], rtol=0, atol=1e-13)
        for other in (mne["alpha"], ga["wd"], kane["wd"], R.T @ silver["wd"]):
            np.testing.assert_allclose(other, row["wd"], rtol=0, atol=1e-12)
        for other in (mne["a_c"], ga["rdd"], kane["cdd"], R.T @ silver["vd"]):
            assert_agree(other, row["vd*"], 1e-12)
        for other in (mne["a"], ga["sdd"]):
            assert_agree(other, row["vd"], 1e-12)
        for other in (mne["F"], ga["f"], R.T @ silver["F"]):
            assert_agree(other, row["F"], 1e-12)
        for other in (mne["N"], ga["t"], R.T @ silver["N"]):
            np.testing.assert_allclose(other, row["N"], rtol=0, atol=1e-13)
        for other in (mne["f"], kane["force"]):
            assert_agree(other, row["f"], 1e-12)
        for other in (mne["n"], ga["chi"]):
            assert_agree(other, row["n"], 1e-12)
        matrix = tilde(row["wd"]) + tilde(row["w"]) @ tilde(row["w"])
        assert_agree(mne["lambda"], matrix, 1e-12)
        assert_agree(ga["Omega"], matrix, 1e-12)
        h4, h3 = also["lagrange-hollerbach-4x4"], also["lagrange-hollerbach"]
        assert_agree(h4["T"], poses[link], 1e-13)
        assert_agree(h3["R"], R, 1e-13)
        np.testing.assert_allclose(h4["Td"][:3, :3], R @ tilde(row["w"]), rtol=0, atol=1e-12)
        np.testing.assert_allclose(h3["Rdd"], R @ matrix, rtol=0, atol=1e-11)
        np.testing.assert_allclose(h3["rdd"] - TRACED.gravity, R @ row["vd"], rtol=0, atol=1e-11)
        np.testing.assert_allclose(h4["Tdd"][:3, 3], h3["rdd"], rtol=0, atol=1e-11)
        for name in ("lagrange-recursive", "lagrange-recursive-d", "lagrange-waters"):
            if "W" in also[name]:
                assert_agree(also[name]["W"], poses[link], 1e-13)
                assert_agree(also[name]["V"], h4["Td"], 1e-12)
                assert_agree(also[name]["P"] + also[name]["L"], h4["Tdd"], 1e-12)
    assert "W" in list(tables["lagrange-waters"].values())[-1], "the comparison above took place"


def test_trace_is_of_the_rigid_arm() -> None:
    arm = simple_drives(random_arm(25, 3, "standard"))
    state = random_state(arm, 1)
    for formulation in INVERSE:
        driven, rigid = (dynamics.trace(some, *state, formulation) for some in (arm, arm.rigid()))
        assert repr(driven) == repr(rigid)


def test_trace_of_followers_has_a_row_for_each_of_them() -> None:
    arm = random_arm(8, 3, mimic=True).rigid()
    state = random_state(arm, 1)
    table = dynamics.trace(arm, *state)
    assert list(table) == [body.joint.child for body in arm.moving.bodies]
    assert len(table) == 5
    tau = np.zeros(3)
    for body in arm.moving.bodies:
        tau[body.freedom] += body.multiplier * table[body.joint.child]["tau"]
    assert_agree(tau, dynamics.inverse(arm, *state), 1e-13)


def test_trace_takes_one_state_at_a_time_and_the_inertia_matrix_no_surroundings() -> None:
    with pytest.raises(InputError, match=r"^trace: expected one state of shape \(4,\), got \(3, 4\)\.$"):
        dynamics.trace(TRACED, *np.zeros((3, 3, 4)))
    with pytest.raises(
        InputError, match=r"^trace: composite-body gives the inertia matrix, .* got hand_force"
    ):
        dynamics.trace(TRACED, *random_state(TRACED, 6), "composite-body", hand_force=[1.0, 0.0, 0.0])


@pytest.mark.parametrize("formulation", ["newton-euler", "gibbs-appell", "lagrange-hollerbach"])
def test_the_trace_takes_the_surroundings(formulation: str) -> None:
    """Linear velocities on a fixed base and those of a body that turns with the base add up."""
    state, spin = random_state(TRACED, 5), np.array([0.3, -0.7, 0.4])
    load: dict[str, Any] = {"hand_force": [1.0, -2.0, 3.0], "base_motion": (spin, np.zeros(3), np.zeros(3))}
    turned, still = (dynamics.trace(TRACED, *state, formulation, **given) for given in (load, {}))
    tau = [row["tau"] if "tau" in row else row["F"] for row in turned.values()]
    assert_agree(tau, dynamics.inverse(TRACED, *state, formulation, **load), 1e-12)
    for link, row in turned.items() if formulation == "newton-euler" else ():
        T = link_poses(TRACED, state.q)[link]
        truth = still[link]["v"] + T[:3, :3].T @ np.cross(spin, T[:3, 3])
        np.testing.assert_allclose(row["v"], truth, rtol=0, atol=1e-13)


@each_arm
def test_trace_of_composite_bodies(arm: Arm) -> None:
    """Swartz (16)-(18) against sums over the links' bodies in base axes."""
    state = random_state(arm, 6)
    table = dynamics.trace(arm, *state, "composite-body")
    poses, bodies = link_poses(arm, state.q), arm.moving.bodies
    for i, (link, row) in enumerate(table.items()):
        behind = [bodies[k] for k in range(len(bodies)) if is_behind(arm, k, i)]
        R, at = poses[link][:3, :3], poses[link][:3, 3]
        mass = sum(body.mass for body in behind)
        centres = [poses[b.joint.child][:3, :3] @ b.com + poses[b.joint.child][:3, 3] for b in behind]
        centre = sum(b.mass * c for b, c in zip(behind, centres, strict=True)) / mass
        inertia = np.zeros((3, 3))
        for body, c in zip(behind, centres, strict=True):
            turn, lever = poses[body.joint.child][:3, :3], tilde(c - centre)
            inertia += turn @ body.inertia @ turn.T - body.mass * lever @ lever
        assert row["M"] == pytest.approx(mass, rel=1e-14)
        assert_agree(row["c*"], R.T @ (centre - at), 1e-13)
        assert_agree(row["E*"], R.T @ inertia @ R, 1e-13)
        assert_agree(row["H"], dynamics.inertia_matrix(arm.rigid(), state.q)[: i + 1, i], 1e-13)


@pytest.mark.parametrize(("method", "symbol"), [("unit-acceleration", "H"), ("orthogonal-complement", "D")])
def test_every_inertia_matrix_can_be_traced(method: str, symbol: str) -> None:
    state = random_state(TRACED, 6)
    M, table = dynamics.inertia_matrix(TRACED.rigid(), state.q), dynamics.trace(TRACED, *state, method)
    for i, row in enumerate(table.values()):
        assert_agree(row[symbol], M[i, : len(row[symbol])], 1e-12)
