"""A store of typical trajectories: torques recorded where the arm has been, computed in advance or learnt
from practice.

Waters IV: the store covers the regions that typical motions pass through; a new motion is learnt by executing
it and recording which torques caused which accelerations, which is Raibert's approach. That needs no model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.control.bookkeeping import (
    Spending,
    Wanted,
    check_motion,
    feedback,
    in_spans,
    states_along,
    times_along,
)
from forearm.control.controller import Sample
from forearm.control.controllers.forces import Directions
from forearm.control.extrapolation import exact_slopes
from forearm.control.gains import BANDWIDTH
from forearm.control.loop import run
from forearm.control.options import PRACTICE, PracticeOptions
from forearm.control.precomputed import walked
from forearm.control.reference import Motion
from forearm.errors import InputError
from forearm.kernels.kept import kernel_of
from forearm.records import flat
from forearm.simulation.controlled import Run
from forearm.spatial import Floats
from forearm.values import as_floats, check_number, check_whole

BESIDE = 1e-9  # of a motion's duration: offset to either side of a switch of acceleration
WEAK = 0.1  # of the extent of neighbouring points: directions below it hardly count as spanned
WIDTH = 1.1  # of the squared distance of the farthest neighbour: where weights vanish


@dataclass(frozen=True, eq=False)
class Recalled:
    """A recalled torque (n,) for a state, the point it comes from, its distance, and the operations spent."""

    force: Floats
    at: int
    distance: float
    operations: int


@dataclass(frozen=True, eq=False)
class Store:
    """Torques at points x = (q, qd, qdd) that were computed or measured.

    Attributes:
        states: points (m, 3n).
        forces: torques there (m, n), N m (N).
        course: (m,), which points are consecutive on one trajectory: between these, torques are interpolated.
        scale: factors (3n,) that define distances.
        slopes: dF/dx (m, n, 3n); None: unknown.
    """

    states: Floats
    forces: Floats
    course: NDArray[np.intp]
    scale: Floats
    slopes: Floats | None = None

    def __len__(self) -> int:
        return len(self.states)

    @property
    def numbers(self) -> int:
        """Stored numbers."""
        return self.states.size + self.forces.size + (0 if self.slopes is None else self.slopes.size)

    @cached_property
    def scaled(self) -> Floats:
        """The points in scaled coordinates."""
        return self.states * self.scale

    @cached_property
    def interval(self) -> float:
        """The median distance of consecutive points; 0 if there are none."""
        lengths = np.linalg.norm(np.diff(self.scaled, axis=0), axis=1)[np.diff(self.course) == 0]
        return float(np.median(lengths)) if lengths.size else 0.0

    def recall(self, state: Floats, near: int | None = None) -> Recalled:
        """The torque at a state.

        With slopes F + (dF/dx) (x - x_k); without, interpolated on the segment to the closest neighbour.

        Args:
            state: x (3n,).
            near: index of the point from which the search walks; None: search all.
        """
        x, p = state * self.scale, len(state)
        at, looked_at = (0, 0) if near is None else walked(self.scaled, x, near)
        # a walk ends where no neighbour is nearer; on another trajectory, or across a gap, others may be
        if near is None or np.linalg.norm(self.scaled[at] - x) > self.interval:
            at, looked_at = int(np.argmin(np.sum((self.scaled - x) ** 2, axis=1))), looked_at + len(self)
        distance = float(np.linalg.norm(self.scaled[at] - x))
        force, taken = self._beside(at, x) if self.slopes is None else self._sloping(at, state)
        return Recalled(force, at, distance, p + 3 * p * looked_at + taken)

    def _sloping(self, at: int, state: Floats) -> tuple[Floats, int]:
        assert self.slopes is not None
        force: Floats = self.forces[at] + self.slopes[at] @ (state - self.states[at])
        return force, len(state) + 2 * self.slopes[at].size

    def _beside(self, at: int, x: Floats) -> tuple[Floats, int]:
        """Interpolate between the nearest point and the neighbour whose segment is closer to x."""
        best, force = np.inf, self.forces[at]
        for other in (at - 1, at + 1):
            if not (0 <= other < len(self) and self.course[other] == self.course[at]):
                continue
            along, away = self.scaled[other] - self.scaled[at], x - self.scaled[at]
            length = float(along @ along)
            share = min(max(float(along @ away) / length, 0.0), 1.0) if length > 0.0 else 0.0
            apart = float(np.sum((away - share * along) ** 2))
            if apart < best:
                best, force = apart, (1.0 - share) * self.forces[at] + share * self.forces[other]
        return force, 2 * 10 * len(x) + 3 * len(force)

    def sloped(self, neighbours: int | None = None) -> Store:
        """The same store with slopes, fitted at each point to its nearest neighbours, by default 6n of them.

        Least squares, in which neighbours weigh less the farther they are, as torques bend; in directions
        that they hardly span, the torque is taken as constant.
        """
        p = self.states.shape[1]
        count = 2 * p if neighbours is None else check_whole(neighbours, "neighbours", 1)
        slopes = np.zeros((*self.forces.shape, p))
        for k, x in enumerate(self.scaled):
            away = np.sum((self.scaled - x) ** 2, axis=1)
            near = np.argsort(away, kind="stable")[1 : count + 1]
            if not len(near) or not away[near[-1]]:
                continue
            weights = np.sqrt(1.0 - away[near] / (WIDTH * away[near[-1]]))[:, None]
            A, b = weights * (self.scaled[near] - x), weights * (self.forces[near] - self.forces[k])
            few = WEAK**2 * np.sum(A**2) * np.eye(p)
            slopes[k] = np.linalg.solve(A.T @ A + few, A.T @ b).T * self.scale
        return replace(self, slopes=slopes)

    def learned(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, tau: ArrayLike, spacing: float = 0.05
    ) -> Store:
        """The store with points measured along a motion in place of older ones as near as `spacing`.

        An arm that practises comes closer to the motion with every run, and what it measured last is what it
        needs next. The result has no slopes, since an arm does not show them; `sloped` fits slopes to the
        points.

        Args:
            q, qd, qdd: the motion (m, n).
            tau: torques (m, n), N m (N).
            spacing: minimum distance of points, in units of `scale`.
        """
        rows = [as_floats(x, name) for x, name in ((q, "q"), (qd, "qd"), (qdd, "qdd"), (tau, "tau"))]
        if any(x.shape != rows[0].shape or x.shape[1:] != self.forces.shape[1:] for x in rows):
            raise InputError(
                f"expected four arrays (m, {self.forces.shape[1]}), got {[x.shape for x in rows]}.", "learned"
            )
        apart = check_number(spacing, "learned, spacing", above=0.0)
        states, forces = np.concatenate(rows[:3], axis=1), rows[3]
        added: list[int] = []
        near = np.zeros(len(self), dtype=bool)
        for k in np.flatnonzero(np.isfinite(states).all(axis=1) & np.isfinite(forces).all(axis=1)):
            away = np.sum((states[added] * self.scale - states[k] * self.scale) ** 2, axis=1)
            if (away > apart**2).all():
                added.append(int(k))
                near |= np.sum((self.scaled - states[k] * self.scale) ** 2, axis=1) <= apart**2
        # what is left of a trajectory on both sides of a removed point is not consecutive
        course = (self.course + np.cumsum(near))[~near]
        return Store(
            np.vstack([self.states[~near], states[added]]),
            np.vstack([self.forces[~near], forces[added]]),
            np.append(course, np.full(len(added), course.max(initial=-1) + 1)),
            self.scale,
        )


def empty_store(arm: Arm, motion: Motion) -> Store:
    """A store without points, with distances scaled by the spans of a motion: of each coordinate, velocity
    and acceleration.
    """
    states = np.concatenate(
        states_along(arm, check_motion(arm, motion), np.linspace(0.0, motion.duration, 101)), axis=1
    )
    return Store(np.empty((0, 3 * arm.n)), np.empty((0, arm.n)), np.empty(0, np.intp), in_spans(states))


def computed_store(arm: Arm, motion: Motion, interval: float = 0.05, slopes: bool = True) -> Store:
    """A store computed along a motion: points at most `interval` seconds apart, and on both sides of each
    switch.
    """
    t = times_along(check_motion(arm, motion), interval, "interval")
    switches = np.asarray(getattr(motion, "switches", ()), dtype=np.float64)
    # the ends are points already
    switches = switches[(switches > t[0] + 1e-6 * t[-1]) & (switches < (1.0 - 1e-6) * t[-1])]
    sides = (switches[:, None] + BESIDE * motion.duration * np.array([-1.0, 1.0])).ravel()
    t = np.unique(np.clip(np.concatenate([t, sides]), 0.0, motion.duration))
    kernel, rows = kernel_of(arm), states_along(arm, motion, t)
    state = np.concatenate(rows, axis=1)
    derivatives = exact_slopes(kernel, state) if slopes else None
    empty = empty_store(arm, motion)
    return Store(state, kernel.inverse_dynamics(*rows), np.zeros(len(t), np.intp), empty.scale, derivatives)


class Stored:
    """Torques from a store at the reference state.

    The search walks from the last point, and covers the whole store if that finds nothing within reach;
    `missed` counts samples without a match. Waters IV.

    Args:
        arm: the controller's model of the arm.
        motion: the reference motion.
        store: the store; None: computed along the motion.
        interval: time between computed points, s.
        reach: maximum distance of a match, in units of `scale`; beyond it only feedback acts.
        bandwidth: of the feedback, rad/s; None: no feedback.
        inertias: factors of its gains (n,), kg m^2 (kg); None: M_jj in mid-range.
    """

    name = "stored trajectories"

    def __init__(
        self,
        arm: Arm,
        motion: Motion,
        *,
        store: Store | None = None,
        interval: float = 0.05,
        reach: float = 1.0,
        bandwidth: float | None = BANDWIDTH,
        inertias: ArrayLike | None = None,
    ) -> None:
        self.store = computed_store(arm, motion, interval) if store is None else store
        if self.store.forces.shape[1] != arm.n:
            raise InputError(
                f"it is for {self.store.forces.shape[1]} joints, {arm.name!r} has {arm.n}.", "store"
            )
        self._reach = check_number(reach, "stored trajectories, reach", above=0.0)
        self._feedback, self._wanted = feedback(arm, bandwidth, inertias), Wanted(Directions.of(arm))
        self.reset()

    @property
    def operations(self) -> float:
        """Mean operations per sample since the start of the motion."""
        return self._spent.average

    def reset(self) -> None:
        """Forget the position in the store; learnt points stay, as they belong to the store."""
        self._spent, self.missed = Spending(), 0
        self._near: int | None = None

    def command(self, sample: Sample) -> Floats:
        """The recalled torques."""
        state = np.concatenate(self._wanted.of(sample))
        force, spent = np.zeros(len(sample.q)), self._feedback.operations
        for near in (self._near, None) if self._near is not None else (None,):
            if not len(self.store):
                break
            recalled = self.store.recall(state, near)
            spent += recalled.operations
            if recalled.distance <= self._reach:
                force, self._near = recalled.force, recalled.at
                break
        else:
            self._near = None
        self.missed += int(self._near is None)
        self._spent.note(spent)
        return self._feedback.added(force, sample)


@flat(options=PracticeOptions)
def practise(
    arm: Arm,
    motion: Motion,
    *,
    plant: Arm | None = None,
    bandwidth: float = BANDWIDTH,
    inertias: ArrayLike | None = None,
    options: PracticeOptions = PRACTICE,
) -> tuple[Store, list[Run]]:
    """Learn a motion by practice: move the plant with the torques in the store, and record the results in the
    store.

    The store begins empty, so that the first run is feedback alone.

    Args:
        arm: the arm, used for the feedback gains only.
        motion: the reference motion.
        plant: the simulated arm; None: `arm`.
        bandwidth: of the feedback, rad/s.
        inertias: factors of its gains (n,), kg m^2 (kg); None: M_jj in mid-range.
        options: how it is practised.
    """
    store, runs = empty_store(arm, motion), []
    for _ in range(options.trials):
        controller = Stored(
            arm, motion, store=store.sloped(), reach=options.reach, bandwidth=bandwidth, inertias=inertias
        )
        runs.append(run(arm, controller, motion, plant=plant, period=options.period))
        store = store.learned(*met(runs[-1]), spacing=options.spacing)
    return store, runs


def met(made: Run) -> tuple[Floats, Floats, Floats, Floats]:
    """q, qd, qdd, tau (m, n) in the middle of each period of a run, as measured by encoders and
    tachometers.
    """
    q, qd = (0.5 * (x[1:] + x[:-1]) for x in (made.q, made.qd))
    return q, qd, np.diff(made.qd, axis=0) / made.period, made.tau[:-1]
