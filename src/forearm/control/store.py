"""A store of typical trajectories: forces remembered where the arm has been,
computed beforehand or learnt by doing.

Waters IV: what is stored describes the regions that typical motions pass through; a new one is learnt by
making it, and remembering what forces gave what accelerations there, which is Raibert's approach. No
model is needed for that.
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
from forearm.control.extrapolation import exact_slopes, fitted_slopes
from forearm.control.gains import BANDWIDTH
from forearm.control.loop import run
from forearm.control.precomputed import walked
from forearm.control.reference import Motion
from forearm.errors import InputError
from forearm.kernels.kept import kernel_of
from forearm.simulation.controlled import Run
from forearm.values import as_floats, check_number, check_whole

Floats = NDArray[np.float64]
BESIDE = 1e-9  # of a motion's duration: on either side of a switch of accelerations
# of the farthest reach of neighbouring points: forces that an arm showed are not fitted
# in directions below it
WEAK = 0.1


@dataclass(frozen=True, eq=False)
class Recalled:
    """A force (n,) for a state, the point that it comes from, how far that is,
    and the operations that it took.
    """

    force: Floats
    at: int
    distance: float
    operations: int


@dataclass(frozen=True, eq=False)
class Store:
    """Forces at points x = (q, qd, qdd) that were computed or met.

    Attributes:
        states: points (m, 3n).
        forces: forces there (m, n), N m (N).
        course: (m,), which points follow each other on one trajectory: between such forces are interpolated.
        scale: factors (3n,) that make distances.
        slopes: dF/dx (m, n, 3n); None: not known.
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
        """How many numbers are stored."""
        return self.states.size + self.forces.size + (0 if self.slopes is None else self.slopes.size)

    @cached_property
    def scaled(self) -> Floats:
        """The points as distances see them."""
        return self.states * self.scale

    def recall(self, state: Floats, near: int | None = None) -> Recalled:
        """The force at a state.

        With slopes F + (dF/dx) (x - x_k); without, on the stretch to the neighbour that comes nearest.

        Args:
            state: x (3n,).
            near: index of the point from which the nearest is searched by walking; None: among all.
        """
        x, p = state * self.scale, len(state)
        if near is None:
            at, looked_at = int(np.argmin(np.sum((self.scaled - x) ** 2, axis=1))), len(self)
        else:
            at, looked_at = walked(self.scaled, x, near)
        distance = float(np.linalg.norm(self.scaled[at] - x))
        force, taken = self._beside(at, x) if self.slopes is None else self._sloping(at, state)
        return Recalled(force, at, distance, p + 3 * p * looked_at + taken)

    def _sloping(self, at: int, state: Floats) -> tuple[Floats, int]:
        assert self.slopes is not None
        force: Floats = self.forces[at] + self.slopes[at] @ (state - self.states[at])
        return force, len(state) + 2 * self.slopes[at].size

    def _beside(self, at: int, x: Floats) -> tuple[Floats, int]:
        """Between the nearest point and that of its neighbours whose stretch comes nearer to x."""
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
        """The same with slopes, at each point fitted to its nearest neighbours, by default 6n of them.

        Where these do not reach, the force is taken as constant.
        """
        count = 2 * self.states.shape[1] if neighbours is None else check_whole(neighbours, "neighbours", 1)
        slopes = np.zeros((*self.forces.shape, self.states.shape[1]))
        for k, x in enumerate(self.scaled):
            near = np.argsort(np.sum((self.scaled - x) ** 2, axis=1), kind="stable")[: count + 1]
            if len(near) > 1:
                slopes[k] = fitted_slopes(self.scaled[near], self.forces[near], WEAK).slopes * self.scale
        return replace(self, slopes=slopes)

    def learned(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, tau: ArrayLike, spacing: float = 0.05
    ) -> Store:
        """The store with points that were met on a way.

        It has no slopes, as an arm does not show them; `sloped` fits them to the points.

        Args:
            q, qd, qdd: the motion (m, n).
            tau: torques (m, n), N m (N).
            spacing: distance that a new point has from all there are, in units of `scale`.
        """
        rows = [as_floats(x, name) for x, name in ((q, "q"), (qd, "qd"), (qdd, "qdd"), (tau, "tau"))]
        if any(x.shape != rows[0].shape or x.shape[1:] != self.forces.shape[1:] for x in rows):
            raise InputError(
                f"learned: expected four arrays (m, {self.forces.shape[1]}), got {[x.shape for x in rows]}."
            )
        apart = check_number(spacing, "learned, spacing", above=0.0)
        states, forces = np.concatenate(rows[:3], axis=1), rows[3]
        kept: list[int] = []
        known = self.scaled
        for k in np.flatnonzero(np.isfinite(states).all(axis=1) & np.isfinite(forces).all(axis=1)):
            x = states[k] * self.scale
            if not len(known) or np.sum((known - x) ** 2, axis=1).min() > apart**2:
                kept.append(int(k))
                known = np.vstack([known, x])
        course = np.full(len(kept), self.course.max(initial=-1) + 1)
        return Store(
            np.vstack([self.states, states[kept]]),
            np.vstack([self.forces, forces[kept]]),
            np.concatenate([self.course, course]),
            self.scale,
        )


