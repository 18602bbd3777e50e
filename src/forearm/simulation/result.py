"""The result of a simulation: states, torques and energies at sampled times, events, and the checkpoint to
continue from.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm, check_arm
from forearm.errors import ForearmError, InputError, shorten
from forearm.logs.motion import MotionLog
from forearm.logs.table import ENDINGS, write_table
from forearm.records import choice, number, positional_record, set_field, text
from forearm.simulation.solution import Status
from forearm.tables import Report
from forearm.tables import number as shown
from forearm.trajectories.recorded import cubic
from forearm.values import MAX_TEXT, as_floats, check_ending, check_kind, check_name, check_number, check_text

Array: TypeAlias = NDArray[np.float64]

EVENTS = ("stop", "limit", "stick", "slip", "contact", "release", "condition", "diverged", "jammed")
STATES = ("q", "qd", "qdd", "tau")
LATER = ("qdd", "tau", "voltage", "energy", "lost")


@positional_record
class Event:
    """An event of a simulation."""

    t: float = number("time", "s")
    kind: str = choice(f"one of {', '.join(EVENTS)}", EVENTS)
    joint: str | None = text("name of the joint; if absent, it is not related to a joint", default=None)
    text: str = text("description, a sentence", default="", max_length=MAX_TEXT)


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """A simulated motion: T samples of the n joints of an arm, in SI units.

    Arrays are stored without a copy, and are read-only through it.

    Attributes:
        arm: the arm.
        method: integration method.
        step: fixed step size, s; None: adaptive.
        t: times (T,), non-decreasing; two samples at one time are before and after a jump.
        q, qd, qdd: the motion (T, n).
        tau: motor torques times gear ratio (T, n), N m (N).
        voltage: motor voltages (T, n), applied or required for the torques, V; None: a motor is not
            specified.
        energy: (T,) arrays such as kinetic, potential, supplied, lost, J.
        lost: (T, n) arrays of the cumulative losses in bearing, gear, friction, winding or spring of each
            joint, J.
        events: events in order of time.
        message: why the run ended, in a sentence.
        checkpoint: data to continue from; None: the run cannot be continued.
        status: why the run ended.
        drives: (T, n) arrays of drive states: motor_q and motor_qd, motor angles and speeds over gear ratios,
            and spring, the spring torque, if joints are elastic; bristle, motor_bristle and current if these
            are states. Empty for rigid drives.
    """

    arm: Arm
    method: str
    step: float | None
    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    voltage: Array | None
    energy: dict[str, Array]
    lost: dict[str, Array]
    events: tuple[Event, ...]
    message: str
    checkpoint: dict[str, Any] | None = None

    status: Status = Status.END
    drives: dict[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._check_motion()
        for name in LATER:
            set_field(self, name, self._checked(name, self.__dict__[name]))

    @classmethod
    def of_motion(cls, later: Callable[[str], Any], **motion: Any) -> Self:
        """A simulation whose torques, energies and similar fields (LATER) are computed on first access.

        Args:
            later: function from the name of such a field to its value.
            **motion: all other fields.
        """
        self = object.__new__(cls)
        self.__dict__.update(motion, _later=later)
        self._check_motion()
        return self

    def __getattr__(self, name: str) -> Any:
        """Compute and cache a lazy field."""
        known, later = self.__dict__, self.__dict__.get("_later")
        if name in known:  # computed by another thread
            return known[name]
        if name not in LATER or later is None:
            raise AttributeError(f"a simulation has no attribute {name!r}")
        known[name] = value = self._checked(name, later(name))
        if known.keys() >= {*LATER}:
            known.pop("_later", None)  # releases what it holds of the run
        return value

    def __getstate__(self) -> dict[str, Any]:
        """All fields, computed: the content of a pickle or a copy."""
        later = {name: getattr(self, name) for name in LATER}
        return {name: value for name, value in self.__dict__.items() if name != "_later"} | later

    @property
    def ok(self) -> bool:
        """Whether the run reached its end or an event that was set to end it."""
        return self.status in (Status.END, Status.EVENT)

    def checked(self) -> Self:
        """Return this simulation, or raise an error that states when, where and why it failed, and the
        remedy.
        """
        if not self.ok:
            raise ForearmError(
                f"simulation of {self.arm.name!r} by {self.method}: {self.message}; {self.status.value}."
            )
        return self

    def _check_motion(self) -> None:
        check_arm(self.arm, "simulation, arm")
        check_name(self.method, "simulation's method")
        if self.step is not None:
            set_field(self, "step", check_number(self.step, "simulation, step", above=0.0))
        check_text(self.message, "simulation, message")
        check_kind(self.checkpoint, (dict, type(None)), "simulation, checkpoint")
        check_kind(self.status, Status, "simulation, status")
        samples = np.size(self.t)
        t, shape = taken(self.t, (samples,), "t"), (samples, self.arm.n)
        if not samples or not np.isfinite(t).all() or (np.diff(t) < 0.0).any():
            raise InputError("expected at least one time, all finite and non-decreasing.", "simulation", "t")
        drives = _taken_by_name(self.__dict__.get("drives", {}), shape, "drives")
        motion = {name: taken(getattr(self, name), shape, name) for name in ("q", "qd")}
        self.__dict__.update(motion, t=t, drives=drives, events=tuple(self.events))
        for event in self.events:
            check_kind(event, Event, "simulation, events")
            if event.joint is not None:
                self.arm.joint(event.joint)

    def _checked(self, name: str, value: Any) -> Any:
        """Validate the value of a LATER field."""
        samples, n = len(self.t), self.arm.n
        if name in ("energy", "lost"):
            return _taken_by_name(value, (samples,) if name == "energy" else (samples, n), name)
        return None if name == "voltage" and value is None else taken(value, (samples, n), name)

    def at(self, t: ArrayLike) -> tuple[Array, Array]:
        """Interpolate q and qd at a time, (n,) each, or at times (m,), (m, n) each; exact at samples.

        q is the cubic Hermite interpolant of the neighbouring samples' q and qd, and qd its derivative. For a
        smooth motion the error of q is of fourth order in the sample spacing, that of qd of third order. At a
        jump the value after it is returned.
        """
        times = as_floats(t, "at")
        at = np.atleast_1d(times)
        outside = ~((at >= self.t[0]) & (at <= self.t[-1]))
        if times.ndim > 1 or outside.any():
            raise InputError(
                f"expected a time or times (m,) from {float(self.t[0])!r} to {float(self.t[-1])!r} s, got "
                f"{shorten(t)}. Simulate for longer, or stay within it.",
                "at",
            )
        k = np.searchsorted(self.t, at, side="right") - 1
        exact = self.t[k] == at
        after = np.minimum(k + 1, len(self.t) - 1)
        h = np.where(exact, 1.0, self.t[after] - self.t[k])[:, None]
        s = np.where(exact, 0.0, at - self.t[k])[:, None] / h
        q, qd = cubic(self.q[k], self.qd[k], self.q[after], self.qd[after], h, s)
        q[exact], qd[exact] = self.q[k[exact]], self.qd[k[exact]]
        return (q[0], qd[0]) if times.ndim == 0 else (q, qd)

    @property
    def log(self) -> MotionLog:
        """The motion as a log, the table shared by planning, control and identification."""
        joints, name = tuple(joint.name for joint in self.arm.joints), f"simulation of {self.arm.name}"
        blocks = {key: getattr(self, key) for key in (*STATES, "voltage")}
        return MotionLog(joints, self.t, **blocks, name=name)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it atomically: .npz holds everything and can be loaded, .csv and .parquet the table, .json
        the motion.
        """
        kind = check_ending(path, (".npz", *ENDINGS, ".json"), "a simulation (to_html writes pages)")
        if kind == ".npz":
            from forearm.simulation.npz import write_simulation

            write_simulation(self, path)
        elif kind == ".json":
            self.log.save(path)
        else:
            write_table(path, self.columns())

    def columns(self) -> dict[str, Array]:
        """Columns of the CSV and Parquet tables: t, q1.., qd1.., qdd1.., tau1.., voltage1.., motor_q1..,
        energy_kinetic.., lost_gear1.. .
        """
        blocks = {name: getattr(self, name) for name in STATES}
        blocks |= {"voltage": self.voltage} if self.voltage is not None else {}
        table = {"t": self.t} | numbered(blocks | self.drives)
        table |= {f"energy_{name}": column for name, column in self.energy.items()}
        return table | numbered({f"lost_{name}": block for name, block in self.lost.items()})

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Plot positions, velocities, torques, voltages, energies and events with matplotlib; save the figure
        if a path is given.
        """
        from forearm.plots.motion import motion_picture, save_figure

        figure = motion_picture(self)
        if path is not None:
            save_figure(figure, path)
        return figure

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write an offline page of the studio that plays the simulation: the moving arm, the curves of its
        joints, and all other functions of the studio.
        """
        from forearm.viewer.door import write_recording

        write_recording(self, path)

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} to {self.t[-1]:g} s in {len(self.t)} samples"
        return (
            f"<Simulation of {self.arm.name!r} by {self.method}: {span}, {len(self.events)} "
            f"events; {self.message}>"
        )

    def _repr_html_(self) -> str:
        """Summary of how the run ended; computes no lazy fields."""
        said = [repr(self)[1:-1], f"status {self.status.name}: {self.status.value}"]
        rows = [
            [j.name, shown(float(q)), shown(float(qd)), "rad" if j.kind == "revolute" else "m"]
            for j, q, qd in zip(self.arm.joints, self.q[-1], self.qd[-1], strict=True)
        ]
        events = [[shown(e.t), e.kind, e.joint or "-", e.text] for e in self.events]
        parts = [Report(["t s", "event", "joint", ""], events, "Events")] if events else []
        header, title = ["joint", "q", "qd", "unit of q"], f"State at {self.t[-1]:g} s"
        return Report(header, rows, title, said, parts=parts).html()


def numbered(blocks: Mapping[str, Array]) -> dict[str, Array]:
    """The columns of blocks (T, n), numbered by joint."""
    return {f"{name}{i + 1}": block[:, i] for name, block in blocks.items() for i in range(block.shape[1])}


def taken(value: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """Read-only float64 view of this shape; other numeric input is converted."""
    is_plain = isinstance(value, np.ndarray) and value.dtype == np.float64
    view = value.view() if is_plain else as_floats(value, f"simulation, {what}")  # type: ignore[union-attr]
    if view.shape != shape:
        raise InputError(f"expected shape {shape}, got {view.shape}.", "simulation", what)
    view.flags.writeable = False
    return view


def _taken_by_name(values: Mapping[str, ArrayLike], shape: tuple[int, ...], what: str) -> dict[str, Array]:
    check_kind(values, Mapping, f"simulation, {what}")
    for name in values:
        check_name(name, f"simulation's {what}")
    return {name: taken(value, shape, f"{what} {name!r}") for name, value in values.items()}
