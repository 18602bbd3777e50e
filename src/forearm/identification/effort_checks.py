"""Detection of effort columns that belong to another joint or have the wrong sign.

A few hundred samples are fitted under every hypothesis: a reversed sign, two columns swapped, a shifted zero,
another unit. A hypothesis that explains far more than the log as it stands identifies the wrong columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from forearm.errors import InputError
from forearm.identification.drive_law import COULOMB, ROTOR, VISCOUS
from forearm.identification.effort_model import EffortModel, EffortScale
from forearm.identification.samples import PreparedLog, Samples
from forearm.spatial import Floats

if TYPE_CHECKING:
    from forearm.identification.fitting import Fitting

LOOKED_AT = 600  # number of samples,
FIRST = 400_000  # taken from at most so many
LEAST = 5  # samples per unknown of a joint
BAD = 0.02  # of a joint's variance: a larger unexplained part triggers the check
FAR_BETTER = 8.0  # required reduction of the residual, over all joints together, to accept a hypothesis
MARGIN = 0.7  # of the logarithm: hypotheses closer than this are indistinguishable,
MOST_SAID = 3  # and at most so many are listed
ROUNDS = 3  # iterations of weights and fits
SMALL = 1e-9  # of a column's squared length: regularisation of nearly dependent columns
SHOWS = 0.1  # of the rms of efforts: threshold for a visible inertia
REVERSALS = 2  # reversals of a joint: with fewer, inertia and friction are hardly separable
QUARTER = 0.5 * np.pi


@dataclass(frozen=True)
class Hypothesis:
    """A hypothesis: columns as they would have to be, and a sentence.

    Attributes:
        q_order, effort_order: the column of each joint.
        q_sign, effort_factor: factors on the columns.
        q_zero: offset added to positions.
        message: names the columns.
    """

    q_order: tuple[int, ...]
    effort_order: tuple[int, ...]
    q_sign: tuple[float, ...]
    effort_factor: tuple[float, ...]
    q_zero: tuple[float, ...]
    message: str


def check_efforts(fitting: Fitting) -> list[str]:
    """Refuse logs with swapped columns or wrong signs; return sentences on doubtful columns.

    Args:
        fitting: the logs and their effort model.
    """
    model = _linear(fitting.model)
    said: list[str] = []
    for source in fitting.sources:
        some = _some_samples(source.log, source.scale)
        if some is not None and len(some.t) >= LEAST * model.width:
            said += _Look(model, some, source.log, source.dead_zone).findings()
    return said


def _linear(model: EffortModel) -> EffortModel:
    """The model with viscous and Coulomb friction only, which suffices to tell columns apart."""
    laws = tuple(
        replace(law, friction="coulomb" if law.friction == "stribeck" else law.friction, transmission=None)
        for law in model.laws
    )
    return replace(model, laws=laws)


def _some_samples(log: PreparedLog, scale: EffortScale) -> Samples | None:
    """Samples spread over a log, with efforts as torques."""
    rows = min(log.signals.used, FIRST)
    every = max(rows // LOOKED_AT, 1)
    parts: list[Samples] = []
    seen = 0
    for block in log.blocks():
        torques = scale.torque(block)
        which = slice(-seen % every, None, every)
        parts.append(replace(torques, **{name: getattr(torques, name)[which] for name in _ARRAYS}))
        seen += len(block.t)
        if seen >= rows:
            break
    if not parts:
        return None
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS}
    return Samples(**joined, current=None, starts=True)


_ARRAYS = ("t", "q", "qd", "qdd", "effort", "usable")


class _Look:
    """Evaluates hypotheses on samples of a log."""

    def __init__(self, model: EffortModel, s: Samples, log: PreparedLog, dead_zone: Floats) -> None:
        self.model, self.s, self.log = model, s, log
        self.dead_zone = dead_zone
        self.n = model.arm.n
        effort = np.where(s.usable, s.effort, np.nan)
        self.size = np.nanstd(effort, axis=0) if s.usable.any(axis=0).all() else np.zeros(self.n)
        self._motion: tuple[object, ...] | None = None
        self._products: list[tuple[Floats, Floats, int]] = []

    def findings(self) -> list[str]:
        """Findings as sentences; InputError if a column is clearly wrong."""
        if not (self.size > 0.0).all():
            return []  # a joint without an effort column has nothing to swap
        as_it_is = self._nothing()
        left, x = self._left(as_it_is)
        if (left < BAD).all():
            self._check_senses(x)
            return []
        tried = [(h, self._left(h)[0]) for h in self._hypotheses()]
        least = min(float(np.sum(np.log(share))) for _, share in tried) if tried else np.inf
        if least < np.sum(np.log(left)) - np.log(FAR_BETTER):
            alike = [(h, share) for h, share in tried if np.sum(np.log(share)) < least + MARGIN]
            said, share = " Or: ".join(h.message for h, _ in alike[:MOST_SAID]), alike[0][1]
            raise InputError(
                f"{said} Unexplained variance of a joint's effort: up to "
                f"{100.0 * left.max():.3g} % as logged, {100.0 * share.max():.3g} % if "
                "corrected.",
                self.log.signals.name,
            )
        self._check_senses(x)
        return []

    def _left(self, h: Hypothesis) -> tuple[Floats, Floats]:
        """Unexplained share of every joint's variance (n,), and the fitted unknowns."""
        motion = (h.q_order, h.q_sign, h.q_zero)
        if self._motion != motion:
            self._motion, self._products = motion, self._products_of(self._under(h))
        p, count = len(self.model.base), len(self.model.names)
        own, spread = [], np.zeros(self.n)
        for i, place in enumerate(self.model.places):
            k = self.model.width + h.effort_order[i]
            which = [*range(p), *range(p, p + place.stop - place.start), k]
            N, mean, rows = self._products[i]
            factor = h.effort_factor[i]
            N = N[np.ix_(which, which)].copy()
            N[-1] *= factor
            N[:, -1] *= factor
            spread[i] = max(N[-1, -1] - rows * (factor * mean[h.effort_order[i]]) ** 2, 1e-300)
            own.append((np.array([*range(p), *range(place.start, place.stop), count]), N))
        weights, left, x = 1.0 / spread, np.ones(self.n), np.zeros(count)
        for _ in range(ROUNDS):
            total = np.zeros((count + 1, count + 1))
            for w, (places, N) in zip(weights, own, strict=True):
                total[np.ix_(places, places)] += w * N
            sizes = np.sqrt(np.maximum(np.diag(total)[:-1], 1e-300))
            scaled = total[:-1, :-1] / np.outer(sizes, sizes) + SMALL * np.eye(count)
            x = np.linalg.solve(scaled, total[:-1, -1] / sizes) / sizes
            z = np.append(x, -1.0)
            left = np.array([max(float(z[at] @ N @ z[at]), 0.0) for at, N in own]) / spread
            left = np.maximum(left, 1e-6)
            weights = 1.0 / (spread * left)
        return left, x

    def _products_of(self, s: Samples) -> list[tuple[Floats, Floats, int]]:
        """Per joint the normal equations of its columns with the efforts of all joints, their means, and row
        counts.
        """
        model = self.model
        C, _ = model.columns(s, model.values())
        dead = np.where(model.is_dry, self.dead_zone, -1.0)
        there = np.all(s.usable, axis=1, keepdims=True) & (np.abs(s.qd) > dead)
        known = np.broadcast_to(np.asarray(model.known(s)), s.q.shape)
        made = []
        for i in range(self.n):
            y = s.effort - known[:, i : i + 1]
            whole = np.concatenate([C[:, i], y], axis=1)[there[:, i]]
            mean = whole[:, model.width :].mean(axis=0) if len(whole) else np.zeros(self.n)
            made.append((whole.T @ whole, mean, len(whole)))
        return made

    def _under(self, h: Hypothesis) -> Samples:
        s = self.s
        order, sign = list(h.q_order), np.array(h.q_sign)
        return replace(
            s,
            q=sign * s.q[:, order] + h.q_zero,
            qd=sign * s.qd[:, order],
            qdd=sign * s.qdd[:, order],
            effort=np.where(s.usable, s.effort, 0.0),
        )

    def _nothing(self, **changes: tuple[float, ...] | tuple[int, ...] | str) -> Hypothesis:
        same, ones = tuple(range(self.n)), (1.0,) * self.n
        as_it_is = Hypothesis(same, same, ones, ones, (0.0,) * self.n, "")
        return replace(as_it_is, **changes)  # type: ignore[arg-type]

    def _hypotheses(self) -> Iterator[Hypothesis]:
        """Hypotheses with one changed column first, then two; swaps of joints with identical motion last."""
        q, effort = self.log.signals.q_columns, self.log.signals.effort_columns
        turned = [_at(self.n, i, -1.0, 1.0) for i in range(self.n)]
        for i in range(self.n):
            text = f"column {effort[i]!r} has the wrong sign: reverse it."
            yield self._nothing(effort_factor=turned[i], message=text)
        for (a, b), swapped in self._exchanges():
            text = f"columns {effort[a]!r} and {effort[b]!r} are swapped."
            yield self._nothing(effort_order=swapped, message=text)
        for i in range(self.n):
            text = f"column {q[i]!r} has the wrong sign: reverse it."
            yield self._nothing(q_sign=turned[i], message=text)
            text = (
                f"columns {q[i]!r} and {effort[i]!r} both have the wrong sign: the joint turns opposite "
                "to the arm file. Reverse both, or its axis."
            )
            yield self._nothing(q_sign=turned[i], effort_factor=turned[i], message=text)
        for (a, b), swapped in self._exchanges():
            text = f"columns {q[a]!r} and {q[b]!r} are swapped."
            yield self._nothing(q_order=swapped, message=text)
            text = (
                f"columns of {self._joint(a)} and {self._joint(b)} are swapped: {q[a]!r} with {q[b]!r}, "
                f"{effort[a]!r} with {effort[b]!r}."
            )
            yield self._nothing(q_order=swapped, effort_order=swapped, message=text)
        for i in range(self.n):
            yield from self._other_units(i, effort[i])
        for i in range(self.n):
            yield from self._other_zeros(i, q[i])

    def _exchanges(self) -> Iterator[tuple[tuple[int, int], tuple[int, ...]]]:
        for i, j in combinations(range(self.n), 2):
            yield (i, j), tuple(j if k == i else i if k == j else k for k in range(self.n))

    def _other_units(self, i: int, column: str) -> Iterator[Hypothesis]:
        ratio = float(self.model.ratios[i])
        units = [(1e-3, "is in thousandths of the others' unit: divide it by 1000.")]
        units += [(1e3, "is 1000 times too small: multiply it by 1000.")]
        if ratio > 2.0 and self.log.signals.effort == "tau":
            units += [
                (ratio, f"is motor torque; multiply it by the gear ratio, {ratio:g}."),
                (1.0 / ratio, f"is multiplied by the gear ratio twice; divide it by {ratio:g}."),
            ]
        for factor, text in units:
            yield self._nothing(
                effort_factor=_at(self.n, i, factor, 1.0), message=f"column {column!r} {text}"
            )

    def _other_zeros(self, i: int, column: str) -> Iterator[Hypothesis]:
        if self.model.arm.joints[i].kind != "revolute":
            return
        for zero, words in ((QUARTER, "90"), (-QUARTER, "-90"), (2.0 * QUARTER, "180")):
            yield self._nothing(
                q_zero=_at(self.n, i, zero, 0.0),
                message=f"column {column!r} has a different zero from the arm file: add {words} deg.",
            )

    def _check_senses(self, x: Floats) -> None:
        """Refuse efforts whose sign implies a negative inertia of a joint."""
        model, s = self.model, self.s
        p = len(model.base)
        wrong = []
        at_rest = np.zeros_like(s.q)
        for i, place in enumerate(model.places):
            ways = np.sign(s.qd[np.abs(s.qd[:, i]) > self.dead_zone[i], i])
            if np.count_nonzero(np.diff(ways)) < REVERSALS:
                continue
            pushed = at_rest.copy()
            pushed[:, i] = 1.0
            Y = [
                model.columns(replace(s, qd=at_rest, qdd=qdd), model.values())[0][:, i]
                for qdd in (pushed, at_rest)
            ]
            figures = dict(zip(model.laws[i].figures, x[place], strict=True))
            inertia = float(np.mean((Y[0][:, :p] - Y[1][:, :p]) @ x[:p]))
            inertia += figures.get(ROTOR, 0.0) * float(model.ratios[i]) ** 2
            friction = figures.get(VISCOUS, 0.0) + figures.get(COULOMB[0], 0.0) - figures.get(COULOMB[1], 0.0)
            if inertia * float(np.std(s.qdd[:, i])) < -SHOWS * self.size[i] and friction <= 0.0:
                wrong.append(i)
        if wrong:
            known, joints = self.log.signals, ", ".join(self._joint(i) for i in wrong)
            raise InputError(
                f"{_columns([known.effort_columns[i] for i in wrong])} the wrong sign, or the "
                f"positions do ({_listed([known.q_columns[i] for i in wrong])}): inertia and "
                f"friction of {joints} would be negative. Reverse one of them.",
                known.name,
            )

    def _joint(self, i: int) -> str:
        return self.model.arm.joints[i].name


def _at(n: int, i: int, value: float, others: float) -> tuple[float, ...]:
    return tuple(value if k == i else others for k in range(n))


def _columns(names: Sequence[str]) -> str:
    return f"column {_listed(names)} has" if len(names) == 1 else f"columns {_listed(names)} have"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
