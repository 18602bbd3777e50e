"""Derivatives of inverse dynamics by a dedicated recursion: d tau / d q, d tau / d qd and M.

Column j is the force and moment that the motion of joint j requires of everything behind it, taken as one
`Assembly`, propagated inwards: the component along the axis of each joint i on the way is the derivative of
tau_i by joint j. The effect of joint i on joint j follows from the same vectors by reciprocity: rotating
joint i changes the motion of everything it carries by dw = w x z, wd + w x dw by Omega z, the acceleration of
its origin by a x z, in its own axes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from forearm.model import Array, Note, Scalar, Vector, cross, noted, silent
from forearm.portable import dot
from forearm.reduction.assembly import (
    UNTWISTED,
    Assembly,
    JointColumns,
    carrying,
    rigid,
    sliding,
    sliding_columns,
    turning,
    turning_columns,
    untwisted,
)
from forearm.reduction.chain import (
    NO_TURN,
    SYMMETRIC,
    Chain,
    Pair,
    Segment,
    SegmentRotation,
    about_z,
    back,
    cos_sin_of,
    levers,
)
from forearm.reduction.composite import Six
from forearm.reduction.composite import turned as turned_six
from forearm.reduction.recursion import REST, Spin, Through, turned
from forearm.symbols.scalars import objects
from forearm.values import frozen

Matrices = tuple[Array, Array, Array]


@dataclass(frozen=True)
class DerivativeChoices:
    """Choices for each joint that do not change the result, by segment number.

    `inside`: its columns are computed in the axes and with the motion of the body behind it, not of its
    carrier. `late`: the assembly behind it is rotated into the carrier's axes before its own motion is added,
    not after.
    """

    inside: frozenset[int] = frozenset()
    late: frozenset[int] = frozenset()


@frozen
class AlignedJoint:
    """A segment with its vectors in the common axes of a run of parallel joints: those of its last body.

    `first` is the first of the run, `turn` leads to the axes of the parent (identity unless it is the first),
    `rate` and `acceleration` are those of the run up to here.
    """

    first: int
    turn: SegmentRotation
    l: Array  # noqa: E741
    h: Array
    J: Six
    rate: Scalar
    acceleration: Scalar


def derivatives(
    chain: Chain,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    choices: DerivativeChoices | None = None,
    note: Note = silent,
) -> Matrices:
    """(d tau / d q, d tau / d qd, M) over the joints, one per segment, each (N, N)."""
    return _Recursion(chain, q, qd, qdd, choices or DerivativeChoices(), note).matrices()


class _Recursion:
    def __init__(
        self, chain: Chain, q: Vector, qd: Vector, qdd: Vector, choices: DerivativeChoices, note: Note
    ) -> None:
        self.segments, self.qd, self.qdd, self.choices = chain.segments, qd, qdd, choices
        self.joints = aligned(chain, q, qd, qdd)
        note("turn", 0, ())
        self.spins: dict[int, Spin] = {-1: REST}
        self.a: dict[int, Any] = {-1: -objects(chain.g)}
        self.at_joint: list[Array] = []  # the acceleration of each origin due to its carrier, in its own axes
        for i, s in enumerate(self.segments):
            self._move(i, s)
            noted(note, i, w=self.spins[i].w, wd=self.spins[i].wd, a=self.a[i])

    def _move(self, i: int, s: Segment) -> None:
        """The motion of a segment, from that of its carrier."""
        joint, before = self.joints[i], self.spins[s.parent]
        at_joint = self.a[s.parent] + before.Omega @ joint.l
        self.at_joint.append(at_joint)
        if s.revolute:
            first = self.joints[joint.first]
            through = Through(0, first.turn, 0.0, 0.0, joint.rate, joint.acceleration)
            self.spins[i] = turned(s, through, self.spins[self.segments[joint.first].parent])
            self.a[i] = joint.turn.down(at_joint)
        else:
            rate = self.qd[i]
            self.spins[i] = before
            self.a[i] = at_joint + s.axis * self.qdd[i] + cross(before.w, s.axis) * (rate + rate)

    def matrices(self) -> Matrices:
        """From the tips to the base, a column and a row for each joint."""
        count = len(self.segments)
        by_q, by_qd, M = (np.zeros((count, count), dtype=object) for _ in range(3))
        bodies = [rigid(s.m, joint.h, joint.J) for s, joint in zip(self.segments, self.joints, strict=True)]
        for j in reversed(range(count)):
            s = self.segments[j]
            seen, columns = self._columns(j, bodies[j])
            if s.parent >= 0:
                bodies[s.parent] = carrying(bodies[s.parent], s, seen, self.joints[j].l)
            M[j, j], by_qd[j, j], by_q[j, j] = _along(s, columns)
            columns, inner, i = columns.each(SegmentRotation(s, NO_TURN)), j, s.parent
            while i >= 0:
                columns = columns.moved(self.joints[inner].l, self.spins[i].w + self.spins[i].w)
                M[i, j], by_qd[i, j], by_q[i, j] = _along(self.segments[i], columns)
                M[j, i], by_qd[j, i], by_q[j, i] = M[i, j], *self._felt(i, inner, columns, by_q[j, inner])
                columns = self._across(i, columns)
                inner, i = i, self.segments[i].parent
        return by_q, by_qd, M

    def _columns(self, j: int, body: Assembly) -> tuple[Assembly, JointColumns]:
        """The assembly behind a joint in its carrier's axes,
        and the joint's columns, in axes in which it rotates about z.
        """
        s, pair, rate, acceleration = self.segments[j], self.joints[j].turn.pair, self.qd[j], self.qdd[j]
        before = self.spins[s.parent]
        w, Omega, a = (untwisted(s, v) for v in (before.w, before.Omega, self.at_joint[j]))
        if not s.revolute:
            axis = objects(s.axis)
            seen = sliding(body, axis, rate, acceleration)
            return seen, sliding_columns(seen, axis, w, Omega, a)
        if j in self.choices.late:
            seen = turning(body.turned(pair), rate, acceleration)
        else:
            seen = turning(body, rate, acceleration).turned(pair)
        if j in self.choices.inside:
            spin = self.spins[j]
            inside = turning_columns(body, objects(spin.w), spin.Omega, self.a[j])
            return seen, inside.each(SegmentRotation(UNTWISTED, pair))
        return seen, turning_columns(seen, w, Omega, a)

    def _felt(self, i: int, inner: int, columns: JointColumns, of_inner: Scalar) -> tuple[Scalar, Scalar]:
        """The derivatives of the torque of the columns' joint by the velocity and the coordinate of joint i;
        for the coordinate of the next joint on the way they are known.
        """
        s, spin, a = self.segments[i], self.spins[i], self.a[i]
        f, n, e, (x, y, _) = columns.f, columns.n, columns.e, spin.w
        if not s.revolute:
            return dot(f, cross(spin.w + spin.w, s.axis)), dot(f, spin.Omega @ s.axis)
        by_qd = e[2] + (n[0] * (y + y) - n[1] * (x + x))
        # parallel: they differ by the offset between them
        if self.joints[inner].first == self.joints[i].first:
            across, along, _ = self.joints[inner].l
            return by_qd, of_inner + dot(f, spin.Omega[:, 1] * across - spin.Omega[:, 0] * along)
        return by_qd, dot(n, spin.Omega[:, 2]) + (e[0] * y - e[1] * x) + (f[0] * a[1] - f[1] * a[0])

    def _across(self, i: int, columns: JointColumns) -> JointColumns:
        """Columns in the axes of joint i's carrier, and in those of its motion."""
        s = self.segments[i]
        if s.revolute:
            return columns.each(self.joints[i].turn)
        return replace(columns, e=columns.e + cross(s.axis * (self.qd[i] + self.qd[i]), columns.f))


