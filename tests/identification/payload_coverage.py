"""Coverage of the intervals of estimated payloads: python tests/identification/payload_coverage.py [RUNS].

Prints the rows of the table in docs/payload.md: noise of torques and accelerations, stated and not.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import forearm as fa
from forearm.identification.payload.estimate import Noise, estimate_payload
from forearm.identification.payload.physical import parameters_of_body
from forearm.identification.payload.regressor import payload_regressor
from forearm.identification.payload.test_forces import canonical_tests

LOAD: dict[str, Any] = {
    "mass": 1.7,
    "com": np.array([0.03, -0.02, 0.11]),
    "inertia": np.array([[0.012, 0.002, -0.001], [0.002, 0.01, 0.0015], [-0.001, 0.0015, 0.007]]),
}
TRUTH = parameters_of_body(**LOAD)


def main(runs: int) -> None:
    """Print one row per condition."""
    rng = np.random.default_rng(1)
    ur5, puma = (fa.load(name).rigid() for name in ("ur5", "puma560"))
    q, qd, qdd = (size * rng.uniform(-1.0, 1.0, (40, 6)) for size in (2.0, 1.0, 3.0))
    moving = ur5, q, qd, qdd, fa.dynamics.inverse(ur5.with_payload(**LOAD), q, qd, qdd)
    q, tau = canonical_tests(puma, rng.uniform(-1.0, 1.0, (3, 6)), 4.0)
    resting = puma, q, 0.0 * q, fa.dynamics.forward(puma.with_payload(**LOAD), q, 0.0 * q, tau), tau
    for name, tests, noise in (
        ("torques 0.2 N m, moving", moving, Noise(tau=0.2)),
        ("torques 0.2 N m, at rest", resting, Noise(tau=0.2)),
        ("accelerations 0.05 rad/s², at rest", resting, Noise(qdd=0.05)),
        ("both 0.05, at rest", resting, Noise(qdd=0.05, tau=0.05)),
        ("accelerations 0.3 rad/s², torques 0.2 N m, moving", moving, Noise(qdd=0.3, tau=0.2)),
    ):
        arm, q, qd, qdd, tau = tests
        inside, errors, plain = np.zeros(2), np.zeros((runs, 2)), np.zeros(runs)
        for run in range(runs):
            rng = np.random.default_rng([run, 7])
            given = tau + noise.tau * rng.normal(size=tau.shape)
            seen = qdd + noise.qdd * rng.normal(size=tau.shape)
            for k, stated in enumerate((noise, None)):
                found = estimate_payload(arm, q, given, seen, qd, noise=stated)
                low, high = found.intervals.T
                inside[k] += np.mean((low <= TRUTH) & (high >= TRUTH))
                errors[run, k] = found.parameters[0] - TRUTH[0]
            Y = payload_regressor(arm, q, qd, seen).reshape(-1, 10)
            left = given - fa.dynamics.inverse(arm, q, qd, seen)
            plain[run] = np.linalg.lstsq(Y, left.ravel(), rcond=None)[0][0] - TRUTH[0]
        shares, sizes = inside / runs, np.sqrt(np.mean(errors**2, axis=0) / np.mean(plain**2))
        print(f"| {name} | {shares[0]:.3f} | {shares[1]:.3f} | {sizes[0]:.2f} | {sizes[1]:.2f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
