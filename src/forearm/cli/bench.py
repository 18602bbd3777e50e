"""`forearm bench`: measure speed on this machine, compared with peers on request."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from forearm.cli.command import Command, complain, names_of
from forearm.cli.options import JSON, Option, finish, plot
from forearm.cli.progress import ProgressBar
from forearm.errors import InputError
from forearm.kernels.cpu import check_device
from forearm.reading.fields import ChoiceField, FlagField
from forearm.tables import Report, duration, number

if TYPE_CHECKING:
    from forearm.benchmarks.on_device import DeviceRow
    from forearm.benchmarks.timing import BenchmarkRow

AnyRow = TypeVar("AnyRow", "BenchmarkRow", "DeviceRow")
ROOMS = (
    "loading",
    "dynamics",
    "code",
    "kernels",
    "loops",
    "simulation",
    "campaigns",
    "drives",
    "inverse_kinematics",
    "planning",
    "time_optimal",
    "identification",
    "schedules",
    "control",
    "fixed_point",
    "studio",
)
HEADER = ("what", "ours", "peer", "peer time", "ratio", "target", "difference", "peak")


def _run(given: argparse.Namespace) -> int:
    from importlib import import_module

    from forearm.benchmarks.machine import machine
    from forearm.benchmarks.peers import problems

    if check_device(given.device) != "cpu":
        return _on_device(given)
    missing = problems() if given.peers else []
    rows: list[BenchmarkRow] = []
    with ProgressBar() as bar:
        for name in ROOMS if given.only is None else (given.only,):
            bar.say_once(f"measuring {name}")
            measured = import_module(f"forearm.benchmarks.{name}").rows(given.peers)
            rows += [replace(row, group=row.group or name) for row in _announced(measured, name, bar)]
        bar.say_once("measuring the peak of one core")
        peaks = _peaks(rows)
    document: dict[str, Any] = {"machine": machine(), "peak_flops": peaks, "missing": missing}
    document["rows"] = [row.document() for row in rows]
    parts = [Report(*table(found), before=[group]) for group, found in grouped(rows).items()]
    parts += [Report(before=[notes(peaks)])] if peaks else []
    parts += [Report(before=missing)] if missing else []
    finish(given, Report(parts=parts), document, {"plot": lambda path: _save(rows, path)})
    return _verdict(rows)


def _save(rows: Sequence[BenchmarkRow], path: str) -> None:
    from forearm.plots.speeds import save_figure, speed_picture

    save_figure(speed_picture(bars(rows)), path)


def _on_device(given: argparse.Namespace) -> int:
    """The benchmarks of a GPU."""
    from forearm.benchmarks.machine import device_machine, machine
    from forearm.benchmarks.on_device import rows as measured

    for option in ("only", "plot", "peers"):
        if getattr(given, option):
            raise InputError(f"--{option} is for the CPU; leave it or --device out.", "bench")
    index = int(given.device.partition(":")[2] or 0)
    about = device_machine(index)
    with ProgressBar() as bar:
        rows = list(_announced(measured(index), f"on {about['name']}", bar))
    document = {"machine": machine(), "device": about, "rows": [row.document() for row in rows]}
    said = f"{about['name']}, driver for CUDA {about['cuda']}"
    cells = [device_cells(row) for row in rows]
    finish(given, Report(DEVICE_HEADER, cells, before=[said], after=[DEVICE_NOTE]), document)
    return 0 if all(row.same_bits is not False for row in rows) else 1


DEVICE_HEADER = (
    "what",
    "dtype",
    "states",
    "time",
    "per second",
    "of copy",
    "of peak",
    "bits",
    "registers",
    "target",
)
DEVICE_NOTE = (
    "Medians, timed with CUDA events. of copy: time of a device copy that reads and writes as many bytes, "
    "relative to ours; of peak: counted operations relative to the rate of fused multiply-adds measured in "
    "this run; bits: whether results equal the CPU's bit for bit; registers per thread, and bytes spilled."
)


def device_cells(row: DeviceRow) -> list[str]:
    """A row of a GPU under DEVICE_HEADER."""

    def share(value: float | None) -> str:
        return "-" if value is None else f"{100.0 * value:.0f} %"

    bar = "-"
    if row.bar is not None:
        if row.copy_share is not None:
            bar = f">= {share(row.bar)}"
        else:
            bar = f"< {duration(row.bar)}" if row.rate is None else f">= {row.bar / 1e9:.2f} G"
        bar += " met" if row.met else " MISSED"
    spilled = f" + {row.spilled} B" if row.spilled else ""
    return [
        row.name,
        row.dtype,
        f"{row.states:,}",
        duration(row.seconds),
        "-" if row.rate is None else f"{row.rate / 1e9:.2f} G",
        share(row.copy_share),
        share(row.peak_share),
        "-" if row.same_bits is None else "same" if row.same_bits else "DIFFERENT",
        "-" if row.registers is None else f"{row.registers}{spilled}",
        bar,
    ]


def grouped(rows: Iterable[BenchmarkRow]) -> dict[str, list[BenchmarkRow]]:
    """Rows by group, groups in order of appearance."""
    groups: dict[str, list[BenchmarkRow]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    return groups


def table(rows: Sequence[BenchmarkRow]) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a group, without empty columns."""
    cells = [row_cells(row) for row in rows]
    kept = [k for k in range(len(HEADER)) if any(row[k] != "-" for row in cells)]
    return [HEADER[k] for k in kept], [[row[k] for k in kept] for row in cells]


