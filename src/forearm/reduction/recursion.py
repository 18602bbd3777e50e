"""Inverse dynamics on a chain of moments:
Omega acts on all moments, and each joint moment is one skew-symmetric part.

With Omega = tilde(wd) + tilde(w)^2 and a the acceleration of the origin, a body with moments m, h, J needs
the force F = m a + Omega h and, about its origin, the moment N with tilde(N) = X - X^T, X = Omega J + a h^T.
Mata (9)-(12); Omega is Dhanaraj's lambda, 2.27. Along a run of parallel axes angles and rates are added, and
vectors rotated once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm.model import Array, Note, Scalar, Vector, cross, noted, silent
from forearm.portable import dot
from forearm.reduction.chain import Chain, Segment, SegmentRotation, cos_sin_of, is_pair, levers, turns
from forearm.symbols.scalars import Values, is_zero, same
from forearm.values import frozen


@frozen
class Spin:
    """A body's angular velocity and acceleration, Omega,
    and the products (wy wz, wz wx, wx wy) and squares of w.
    """

    w: Array
    wd: Array
    Omega: Array
    products: tuple[Scalar, ...]
    squares: tuple[Scalar, ...]


REST = Spin(np.zeros(3), np.zeros(3), np.zeros((3, 3)), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


@frozen
class SegmentMotion:
    """Rotations, spins and accelerations of a chain's segments: everything independent of the moments.

    `l` are the segments' levers, `a` the accelerations of their origins; the base is at -1.
    """

    at: list[SegmentRotation]
    l: list[Array]  # noqa: E741
    through: list[Through]
    spins: dict[int, Spin]
    a: dict[int, Any]


def at_base(chain: Chain, q: Vector, qd: Vector, qdd: Vector) -> SegmentMotion:
    """A motion known at the base only."""
    at, l = turns(chain, q), levers(chain, q)  # noqa: E741
    return SegmentMotion(at, l, _runs(chain, q, qd, qdd, at), {-1: REST}, {-1: -chain.g})


def go_on(motion: SegmentMotion, i: int, s: Segment, qd: Vector, qdd: Vector) -> None:
    """Add the motion of segment i, from that of its carrier."""
    before, joint = motion.spins[s.parent], motion.through[i]
    motion.spins[i] = turned(s, joint, motion.spins[joint.root]) if s.revolute else before
    motion.a[i] = carried(s, motion.at[i], motion.l[i], before, motion.a[s.parent], qd[i], qdd[i])


def motion_of(chain: Chain, q: Vector, qd: Vector, qdd: Vector) -> SegmentMotion:
    """The motion of all segments."""
    motion = at_base(chain, q, qd, qdd)
    for i, s in enumerate(chain.segments):
        go_on(motion, i, s, qd, qdd)
    return motion


def inverse(
    chain: Chain, q: Vector, qd: Vector, qdd: Vector, note: Note = silent, known: SegmentMotion | None = None
) -> Values:
    """Joint torques and forces, one per segment: motions and required forces outwards, sums inwards. Motions
    that are given are not computed again.
    """
    motion = at_base(chain, q, qd, qdd) if known is None else known
    note("turn", 0, ())
    F = []
    N = []
    for i, s in enumerate(chain.segments):
        if known is None:
            go_on(motion, i, s, qd, qdd)
        spin, a = motion.spins[i], motion.a[i]
        force, about = needed(s, spin, a)
        F.append(force)
        N.append(about)
        noted(note, i, w=spin.w, wd=spin.wd, a=a, F=force, N=about)
    return _inwards(chain, motion.at, motion.l, motion.through, F, N, note)


def carried(
    s: Segment,
    turn: SegmentRotation,
    l: Array,  # noqa: E741
    spin: Spin,
    a: Array,
    rate: Scalar,
    acceleration: Scalar,
) -> Array:
    """The acceleration of a segment's origin, from the spin and acceleration of its carrier."""
    if s.revolute:
        return turn.down(a + spin.Omega @ l)
    # it has the axes of the body it slides on
    return a + spin.Omega @ l + s.axis * acceleration + cross(spin.w, s.axis) * (rate + rate)


def needed(s: Segment, spin: Spin, a: Array) -> tuple[Array, Array]:
    """The force, and the moment about its origin, that a segment's own motion requires."""
    return s.m * a + spin.Omega @ s.h, moment(s, spin) + cross(s.h, a)


@frozen
class Through:
    """A run of parallel axes up to one of them, as one joint on the body `root` that carries the run."""

    root: int
    turn: SegmentRotation
    q: Scalar
    offset: Scalar
    rate: Scalar
    acceleration: Scalar


