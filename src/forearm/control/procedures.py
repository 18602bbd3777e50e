"""Motions as parametrised procedures: torques of a family of motions, interpolated between stored members.
Waters IV.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.control.bookkeeping import check_motion, feedback, states_along
from forearm.control.controller import Sample, States
from forearm.control.gains import BANDWIDTH
from forearm.control.precomputed import pairs_at
from forearm.control.reference import Motion
from forearm.control.tables import multilinear
from forearm.errors import InputError
from forearm.kernels.kept import kernel_of
from forearm.spatial import Floats
from forearm.values import as_floats, check_whole

Family = Callable[..., Motion]
MOST_NUMBERS = 20_000_000
# default speeds: the motion's own lies in the middle of a cell
SPEEDS = (0.55, 0.85, 1.15, 1.45)


@dataclass(frozen=True, eq=False)
class AtSpeed:
    """The same motion, `factor` times as fast: q(ct), c qd(ct), c^2 qdd(ct)."""

    motion: Motion
    factor: float

    @property
    def duration(self) -> float:
        """Duration, s."""
        return self.motion.duration / self.factor

    def at(self, t: ArrayLike, /) -> States:
        """q, qd, qdd at times."""
        q, qd, qdd = self.motion.at(np.minimum(as_floats(t, "t") * self.factor, self.motion.duration))
        return q, qd * self.factor, qdd * self.factor**2


@dataclass(frozen=True, eq=False)
class Procedure:
    """Pairs D (k1, ..., kp, m, n, n), E (k1, ..., kp, m, n) of a family: at grid values of each parameter,
    and m phases from 0 to 1.

    Torques are D qdd + E with D and E interpolated linearly in each parameter and in the phase, the elapsed
    share of the duration: D and E are continuous where accelerations jump.
    """

    grids: tuple[Floats, ...]
    D: Floats
    E: Floats

    @property
    def numbers(self) -> int:
        """Stored numbers."""
        return self.D.size + self.E.size

    def forces(self, parameters: ArrayLike, phase: ArrayLike, qdd: ArrayLike) -> Floats:
        """Forces (m, n) of the member with these parameters (p,) at phases (m,) and accelerations (m, n)."""
        values, u, a = as_floats(parameters, "parameters"), as_floats(phase, "phase"), as_floats(qdd, "qdd")
        if values.shape != (len(self.grids),) or u.ndim != 1 or a.shape != (len(u), self.E.shape[-1]):
            raise InputError(
                f"expected {len(self.grids)} parameters, phases (m,) and accelerations (m, "
                f"{self.E.shape[-1]}), got {values.shape}, {u.shape}, {a.shape}.",
                "procedure",
            )
        x = np.column_stack([np.broadcast_to(values, (len(u), len(values))), u])
        grids = (*self.grids, np.linspace(0.0, 1.0, self.E.shape[-2]))
        made: Floats = np.einsum("mij,mj->mi", multilinear(grids, self.D, x), a) + multilinear(
            grids, self.E, x
        )
        return made


def procedure(arm: Arm, family: Family, values: Sequence[ArrayLike], phases: int = 65) -> Procedure:
    """Store a procedure of a family of motions.

    Throwing a ball is such a family, with the velocity and the point of release as parameters. Waters IV.

    Args:
        arm: the arm.
        family: function from parameters to a motion.
        values: stored values of each parameter, increasing.
        phases: points stored along each motion.
    """
    grids = tuple(np.atleast_1d(as_floats(v, "procedure, values")) for v in values)
    if not grids or any(
        g.ndim != 1 or not len(g) or not np.isfinite(g).all() or (np.diff(g) <= 0.0).any() for g in grids
    ):
        raise InputError(
            "expected a list of lists, one per parameter, each of increasing numbers.", "procedure", "values"
        )
    m = check_whole(phases, "procedure, phases", 2, 100_000)
    shape = tuple(len(g) for g in grids)
    if np.prod(shape, dtype=float) * m * arm.n * (arm.n + 1) > MOST_NUMBERS:
        raise InputError(
            f"{shape} members with {m} phases need more than {MOST_NUMBERS} numbers; use fewer.", "procedure"
        )
    D, E = np.empty((*shape, m, arm.n, arm.n)), np.empty((*shape, m, arm.n))
    kernel = kernel_of(arm)
    for index in np.ndindex(shape):
        member = check_motion(arm, family(*(float(g[i]) for g, i in zip(grids, index, strict=True))))
        D[index], E[index] = pairs_at(
            kernel, *states_along(arm, member, np.linspace(0.0, member.duration, m))
        )
    return Procedure(grids, D, E)


class Procedural:
    """Torques of a stored procedure at the parameters of this motion, with the reference acceleration.

    Args:
        arm: the controller's model of the arm.
        motion: the reference motion.
        procedure: the procedure; None: the motion at several speeds, none of them its own.
        parameters: of this motion in the procedure.
        bandwidth: of the feedback, rad/s; None: no feedback.
        inertias: factors of its gains (n,), kg m^2 (kg); None: M_jj in mid-range.
    """

    name = "procedure"

    def __init__(
        self,
        arm: Arm,
        motion: Motion,
        *,
        procedure: Procedure | None = None,
        parameters: ArrayLike = (1.0,),
        bandwidth: float | None = BANDWIDTH,
        inertias: ArrayLike | None = None,
    ) -> None:
        self._duration = check_motion(arm, motion).duration
        self.procedure = at_speeds(arm, motion) if procedure is None else procedure
        self._parameters = as_floats(parameters, "parameters")
        self._feedback = feedback(arm, bandwidth, inertias)
        # fail now, not in the middle of a run
        self.procedure.forces(self._parameters, [0.0], np.zeros((1, arm.n)))
        self.reset()

    @property
    def operations(self) -> float:
        """Operations per sample: a weight and a share of D and E per corner of the cell, then D qdd + E."""
        p, n = self._parameters.size + 1, self.procedure.E.shape[-1]
        return float(2 * p + 2**p * (p - 1 + 2 * n * (n + 1)) + 2 * n * n + self._feedback.operations)

    def reset(self) -> None:
        """No state to reset."""

    def command(self, sample: Sample) -> Floats:
        """The torques of this phase."""
        phase = min(sample.t / self._duration, 1.0)
        force = self.procedure.forces(self._parameters, [phase], sample.wanted[2][None])[0]
        return self._feedback.added(force, sample)


def at_speeds(arm: Arm, motion: Motion, speeds: ArrayLike = SPEEDS, phases: int = 65) -> Procedure:
    """The procedure of one motion at several speeds, with the speed as its parameter."""
    return procedure(arm, lambda factor: AtSpeed(motion, factor), [speeds], phases)
