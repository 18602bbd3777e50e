"""Runs of symplectic steps, for arms that nothing drives and nothing brakes: their energy does not drift."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.drives.joint import drives_of
from forearm.errors import InputError
from forearm.kernels.rollout import State
from forearm.simulation.clock import Clock, whole_steps
from forearm.simulation.course import Course, at_once
from forearm.simulation.fixed import Progress, check_record, straight
from forearm.simulation.inputs import Input
from forearm.simulation.machine import kernel_of, simulator_of
from forearm.simulation.methods import tableau_of
from forearm.simulation.solution import Status
from forearm.simulation.symplectic import StageError, symplectic_step
from forearm.simulation.track import Track, first_to_go

Floats = NDArray[np.float64]


class Mechanics:
    """Hamilton's equations of an undriven arm: q' = M^-1 p, p' = dT/dq - dV/dq."""

    def __init__(self, arm: Arm) -> None:
        self._heavy, self._weightless = kernel_of(arm), kernel_of(arm.replace(gravity=np.zeros(3)))

    def momentum(self, q: Floats, qd: Floats) -> Floats:
        """p = M(q) qd: the torques of accelerations qd from rest, without weight."""
        return np.asarray(self._weightless.inverse_dynamics(q, np.zeros_like(q), qd))

    def velocity(self, q: Floats, p: Floats) -> Floats:
        """M(q)^-1 p."""
        return np.asarray(self._weightless.forward_dynamics(q, np.zeros_like(q), p))

    def force(self, q: Floats, qd: Floats) -> Floats:
        """qd' (dM/dq) qd / 2 - gravity, dM/dq qd being the slope of M a at a = qd; for states (B, n)."""
        slope = self._weightless.inverse_dynamics_derivatives(q, np.zeros_like(q), qd)[0]
        return np.asarray(0.5 * np.einsum("bi,bik->bk", qd, slope) - self._heavy.gravity(q))


def refuse_driven(arm: Arm, method: str, given: list[str]) -> None:
    """What is driven or braked has no Hamiltonian, so that symplectic steps would be
    no better than others.
    """
    rubbing = [
        joint.name
        for joint in arm.joints
        if joint.friction is not None or joint.bearings or joint.transmission is not None
    ]
    if given:
        raise InputError(
            f"simulate: {method!r} is for undriven arms, got {' and '.join(given)}. Leave "
            "it out, or take 'dp87'."
        )
    if rubbing or any(d.friction or d.depends_on_load for d in drives_of(arm)):
        raise InputError(
            f"simulate: {method!r} is for arms without friction; {', '.join(rubbing) or arm.name} "
            f"{'has' if len(rubbing) <= 1 else 'have'} some. Take arm.rigid(), or method 'rk4' or 'dp45'."
        )


class Conserving:
    """A run under way: positions and momenta."""

    def __init__(
        self, arm: Arm, method: str, track: Track, state: State, momentum: Floats | None, clock: Clock
    ) -> None:
        self.tableau, self.track, self.clock = tableau_of(method), track, clock
        self.mechanics, self.state = Mechanics(arm), state
        self.p = self.mechanics.momentum(state.q, state.qd) if momentum is None else momentum
        self.is_whole = True

    def run(self, drive: Input, duration: float, record: int, progress: Progress | None) -> Course:
        """Steps with every `record`-th kept and the last, and a shorter one at the end where
        the duration asks for it.
        """
        steps, rest = whole_steps(duration, self.clock.step)
        check_record(drive.arm, steps, record)
        first = self.clock.done
        while self.clock.done < first + steps and not self.track.is_over:
            self._record(min(record, first + steps - self.clock.done), self.clock.step)
            if progress is not None:
                progress(self.track.last, self.clock.done - first)
        if rest and not self.track.is_over:
            self._record(1, rest)
            self.is_whole = False
        return self._course(drive)

    def _record(self, steps: int, h: float) -> None:
        """So many steps, and a sample at the last."""
        before, q, p = self.clock.times(0), self.state.q, self.p
        time = before + h if h != self.clock.step else self.clock.times(steps)[-1:]
        try:
            for _ in range(steps):
                q, p = symplectic_step(self.tableau, self._velocity, self._force, q, p, h)
        except StageError:
            text = f"a step of {h:g} s is too long for the stages to converge, at {float(before[0]):g} s"
            self.track.status, self.track.message = Status.STEP_TOO_LONG, text
            return
        qd = self.mechanics.velocity(q, p)
        both = np.vstack([self.state.q, q]), np.vstack([self.state.qd, qd])
        if not self.track.add_checked(np.concatenate([before, time]), *both):
            self.track.diverged(float(time[0]), first_to_go(*both)[1], "; take shorter steps")
            return
        self.state.q, self.state.qd, self.p = q, qd, p
        self.clock.done += steps

    def _velocity(self, q: Floats, p: Floats) -> Floats:
        return self.mechanics.velocity(q.reshape(-1, q.shape[-1]), p.reshape(-1, q.shape[-1])).reshape(
            q.shape
        )

    def _force(self, q: Floats, qd: Floats) -> Floats:
        return self.mechanics.force(q.reshape(-1, q.shape[-1]), qd.reshape(-1, q.shape[-1])).reshape(q.shape)

    def _course(self, drive: Input) -> Course:
        t, q, qd = self.track.samples()
        checkpoint = {"t": float(t[-1]), **vars(self.state.copy()), "momentum": self.p.copy()}
        if self.is_whole:
            checkpoint |= {"step": self.clock.step, "origin": self.clock.origin, "done": self.clock.done}

        def given() -> Floats:
            return np.zeros_like(q)

        simulator = simulator_of(drive.arm, False, "rk4")
        return Course(
            simulator,
            t,
            q,
            qd,
            given,
            straight(t, q, qd, given, is_linear=False),
            at_once(drive.arm, voltage=False),
            True,
            self.track,
            checkpoint,
        )
