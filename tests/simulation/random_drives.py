"""Arms whose drives have any of springs, backlash, spinning rotors, bristles, friction and gears."""

from __future__ import annotations

from typing import Any

import numpy as np
from arms import random_arm

import forearm as fa


def random_drives(seed: int) -> tuple[fa.Arm, np.random.Generator]:
    """An arm of one to three joints, and what is drawn next."""
    rng = np.random.default_rng(seed)
    base = random_arm(seed, int(rng.integers(1, 4))).rigid()
    return base.with_drives({joint.name: _drive(rng) for joint in base.joints}), rng


def _drive(rng: np.random.Generator) -> dict[str, Any]:
    ratio = float(rng.choice([-1.0, 1.0]) * rng.uniform(20.0, 120.0))
    made: dict[str, Any] = {"motor": fa.Motor(gear_ratio=ratio, rotor_inertia=float(rng.uniform(1e-5, 3e-4)))}
    if rng.random() < 0.7:
        made["elasticity"] = _elasticity(rng)
    if rng.random() < 0.7:
        made["friction"] = _friction(rng, abs(ratio))
    if rng.random() < 0.3:
        made["transmission"] = fa.Transmission(
            efficiency=((0.1, 0.7), (1.0, 0.85)), rated_torque=50.0, breakaway=0.2
        )
    return made


def _elasticity(rng: np.random.Generator) -> fa.Elasticity:
    given: dict[str, Any] = {"damping": float(rng.uniform(0.0, 10.0)) if rng.random() < 0.7 else 0.0}
    if rng.random() < 0.6:
        given["stiffness"] = float(10.0 ** rng.uniform(2.5, 4.0))
    else:
        given["curve"] = ((1e-3, 1.0 + rng.random()), (5e-3, 10.0 + rng.random()), (2e-2, 80.0))
        given["interpolation"] = str(rng.choice(["linear", "spline"]))
    if rng.random() < 0.5:
        given["half_gap"] = float(10.0 ** rng.uniform(-4.0, -2.0))
    if rng.random() < 0.25:
        given["rotor_axis"] = tuple(rng.normal(size=3).tolist())
    return fa.Elasticity(**given)


def _friction(rng: np.random.Generator, ratio: float) -> fa.Friction:
    side = str(rng.choice(["joint", "motor"]))
    scale = 1.0 if side == "joint" else 1.0 / ratio
    forwards, backwards = (float(rng.uniform(0.1, 3.0) * scale) for _ in range(2))
    given: dict[str, Any] = {"coulomb": (forwards, -backwards)}
    if rng.random() < 0.4:
        given |= {"static": (1.4 * forwards, -1.3 * backwards), "stribeck_speed": 0.05 / scale}
    if rng.random() < 0.4:
        given["bristle_stiffness"] = float(10.0 ** rng.uniform(2.5, 4.0)) * scale**2
        given["bristle_damping"] = float(rng.uniform(0.0, 10.0)) * scale**2
    return fa.Friction(side=side, viscous=float(rng.uniform(0.0, 0.5)) * scale**2, **given)  # type: ignore[arg-type]
