"""Symplectic steps in positions and momenta, for arms without input and friction: their energy does not
drift.

The inertia matrix depends on q, so that H(q, p) = p' M(q)^-1 p / 2 + V(q) is not separable and (q, qd) is not
canonical: Gauss methods are symplectic for every H, but in q and p = M(q) qd only.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.drives.coordinates import refuse_drive_states
from forearm.drives.joint import drives_of
from forearm.errors import Advice, InputError, Keyword, Sentence
from forearm.kernels.kept import kernel_of
from forearm.simulation.fixed import check_record, straight
from forearm.simulation.machine import simulator_of
from forearm.simulation.methods import Floats, Tableau, tableau_of
from forearm.simulation.solution import Status
from forearm.simulation.start import Setup, whole_steps
from forearm.simulation.track import Course, at_once, first_to_go

Pairing: TypeAlias = Callable[[Floats, Floats], ArrayLike]

ITERATIONS = 60
# Iterate until the next change would be below rounding; a plateau above this share of the state is a failure
# to converge.
ROUNDING = 1e-17
PLATEAU = 1e-11


class StageError(InputError):
    """The stage iteration of a step did not converge."""


def symplectic_step(
    tableau: Tableau, velocity: Pairing, force: Pairing, q: ArrayLike, p: ArrayLike, h: float
) -> tuple[Floats, Floats]:
    """One step of q' = velocity(q, p) = M(q)^-1 p, p' = force(q, qd) = dT/dq - dV/dq at constant qd, by
    midpoint or gauss4.

    Both functions accept (..., n); the state may be a batch (..., n). The stages are iterated to rounding, so
    that the step is symplectic and reversible (-h leads back) to rounding, and depends on nothing but the
    state.
    """
    y = np.array([q, p], dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        K = _stage_rates(tableau, velocity, force, y, h)
    y = y + h * (np.array(tableau.floats[2]) @ K).reshape(y.shape)
    return y[0], y[1]


def _stage_rates(tableau: Tableau, velocity: Pairing, force: Pairing, y: Floats, h: float) -> Floats:
    """The rates K (2, s, m) = (velocity, force) at the stages y + h a K, all states flat in m,
    by fixed-point iteration.
    """
    ha = h * np.array(tableau.floats[1])
    start = y.reshape(2, 1, -1)
    shape = (len(ha), *y.shape[1:])
    K = np.zeros((2, len(ha), start.shape[2]))
    before = 1.0
    for _ in range(ITERATIONS):
        Q, P = (start + ha @ K).reshape(2, *shape)
        new = np.empty_like(K)
        qd, pd = new.reshape(2, *shape)
        qd[...] = velocity(Q, P)
        pd[...] = force(Q, qd)
        change = _relative(new - K, new, start, h)
        K = new
        if change * change <= ROUNDING * before or (change >= before and change < PLATEAU):
            return K
        if not isfinite(change):
            break
        before = change
    raise StageError(f"a step of {h:g} s is too long for the stages to converge", "symplectic_step")


def _relative(change: Floats, K: Floats, y: Floats, h: float) -> float:
    """Relative change of positions and momenta due to a change of the rates, each as a share of the largest
    of its kind.
    """
    changes, rates, sizes = (np.abs(x).max(axis=(1, 2)).tolist() for x in (change, K, y))
    return max(
        0.0 if c == 0.0 else abs(h) * c / (size + abs(h) * k)
        for c, k, size in zip(changes, rates, sizes, strict=True)
    )


class Mechanics:
    """Hamilton's equations of an undriven arm: q' = M^-1 p, p' = dT/dq - dV/dq."""

    def __init__(self, arm: Arm) -> None:
        self._heavy, self._weightless = kernel_of(arm), kernel_of(arm.replace(gravity=np.zeros(3)))

    def momentum(self, q: Floats, qd: Floats) -> Floats:
        """p = M(q) qd: the torques of accelerations qd from rest, without gravity."""
        return np.asarray(self._weightless.inverse_dynamics(q, np.zeros_like(q), qd))

    def velocity(self, q: Floats, p: Floats) -> Floats:
        """M(q)^-1 p, for states (..., n)."""
        Q, P = (x.reshape(-1, x.shape[-1]) for x in (q, p))
        return np.asarray(self._weightless.forward_dynamics(Q, np.zeros_like(Q), P)).reshape(q.shape)

    def force(self, q: Floats, qd: Floats) -> Floats:
        """qd' (dM/dq) qd / 2 - gravity, with dM/dq qd as the slope of M a at a = qd; for states
        (..., n).
        """
        Q, Qd = (x.reshape(-1, x.shape[-1]) for x in (q, qd))
        slope = self._weightless.inverse_dynamics_derivatives(Q, np.zeros_like(Q), Qd)[0]
        return np.asarray(0.5 * np.einsum("bi,bik->bk", Qd, slope) - self._heavy.gravity(Q)).reshape(q.shape)