def notes(peaks: dict[str, float]) -> str:
    """The meaning of the columns."""
    measured = ", ".join(f"{value / 1e9:.0f} GFLOP/s in {dtype}" for dtype, value in peaks.items())
    return (
        "One thread; medians of alternating runs. A batch has 100,000 states; its time is per state. "
        "ratio: peer time over ours; target: minimum ratio, or maximum time of ours; difference: largest "
        "difference of the two results relative to the largest value; peak: multiplications, additions and "
        "divisions of the kernel per second (sines and cosines not counted), relative to the rate of fused "
        f"multiply-adds on one core, measured in this run: {measured}."
    )


def bars(rows: Iterable[BenchmarkRow]) -> dict[str, list[tuple[str, str | None, float]]]:
    """By group and title, (what, who, s): ours once, the median of its rows' times, then the peers'."""
    drawn: dict[str, list[tuple[str, str | None, float]]] = {}
    for group, found in grouped(rows).items():
        for title in dict.fromkeys(row.name for row in found):
            same = [row for row in found if row.name == title]
            times = sorted(row.seconds for row in same)
            drawn.setdefault(group, []).append((title, None, times[len(times) // 2]))
            drawn[group] += [
                (title, row.peer, row.peer_seconds) for row in same if row.peer and row.peer_seconds
            ]
    return drawn


def _announced(rows: Iterable[AnyRow], room: str, bar: ProgressBar) -> Iterable[AnyRow]:
    """The same rows, with their number and the last one shown at a terminal."""
    for count, row in enumerate(rows, 1):
        bar.say_once(f"measuring {room}: {count} done, the last {row.name}")
        yield row


def _peaks(rows: Iterable[BenchmarkRow]) -> dict[str, float]:
    from forearm.benchmarks.roofline import peak

    shared = any(row.peak_share is not None for row in rows)
    return {dtype: peak(dtype) for dtype in ("float64", "float32")} if shared else {}


def row_cells(row: BenchmarkRow) -> list[str]:
    """A row under HEADER."""
    said = [] if row.bar is None else [f"< {duration(row.bar)}"]
    said += [] if row.at_least is None else [f">= {number(row.at_least, 3)}"]
    if said and row.met is not None:
        said.append("met" if row.met else "MISSED")
    apart = "-" if row.agreement is None else f"{row.agreement:.0e}" + (" DISAGREES" if row.disagrees else "")
    peak = "-" if row.peak_share is None else f"{100.0 * row.peak_share:.0f} %"
    return [
        row.name,
        duration(row.seconds),
        row.peer or "-",
        duration(row.peer_seconds),
        number(row.ratio, 3),
        " ".join(said) or "-",
        apart,
        peak,
    ]


def _verdict(rows: Iterable[BenchmarkRow]) -> int:
    """1 where a peer computes something else, since then nothing was compared; 0 otherwise."""
    apart = [row for row in rows if row.disagrees]
    for row in apart:
        what = (
            f"{row.group}, {row.name}: forearm and {row.peer} DISAGREE by "
            f"{row.agreement:.1e} of the largest value"
        )
        complain(f"{what}; do not compare their times.")
    return 1 if apart else 0


COMMAND = Command(
    "forearm bench --only kernels\nforearm bench --peers --plot speed.png\nforearm bench --device cuda",
    (
        Option("--peers", "also time other packages, where installed", reads=FlagField()),
        Option(
            "--only", f"measure only this part, {names_of(ROOMS)} (default: all)", reads=ChoiceField(ROOMS)
        ),
        Option(
            "--device",
            "cpu, or cuda, cuda:1: kernels on a GPU compared with copying the same bytes (default: cpu)",
            "NAME",
            default="cpu",
        ),
        plot("the times"),
        JSON,
    ),
    _run,
)
