"""Identifications made by hand: two joints whose efforts are computed, seven whose are invented."""

from __future__ import annotations

from functools import cache

import numpy as np

from forearm import DH, Arm, Friction, Joint, Limits, Link, Motor
from forearm.dynamics.reference import inverse
from forearm.identification.agreement import agreement_of
from forearm.identification.parameter_set import ParameterSet
from forearm.identification.result import Identification, ResidualTest, Stage, UsedLog
from forearm.identification.samples import EffortKind, LogSignals
from forearm.reduction.base import base_parameters
from forearm.spatial import Floats

PERIOD = 0.01


@cache
def two_link() -> Arm:
    """Two links in a vertical plane with motors, gears, Coulomb and Stribeck friction."""
    motor = Motor(gear_ratio=50.0, rotor_inertia=3e-5, torque_constant=0.08, resistance=1.1)
    plain = Friction(viscous=0.9, coulomb=(1.7, -1.4))
    curved = Friction(
        side="motor", viscous=2e-4, coulomb=(0.012, -0.014), static=(0.02, -0.021), stribeck_speed=6.0
    )
    joints = tuple(
        Joint(
            name=f"joint{k + 1}",
            kind="revolute",
            parent=f"link{k}",
            child=f"link{k + 1}",
            placement=DH(convention="standard", a=a, alpha=alpha),
            limits=Limits(-2.6, 2.9),
            max_speed=3.5,
            motor=motor,
            friction=friction,
        )
        for k, (a, alpha, friction) in enumerate(((0.45, np.pi / 2, plain), (0.38, 0.0, curved)))
    )
    links = (
        Link(name="link0"),
        Link(name="link1", mass=6.1, com=(-0.21, 0.02, 0.03), inertia=np.diag([0.03, 0.12, 0.13])),  # type: ignore[arg-type]
        Link(name="link2", mass=3.3, com=(-0.17, -0.01, 0.02), inertia=np.diag([0.01, 0.05, 0.06])),  # type: ignore[arg-type]
    )
    return Arm(name="two-link", links=links, tree=joints, gravity=np.array([0.0, -9.81, 0.0]))


def signals(
    name: str, rows: int, q: Floats, qd: Floats, effort: EffortKind = "tau", findings: tuple[str, ...] = ()
) -> LogSignals:
    """What is known of a log."""
    n = q.shape[1]
    some = np.linspace(1.0, 2.0, n)
    return LogSignals(
        name=name,
        rows=rows,
        used=rows - 40,
        pieces=1,
        duration=rows * PERIOD,
        period=PERIOD,
        effort=effort,
        cutoff=12.5,
        window=0.09,
        q_noise=1e-5 * some,
        qd_error=1e-3 * some,
        qdd_error=0.05 * some,
        effort_noise=0.2 * some,
        fastest=np.abs(qd).max(axis=0),
        q_low=q.min(axis=0),
        q_high=q.max(axis=0),
        has_current=False,
        effort_columns=tuple(f"{effort}{k + 1}" for k in range(n)),
        q_columns=tuple(f"q{k + 1}" for k in range(n)),
        findings=findings,
    )


def motion(n: int, rows: int, seed: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Times, and sums of sines with their derivatives."""
    rng = np.random.default_rng(seed)
    t: Floats = PERIOD * np.arange(rows, dtype=np.float64)
    w, phase = rng.uniform(0.6, 5.0, (5, n)), rng.uniform(0.0, 6.0, (5, n))
    size = rng.uniform(0.1, 0.4, (5, n))
    angle = w * t[:, None, None] + phase
    return (
        t,
        np.asarray((size * np.sin(angle)).sum(axis=1)),
        np.asarray((size * w * np.cos(angle)).sum(axis=1)),
        np.asarray((-size * w * w * np.sin(angle)).sum(axis=1)),
    )


@cache
def two_joints(effort: EffortKind = "tau") -> Identification:
    """Two logs of the two-link arm under noise, fitted all but exactly; the arm before was 20 % wrong."""
    arm = two_link()
    before = arm.replace(
        links=tuple(
            Link(name=x.name, mass=1.2 * x.mass, com=0.9 * x.com, inertia=1.3 * x.inertia) for x in arm.links
        )
    ).with_drives(friction={"viscous": 1e-4, "coulomb": 0.01, "static": None, "stribeck_speed": None})
    rng = np.random.default_rng(5)
    blocks = [motion(2, rows, seed) for rows, seed in ((900, 1), (500, 2))]
    t, q, qd, qdd = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    log_of = np.repeat([0.0, 1.0], [900, 500])
    predicted, worse = (inverse(x, q, qd, qdd) for x in (arm, before))
    noise = np.array([0.8, 0.5])
    measured = predicted + noise * rng.standard_normal(predicted.shape)
    base = base_parameters(arm)
    drives = {
        name: x
        for name, x in arm.named_values.items()
        if ".friction." in name or name.endswith("rotor_inertia")
    }
    names = (*base.names, *drives, "joint1.offset")
    values = np.array([*base.values, *drives.values(), 0.3])
    std = 0.02 * np.abs(values) + 1e-4
    std[3], std[-2] = 0.9, np.inf  # poor, and not to be known
    root = rng.standard_normal((len(names), len(names)))
    mixed = np.eye(len(names)) + 0.05 * (root + root.T)
    scale = np.sqrt(np.diag(mixed @ mixed.T))
    covariance = mixed @ mixed.T / np.outer(scale, scale) * np.outer(std, std)
    covariance[~np.isfinite(covariance)] = np.inf
    parameters, deviations = ParameterSet(names, values), ParameterSet(names, std)
    every = np.ones(measured.shape, dtype=bool)
    agreement = agreement_of(every, measured, (predicted, worse, predicted + 0.1))
    logs = tuple(
        UsedLog(signals(name, rows, q, qd, effort, findings), 2.3e-3, 1e-4, agreement)
        for name, rows, findings in (
            ("monday.csv", 940, ("q2: 12 samples repeat the one before.",)),
            ("tuesday.csv", 540, ()),
        )
    )
    known = {
        name: 0.01 * abs(x) for name, x in arm.named_values.items() if x and not name.startswith("link0")
    }
    return Identification(
        arm.replace(name="two-link", deviations=known),
        before,
        parameters,
        deviations,
        covariance,
        (*base.labels, *drives, "torque offset of joint1"),
        0.95,
        ("link1.m + link2.m: no motion of this arm shows it.",),
        "motor",
        t,
        log_of,
        qd,
        measured,
        predicted,
        worse,
        noise,
        logs,
        (Stage("linear", parameters, deviations, agreement.rms, "QR of 2800 rows, weighted by joint."),),
        (
            ResidualTest("joint1", "speed", 0.41, 0.001, ""),
            ResidualTest("joint2", "load", 1e-6, 0.08, "joint2: 8 % of what is left follows the load."),
        ),
        ("Both logs were taken at one temperature.",),
    )
