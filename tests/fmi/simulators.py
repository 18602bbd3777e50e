"""FMUs of test arms, and FMPy, a simulator by others, that runs them."""

from __future__ import annotations

import platform
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
import pytest
from arms import posture, random_arm, speed
from fmpy.simulation import instantiate_fmu
from numpy.typing import NDArray

import forearm as fa
from forearm.fmi.export import Fmu
from forearm.kinematics.limits import limits_of

Floats = NDArray[np.float64]
HERE = "x86_64-linux"
runs_here = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() != "x86_64",
    reason="the library in the FMU is for Linux on x86-64",
)
KINDS = ("CoSimulation", "ModelExchange")
RUBBING = fa.Friction(coulomb=(6.0, -5.0), static=(8.0, -7.5), stribeck_speed=0.05, viscous=1.3)


@cache
def rigid() -> fa.Arm:
    """Joints that turn and slide, without drives."""
    return random_arm(5, 3, drives=False)


@cache
def rubbing() -> fa.Arm:
    """Dry friction in every joint, which sticks and breaks loose."""
    arm = random_arm(2, 3, drives=False)
    return arm.with_drives(friction=RUBBING)


@cache
def driven() -> fa.Arm:
    """The same behind motors."""
    return rubbing().with_drives(
        motor=fa.Motor(gear_ratio=20.0, rotor_inertia=1e-3, torque_constant=0.2, resistance=1.5)
    )


def start_of(arm: fa.Arm) -> tuple[Floats, Floats]:
    """A posture within limits, and velocities."""
    return np.clip(posture(arm, 1), *limits_of(arm)), 0.3 * speed(arm, 1)


_folder = tempfile.TemporaryDirectory(prefix="forearm")


@cache
def _made(arm: fa.Arm, options: tuple[tuple[str, Any], ...]) -> tuple[Fmu, Path, Any]:
    number = len(list(Path(_folder.name).iterdir()))
    place = Path(_folder.name) / str(number)
    place.mkdir()
    q0, qd0 = start_of(arm)
    given: dict[str, Any] = {"q0": q0, "qd0": qd0, "platforms": (HERE,)} | dict(options)
    made = fa.fmu(arm, place / "arm.fmu", **given)
    fmpy.extract(str(made.path), str(place / "content"))
    return made, place / "content", fmpy.read_model_description(str(made.path))


def made(arm: fa.Arm, **options: Any) -> tuple[Fmu, Path, Any]:
    """An FMU with a library for this machine: what was written, its files, and FMPy's view of it."""
    return _made(arm, tuple(options.items()))


class Instance:
    """An instance of FMPy's with variables by name."""

    def __init__(self, about: Any, fmu: Any) -> None:
        self.fmu = fmu
        self.places = {v.name: v.valueReference for v in about.modelVariables}

    def get(self, *names: str) -> Floats:
        """Values of variables."""
        get = getattr(self.fmu, "getFloat64", None) or self.fmu.getReal
        return np.array(get([self.places[name] for name in names]))

    def set(self, values: Mapping[str, float]) -> None:
        """Variables with new values."""
        put = getattr(self.fmu, "setFloat64", None) or self.fmu.setReal
        put([self.places[name] for name in values], [float(x) for x in values.values()])

    def begin(self, values: Mapping[str, float] | None = None) -> None:
        """Go through initialization with these values."""
        if values:
            self.set(values)
        if hasattr(self.fmu, "setupExperiment"):
            self.fmu.setupExperiment()
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()


@contextmanager
def instance(arm: fa.Arm, kind: str = KINDS[0], **options: Any) -> Iterator[Instance]:
    """An instance, freed at the end."""
    _, folder, about = made(arm, **options)
    fmu = instantiate_fmu(str(folder), about, fmi_type=kind)
    yield Instance(about, fmu)
    fmu.freeInstance()


def joint_names(written: Fmu, what: str) -> list[str]:
    """A variable of each joint."""
    return [name for name in (*written.outputs, *written.inputs) if name.endswith(f".{what}")]


def co_simulated(arm: fa.Arm, u: Floats, part: float, **options: Any) -> tuple[Floats, Floats]:
    """q and qd at the ends of intervals of `part` s in each of which inputs (K, n) are held."""
    written = made(arm, **options)[0]
    names = [*joint_names(written, "q"), *joint_names(written, "qd")]
    rows = []
    with instance(arm, **options) as one:
        one.begin()
        for k, row in enumerate(u):
            one.set(dict(zip(written.inputs, row, strict=True)))
            one.fmu.doStep(k * part, part)
            rows.append(one.get(*names))
    found = np.array(rows)
    return found[:, : arm.n], found[:, arm.n :]


def exchanged(
    arm: fa.Arm,
    u: Floats,
    part: float,
    tolerance: float,
    solver: str = "CVode",
    interval: float | None = None,
    **options: Any,
) -> Floats:
    """q at the end, by a solver of FMPy's, under the same inputs; Euler's steps are the intervals."""
    written = made(arm, **options)[0]
    times = [t for k in range(len(u)) for t in (k * part, (k + 1) * part)]
    rows = [(t, *u[k // 2]) for k, t in enumerate(times)]
    signals = np.array(rows, dtype=[("time", float), *((name, float) for name in written.inputs)])
    names = joint_names(written, "q")
    run = fmpy.simulate_fmu(
        str(written.path),
        fmi_type="ModelExchange",
        stop_time=float(len(u) * part),
        output_interval=part if interval is None else interval,
        solver=solver,
        step_size=interval,
        relative_tolerance=tolerance,
        input=signals,
        output=names,
    )
    return np.array([run[name][-1] for name in names])
