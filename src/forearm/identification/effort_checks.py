"""Detection of effort columns that belong to another joint or have the wrong sign.

A few hundred samples are fitted under every hypothesis: a reversed sign, two columns swapped, a shifted zero,
another unit. A hypothesis that explains far more than the log as it stands identifies the wrong columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.identification.drive_law import COULOMB, ROTOR, VISCOUS
from forearm.identification.effort_model import EffortModel, EffortScale
from forearm.identification.samples import PreparedLog, Samples, joined
from forearm.spatial import Floats
from forearm.values import frozen

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


@frozen
class Hypothesis:
    """A hypothesis: columns as they would have to be, and a sentence.

    Attributes:
        q_order, effort_order: the column of each joint.
        q_sign, effort_factor: factors on the columns.
        q_zero: offset added to positions.
        message: names the columns.
    """

    q_order: NDArray[np.intp]
    effort_order: NDArray[np.intp]
    q_sign: Floats
    effort_factor: Floats
    q_zero: Floats
    message: str = ""

    def but(self, message: str, **changes: Mapping[int, float]) -> Hypothesis:
        """The same with other entries."""
        made = {name: getattr(self, name).copy() for name in changes}
        for name, entries in changes.items():
            made[name][list(entries)] = list(entries.values())
        return replace(self, message=message, **made)


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
        parts.append(scale.torque(block).part(slice(-seen % every, None, every)))
        seen += len(block.t)
        if seen >= rows:
            break
    return joined(parts) if parts else None


class _Look:
    """Evaluates hypotheses on samples of a log."""

    def __init__(self, model: EffortModel, s: Samples, log: PreparedLog, dead_zone: Floats) -> None:
        self.model, self.s, self.log = model, s, log
        self.dead_zone = dead_zone
        self.n = model.arm.n
        effort = np.where(s.usable, s.effort, np.nan)
        self.size = np.nanstd(effort, axis=0) if s.usable.any(axis=0).all() else np.zeros(self.n)
        same, ones = np.arange(self.n), np.ones(self.n)
        self.as_it_is = Hypothesis(same, same, ones, ones, np.zeros(self.n))
        self._motion: object = None
        self._products: list[tuple[Floats, Floats, int]] = []

    def findings(self) -> list[str]:
        """Findings as sentences; InputError if a column is clearly wrong."""
        if not (self.size > 0.0).all():
            return []  # a joint without an effort column has nothing to swap
        left, x = self._left(self.as_it_is)
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
        motion = [array.tolist() for array in (h.q_order, h.q_sign, h.q_zero)]
        if self._motion != motion:
            self._motion, self._products = motion, self._products_of(self._under(h))
        p, count = len(self.model.base), len(self.model.names)
        own, spread = [], np.zeros(self.n)
        for i, place in enumerate(self.model.places):
            k = self.model.width + int(h.effort_order[i])
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
        known = np.broadcast_to(model.known(s), s.q.shape)
        made = []
        for i in range(self.n):
            y = s.effort - known[:, i : i + 1]
            whole = np.concatenate([C[:, i], y], axis=1)[there[:, i]]
            mean = whole[:, model.width :].mean(axis=0) if len(whole) else np.zeros(self.n)
            made.append((whole.T @ whole, mean, len(whole)))
        return made

    def _under(self, h: Hypothesis) -> Samples:
        s = self.s
        q, qd, qdd = (h.q_sign * a[:, h.q_order] for a in (s.q, s.qd, s.qdd))
        return replace(s, q=q + h.q_zero, qd=qd, qdd=qdd, effort=np.where(s.usable, s.effort, 0.0))

    def _hypotheses(self) -> Iterator[Hypothesis]:
        """Hypotheses with one changed column first, then two; swaps of joints with identical motion last."""
        q, effort = self.log.signals.q_columns, self.log.signals.effort_columns
        joints, but = self.model.arm.joints, self.as_it_is.but
        pairs = [(a, b, {a: b, b: a}) for a, b in combinations(range(self.n), 2)]
        for i in range(self.n):
            yield but(f"column {effort[i]!r} has the wrong sign: reverse it.", effort_factor={i: -1.0})
        for a, b, swapped in pairs:
            yield but(f"columns {effort[a]!r} and {effort[b]!r} are swapped.", effort_order=swapped)
        for i in range(self.n):
            yield but(f"column {q[i]!r} has the wrong sign: reverse it.", q_sign={i: -1.0})
            yield but(
                f"columns {q[i]!r} and {effort[i]!r} both have the wrong sign: the joint turns opposite "
                "to the arm file. Reverse both, or its axis.",
                q_sign={i: -1.0},
                effort_factor={i: -1.0},
            )
        for a, b, swapped in pairs:
            yield but(f"columns {q[a]!r} and {q[b]!r} are swapped.", q_order=swapped)
            yield but(
                f"columns of {joints[a].name} and {joints[b].name} are swapped: {q[a]!r} with {q[b]!r}, "
                f"{effort[a]!r} with {effort[b]!r}.",
                q_order=swapped,
                effort_order=swapped,
            )
        for i in range(self.n):
            for factor, text in self._other_units(float(self.model.ratios[i])):
                yield but(f"column {effort[i]!r} {text}", effort_factor={i: factor})
        for i, joint in enumerate(joints):
            for degrees in (90, -90, 180) if joint.kind == "revolute" else ():
                yield but(
                    f"column {q[i]!r} has a different zero from the arm file: add {degrees} deg.",
                    q_zero={i: degrees / 90 * QUARTER},
                )

    def _other_units(self, ratio: float) -> Iterator[tuple[float, str]]:
        yield 1e-3, "is in thousandths of the others' unit: divide it by 1000."
        yield 1e3, "is 1000 times too small: multiply it by 1000."
        if ratio > 2.0 and self.log.signals.effort == "tau":
            yield ratio, f"is motor torque; multiply it by the gear ratio, {ratio:g}."
            yield 1.0 / ratio, f"is multiplied by the gear ratio twice; divide it by {ratio:g}."

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
            known = self.log.signals
            efforts, q = (
                [repr(names[i]) for i in wrong] for names in (known.effort_columns, known.q_columns)
            )
            have = "column {} has" if len(wrong) == 1 else "columns {} have"
            raise InputError(
                f"{have.format(', '.join(efforts))} the wrong sign, or the positions do ({', '.join(q)}): "
                f"inertia and friction of {', '.join(model.arm.joints[i].name for i in wrong)} would be "
                "negative. Reverse one of them.",
                known.name,
            )
