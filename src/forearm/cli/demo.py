"""`forearm demo`: the story on an arm that many know, and one page that shows it all."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import textwrap
import time
import warnings
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.text import headline
from forearm.benchmarks.machine import machine
from forearm.benchmarks.timing import BenchmarkRow
from forearm.checking import balance
from forearm.checking.links import inertia_without_mass, triangle_violations
from forearm.cli.command import Command, add_json, show_json, width
from forearm.cli.demo_report.counted import CountTable, count_tables
from forearm.cli.demo_report.motion import Followed, Torques, follow, planned, torques
from forearm.cli.demo_report.page import DemoReport, write_report
from forearm.cli.demo_report.speed import micro, speed_rows, times
from forearm.cli.outputs import tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.skeleton import draw
from forearm.cli.terminal import is_unicode
from forearm.codegen import Source, generate
from forearm.dynamics import formulations, inverse
from forearm.errors import InputError
from forearm.files.load import load
from forearm.kinematics import forward as hand_pose
from forearm.tables import number, text_table
from forearm.trajectories import Plan

NAME = "puma560"
PAGE = "report.html"


@dataclass
class Story:
    """What the demo has told so far: files written, and figures for --json."""

    folder: Path
    is_quiet: bool
    bar: ProgressBar
    files: list[Path] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def say(self, title: str, text: str) -> None:
        """One paragraph, at once."""
        self.bar.say("")
        if not self.is_quiet:
            print(f"\n{title}\n" + textwrap.indent(text, "   "), flush=True)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o",
        "--output",
        default="demo-output",
        metavar="DIR",
        help="folder for the files (default: demo-output)",
    )
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    start = time.perf_counter()
    with ProgressBar() as bar:
        story = Story(_made(Path(given.output)), given.json, bar)
        arm, findings = _described(story)
        _written(story, arm)
        bar.say("planning a motion")
        made = _planned(story, arm)
        bar.say("computing torques by every formulation")
        needed = _torques(story, made)
        bar.say("counting operations")
        counts = _counted(story, arm)
        bar.say("generating C")
        source = _code(story, arm)
        bar.say("simulating")
        known, naive = _simulated(story, made)
        bar.say("drawing")
        _drawn(story, made)
        bar.say_once("measuring speed")
        speed = _timed(story, arm)
        bar.say("writing the page")
        page = story.folder / PAGE
        write_report(DemoReport(arm, findings, needed, known, naive, counts, source, speed, machine()), page)
    story.files.append(page)
    seconds = time.perf_counter() - start
    if given.json:
        files = {"report": str(page), "files": [str(f) for f in story.files]}
        show_json({"arm": arm.name} | files | story.figures | {"seconds": seconds})
    else:
        print()
        tell_written(story.files)
        print(
            f"\nAll of it as one page, told in {seconds:.1f} s; open it in a browser: "
            f"{page.resolve().as_uri()}"
        )
    return 0


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"--output: {folder} cannot be made: {reason}. Name another folder.") from error
    return folder


def _described(story: Story) -> tuple[Arm, tuple[str, ...]]:
    arm = load(NAME)
    findings = tuple(finding.text for finding in (*triangle_violations(arm), *inertia_without_mass(arm)))
    story.say("1. An arm, described in a file", headline(arm))
    story.say(
        "   and at a posture", draw(arm, np.radians([0, 45, -90, 0, 0, 0]), width(), is_unicode(sys.stdout))
    )
    cost = balance(arm)
    worst = [
        f"{j.name} {number(cost.worst[i], 4)} N m" for i, j in enumerate(arm.joints) if not cost.balanced[i]
    ]
    lines = [*findings, f"gravity costs at worst {', '.join(worst)}"]
    story.say("2. Checked", "\n".join(textwrap.fill(line, max(width() - 3, 40)) for line in lines))
    story.figures |= {"gravity": cost.worst}
    return arm, findings


def _written(story: Story, arm: Arm) -> None:
    toml, urdf = story.folder / f"{NAME}.toml", story.folder / f"{NAME}-rigid.urdf"
    arm.save(toml)
    arm.rigid().to_urdf(urdf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again, other = load(toml), load(urdf)
    q = np.linspace(-0.7, 0.8, arm.n)
    apart = float(np.abs(hand_pose(other, q) - hand_pose(arm, q)).max())
    lines = f"{toml}: equal to the last bit: {again == arm}\n{urdf}: hand poses {apart:.1e} apart"
    story.say("   Written and read back", lines)
    story.files += [toml, urdf]
    story.figures |= {"equal": again == arm, "hand_poses_apart": apart}


def _planned(story: Story, arm: Arm) -> Plan:
    made = planned(arm)
    story.files.append(story.folder / "motion.csv")
    made.save(story.files[-1])
    story.say(
        "3. A motion, planned",
        f"{len(made.motion.times)} postures in {made.duration:.3g} s, into {story.files[-1].name}",
    )
    story.figures |= {"duration": made.duration}
    return made


def _torques(story: Story, made: Plan) -> Torques:
    needed = torques(made)
    middle = len(made.t) // 3
    state = (made.q[middle], made.qd[middle], made.qdd[middle])
    every = np.array([inverse(made.arm, *state, name) for name in formulations()["inverse"]])
    spread = float(np.ptp(every, axis=0).max() / np.abs(every).max())
    rows = [
        [j.name, *(number(x, 3) for x in peaks)]
        for j, peaks in zip(made.arm.joints, needed.peaks, strict=True)
    ]
    table = text_table(["joint", "rigid", "with rotors", "with friction"], rows)
    agree = f"{len(every)} formulations agree to {spread:.1e} of the largest torque"
    story.say("4. Its torques, the largest in N m, without and with friction", f"{table}\n{agree}")
    story.figures |= {"tau": every[0], "formulations_apart": spread, "peaks": needed.peaks}
    return needed


def _counted(story: Story, arm: Arm) -> tuple[CountTable, ...]:
    tables = count_tables(arm)
    rows = [
        [table.title if k == 0 else "", row.method, f"{row.pair[0]} + {row.pair[1]}"]
        for table in tables
        for k, row in enumerate(table.rows)
    ]
    story.say(
        "5. Multiplications + additions, beside the literature",
        text_table(["of", "method", "mul + add"], rows),
    )
    story.figures |= {"counts": [dataclasses.asdict(table) for table in tables]}
    return tables


def _code(story: Story, arm: Arm) -> Source:
    source = generate(arm, "inverse_dynamics", "c")
    story.files += source.save(story.folder)
    name = story.files[-2].name
    story.say(
        "6. C for its controller", f"{name}: {source.counts} per evaluation, friction and rotors included"
    )
    return source


def _simulated(story: Story, made: Plan) -> tuple[Followed, Followed]:
    known, naive = follow(made, made.arm), follow(made, made.arm.rigid())
    stood = sum(event.kind == "stick" for event in known.run.events)
    story.say(
        "7. Simulated along the plan, friction and sticking included",
        f"{len(known.run.t) - 1} steps of 1 ms; joints came to stand {stood} times. Hand "
        "off the plan by at most\n"
        f"{1e3 * known.off:.2g} mm with a controller that knows friction and rotors, "
        f"{1e3 * naive.off:.2g} mm with one that does not",
    )
    story.figures |= {"hand_off": known.off, "hand_off_rigid_model": naive.off}
    return known, naive


def _drawn(story: Story, made: Plan) -> None:
    if find_spec("matplotlib") is None:
        story.say(
            "8. Not drawn",
            "a picture needs matplotlib: pip install 'forearm[plot]'; the page below needs none",
        )
        return
    story.files.append(story.folder / "motion.png")
    made.plot(story.files[-1])
    story.say("8. Drawn", f"{story.files[-1].name}: positions to voltages, and the way of the hand")


def _timed(story: Story, arm: Arm) -> tuple[BenchmarkRow, ...]:
    rows = speed_rows(arm)
    cells = [
        [row.name, row.peer or "-", micro(row.peer_seconds), micro(row.seconds), times(row.ratio)]
        for row in rows
    ]
    header = ["inverse dynamics", "NumPy", "NumPy, us a state", "compiled, us", "ratio"]
    story.say("9. Speed beside NumPy, measured now", text_table(header, cells))
    story.figures |= {"speed": [row.document() for row in rows]}
    return rows


COMMAND = Command("forearm demo\nforearm demo -o story --json", _add_arguments, _run)
