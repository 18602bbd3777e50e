"""A step that is divided at every event within it: a joint sticks or breaks loose, or a drive meets or leaves
a flank. Over any scalar.

The step is tried in its current mode. If an event has occurred by its end, the instant is located along the
quintic through both ends, the mode is switched there, and the rest of the step is tried. With too many
events, the rest is taken without locating them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from forearm.dynamics.explicit_methods import ExplicitMethod
from forearm.dynamics.fixed_step import (
    Plant,
    StepState,
    Values,
    begun,
    demands,
    dry_ones,
    flags_of,
    stages,
    with_flags,
)
from forearm.model import Scalar
from forearm.portable import total
from forearm.symbols import iterate, when
from forearm.symbols.scalars import choose, maximum, minimum, sign
from forearm.values import frozen

EXTRA = 6  # parts of a step, in addition to two per event function
FAR = 1e30  # the value of inactive event functions
BEGIN = 1e-6  # fraction of a step after which an event at its start counts as past
# The instant is located to this fraction of the step, and event values to this fraction of those at the ends;
# and the same in single precision.
CLOSE, CLOSE_SINGLE = 1e-13, 1e-6
TRIES = 40


@frozen
class SwitchWatch:
    """The event functions: of coordinates with dry friction, each moving or sticking, and of gaps. Their
    values, in this order, are above 0 until the event: velocities in their direction, the torque missing to
    break loose, flanks.
    """

    plant: Plant
    dry: Sequence[int]
    gaps: int

    @staticmethod
    def of(plant: Plant, state: StepState) -> SwitchWatch:
        """The event functions of a simulation."""
        return SwitchWatch(plant, dry_ones(plant), len(state.contact))

    @property
    def count(self) -> int:
        """The number of event functions."""
        return 2 * len(self.dry) + self.gaps

    def moving(self, state: StepState) -> Values:
        """For moving coordinates, the velocities in their direction."""
        made = []
        for j in self.dry:
            is_moving = state.is_free[j] * abs(state.friction_sign[j])
            made.append(choose(0.0, is_moving, state.friction_sign[j] * state.qd[j], 1.0))
        return made

    def lacking(self, state: StepState, u: Values, qdd: Values | None = None) -> tuple[Values, Values]:
        """For sticking coordinates, the torque missing to break loose forwards, and backwards; `qdd` are the
        accelerations, if approximately known.
        """
        if qdd is None:
            guess = state.load_guess[: len(state.load_guess) // 2]
            qdd = self.plant.accelerations(state.q, state.qd, u, state, guess)
        plus, minus = demands(self.plant, state, qdd[: len(state.q)])
        given = self.plant.given(state.q, state.qd, u, state.contact)

        def missing(more: Values, less: Values) -> Values:
            apart = [more[j] - less[j] for j in self.dry]
            return [choose(0.0, state.is_free[j], 1.0, x) for j, x in zip(self.dry, apart, strict=True)]

        return missing(plus, given), missing(given, minus)

    def standing(self, state: StepState, u: Values, is_asked: Scalar, qdd: Values | None = None) -> Values:
        """For sticking coordinates, the missing torque in either direction; 1 for the others."""
        if not self.dry:
            return []

        def looked(some: Values) -> Values:
            forwards, backwards = self.lacking(_moved(state, some), u, qdd)
            return [minimum(a, b) for a, b in zip(forwards, backwards, strict=True)]

        given, otherwise = [*state.q, *state.qd], [1.0] * len(self.dry)
        return when(is_asked, looked, given, otherwise, title="joints that stand")

    def values(self, state: StepState, u: Values, is_asked: Scalar, qdd: Values | None = None) -> Values:
        """The values of all event functions."""
        flanks = self.plant.flanks(state.q, state.qd, state.contact) if self.gaps else []
        return [*self.moving(state), *self.standing(state, u, is_asked, qdd), *flanks]

    def stand(self, state: StepState) -> Scalar:
        """The number of sticking coordinates."""
        return total([1.0 - state.is_free[j] for j in self.dry], 0.0)


def step(
    plant: Plant, method: ExplicitMethod, state: StepState, u: Values, change: Values, h: Scalar
) -> StepState:
    """The state after a step of h seconds under the inputs u, which change by `change` until its end."""
    watch = SwitchWatch.of(plant, state)
    if not watch.count:
        return stages(plant, method, state, u, change, h)[0]
    most = watch.count + EXTRA

    def onwards(some: Values) -> Values:
        now, (done, rounds) = _unpacked(watch, state, some)
        rest = 1.0 - done
        inputs = [a + done * d for a, d in zip(u, change, strict=True)]
        ahead = [rest * d for d in change]
        is_last = choose(rounds, most - 1.5, 0.0, 1.0)
        part = _Part(watch, method, inputs, ahead, rest * h, is_last)
        after, share = part.taken(now)
        return [*_packed(watch, after), choose(share, 1.0, done + share * rest, 1.0), rounds + 1.0]

    start = [*_packed(watch, state), 0.0, 0.0]
    made = iterate(onwards, start, lambda some: (some[-2], 1.0), most, title="parts of a step")
    return _unpacked(watch, state, made)[0]


@frozen
class _Part:
    """The rest of a step, of length `h`, under inputs that change by `change` until its end."""

    watch: SwitchWatch
    method: ExplicitMethod
    u: Values
    change: Values
    h: Scalar
    is_last: Scalar

    def taken(self, state: StepState) -> tuple[StepState, Scalar]:
        """The state at the end, or at an event before it; and the completed fraction."""
        watch, plant = self.watch, self.watch.plant
        state, first = begun(plant, self.method, state, self.u, self.h)
        moved, near = stages(plant, self.method, state, self.u, self.change, self.h, first)
        moved = _directed(watch, moved)
        last = watch.values(moved, self._inputs(1.0), watch.stand(moved), near)
        crossed = [choose(x, 0.0, 1.0, 0.0) for x in last]

        def switched(some: Values) -> Values:
            n = len(state.q)
            before, after = _moved(state, some[: 2 * n]), _moved(moved, some[2 * n : 4 * n])
            return self._until_switch(before, after, some[4 * n :], crossed)

        given = [*state.q, *state.qd, *moved.q, *moved.qd, *first]
        otherwise = [*_packed(watch, moved), 1.0]
        made = when(total(crossed, 0.0), switched, given, otherwise, title="something switches")
        after, (share,) = _unpacked(watch, state, made)
        return after, share

    def _until_switch(self, state: StepState, moved: StepState, first: Values, crossed: Values) -> Values:
        """The state after the first event, switched, and the fraction until then."""
        watch = self.watch
        curve = self._curve(state, moved, first)
        share, there = self._instant(curve, crossed)
        share = choose(0.0, self.is_last, 1.0, share)
        least = reduce(minimum, _masked(crossed, there))
        hit = [
            choose(0.0, self.is_last, c, c * choose(maximum(least, 0.0), x, 0.0, 1.0))
            for c, x in zip(crossed, there, strict=True)
        ]
        after = _directed(watch, replace(curve.at(share), load_guess=moved.load_guess))
        return [*_packed(watch, self._switched(after, hit, self._inputs(share))), share]

    def _inputs(self, share: Scalar) -> Values:
        return [a + share * d for a, d in zip(self.u, self.change, strict=True)]

    def _curve(self, state: StepState, moved: StepState, first: Values) -> _Curve:
        """The motion within the step."""
        n, guess, plant = len(state.q), moved.load_guess[: len(moved.load_guess) // 2], self.watch.plant
        last = plant.accelerations(moved.q, moved.qd, self._inputs(1.0), moved, guess)
        return _Curve.through(state, moved, first[:n], last[:n], self.h, plant.relaxing)

    def _instant(self, curve: _Curve, crossed: Values) -> tuple[Scalar, Values]:
        """The fraction of the step at which the first event occurs, by false position (the Illinois variant:
        a retained end counts half), and all event values there.
        """
        watch, begins = self.watch, len(self.watch.dry)
        is_asked = total(crossed[begins : 2 * begins], 0.0)

        def values(s: Scalar) -> Values:
            return watch.values(curve.at(s), self._inputs(s), is_asked)

        def least(some: Values) -> Scalar:
            return reduce(minimum, _masked(crossed, some))

        def narrower(some: Values) -> Values:
            a, fa, b, fb = some[:4]
            s = b - fb * ((b - a) / (fb - fa))
            there = values(s)
            f = least(there)
            is_between = choose(f * fb, 0.0, 1.0, 0.0)  # the root lies between this and the last
            a, fa = (choose(0.0, is_between, x, y) for x, y in ((b, a), (fb, 0.5 * fa)))
            return [a, fa, s, f, *there]

        low, high = values(BEGIN), values(1.0)
        first_value, last_value = least(low), least(high)
        close = CLOSE_SINGLE if watch.plant.single else CLOSE
        enough = close * (abs(first_value) + abs(last_value))
        last_value = minimum(last_value, 0.0)  # the value with approximate accelerations may be above 0
        # an event at the very start is switched immediately
        b, fb, *there = (
            choose(0.0, first_value, x, y)
            for x, y in zip((1.0, last_value, *high), (BEGIN, 0.0, *low), strict=True)
        )
        found = iterate(
            narrower,
            [BEGIN, first_value, b, fb, *there],
            lambda some: (choose(enough, abs(some[3]), close, 1.0), abs(some[2] - some[0])),
            TRIES,
            title="the instant",
        )
        return found[2], found[4:]

    def _switched(self, state: StepState, hit: Values, u: Values) -> StepState:
        """Switch everything at its event: it sticks, breaks loose, or changes its flank."""
        watch = self.watch
        k, q, qd = len(watch.dry), state.q, list(state.qd)
        stops, starts, flanks = hit[:k], hit[k : 2 * k], hit[2 * k :]
        signs, free = list(state.friction_sign), list(state.is_free)
        ways = self._ways(state, u, starts)
        for j, stop, start, way in zip(watch.dry, stops, starts, ways, strict=True):
            qd[j] = choose(0.0, stop, 0.0, qd[j])
            signs[j] = choose(0.0, stop, 0.0, choose(0.0, start, way, signs[j]))
            free[j] = choose(0.0, stop, 0.0, choose(0.0, start, 1.0, free[j]))
        contact = state.contact
        if watch.gaps:
            following = watch.plant.next_contact(q, contact)
            contact = [choose(0.0, f, b, a) for f, a, b in zip(flanks, contact, following, strict=True)]
        return replace(state, qd=qd, friction_sign=signs, is_free=free, contact=contact)

    def _ways(self, state: StepState, u: Values, starts: Values) -> Values:
        """Among breakaway directions, the one with the smallest missing torque."""
        if not self.watch.dry:
            return []

        def looked(some: Values) -> Values:
            forwards, backwards = self.watch.lacking(_moved(state, some), u)
            return [choose(a, b, 1.0, -1.0) for a, b in zip(forwards, backwards, strict=True)]

        given, otherwise = [*state.q, *state.qd], [1.0] * len(self.watch.dry)
        return when(total(starts, 0.0), looked, given, otherwise, title="directions")


@frozen
class _Curve:
    """The motion within a step: the quintic through positions, velocities and accelerations at both ends, and
    the cubic through relaxing states.
    """

    start: StepState
    h: Scalar
    quintic: list[Values]  # for each coordinate the coefficients of s to s^5
    cubic: dict[int, Values]  # of the velocities of relaxing ones

    @staticmethod
    def through(
        start: StepState, end: StepState, first: Values, last: Values, h: Scalar, relaxing: Sequence[int]
    ) -> _Curve:
        """The interpolation through both ends, with their accelerations."""
        quintic: list[Values] = []
        cubic = {}
        for j in range(len(start.q)):
            v0, v1, a0, a1 = start.qd[j], end.qd[j], first[j], last[j]
            if j in relaxing:
                rise, begin, finish = v1 - v0, h * a0, h * a1
                cubic[j] = [begin, 3.0 * rise - 2.0 * begin - finish, begin + finish - 2.0 * rise]
                quintic.append([])
                continue
            one, two = h * v0, (0.5 * h) * (h * a0)
            D = end.q[j] - start.q[j] - one - two
            V = h * (v1 - v0) - 2.0 * two
            A = h * (h * (a1 - a0))
            bent = [10.0 * D - 4.0 * V + 0.5 * A, -15.0 * D + 7.0 * V - A, 6.0 * D - 3.0 * V + 0.5 * A]
            quintic.append([one, two, *bent])
        return _Curve(start, h, quintic, cubic)

    def at(self, s: Scalar) -> StepState:
        """The state at a fraction of the step."""
        q, qd = list(self.start.q), list(self.start.qd)
        for j, c in enumerate(self.quintic):
            if not c:
                b = self.cubic[j]
                qd[j] = qd[j] + s * (b[0] + s * (b[1] + s * b[2]))
                continue
            q[j] = q[j] + s * (c[0] + s * (c[1] + s * (c[2] + s * (c[3] + s * c[4]))))
            slope = c[0] + s * (2.0 * c[1] + s * (3.0 * c[2] + s * (4.0 * c[3] + s * (5.0 * c[4]))))
            qd[j] = slope / self.h
        return replace(self.start, q=q, qd=qd)


def _directed(watch: SwitchWatch, state: StepState) -> StepState:
    """Moving coordinates without a direction take that of their velocity."""
    signs = list(state.friction_sign)
    for j in watch.dry:
        signs[j] = choose(0.0, abs(signs[j]), signs[j], state.is_free[j] * sign(state.qd[j]))
    return replace(state, friction_sign=signs)


def _moved(state: StepState, some: Values) -> StepState:
    """The state with other positions and velocities."""
    n = len(state.q)
    return replace(state, q=some[:n], qd=some[n : 2 * n])


def _packed(watch: SwitchWatch, state: StepState) -> Values:
    """Everything a step changes, in one row."""
    return [*state.q, *state.qd, *flags_of(state, watch.dry), *state.contact, *state.load_guess]


def _unpacked(watch: SwitchWatch, state: StepState, some: Values) -> tuple[StepState, Values]:
    """A state with such a row in it, and the values after it."""
    n, flags, gaps = len(state.q), 2 * len(watch.dry), watch.gaps
    ends = [n, 2 * n, 2 * n + flags, 2 * n + flags + gaps, 2 * n + flags + gaps + len(state.load_guess)]
    q, qd, both, contact, loads = (some[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True))
    now = with_flags(state, watch.dry, both)
    return replace(now, q=q, qd=qd, contact=contact, load_guess=loads), some[ends[-1] :]


def _masked(crossed: Values, values: Values) -> Values:
    return [choose(0.0, c, x, FAR) for c, x in zip(crossed, values, strict=True)]