def _runs(chain: Chain, q: Vector, qd: Vector, qdd: Vector, at: list[SegmentRotation]) -> list[Through]:
    made = []
    first = chain.runs()
    for i, s in enumerate(chain.segments):
        if first[i] == i:
            made.append(Through(s.parent, at[i], q[i], s.offset, qd[i], qdd[i]))
            continue
        before = made[s.parent]
        angle, offset = before.q + q[i], before.offset + s.offset
        turn = (
            before.turn if s.still else SegmentRotation(chain.segments[first[i]], cos_sin_of(angle, offset))
        )
        made.append(
            Through(before.root, turn, angle, offset, before.rate + qd[i], before.acceleration + qdd[i])
        )
    return made


def turned(s: Segment, joint: Through, before: Spin) -> Spin:
    """The spin behind a revolute joint, or behind a run of parallel ones, from that of the carrier."""
    w_in = joint.turn.down(before.w)
    w = w_in + s.axis * joint.rate
    wd = joint.turn.down(before.wd) + s.axis * joint.acceleration + cross(w_in, s.axis) * joint.rate
    return spin_of(w, wd, s.squares, _level(joint.turn.segment, before))


def _level(first: Segment, before: Spin) -> Scalar | None:
    """wx^2 + wy^2 behind a joint, invariant under its own rotation, if the body before it has computed it."""
    if is_pair(first.phi, (1.0, 0.0)) and is_zero(first.alpha[1]):
        return -before.Omega[2, 2]
    if is_pair(first.phi, (1.0, 0.0)) and is_zero(first.alpha[0]):
        return -before.Omega[1, 1]
    return None


def spin_of(w: Array, wd: Array, squares: str = "both", level: Scalar | None = None) -> Spin:
    """Omega r = wd x r + w x (w x r). Dhanaraj 2.27.

    If `level` = wx^2 + wy^2 is known: "sum" uses it in place of the sum, "x" and "y" compute one square and
    derive the other as the difference.
    """
    x, y, z = w
    ax, ay, az = wd
    kx, ky, kz = y * z, z * x, x * y
    if level is None or squares == "both":
        xx, yy = x * x, y * y
        level = xx + yy
    elif squares == "sum":
        xx, yy = x * x, y * y
    elif squares == "x":
        xx = x * x
        yy = level - xx
    else:
        yy = y * y
        xx = level - yy
    zz = z * z
    Omega = np.array(
        [[-(yy + zz), kz - az, ky + ay], [kz + az, -(xx + zz), kx - ax], [ky - ay, kx + ax, -level]]
    )
    return Spin(w, wd, Omega, (kx, ky, kz), (xx, yy, zz))


def moment(s: Segment, spin: Spin) -> Array:
    """N with tilde(N) = Omega J - (Omega J)^T."""
    (Jxx, Jxy, Jxz), (_, Jyy, Jyz), (_, _, Jzz) = s.J
    O, (kx, ky, kz), (xx, yy, zz) = spin.Omega, spin.products, spin.squares  # noqa: E741
    ax, ay, az = spin.wd
    return np.array(
        [
            _both(Jyy, Jzz, ax, kx) + O[2, 0] * Jxy + (zz - yy) * Jyz - O[1, 0] * Jxz,
            _both(Jzz, Jxx, ay, ky) + O[0, 1] * Jyz + (xx - zz) * Jxz - O[2, 1] * Jxy,
            _both(Jxx, Jyy, az, kz) + O[1, 2] * Jxz + (yy - xx) * Jxy - O[0, 2] * Jyz,
        ]
    )


def _both(A: Scalar, B: Scalar, a: Scalar, k: Scalar) -> Scalar:
    """A (a + k) + B (a - k), with one product where A and B are equal or opposite."""
    if same(A, B):
        return (A + B) * a
    if same(A, -B):
        return (A + A) * k
    return A * (a + k) + B * (a - k)


def along(s: Segment, f: Array, n: Array) -> Scalar:
    """The component of a transmitted force and moment along a joint's axis."""
    return dot(s.axis, n if s.revolute else f)


def _inwards(
    chain: Chain,
    at: list[SegmentRotation],
    l: list[Array],  # noqa: E741
    through: list[Through],
    F: list[Array],
    N: list[Array],
    note: Note,
) -> Values:
    """Forces and moments from the tips to the base,
    and their components along the joints. Swartz (8)-(10).
    """
    f, n = list(F), list(N)
    tau = [0.0] * len(F)
    for i in reversed(range(len(F))):
        s = chain.segments[i]
        note("f", i, f[i])
        note("n", i, n[i])
        tau[i] = tau[i] + along(s, f[i], n[i])
        note("tau", i, tau[i])
        if s.parent < 0:
            continue
        passed = at[i].up(f[i])
        f[s.parent] = f[s.parent] + passed
        n[s.parent] = n[s.parent] + cross(l[i], passed)
        if s.straight:
            between, root = s.parent, through[i].root
            while between != root:  # each axis of the run receives the component along it
                tau[between] = tau[between] + n[i][2]
                between = chain.segments[between].parent
            if root >= 0:
                n[root] = n[root] + through[i].turn.up(n[i])
        else:
            n[s.parent] = n[s.parent] + at[i].up(n[i])
    return tau
