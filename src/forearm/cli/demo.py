"""`forearm demo`: the story on a well-known arm, and one page that shows all of it."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import textwrap
import time
import warnings
from dataclasses import dataclass, field, replace
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
from forearm.cli.command import Command, show_json, width
from forearm.cli.demo_report.chapters import Chapters, Learned, Studied, fastest, learn, on_board, studied
from forearm.cli.demo_report.counted import CountTable, count_tables
from forearm.cli.demo_report.motion import Followed, Torques, follow, planned, torques
from forearm.cli.demo_report.page import DemoReport, write_report
from forearm.cli.demo_report.speed import speed_report, speed_rows
from forearm.cli.options import JSON, Option
from forearm.cli.outputs import tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.skeleton import draw
from forearm.cli.terminal import is_unicode
from forearm.codegen import Source, generate
from forearm.dynamics import formulations, inverse
from forearm.errors import InputError
from forearm.files.load import load
from forearm.kinematics import forward as hand_pose
from forearm.tables import Report, number
from forearm.trajectories import Plan
from forearm.viewer.door import studio

NAME = "puma560"
PAGE = "report.html"


@dataclass
class Story:
    """The demo so far: files written, and values for --json."""

    folder: Path
    is_quiet: bool
    bar: ProgressBar
    files: list[Path] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def say(self, title: str, said: Report | str) -> None:
        """One paragraph, at once."""
        self.bar.say("")
        text = said if isinstance(said, str) else said.text(max(width() - 3, 40))
        if not self.is_quiet:
            print(f"\n{title}\n" + textwrap.indent(text, "   "), flush=True)


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
        bar.say("generating code")
        source, board = _code(story, arm)
        bar.say("simulating")
        known, naive = _simulated(story, made)
        bar.say("searching for the fastest motion")
        quickest = _fastest(story, made)
        bar.say("identifying a model from a log")
        learned = _learned(story, known, arm)
        bar.say("simulating 2,000 arms")
        study = _studied(story, made)
        bar.say("drawing")
        _drawn(story, made)
        bar.say_once("measuring speed")
        speed = _timed(story, arm)
        bar.say("writing pages")
        _studio(story, arm)
        page = story.folder / PAGE
        chapters = Chapters(quickest, board, learned, study)
        report = DemoReport(arm, findings, needed, known, naive, counts, source, chapters, speed, machine())
        write_report(report, page)
    story.files.append(page)
    seconds = time.perf_counter() - start
    if given.json:
        files = {"report": str(page), "files": [str(f) for f in story.files]}
        show_json({"arm": arm.name} | files | story.figures | {"seconds": seconds})
    else:
        print()
        tell_written(story.files)
        print(
            f"\nThe whole story on one page, made in {seconds:.1f} s; open it in a browser: "
            f"{page.resolve().as_uri()}"
        )
    return 0


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{folder} cannot be made: {reason}. Name another folder.", "--output") from error
    return folder


def _described(story: Story) -> tuple[Arm, tuple[str, ...]]:
    arm = load(NAME)
    findings = tuple(finding.text for finding in (*triangle_violations(arm), *inertia_without_mass(arm)))
    story.say("1. An arm, described in a file", headline(arm))
    story.say(
        "   and in one configuration",
        draw(arm, np.radians([0, 45, -90, 0, 0, 0]), width(), is_unicode(sys.stdout)),
    )
    cost = balance(arm)
    worst = [
        f"{j.name} {number(cost.worst[i], 4)} N m" for i, j in enumerate(arm.joints) if not cost.balanced[i]
    ]
    lines = [*findings, f"largest gravity torques: {', '.join(worst)}"]
    story.say("2. Checked", Report(before=lines))
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
        f"{len(made.motion.times)} configurations in {made.duration:.3g} s, into {story.files[-1].name}",
    )
    story.figures |= {"duration": made.duration}
    return made


def _torques(story: Story, made: Plan) -> Torques:
    needed = torques(made)
    middle = len(made.t) // 3
    state = (made.q[middle], made.qd[middle], made.qdd[middle])
    every = np.array([inverse(made.arm, *state, name) for name in formulations()["inverse"]])
    spread = float(np.ptp(every, axis=0).max() / np.abs(every).max())
    agree = f"{len(every)} formulations agree to {spread:.1e} of the largest torque"
    report = replace(needed.report(made.arm), after=[agree])
    story.say("4. Its largest torques, without and with friction", report)
    story.figures |= {"tau": every[0], "formulations_apart": spread, "peaks": needed.peaks}
    return needed


def _counted(story: Story, arm: Arm) -> tuple[CountTable, ...]:
    tables = count_tables(arm)
    report = Report(parts=[table.report for table in tables])
    story.say("5. Multiplications + additions, compared with the literature", report)
    story.figures |= {"counts": [dataclasses.asdict(table) for table in tables]}
    return tables


def _code(story: Story, arm: Arm) -> tuple[Source, Source]:
    source, board = generate(arm, "inverse_dynamics", "c"), on_board(arm)
    story.files += [*source.save(story.folder), *board.save(story.folder / "cortex-m4")]
    size = board.figures
    story.say(
        "6. Code for its controller",
        f"C: {source.counts} per evaluation, friction and rotor inertia included\n"
        f"Cortex-M4 object file, made without a compiler: {size['code_bytes']:,} bytes of code, "
        f"{size['stack_bytes']} of stack",
    )
    story.figures |= {"board": dict(size)}
    return source, board


def _simulated(story: Story, made: Plan) -> tuple[Followed, Followed]:
    known, naive = follow(made, made.arm), follow(made, made.arm.rigid())
    stuck = sum(event.kind == "stick" for event in known.run.events)
    story.say(
        "7. Simulation of the plan, friction and sticking included",
        f"{len(known.run.t) - 1} steps of 1 ms; joints stick {stuck} times. Largest distance of the hand "
        f"from the plan:\n{1e3 * known.off:.2g} mm if the controller models friction and rotors, "
        f"{1e3 * naive.off:.2g} mm if it does not",
    )
    story.figures |= {"hand_off": known.off, "hand_off_rigid_model": naive.off}
    return known, naive


def _fastest(story: Story, made: Plan) -> Plan:
    quickest = fastest(made.arm)
    lines = [f"{quickest.duration:.3g} s instead of {made.duration:.3g} s through the same configurations"]
    lines += [saving.text for saving in quickest.timing.savings[:2]] if quickest.timing else []
    story.say("8. The fastest motion within torque and voltage limits", "\n".join(lines))
    story.figures |= {"fastest": quickest.duration}
    return quickest


def _learned(story: Story, known: Followed, arm: Arm) -> Learned:
    learned = learn(known, arm)
    report = replace(learned.report(arm), title=f"{learned.samples} samples of that run")
    story.say("9. A model identified from a noisy log", report)
    story.figures |= {"rms_before": learned.before, "rms": learned.after}
    return learned


def _studied(story: Story, made: Plan) -> Studied:
    study = studied(made)
    title = "10. A study: the first leg of the plan by 2,000 arms with unknown load and friction"
    story.say(title, study.report())
    story.figures |= {"study": dataclasses.asdict(study)}
    return study


def _drawn(story: Story, made: Plan) -> None:
    if find_spec("matplotlib") is None:
        story.say("11. Plot", "skipped: plots need matplotlib; install it with: pip install 'forearm[plot]'")
        return
    story.files.append(story.folder / "motion.png")
    made.plot(story.files[-1])
    story.say("11. Plot", f"{story.files[-1].name}: positions, torques and voltages, and the hand path")


def _timed(story: Story, arm: Arm) -> tuple[BenchmarkRow, ...]:
    rows = speed_rows(arm)
    title = "12. Speed of inverse dynamics per state, compared with NumPy, measured now"
    story.say(title, speed_report(rows))
    story.figures |= {"speed": [row.document() for row in rows]}
    return rows


def _studio(story: Story, arm: Arm) -> None:
    story.files.append(story.folder / f"{NAME}-studio.html")
    studio(arm, story.files[-1])
    story.say(
        "13. A page with the arm's dynamics inside",
        f"{story.files[-1].name}: drag the hand, let the arm fall, compare controllers; needs no network",
    )


COMMAND = Command(
    "forearm demo\nforearm demo -o story --json",
    (
        Option(
            "--output",
            "folder for the files (default: demo-output)",
            "DIR",
            default="demo-output",
            short="-o",
        ),
        JSON,
    ),
    _run,
)
