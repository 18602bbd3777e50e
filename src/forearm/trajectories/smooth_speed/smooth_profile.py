"""The fastest speed profile along a path within jerk limits: the second stage of time-optimal planning.

With x = (ds/dt)^2 and u = d2s/dt2, joints accelerate by q' u + q'' x and have the jerk q''' x^(3/2) + (3 q''
u + q' du/ds) sqrt(x). In each interval of the grid the path jerk is constant. Limits are linearised around an
iterate, conservatively for jerk: J / sqrt(x) is convex, its tangent below it. An interior point method solves
the resulting convex problem; its solution is the next iterate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from forearm.errors import InputError
from forearm.progress import Progress
from forearm.spatial import Floats
from forearm.trajectories.sampling import from_zero
from forearm.trajectories.smooth_speed.interior_point import InnerSolution, shortest
from forearm.trajectories.smooth_speed.smooth_input import Boundary, ProfileProblem, profile_problem
from forearm.trajectories.smooth_speed.smooth_limits import SmoothLimits
from forearm.trajectories.smooth_speed.speed_elements import (
    SpeedElements,
    speed_elements,
    speed_shape,
    values_at,
)
from forearm.trajectories.smooth_speed.speed_rows import row_name, speed_rows
from forearm.values import frozen

MAX_ITERATIONS = 12
GAP = 1e-5  # relative, of the duration
ROUGH = 1e-3  # the same in the first iteration
FAR = 50.0  # factor of violation beyond which the initial guess is lowered to start from
NEAR = 0.1  # violation below which multipliers of the last solution help
WITHIN = 2e-4  # tolerance of jerk limits between the ends of an interval
SETTLED = 1e-5  # relative change of the duration between iterations at convergence
EXACT = 1e-5  # relative tolerance of limits in the returned iterate
PATIENCE = 3  # iterations without progress towards the limits
ALLOWED = 1e-3  # the same without convergence; beyond it there is no profile


@frozen
class SmoothProfile:
    """A motion along a path in N intervals; s, ds/dt and d2s/dt2 are continuous.

    Attributes:
        x: squared path speed at the nodes, (N + 1,).
        u: path accelerations at the nodes, (N + 1,); 0 at stops.
        times: times at the nodes, (N + 1,), s.
        coefficients: s = sum of coefficients[i, k] (t - times[i])^k in interval i, (N, 6).
        iterations: number of convex problems solved.
        gap: the larger of the duality gap of the last one and of the last change of the duration, both
            relative to the duration.
        excess: largest relative violation of a limit at the nodes.
    """

    x: Floats
    u: Floats
    times: Floats
    coefficients: Floats
    iterations: int
    gap: float
    excess: float

    @property
    def duration(self) -> float:
        """Duration, s."""
        return float(self.times[-1])


def smooth_profile(
    s: Floats,
    limits: SmoothLimits,
    start: Floats,
    boundary: Boundary = ((0.0, 0.0), (0.0, 0.0)),
    stops: Sequence[int] = (),
    report: Progress | None = None,
) -> SmoothProfile:
    """The fastest speed profile within limits of jerk and others.

    Intervals next to rest take much of the time; `rest_grid` makes them short enough.

    Args:
        s: nodes along the path, increasing, (N + 1,); at least three intervals between nodes of given speed.
        limits: along the path; their rows are called in every iteration.
        start: x of the first stage, (N + 1,).
        boundary: x and u at the start and at the end; u None: free. At rest without a jerk limit it is also
            free, since acceleration may jump there.
        stops: interior nodes at rest.
        report: called in each iteration.
    """
    problem, lengths = profile_problem(s, limits, start, boundary, stops), limits.lengths
    x, u = problem.x, problem.u
    found: InnerSolution | None = None
    refusals: list[Floats] = []
    before = duration = np.inf
    for iteration in range(MAX_ITERATIONS + 1):
        shape = speed_shape(lengths, x, u)
        jerks = np.maximum(problem.limits.jerks_within(shape, u), 1.0)
        is_settled = abs(before - duration) <= SETTLED * duration
        if is_settled and jerks.max(initial=1.0) > 1 + WITHIN:
            limits = replace(limits, jerk=limits.jerk / jerks)
        elements = speed_elements(lengths, shape, problem.nodes)
        made = speed_rows(limits, shape, elements, x, u)
        b = _meeting(lengths, shape.theta, x, u, elements)
        excess = np.maximum(values_at(made, b), 0.0)
        if (is_settled and excess.max() <= EXACT) or iteration == MAX_ITERATIONS:
            break
        if found is None:
            # Rows may be far from satisfied; at low speed, close to rest, they are satisfied.
            lowered = b / max(1.0, float(excess.max()) / FAR)
            found = shortest(elements, made, lowered, None, ROUGH)
        else:
            is_near = excess.max() < NEAR
            found = shortest(elements, made, b, found.multipliers if is_near else None, GAP)
        refusals = _still_refused(refusals, found)
        if len(refusals) == PATIENCE:
            _refuse(problem, refusals[0])
        x = np.maximum(values_at(elements.x, found.b)[::2], 0.0).T
        u = values_at(elements.u, found.b)[::2].T
        before, duration = duration, float(speed_shape(lengths, x, u).times.sum())
        if report is not None:
            report(iteration + 1, MAX_ITERATIONS, f"{duration:.6g} s")
    if excess.max() > ALLOWED:
        _refuse(problem, refusals[0] if refusals else excess)
    return SmoothProfile(
        x=np.append(x[:, 0], x[-1, 1]),
        u=_at_nodes(u, problem),
        times=from_zero(shape.times),
        coefficients=_coefficients(problem.s[:-1], lengths, shape.times, np.sqrt(x), u),
        iterations=iteration,
        gap=max(0.0 if found is None else found.gap, abs(before / duration - 1)),
        excess=max(float(excess.max()), float(jerks.max(initial=1.0)) - 1),
    )


def _still_refused(refusals: list[Floats], found: InnerSolution) -> list[Floats]:
    """Violations of rows in the iterations since the last clear improvement, (R, N) each."""
    if found.holds:
        return []
    if refusals and found.excess.max() < 0.7 * refusals[0].max():
        return [found.excess]
    return [*refusals, found.excess]


def _meeting(lengths: Floats, theta: Floats, x: Floats, u: Floats, elements: SpeedElements) -> Floats:
    """b of an iterate: where the tangents of x at both ends meet; 0 where it is given."""
    left = x[:, 0] + 2 * lengths * (1 - theta) * u[:, 0]
    right = x[:, 1] - 2 * lengths * theta * u[:, 1]
    b = np.maximum(0.5 * (left + right), 1e-2 * x.max(axis=1))
    return np.where(elements.fixed, 0.0, b)


def _at_nodes(u: Floats, problem: ProfileProblem) -> Floats:
    """Accelerations (N, 2) as (N + 1,)."""
    nodes = np.append(u[:, 0], u[-1, 1])
    nodes[[k for k in problem.nodes if 0 < k < len(u)]] = 0.0
    return nodes


def _refuse(problem: ProfileProblem, excess: Floats) -> None:
    """Raise the error that names the infeasible limit and its place."""
    row, i = np.unravel_index(int(excess.argmax()), excess.shape)
    place = f"between s = {problem.s[i]:.6g} and {problem.s[i + 1]:.6g}"
    name = row_name(problem.limits, int(row))
    raise InputError(
        f"no speed profile satisfies all limits; {name} would be exceeded by "
        f"{100 * excess[row, i]:.3g} % {place}; lower the boundary speed or raise that limit.",
        "smooth_profile",
    )


def _coefficients(s: Floats, D: Floats, T: Floats, v: Floats, u: Floats) -> Floats:
    """Polynomials of degree 5 in time, (N, 6), with given speeds and accelerations (N, 2) at both ends.

    T is such that the last coefficient is about 0; next to rest that of degree 4 is, too.
    """
    (v0, v1), (u0, u1) = v.T, u.T
    c3 = (20 * D - (8 * v1 + 12 * v0) * T - (3 * u0 - u1) * T**2) / (2 * T**3)
    c4 = (-30 * D + (14 * v1 + 16 * v0) * T + (3 * u0 - 2 * u1) * T**2) / (2 * T**4)
    c5 = (12 * D - 6 * (v0 + v1) * T + (u1 - u0) * T**2) / (2 * T**5)
    return np.stack([s, v0, u0 / 2, c3, c4, c5], axis=1)