def _along(s: Segment, columns: JointColumns) -> tuple[Scalar, Scalar, Scalar]:
    """The components along a joint's axis of another joint's columns:
    acceleration, velocity and coordinate.
    """
    if s.revolute:
        return columns.n[2], columns.n_qd[2], columns.n_q[2]
    return dot(s.axis, columns.f), dot(s.axis, columns.f_qd), dot(s.axis, columns.f_q)


def aligned(chain: Chain, q: Vector, qd: Vector, qdd: Vector) -> list[AlignedJoint]:
    """The segments with runs of parallel joints in common axes,
    if no other segments are attached to inner bodies.
    """
    runs, on, l = chain.runs(), chain.children(), levers(chain, q)  # noqa: E741
    first: list[int] = []
    for i, s in enumerate(chain.segments):
        together = runs[i] != i and len(on[s.parent]) == 1
        first.append(first[s.parent] if together else i)
    made: list[AlignedJoint] = []
    for i, s in enumerate(chain.segments):
        run = [k for k in range(len(first)) if first[k] == first[i]]
        here = first[i] == i
        onward = back(_pair(chain, q, [k for k in run if k > i]))
        turn = SegmentRotation(s, _pair(chain, q, run) if here and s.revolute else NO_TURN)
        lever = objects(l[i])
        if not here:
            lever = about_z(back(_pair(chain, q, [k for k in run if k >= i])), lever)
        J = turned_six(SegmentRotation(UNTWISTED, onward), [s.J[a, b] for a, b in SYMMETRIC])
        rate, acceleration = qd[i], qdd[i]
        if not here:
            rate, acceleration = made[s.parent].rate + rate, made[s.parent].acceleration + acceleration
        h = about_z(onward, objects(s.h))
        made.append(AlignedJoint(first[i], turn, lever, h, J, rate, acceleration))
    return made


def _pair(chain: Chain, q: Vector, run: list[int]) -> Pair:
    """Cosine and sine of the sum of some joints' angles, without those of rotationally symmetric bodies."""
    turns = [k for k in run if chain.segments[k].revolute and not chain.segments[k].still]
    if not turns:
        return NO_TURN
    angle, offset = q[turns[0]], chain.segments[turns[0]].offset
    for k in turns[1:]:
        angle, offset = angle + q[k], offset + chain.segments[k].offset
    return cos_sin_of(angle, offset)
