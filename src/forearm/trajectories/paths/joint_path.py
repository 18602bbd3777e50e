"""Joint paths: piecewise polynomials of a path parameter, with the queries that planners need."""

from __future__ import annotations

import os
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from forearm.errors import InputError
from forearm.spatial import Floats, Indices
from forearm.trajectories.roots import roots_within
from forearm.trajectories.sampling import States, piece_at, within
from forearm.values import as_floats, check_ending, check_name, frozen

ROUNDING = 1e-12  # of the length: a place this little beyond the end counts as the end
STILL = 1e-12  # of the largest q': a joint slower than this throughout a piece is at rest
EPSILON = 2.0**-52
BLOCK = 1024  # places per block
CORNER = 1e-9  # of the size of q': smaller jumps are rounding


@frozen
class JointPath:
    """Joint coordinates as piecewise polynomials of a path parameter s from 0 to `length`.

    Attributes:
        breaks: boundaries of the pieces, (k+1,), increasing from 0.
        coefficients: of ascending powers of (s - breaks[i]), (k, d+1, n), rad or m.
        name: for messages.
        polygon: the points (m, n) that it was made to follow; None: no polygon.
        marks: the breaks at which it passes these points, (m,); None: no polygon.
    """

    breaks: Floats
    coefficients: Floats
    name: str = "path"
    polygon: Floats | None = None
    marks: Floats | None = None

    def __post_init__(self) -> None:
        check_name(self.name, "path")
        b, c = as_floats(self.breaks, "breaks"), as_floats(self.coefficients, "coefficients")
        if b.ndim != 1 or len(b) < 2 or b[0] != 0.0 or not (np.diff(b) > 0.0).all():
            raise InputError("expected at least two numbers, increasing from 0.", self.name, "breaks")
        if c.ndim != 3 or len(c) != len(b) - 1 or not c.shape[1] or not c.shape[2]:
            raise InputError(
                f"expected shape ({len(b) - 1}, d+1, n), got {c.shape}.", self.name, "coefficients"
            )
        kept = {"breaks": b, "coefficients": c}
        if self.polygon is not None:
            kept["polygon"] = points = as_floats(self.polygon, "polygon")
            if points.ndim != 2 or points.shape[1] != c.shape[2] or len(points) < 2:
                raise InputError(
                    f"expected points (m, {c.shape[2]}), got {points.shape}.", self.name, "polygon"
                )
        if self.marks is not None:
            kept["marks"] = marks = as_floats(self.marks, "marks")
            count = 0 if self.polygon is None else len(self.polygon)
            if marks.shape != (count,) or not np.isin(marks, b).all() or not (np.diff(marks) >= 0.0).all():
                raise InputError(
                    f"expected one of the breaks for each of the {count} points of the "
                    "polygon, non-decreasing.",
                    self.name,
                    "marks",
                )
        for name, array in kept.items():
            if not np.isfinite(array).all():
                raise InputError("all numbers must be finite.", self.name, name)
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def n(self) -> int:
        """The number of joints."""
        return int(self.coefficients.shape[2])

    @property
    def length(self) -> float:
        """The last s."""
        return float(self.breaks[-1])

    @cached_property
    def corners(self) -> tuple[float, ...]:
        """Interior places at which q' jumps: a motion has to stop there."""
        pieces = np.arange(len(self.breaks) - 1)
        _, begins, bends = self.at(self.breaks[:-1], pieces)
        _, ends, others = self.at(self.breaks[1:], pieces)
        # at a reversal q' is 0, but not beside it
        size = np.maximum(np.abs(begins), np.abs(ends)).max(axis=1)
        inside = self.breaks[1:-1]
        # where q' bends within a tiny piece, the rounding of s matters
        rounding = 8.0 * EPSILON * inside * np.maximum(np.abs(bends[1:]), np.abs(others[:-1])).max(axis=1)
        allowed = CORNER * np.maximum(size[1:], size[:-1]) + rounding
        corners = inside[np.abs(begins[1:] - ends[:-1]).max(axis=1) > allowed]
        # those of a piece as short as the rounding of s are one, or one with an end
        near = 8.0 * EPSILON * self.length
        apart = (np.diff(corners, prepend=0.0) > near) & (self.length - corners > near)
        return tuple(corners[apart].tolist())

    def piece_of(self, s: ArrayLike) -> Indices:
        """Index of the piece that each of the places (m,) lies in, (m,): the one to the right of a break."""
        return self._piece_of(within(s, self.length, "s", repr(self.name))[1])

    def at(self, s: ArrayLike, piece: ArrayLike | None = None) -> States:
        """q, dq/ds, d2q/ds2 at a place, (n,) each, or at places (m,), (m, n) each.

        Args:
            s: the places.
            piece: indices of the polynomials to use, (m,); None: that to the right of a break, the last at
                the end.
        """
        single, places = within(s, self.length, "s", repr(self.name))
        pieces = self._pieces(places, piece)
        made = np.empty((3, len(places), self.n))
        taken = np.empty((min(len(places), BLOCK), self.n))
        for begin in range(0, len(places), BLOCK):  # blocks that fit into the cache
            rows = slice(begin, begin + BLOCK)
            k = pieces[rows]
            x = np.repeat(places[rows] - self.breaks[k], self.n)
            self._horner(k, x, taken[: len(k)], made[:, rows])
        q, first, second = made
        return (q[0], first[0], second[0]) if single else (q, first, second)

    def third(self, s: ArrayLike, piece: ArrayLike | None = None) -> Floats:
        """d3q/ds3 at a place, (n,), or at places (m,), (m, n).

        Args:
            s: the places.
            piece: as in `at`.
        """
        single, places = within(s, self.length, "s", repr(self.name))
        k = self._pieces(places, piece)
        x = (places - self.breaks[k])[:, None]
        made = np.zeros((len(places), self.n))
        for power in range(len(self._by_power) - 1, 2, -1):
            made *= x
            made += (power * (power - 1) * (power - 2)) * self._by_power[power][k]
        return made[0] if single else made

    def reversals(self) -> Floats:
        """Interior places at which q' of some joint changes its sign or touches 0, increasing: simple roots
        to 1e-12 of the length.

        For a joint that rests for a while, the places at which the rest begins and ends.
        """
        return self._reversals

    def extremes(self) -> tuple[Floats, Floats]:
        """Minimum and maximum q along the path, (n,) each."""
        q = self.at(np.concatenate([self.breaks, self.reversals()]))[0]
        return q.min(axis=0), q.max(axis=0)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as .json, atomically; `load_path` reads it back to the last bit."""
        from forearm.trajectories.paths.path_file import write_path

        check_ending(path, (".json",), "a path")
        write_path(self, path)

    def __repr__(self) -> str:
        count = len(self.coefficients)
        return (
            f"<JointPath {self.name!r} of {self.n} joints: {count} piece{'s' * (count > 1)}, "
            f"length {self.length:g}, {len(self.corners)} corner{'s' * (len(self.corners) != 1)}>"
        )

    @cached_property
    def _reversals(self) -> Floats:
        h = np.diff(self.breaks)
        powers = np.arange(1, self.coefficients.shape[1])
        slopes = self.coefficients[:, 1:] * (powers * h[:, None] ** (powers - 1))[:, :, None]
        largest = float(np.abs(slopes).max(initial=0.0))
        c = np.moveaxis(slopes, 2, 1).reshape(-1, len(powers))
        c = np.where(np.abs(c).max(axis=1, initial=0.0, keepdims=True) <= STILL * largest, 0.0, c)
        if not c.size:
            return np.zeros(0)
        roots = roots_within(c).reshape(len(h), -1)
        places = (self.breaks[:-1, None] + roots * h[:, None])[~np.isnan(roots)]
        signs = [
            np.sign(x.reshape(len(h), -1)) * (np.abs(x.reshape(len(h), -1)) > STILL * largest)
            for x in (c[:, 0], c.sum(axis=1))
        ]
        changes = (signs[1][:-1] != signs[0][1:]).any(axis=1)
        return self._merged(np.concatenate([places, self.breaks[1:-1][changes]]))

    def _merged(self, places: Floats) -> Floats:
        """Interior places, increasing; those separated by rounding are merged, at a break if one is that
        close.
        """
        near = ROUNDING * self.length
        k = np.clip(np.searchsorted(self.breaks, places), 1, len(self.breaks) - 1)
        for at in (self.breaks[k - 1], self.breaks[k]):
            places = np.where(np.abs(places - at) <= near, at, places)
        places = np.unique(places[(places > near) & (places < self.length - near)])
        made = places[np.diff(places, prepend=-1.0) > near]
        made.flags.writeable = False
        return made

    @cached_property
    def _by_power(self) -> tuple[Floats, ...]:
        return tuple(np.ascontiguousarray(c) for c in np.moveaxis(self.coefficients, 1, 0))

    def _piece_of(self, s: Floats) -> Indices:
        count = len(self.breaks) - 1
        if len(s) > 16 and (s[1:] >= s[:-1]).all():  # counting is several times faster than searching
            first = np.searchsorted(s, self.breaks[1:-1], side="left")
            return np.repeat(np.arange(count), np.diff(first, prepend=0, append=len(s)))
        return piece_at(self.breaks, s)

    def _pieces(self, s: Floats, piece: ArrayLike | None) -> Indices:
        """Indices of the polynomials to use, (m,)."""
        if piece is None:
            return self._piece_of(s)
        k = np.asarray(piece)
        last = len(self.breaks) - 2
        if k.dtype.kind not in "iu" or k.ndim > 1 or (k.size and not (k.min() >= 0 and k.max() <= last)):
            raise InputError(f"expected whole numbers from 0 to {last}, one per place.", "piece")
        if k.ndim == 1 and len(k) != len(s):
            raise InputError(f"expected one for each of the {len(s)} places, got {len(k)}.", "piece")
        return np.broadcast_to(k.astype(np.intp), s.shape)

    def _horner(self, k: Indices, x: Floats, taken: Floats, made: Floats) -> None:
        """Value and two derivatives (3, m, n) of pieces k (m,) at x (m * n,) since their breaks."""
        powers = self._by_power
        np.take(powers[-1], k, axis=0, out=made[0], mode="clip")
        q, first, second = (y.reshape(-1) for y in made)
        first.fill(0.0)
        second.fill(0.0)
        for step, c in enumerate(reversed(powers[:-1])):
            if step > 1:
                second *= x
            if step > 0:
                second += first
                first *= x
            first += q
            q *= x
            np.take(c, k, axis=0, out=taken, mode="clip")
            q += taken.reshape(-1)
        second *= 2.0
