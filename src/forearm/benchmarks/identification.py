"""From measurements to a model: 100,000 samples of the Panda identified, a 10 s exciting motion of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from forearm.arm.arm import Arm
from forearm.benchmarks.driven_panda import panda_with_friction
from forearm.benchmarks.peers import wanted
from forearm.benchmarks.peers.figaroh import Measured, PinocchioFit
from forearm.benchmarks.timing import BenchmarkRow, beside, fresh_medians, keeping, median_time
from forearm.files.load import load
from forearm.identification.consistent_stage import consistent_fit
from forearm.identification.effort_model import effort_model
from forearm.identification.excitation.excite import excite
from forearm.identification.fitting import FittedStage, fit_stage
from forearm.identification.from_logs import fitting_of, identify
from forearm.identification.questions import FitRequest
from forearm.identification.samples import Samples
from forearm.identification.signals.prepare import prepare_log
from forearm.kernels.kernel import compile as compile_arm
from forearm.kinematics.limits import limits_of
from forearm.spatial import Floats

SAMPLES = 100_000
LINEAR, CONSISTENT = 1.5, 5.0  # s: limits
IDENTIFICATION = "identification, panda, 100,000 samples"
EXCITED = 30.0  # s: limit for an exciting motion, everything compiled first
SECONDS = 10.0  # of the motion
STARTS = 3  # fresh processes, of which the median is reported
EXCITATION = "exciting motion, panda, 10 s"
FIRST_EXCITED = """\
import time
import forearm as fa
start = time.perf_counter()
fa.excite(fa.load("panda"), 10.0)
print(time.perf_counter() - start)
"""


def rows(peers: bool) -> Iterator[BenchmarkRow]:
    """The results of docs/identification.md and docs/excitation.md."""
    yield from identification_rows(peers)
    yield from excitation_rows()


def identification_rows(peers: bool) -> Iterator[BenchmarkRow]:
    """100,000 samples: the linear stage compared with Pinocchio's regressor and one QR of all samples, the
    stage of physically consistent bodies, everything.
    """
    arm, log = measured_panda(SAMPLES)
    theirs = None
    if wanted("Pinocchio", peers):
        theirs = PinocchioFit(arm, Measured(*(log[x] for x in ("q", "qd", "qdd", "tau")))).work()
    ours = keeping("forearm", lambda: _linear(arm, log), 1, lambda fit: _predicted(arm, log, fit))
    # theirs weights joints equally and has no two-sided friction
    yield beside("linear stage", ours, theirs, 3, group=IDENTIFICATION, bar=LINEAR, tolerance=0.05)
    raw = {x: log[x] for x in ("t", "q", "tau")}
    solution = _linear(arm, raw).solution
    for name, work, bar in (
        ("linear stage, qd and qdd from q", lambda: _linear(arm, raw), LINEAR),
        ("physically consistent bodies", lambda: consistent_fit(arm, solution, 0.3, None), CONSISTENT),
        ("everything", lambda: identify(arm, raw, torque_side="motor"), None),
    ):
        yield BenchmarkRow(name, median_time(work, STARTS), bar, group=IDENTIFICATION)


def measured_panda(samples: int) -> tuple[Arm, dict[str, Floats]]:
    """The Panda with friction and rotors, and a log of it: a sum of sines at 1 kHz, with noise."""
    arm = panda_with_friction()
    rng = np.random.default_rng(3)
    t = 1e-3 * np.arange(float(samples))
    low, high = limits_of(arm)
    w = 2.0 * np.pi * 0.05 * np.arange(1.0, 6.0)[:, None]
    size = 0.3 * (high - low) / 5.0 * rng.uniform(0.5, 1.0, (5, arm.n))
    phase = rng.uniform(0.0, 2.0 * np.pi, (5, arm.n))
    q = np.tile(0.5 * (low + high), (samples, 1))
    qd, qdd = np.zeros_like(q), np.zeros_like(q)
    for k in range(5):  # one sine at a time: no array of all of them
        angle = w[k] * t[:, None] + phase[k]
        q += size[k] * np.sin(angle)
        qd += size[k] * w[k] * np.cos(angle)
        qdd -= size[k] * w[k] ** 2 * np.sin(angle)
    tau = compile_arm(arm).inverse_dynamics(q, qd, qdd) + 0.1 * rng.normal(size=q.shape)
    return arm, {"t": t, "q": q + 2e-6 * rng.normal(size=q.shape), "qd": qd, "qdd": qdd, "tau": tau}


def _linear(arm: Arm, log: dict[str, Floats]) -> FittedStage:
    """From the log to base parameters, friction and rotors with their covariance."""
    model = effort_model(arm, "motor", None)
    asked = FitRequest(offsets=False, gains=False, shifts=(True,), loads=(None,))
    fitting = fitting_of(model, [prepare_log(arm, log)], asked, 0.0, "joint", None)
    return fit_stage(fitting, model.values())


def _predicted(arm: Arm, log: dict[str, Floats], fit: FittedStage) -> Floats:
    """Efforts of a fit (N, n)."""
    model = effort_model(arm, "motor", None)
    x = fit.x[: len(model.names)]
    nothing = np.zeros_like(log["q"])
    s = Samples(log["t"], log["q"], log["qd"], log["qdd"], nothing, nothing == 0.0, None, True)
    return model.times(model.columns(s, x)[0], x)


def excitation_rows() -> Iterator[BenchmarkRow]:
    """On one core: the first motion of a fresh process, and later ones by criterion and basis."""
    first, again = fresh_medians(FIRST_EXCITED, STARTS, OPENBLAS_NUM_THREADS="1")
    yield BenchmarkRow("first motion, nothing cached", first, EXCITED, group=EXCITATION)
    yield BenchmarkRow("first motion, cached on disk", again, group=EXCITATION)
    arm = load("panda")
    for name, work in {
        "fourier, d": partial(excite, arm, SECONDS),
        "fourier, condition": partial(excite, arm, SECONDS, criterion="condition"),
        "spline, d": partial(excite, arm, SECONDS, basis="spline"),
    }.items():
        yield BenchmarkRow(name, median_time(work, STARTS), group=EXCITATION)