def empty_store(arm: Arm, motion: Motion) -> Store:
    """A store without points, whose distances are in spans of a motion:
    of each coordinate, velocity and acceleration.
    """
    states = np.concatenate(
        states_along(arm, check_motion(arm, motion), np.linspace(0.0, motion.duration, 101)), axis=1
    )
    return Store(np.empty((0, 3 * arm.n)), np.empty((0, arm.n)), np.empty(0, np.intp), in_spans(states))


def computed_store(arm: Arm, motion: Motion, interval: float = 0.05, slopes: bool = True) -> Store:
    """A store along a motion, computed: points at most `interval` seconds apart,
    and on both sides of each switch.
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
    """Forces from a store, at the wanted state.

    It is searched from the point last used, as a whole where that leads nowhere; `missed` counts the samples
    that found nothing. Waters IV.

    Args:
        arm: the arm that the controller believes in.
        motion: the wanted motion.
        store: the store; None: computed along the motion.
        interval: time between computed points, s.
        reach: what is farther from all that is stored, in units of `scale`, is left to feedback.
        bandwidth: of the feedback, rad/s; None: none.
        inertias: what its gains are multiplied by (n,), kg m^2 (kg); None: M_jj in mid-range.
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
                f"store: it is of {self.store.forces.shape[1]} joints, and {arm.name!r} has {arm.n}."
            )
        self._reach = check_number(reach, "stored trajectories, reach", above=0.0)
        self._feedback, self._wanted = feedback(arm, bandwidth, inertias), Wanted(Directions.of(arm))
        self.reset()

    @property
    def operations(self) -> float:
        """On average since the motion began."""
        return self._spent.average

    def reset(self) -> None:
        """Forget where in the store the arm is; what was learnt stays, it is not the controller's."""
        self._spent, self.missed = Spending(), 0
        self._near: int | None = None

    def command(self, sample: Sample) -> Floats:
        """As recalled."""
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


def practise(
    arm: Arm,
    motion: Motion,
    *,
    plant: Arm | None = None,
    trials: int = 4,
    spacing: float = 0.05,
    reach: float = 1.0,
    period: float = 1e-3,
    bandwidth: float = BANDWIDTH,
    inertias: ArrayLike | None = None,
) -> tuple[Store, list[Run]]:
    """Learn a motion by doing it: the plant is moved with what the store has,
    and the store learns what came of it.

    It begins empty, so that the first run is feedback alone.

    Args:
        arm: the arm, of which only the gains of the feedback know anything.
        motion: the wanted motion.
        plant: what moves; None: `arm`.
        trials: how many runs.
        spacing: distance that a new point has from all there are, in spans of the motion.
        reach: what is farther from all that is stored, in spans of the motion, is left to feedback.
        period: sampling period, s.
        bandwidth: of the feedback, rad/s.
        inertias: what its gains are multiplied by (n,), kg m^2 (kg); None: M_jj in mid-range.
    """
    store, runs = empty_store(arm, motion), []
    for _ in range(check_whole(trials, "practise, trials", 1, 1000)):
        controller = Stored(
            arm, motion, store=store.sloped(), reach=reach, bandwidth=bandwidth, inertias=inertias
        )
        runs.append(run(arm, controller, motion, plant=plant, period=period))
        store = store.learned(*met(runs[-1]), spacing=spacing)
    return store, runs


def met(made: Run) -> tuple[Floats, Floats, Floats, Floats]:
    """q, qd, qdd, tau (m, n) in the middle of each period of a run, as encoders and tachometers show them."""
    q, qd = (0.5 * (x[1:] + x[:-1]) for x in (made.q, made.qd))
    return q, qd, np.diff(made.qd, axis=0) / made.period, made.tau[:-1]