def refuse_driven(arm: Arm, method: str, given: str | None) -> None:
    """Refuse arms with inputs or friction: they have no Hamiltonian, and symplectic steps would have no
    advantage.
    """
    if given is not None:
        raise InputError(
            Sentence(
                f"{method!r} is for undriven arms, got ", Keyword(given), ". Remove the input, or use 'dp87'."
            ),
            "simulate",
            "method",
        )
    rubbing = [
        j.name for j in arm.joints if j.friction is not None or j.bearings or j.transmission is not None
    ]
    if rubbing or any(d.friction or d.depends_on_load for d in drives_of(arm)):
        raise InputError(
            Sentence(
                f"{method!r} is for arms without friction, got friction of "
                f"{', '.join(rubbing) or arm.name}. ",
                Advice("Use arm.rigid(), or method 'rk4' or 'dp45'.", "Add --rigid, or use 'rk4' or 'dp45'."),
            ),
            "simulate",
            "method",
        )


def symplectic_run(setup: Setup) -> Course:
    """Symplectic steps, recording every `record`-th and the last, with a shorter last step if the duration
    requires it.
    """
    refuse_driven(setup.drive.arm, setup.options.method, setup.drive.name)
    refuse_drive_states(
        setup.drive.arm, f"simulate, {setup.options.method}", "Methods 'dp87' and 'radau' do. "
    )
    return SymplecticRun(setup).run()


class SymplecticRun:
    """State of a symplectic run in progress: positions and momenta."""

    def __init__(self, setup: Setup) -> None:
        self.setup, self.track, self.clock = setup, setup.track, setup.clock
        self.tableau, self.mechanics, self.state = (
            tableau_of(setup.options.method),
            Mechanics(setup.drive.arm),
            setup.state,
        )
        p = setup.start.momentum
        self.p = self.mechanics.momentum(self.state.q, self.state.qd) if p is None else p
        self.is_whole = True

    def run(self) -> Course:
        """Simulate until the end, or until an event ends the run."""
        record, clock = self.setup.record, self.clock
        steps, rest = whole_steps(self.setup.duration, clock.step)
        check_record(self.setup.drive.arm, steps, record)
        first = clock.done
        while clock.done < first + steps and not self.track.is_over:
            self._record(min(record, first + steps - clock.done), clock.step)
            self.setup.tell()
        if rest and not self.track.is_over:
            self._record(1, rest)
            self.is_whole = False
        return self._course()

    def _record(self, steps: int, h: float) -> None:
        """Take this many steps, and record a sample at the last."""
        before, q, p = self.clock.times(0), self.state.q, self.p
        time = before + h if h != self.clock.step else self.clock.times(steps)[-1:]
        try:
            for _ in range(steps):
                q, p = symplectic_step(self.tableau, self.mechanics.velocity, self.mechanics.force, q, p, h)
        except StageError as error:
            self.track.fail(Status.STEP_TOO_LONG, f"{error.problem}, at {float(before[0]):g} s")
            return
        qd = self.mechanics.velocity(q, p)
        both = np.vstack([self.state.q, q]), np.vstack([self.state.qd, qd])
        if not self.track.add_checked(np.concatenate([before, time]), *both):
            self.track.diverged(float(time[0]), first_to_go(*both)[1], "; use a shorter step")
            return
        self.state.q, self.state.qd, self.p = q, qd, p
        self.clock.done += steps

    def _course(self) -> Course:
        t, q, qd = self.track.samples()
        checkpoint = {"t": float(t[-1]), **vars(self.state.copy()), "momentum": self.p.copy()}
        if self.is_whole:
            checkpoint |= {"step": self.clock.step, "origin": self.clock.origin, "done": self.clock.done}

        def given() -> Floats:
            return np.zeros_like(q)

        simulator = simulator_of(self.setup.drive.arm, False, "rk4")
        between = straight(t, q, qd, given, is_linear=False)
        return Course(simulator, t, q, qd, given, between, at_once(simulator), True, self.track, checkpoint)
