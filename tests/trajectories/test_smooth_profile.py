"""Speed profiles under limits of jerk: closed forms, other grids, other parameters of the same curve."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from smooth_paths import WavyPath, generic, seven_phases, states_of, straight, warped

from forearm.errors import InputError
from forearm.trajectories.smooth_speed import interior_point
from forearm.trajectories.smooth_speed.band_solver import BandSolver
from forearm.trajectories.smooth_speed.smooth_input import rest_grid
from forearm.trajectories.smooth_speed.smooth_profile import SmoothProfile

Array = NDArray[np.float64]
HELD = 1e-3  # what a limit may be exceeded by between nodes
CASES = {  # length, limits of velocity, acceleration and jerk, velocities at both ends
    "all limits reached": (1.3, 1.0, 2.0, 10.0, 0.0, 0.0),
    "jerk alone": (1.3, 5.0, 200.0, 10.0, 0.0, 0.0),
    "between speeds": (0.6, 1.0, 2.0, 10.0, 0.3, 0.5),
}


def nodes(length: float, N: int) -> Array:
    return rest_grid(np.linspace(0, length, N + 1), (0, N))


def check_continuous(profile: SmoothProfile) -> None:
    """s, ds/dt and d2s/dt2 at the end of each interval are those at the start of the next."""
    T = np.diff(profile.times)
    c = profile.coefficients
    ends = [
        np.polynomial.polynomial.polyval(T, np.polynomial.polynomial.polyder(c.T, d), tensor=False)
        for d in range(3)
    ]
    starts = [c[:, 0], c[:, 1], 2 * c[:, 2]]
    for end, start in zip(ends, starts, strict=True):
        np.testing.assert_allclose(end[:-1], start[1:], rtol=1e-7, atol=1e-9 * np.abs(start).max())


@pytest.mark.parametrize("n", [1, 2, 24, 25, 130])
def test_band_solver_is_the_dense_one(n: int) -> None:
    rng = np.random.default_rng(n)
    factor = np.zeros((n, n + 2))
    for i in range(n):
        factor[i, i : i + 3] = rng.normal(size=3)
    scale = np.exp(3 * rng.normal(size=n))
    matrix = scale[:, None] * (factor @ factor.T + 0.1 * np.eye(n)) * scale
    right = scale * rng.normal(size=n)
    solver = BandSolver(*(np.diag(matrix, k).copy() for k in range(3)))
    np.testing.assert_allclose(
        scale * solver.solve(right), scale * np.linalg.solve(matrix, right), rtol=1e-8, atol=1e-8
    )


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_straight_line_takes_seven_phases(case: str) -> None:
    length, velocity, acceleration, jerk, v0, v1 = CASES[case]
    limits = velocity, acceleration, jerk
    path = straight(*limits)
    profile = path.profile(np.linspace(0, length, 401), boundary=((v0**2, 0.0), (v1**2, 0.0)))
    assert profile.duration == pytest.approx(seven_phases(length, *limits, v0, v1), rel=4e-4)
    assert max(path.uses(profile)) < 1 + HELD
    assert profile.gap < 1e-5
    check_continuous(profile)


@pytest.mark.slow
def test_one_joint_takes_seven_phases_by_any_parameter() -> None:
    """What q'' and q''' contribute: a joint does not know by which parameter its path is described.

    A path jerk that is constant in an interval is no constant jerk of the joint: an error of first order.
    """
    _, *limits, _, _ = CASES["all limits reached"]
    path = warped(straight(*limits), 0.7)
    s = nodes(3.0, 200)
    profile = path.profile(s)
    q = path.derivatives(s[[0, -1]])[0][:, 0]
    assert profile.duration == pytest.approx(seven_phases(q[1] - q[0], *limits), rel=1e-3)
    assert max(path.uses(profile)) < 1 + HELD


def test_a_step_that_rounding_spoils_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix may become singular just before an inner solution is as exact as it is asked to be."""
    made = interior_point._matrix
    calls = 0

    def seldom_singular(*given: Any) -> BandSolver:
        nonlocal calls
        calls += 1
        if calls % 25 == 0:
            raise np.linalg.LinAlgError("Singular matrix")
        return made(*given)

    length, *limits, _, _ = CASES["all limits reached"]
    monkeypatch.setattr(interior_point, "_matrix", seldom_singular)
    profile = straight(*limits).profile(np.linspace(0, length, 101))
    assert calls > 25
    assert profile.duration == pytest.approx(seven_phases(length, *limits), rel=1e-3)


def test_without_jerk_it_is_bang_bang() -> None:
    length, velocity, acceleration = 1.3, 1.0, 2.0
    path = warped(straight(velocity, acceleration, np.inf), 0.5)
    profile = path.profile(np.linspace(0, length, 301))
    way = length + 0.5 * np.sin(length)
    assert profile.duration == pytest.approx(way / velocity + velocity / acceleration, rel=2e-3)


@pytest.mark.slow
def test_a_curved_path_holds_its_limits_between_nodes_and_is_near_that_of_a_finer_grid() -> None:
    path = generic(3, 1)
    profile, finer = path.profile(nodes(1.0, 120)), path.profile(nodes(1.0, 360))
    assert max(path.uses(profile)) < 1 + 4 * HELD
    assert max(path.uses(finer)) < 1 + HELD
    assert 0.99 < finer.duration / profile.duration < 1 + 1e-6
    check_continuous(profile)
    h = 1e-4
    t = np.linspace(2 * h, profile.duration - 2 * h, 1500)
    q = [path.joints(profile, t + k * h) for k in (-2, -1, 1, 2)]
    differences = (q[3] - 2 * q[2] + 2 * q[1] - q[0]) / (2 * h**3)
    assert (np.abs(differences) < path.jerk * (1 + 3 * HELD)).all()


@pytest.mark.slow
def test_the_parameter_of_a_curve_does_not_matter() -> None:
    path = generic(3, 2)
    other = warped(path, 0.6)
    end = 1.0 + 0.6 * np.sin(1.0)
    durations = [path.profile(nodes(end, 150)).duration, other.profile(nodes(1.0, 150)).duration]
    assert durations[1] == pytest.approx(durations[0], rel=3e-3)


@pytest.mark.slow
def test_no_bump_of_the_speed_holds_the_limits() -> None:
    """Optimal: to be faster anywhere exceeds a limit there."""
    path = generic(2, 3)
    s = nodes(1.0, 300)
    profile = path.profile(s)
    t = np.linspace(0, profile.duration, 4001)
    place, v, a, j = states_of(profile, t)
    _, q1, q2, q3 = (d.T for d in path.derivatives(place))
    for centre in np.linspace(0.05, 0.95, 31) * profile.duration:
        for width in (0.3, 1.0):
            # Time runs faster by 1 + e, a bump of the time that has passed.
            r = np.clip((t - centre) / width, -1, 1)
            e, e1, e2 = (
                0.02 * x / width**k
                for k, x in enumerate(
                    ((1 - r**2) ** 4, -8 * r * (1 - r**2) ** 3, (56 * r**2 - 8) * (1 - r**2) ** 2)
                )
            )
            f, f1 = 1 + e, e1 * (1 + e)
            f2 = (e2 * (1 + e) + e1**2) * (1 + e)
            w, b = v * f, a * f**2 + v * f1
            c = j * f**3 + 3 * a * f * f1 + v * f2
            uses = [
                np.abs(q1 * w).T / path.velocity,
                np.abs(q1 * b + q2 * w**2).T / path.acceleration,
                np.abs(q1 * c + 3 * q2 * w * b + q3 * w**3).T / path.jerk,
            ]
            assert max(use.max() for use in uses) > 1 + HELD, (centre, width)


@pytest.mark.slow
def test_stops_divide_a_path_into_its_parts() -> None:
    path = generic(3, 4)
    base = np.linspace(0, 1, 121)
    s = rest_grid(base, (0, 40, 90, 120))
    stops = [int(np.searchsorted(s, base[k])) for k in (40, 90)]
    profile = path.profile(s, stops=stops)
    assert (profile.x[stops] == 0).all()
    parts = [path.profile(s[a : b + 1]) for a, b in pairwise([0, *stops, len(s) - 1])]
    assert profile.duration == pytest.approx(sum(part.duration for part in parts), rel=1e-4)
    assert max(path.uses(profile)) < 1 + 3 * HELD


@pytest.mark.slow
def test_a_part_of_the_fastest_motion_is_the_fastest_between_its_ends() -> None:
    path = generic(3, 5)
    s = np.linspace(0, 1, 151)
    whole = path.profile(s)
    a, b = 20, 130
    ends = tuple((float(whole.x[k]), float(whole.u[k])) for k in (a, b))
    part = path.profile(s[a : b + 1], boundary=ends)
    assert part.duration == pytest.approx(whole.times[b] - whole.times[a], rel=1e-3)
    np.testing.assert_allclose(part.x, whole.x[a : b + 1], rtol=4e-2)
    np.testing.assert_allclose(part.x[[0, -1]], whole.x[[a, b]], rtol=1e-9)
    np.testing.assert_allclose(part.u[[0, -1]], whole.u[[a, b]], rtol=1e-9, atol=1e-9)


def test_rest_grid_keeps_rests_and_is_finer_there() -> None:
    base = np.linspace(0, 1, 21)
    s = rest_grid(base, (0, 10, 20), intervals=3, parts=5)
    assert (np.diff(s) > 0).all()
    for k in (0, 10, 20):
        assert base[k] in s
    assert s[1] == pytest.approx(0.15 / 125)
    assert rest_grid(base, ()).tolist() == base.tolist()
    assert base[12] in rest_grid(base, (10, 14), intervals=9)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "too fast at the start": (
        {"boundary": ((0.9, 0.0), (0.0, 0.0))},
        r"no speed profile satisfies all limits; .* would be exceeded by .* % between s = .*; lower the",
    ),
    "faster than top": (
        {"boundary": ((0.0, 0.0), (2.0, 0.0))},
        r"x is 2 at node 20, expected at most top, 1",
    ),
    "stops too near": ({"stops": (2,)}, "at least 3 intervals between nodes of given speed, got 2 between"),
    "static": (
        {"rows": lambda x, u: (np.ones((20, 2, 1)), np.zeros((20, 2, 1)), np.full((20, 2, 1), -0.5))},
        "no speed profile satisfies all limits; a limit given by rows",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused(case: str) -> None:
    changes, message = WRONG[case]
    path: WavyPath = straight(1.0, 2.0, 10.0)
    with pytest.raises(InputError, match=message):
        path.profile(np.linspace(0, 0.2, 21), **changes)
