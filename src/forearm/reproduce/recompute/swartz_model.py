"""Swartz's layout of the arm, his equations as residuals, and the coefficients of his integration."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.joint import DH
from forearm.dynamics import bias, inertia_matrix, inverse
from forearm.files.builtin import load_builtin
from forearm.kinematics import forward, jacobian
from forearm.model import model_of
from forearm.reproduce.recompute import Figures, apart
from forearm.reproduce.recompute.silver import common
from forearm.reproduce.recompute.swartz import ARM
from forearm.spatial import Floats, inverse_pose, tilde


def state() -> tuple[Arm, Floats, Floats, Floats]:
    """The arm without drives, and one random q, qd, qdd."""
    arm = load_builtin(ARM).rigid()
    q, qd, qdd = np.random.default_rng(1982).uniform(-0.9, 0.9, (3, arm.n))
    return arm, q, qd, qdd


def layout() -> Figures:
    """Swartz pp. 1, 2, 5, 6: links, joints and joint types of the built-in arm, read in its upright pose."""
    arm = load_builtin(ARM)
    # the joint axis is parallel to the links, which are stacked vertically
    along = np.abs(jacobian(arm, np.zeros(arm.n))[5]) > 0.5
    parents = [body.parent for body in model_of(arm).bodies]
    neighbours = {1 + parents.count(i) for i in range(arm.n - 1)}
    return {
        "links, the base among them": len(arm.links),
        "joints": arm.n,
        "odd joints that turn a link about its length": along[::2].sum(),
        "even joints that swing it": (~along[1::2]).sum(),
        "translational joints": sum(joint.kind == "prismatic" for joint in arm.joints),
        "neighbours of a link between base and hand": common([*neighbours]),
        "constants of a joint": np.linalg.matrix_rank(_slopes(), tol=1e-3),
    }


def _slopes() -> Floats:
    """Derivatives of the pose between neighbouring frames by a, r and alpha of a revolute joint."""
    at = np.array([0.3, 0.2, 0.7])

    def pose(values: Floats) -> Floats:
        a, r, alpha = values
        return _between(DH(convention="standard", a=a, d=r, alpha=alpha), 0.4).ravel()

    return np.array([(pose(at + h) - pose(at - h)) / 2e-6 for h in 1e-6 * np.eye(3)])


def _between(dh: DH, theta: float) -> Floats:
    """[A_i^(i+1), A p] of Swartz p. 18: rotation and displacement to the next frame, in axes of the first."""
    ca, sa, ct, st = np.cos(dh.alpha), np.sin(dh.alpha), np.cos(theta), np.sin(theta)
    A = np.array([[ct, -ca * st, sa * st], [st, ca * ct, -sa * ct], [0.0, sa, ca]])
    p = np.array([dh.a, dh.d * sa, dh.d * ca])
    return np.column_stack([A, A @ p])


def equations() -> Figures:
    """Swartz pp. 9-12, 16-19: relative residuals of his equations."""
    arm, q, qd, qdd = state()
    torque, H = inverse(arm, q, qd, qdd), inertia_matrix(arm, q, method="composite-body")
    frames = [np.eye(4), *(forward(arm, q, link=f"link{i + 1}") for i in range(arm.n))]
    placed = [joint.placement for joint in arm.joints]
    printed = np.array([_between(dh, x) for dh, x in zip(placed, q, strict=True) if isinstance(dh, DH)])
    ours = np.array([(inverse_pose(a) @ b)[:3] for a, b in pairwise(frames)])
    turns = printed[:, :, :3]
    force, moment, R = np.array([20.0, -7.0, 11.0]), np.array([2.0, 3.0, -1.0]), frames[-1][:3, :3]
    K = jacobian(arm, q)
    pushed = inverse(arm, q, qd, qdd, hand_force=-force, hand_moment=-moment)
    by_columns = inertia_matrix(arm, q, method="unit-acceleration")
    M, c, E = _gathered(arm, q)
    axis, lever = np.array([0.0, 0.0, 1.0]), c  # in base axes, from the base origin
    first = E @ axis + np.cross(lever, M * np.cross(axis, lever))
    return {
        "A, p: frames of the built-in arm": apart(printed, ours),
        "A^T = A^-1": apart(turns @ turns.swapaxes(1, 2), np.broadcast_to(np.eye(3), turns.shape)),
        "(13): H theta'' + B against InvArm": apart(H @ qdd + bias(arm, q, qd), torque),
        "(13): K_f^T f + K_n^T n": apart(K.T @ np.r_[R @ force, R @ moment], pushed - torque),
        "(16)-(26): method 3 against method 1": apart(H, by_columns),
        "H symmetric": apart(by_columns, by_columns.T),
        "(16)-(23): H_11 of all links as one body": apart(np.array([first @ axis]), H[:1, 0]),
    }


def _gathered(arm: Arm, q: Floats) -> tuple[float, Floats, Floats]:
    """All links as one composite body at q: mass, centre of mass, inertia about it. Swartz p. 11."""
    bodies = []
    for i in range(arm.n):
        body, T = arm.link(f"link{i + 1}"), forward(arm, q, link=f"link{i + 1}")
        R = T[:3, :3]
        bodies.append((body.mass, T[:3, 3] + R @ body.com, R @ body.inertia @ R.T))
    mass = sum(m for m, _, _ in bodies)
    centre = sum((m * c for m, c, _ in bodies), np.zeros(3)) / mass
    about = sum(
        (inertia - m * tilde(c - centre) @ tilde(c - centre) for m, c, inertia in bodies), np.zeros((3, 3))
    )
    return mass, centre, about


def integration() -> Figures:
    """Swartz p. 13: weights b and slopes a of an explicit step of order 3 with the nodes c = 0, 1/2, 1,
    from sum(b c^k) = 1 / (k + 1) for k = 0, 1, 2, and b3 a32 c2 = 1/6.
    """
    nodes = np.array([0.0, 0.5, 1.0])
    b = np.linalg.solve(np.vander(nodes, increasing=True).T, 1.0 / np.arange(1, 4))
    of_k2 = 1.0 / (6.0 * b[2] * nodes[1])
    weights = {f"weight of c{i + 1} and k{i + 1}, over 6": 6.0 * weight for i, weight in enumerate(b)}
    return {**weights, "k3: of k2": of_k2, "k3: of k1": nodes[2] - of_k2}
