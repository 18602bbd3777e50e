"""Frames for few operations:
x along the common normal to the next revolute axis, origins at the feet of the common normals.

Steps between origins then have two nonzero entries, (a, 0, d), and rotations between axes are one constant
twist about x and the joint's own rotation about z: Denavit and Hartenberg's frames, each origin shifted along
its axis to the normal from the axis before.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from forearm.model import Model
from forearm.portable import atan2, dot, hypot, matmul, norm
from forearm.reduction.chain import NO_TURN, Chain, Pair, Segment, moments, moved
from forearm.spatial import Floats, inverse_pose, pose

# Rounding residue of rotations where 0 or 1 is meant, relative to the size of the arm.
ROUNDING = 1e-14
PARALLEL = 1e-13
# times the size of the arm: if axes are so nearly parallel that the foot of their common normal is farther
# away, the normal is not used
FAR = 10.0


@lru_cache(maxsize=64)
def chain_of(model: Model) -> Chain:
    """The chain of a model over floats, without regrouping."""
    poses, joints = at_zero(model)
    frames, base = _frames(model, joints)
    size = max([1e-3, *(float(np.abs(frame[:3, 3]).max()) for frame in frames)])
    segments, own = [], []
    for i, body in enumerate(model.bodies):
        parent = frames[body.parent] if body.parent >= 0 else base
        T = matmul(inverse_pose(parent), frames[i])
        phi, alpha, psi = _turns(T[:3, :3])
        offset = model.offset[i]
        if body.revolute:
            offset = _snapped_angle(offset + atan2(psi[1], psi[0]))
        own.append(matmul(inverse_pose(frames[i]), poses[i]))
        m, h, J = moved(*moments(body.m, body.r, body.I), own[i][:3, :3], own[i][:3, 3])
        segments.append(
            Segment(
                body.parent,
                body.revolute,
                phi,
                alpha,
                _snapped(T[:3, 3], size),
                _snapped(matmul(frames[i][:3, :3].T, joints[i][:3, 2])),
                offset,
                m,
                _snapped(h, abs(m) * size),
                _snapped(J, float(np.abs(J).max())),
            )
        )
    for s in segments:  # cached for the next caller
        for array in (s.l, s.axis, s.h, s.J):
            array.flags.writeable = False
    R_base = _snapped(base[:3, :3])
    g = _snapped(matmul(R_base.T, model.g), float(np.abs(model.g).max()))
    return Chain(model, tuple(segments), g, R_base, tuple(own))


def at_zero(model: Model) -> tuple[list[Floats], list[Floats]]:
    """Poses of the bodies, and of their joints before they move,
    in base axes, with every joint's own coordinate 0.
    """
    poses: list[Floats] = []
    joints = []
    for body in model.bodies:
        parent = poses[body.parent] if body.parent >= 0 else np.eye(4)
        joints.append(matmul(parent, pose(body.Rb, body.pb)))
        poses.append(matmul(joints[-1], pose(body.Ra, body.pa)))
    return poses, joints


def _frames(model: Model, joints: list[Floats]) -> tuple[list[Floats], Floats]:
    """A frame for each body, and one for the base, in base axes at zero."""
    frames: list[Floats] = []
    base = _base_frame(model, joints)
    far = FAR * max([0.01, *(norm(joint[:3, 3] - joints[0][:3, 3]) for joint in joints)])
    for i, body in enumerate(model.bodies):
        parent = frames[body.parent] if body.parent >= 0 else base
        if not body.revolute:
            frames.append(parent.copy())
            continue
        z, p = joints[i][:3, 2], joints[i][:3, 3]
        following = _next_turning(model, i)
        # The origin on the first axis is arbitrary: level with the next axis' foot, if there is one.
        beside = parent if _turns_before(model, i) else None if following is None else joints[following]
        frames.append(
            pose(_axes(z, _normal(joints, i, following)), p if beside is None else _foot(p, z, beside, far))
        )
    return frames, base


def _base_frame(model: Model, joints: list[Floats]) -> Floats:
    """z along the first revolute axis;
    x along the component of gravity perpendicular to it, or else the joint's own x.
    """
    first = next((i for i, b in enumerate(model.bodies) if b.revolute), None)
    if first is None:
        return np.eye(4)
    x, z = joints[first][:3, 0], joints[first][:3, 2]
    across = model.g - z * dot(z, model.g)
    tilted = norm(across) > ROUNDING * norm(model.g)
    return pose(_axes(z, across if tilted else x), np.zeros(3))


def _turns_before(model: Model, i: int) -> bool:
    """Whether there is a revolute joint between the base and joint i."""
    before = model.bodies[i].parent
    while before >= 0 and not model.bodies[before].revolute:
        before = model.bodies[before].parent
    return before >= 0


def _next_turning(model: Model, i: int) -> int | None:
    """The first revolute joint behind body i, across prismatic ones."""
    for k in range(i + 1, len(model.bodies)):
        parent = model.bodies[k].parent
        while parent > i and not model.bodies[parent].revolute:
            parent = model.bodies[parent].parent
        if parent == i and model.bodies[k].revolute:
            return k
    return None


def _foot(p: Floats, z: Floats, beside: Floats, far: float) -> Floats:
    """The point of the line p + t z nearest to the z axis of another frame;
    level with its origin if both are parallel.
    """
    o, u = beside[:3, 3], beside[:3, 2]
    level, c, d = dot(z, o - p), dot(z, u), o - p
    across = np.cross(z, u)
    det = dot(across, across)
    t = level if det < PARALLEL * PARALLEL else (level - c * dot(u, d)) / det
    return np.asarray(p + (t if abs(t - level) < far else level) * z)


def _normal(joints: list[Floats], i: int, following: int | None) -> Floats:
    """The direction of the common normal from axis i to the next,
    with the sign closer to the joint's own x.
    """
    x, z = joints[i][:3, 0], joints[i][:3, 2]
    if following is None:
        return x
    normal = np.cross(z, joints[following][:3, 2])
    if norm(normal) < PARALLEL:
        d = joints[following][:3, 3] - joints[i][:3, 3]
        normal = d - z * dot(z, d)
        if norm(normal) < PARALLEL * max(1.0, norm(d)):
            return x
    return -normal if dot(normal, x) < 0.0 else normal


def _axes(z: Floats, x: Floats) -> Floats:
    """Right-handed axes with this z, and x as close as possible to the given one."""
    x = x - z * dot(z, x)
    x = x / norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _turns(R: Floats) -> tuple[Pair, Pair, Pair]:
    """phi, alpha, psi with R = Rz(phi) Rx(alpha) Rz(psi)."""
    if hypot(R[0, 2], R[1, 2]) < ROUNDING:
        return NO_TURN, (math.copysign(1.0, R[2, 2]), 0.0), snapped_pair(R[0, 0], -R[0, 1])
    phi = NO_TURN if abs(R[0, 2]) < 10.0 * ROUNDING else snapped_pair(-R[1, 2], R[0, 2])
    alpha = snapped_pair(R[2, 2], -R[1, 2] * phi[0] + R[0, 2] * phi[1])
    return (
        phi,
        alpha,
        snapped_pair(R[0, 0] * phi[0] + R[1, 0] * phi[1], -(R[0, 1] * phi[0] + R[1, 1] * phi[1])),
    )


def snapped_pair(c: float, s: float) -> Pair:
    """Cosine and sine, exact for multiples of a quarter turn."""
    size = hypot(c, s)
    c, s = float(c / size), float(s / size)
    if abs(s) < ROUNDING:
        return math.copysign(1.0, c), 0.0
    if abs(c) < ROUNDING:
        return 0.0, math.copysign(1.0, s)
    return c, s


def _snapped(array: Floats, size: float = 1.0) -> Floats:
    """Rounding residue replaced by zeros; for directions (size 1) by ones too."""
    made = np.array(array, dtype=float)
    made[np.abs(made) <= ROUNDING * size] = 0.0
    if size == 1.0:
        for whole in (-1.0, 1.0):
            made[np.abs(made - whole) < ROUNDING] = whole
    return made


def _snapped_angle(angle: float) -> float:
    angle = math.remainder(angle, 2.0 * math.pi)
    quarter = round(angle / (math.pi / 2.0)) * (math.pi / 2.0)
    return quarter if abs(angle - quarter) < 4.0 * ROUNDING else angle
