"""A made-up motion to save, draw and play: sines in every joint, with everything that a simulation can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

import forearm as fa
from forearm.simulation import Event, Simulation


def sines(arm: fa.Arm | str = "puma560", samples: int = 101, duration: float = 2.0, **changes: Any) -> Simulation:
    """Joints that swing at different rates; fields given by name replace what is made up."""
    arm = fa.load(arm) if isinstance(arm, str) else arm
    rng = np.random.default_rng([arm.n, samples])
    t = np.linspace(0.0, duration, samples)
    size, rate, phase = rng.uniform(0.3, 1.3, (3, arm.n))
    angle = rate * t[:, None] + phase
    q, qd, qdd = size * np.sin(angle), size * rate * np.cos(angle), -size * rate**2 * np.sin(angle)
    tau = rng.normal(size=q.shape)
    fields: dict[str, Any] = {
        "arm": arm,
        "method": "rk4",
        "step": 1e-3,
        "t": t,
        "q": q,
        "qd": qd,
        "qdd": qdd,
        "tau": tau,
        "voltage": 0.2 * tau,
        "energy": {"kinetic": (qd**2).sum(axis=1), "potential": q.sum(axis=1), "supplied": t, "lost": 0.1 * t},
        "lost": {"gear": np.abs(tau).cumsum(axis=0), "winding": tau**2},
        "events": (
            Event(0.25, "stop", arm.joints[0].name, "at its upper limit"),
            Event(1.5, "condition", None, "the hand is below the table"),
        ),
        "message": "the time asked for is over",
        "checkpoint": {
            "k": 3,
            "h": 0.1,
            "state": np.arange(4.0),
            "deep": [{"on": True, "bits": np.array([1, 2], np.uint8)}, None],
        },
    }
    return Simulation(**(fields | changes))
