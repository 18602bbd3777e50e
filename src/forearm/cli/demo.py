"""`forearm demo`: the story on built-in arms, with what is written left in a folder to look at."""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.text import headline
from forearm.checking import balance, check, with_counterweights
from forearm.checking.balancing import gravity_torque
from forearm.cli.command import Command, add_json, show_json, width
from forearm.cli.skeleton import draw
from forearm.codegen import generate
from forearm.dynamics import formulations, forward, inverse
from forearm.errors import InputError
from forearm.files.builtin import folder as builtin_folder
from forearm.files.load import load
from forearm.kernels.kernel import compile as compile_arm
from forearm.kinematics import forward as hand_pose
from forearm.parts.database import read_parts
from forearm.plots.arms import save_picture
from forearm.simulation import simulate
from forearm.tables import number, text_table

Q = np.array([0.1, -0.5, 0.7, 0.3, 0.2, -0.4])


@dataclass
class Story:
    """What the demo has told so far: files written, and figures for --json."""

    folder: Path
    is_quiet: bool
    files: list[Path] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def say(self, title: str, text: str) -> None:
        """One paragraph."""
        if not self.is_quiet:
            print(f"\n{title}\n" + "\n".join(f"   {line}" for line in text.splitlines()))


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", default="demo-output", metavar="DIR", help="where files go (demo-output unless given)")
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    start = time.perf_counter()
    story = Story(_made(Path(given.output)), is_quiet=given.json)
    arm = _loaded(story)
    _gravity(story, arm)
    _changed(story, arm)
    _written(story, arm)
    _torques(story, arm)
    _code(story, arm)
    _compiled(story, arm)
    _released(story, arm)
    _drawings(story)
    _picture(story, arm)
    seconds = time.perf_counter() - start
    if given.json:
        files = {"files": [str(f) for f in story.files]}
        show_json({"arm": arm.name} | files | story.figures | {"seconds": seconds})
    else:
        print(f"\nDone in {seconds:.1f} s. Files are in {story.folder}. Next: forearm info cmu-dd")
    return 0


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--output: {folder} cannot be made: {error.strerror}.") from error
    return folder


def _loaded(story: Story) -> Arm:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        arm = load("puma560")
    story.say("1. An arm, by name", headline(arm))
    story.say("   and at a posture", draw(arm, np.radians([0, 45, -90, 0, 0, 0]), width()))
    story.say("2. Checked when loaded", "\n".join(str(w.message) for w in caught))
    return arm


def _gravity(story: Story, arm: Arm) -> None:
    cost = balance(arm)
    worst = [f"{j.name} {number(cost.worst[i], 4)} N m" for i, j in enumerate(arm.joints) if not cost.balanced[i]]
    story.say("3. What gravity costs at worst", ", ".join(worst))
    balanced = with_counterweights(arm, cost.counterweights)
    left = float(np.abs(gravity_torque(balanced, np.linspace(-1.0, 1.0, 6))).max())
    weights = ", ".join(f"{number(w.mass, 3)} kg on {w.link}" for w in cost.counterweights)
    story.say("   Counterweights 0.2 m from the axes remove it", f"{weights}; left over {left:.1e} N m")
    story.figures |= {"gravity": cost.worst, "left_over": left}


def _changed(story: Story, arm: Arm) -> None:
    loaded = arm.with_payload(mass=2.0, com=(0.0, 0.0, 0.05)).lock({"joint4": 0.0})
    story.say("4. Changed: 2 kg in the hand, joint 4 locked", repr(loaded))


def _written(story: Story, arm: Arm) -> None:
    toml, urdf = story.folder / "puma560.toml", story.folder / "puma560-rigid.urdf"
    arm.save(toml)
    arm.rigid().to_urdf(urdf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again, other = load(toml), load(urdf)
    apart = float(np.abs(hand_pose(other, Q) - hand_pose(arm, Q)).max())
    story.say(
        "5. Written and read back", f"{toml}: equal to the last bit: {again == arm}\n{urdf}: hand poses {apart:.1e} apart"
    )
    story.files += [toml, urdf]
    story.figures |= {"equal": again == arm, "hand_poses_apart": apart}


def _torques(story: Story, arm: Arm) -> None:
    qd, qdd = np.linspace(0.5, 1.0, 6), np.linspace(-1.0, 1.0, 6)
    every = np.array([inverse(arm, Q, qd, qdd, name) for name in formulations()["inverse"]])
    tau, spread = every[0], float(np.ptp(every, axis=0).max() / np.abs(every).max())
    rigid = inverse(arm.rigid(), Q, qd, qdd)
    rows = [[j.name, number(r, 5), number(t, 5)] for j, r, t in zip(arm.joints, rigid, tau, strict=True)]
    story.say(f"6. Torques, by {len(every)} formulations", f"they agree to {spread:.1e} of the largest")
    story.say("   rigid, and with rotors and friction, N m", text_table(["joint", "rigid", "real arm"], rows))
    found = forward(arm, Q, qd, tau)
    story.say("   and back: accelerations from these torques", f"{np.abs(found - qdd).max():.1e} rad/s^2 off")
    story.figures |= {"tau": tau, "formulations_apart": spread}


def _code(story: Story, arm: Arm) -> None:
    source = generate(arm, "inverse_dynamics", "c")
    story.files += source.save(story.folder)
    base = arm.base_parameters()
    story.say(
        "7. Code for its controller",
        f"{story.files[-2].name}: {source.counts} an evaluation, friction and rotors included\n"
        f"of {len(base.standard)} inertial parameters {len(base)} combinations are felt, the first: {base.labels[0][:60]}...",
    )


def _compiled(story: Story, arm: Arm) -> None:
    kernel = compile_arm(arm)
    batch = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 100_000, arm.n))
    kernel.inverse_dynamics(*batch)
    began = time.perf_counter()
    kernel.inverse_dynamics(*batch)
    each = 1e9 * (time.perf_counter() - began) / len(batch[0])
    story.say("8. The same compiled in place", f"100,000 states, {each:.0f} ns each, friction and rotors included")


def _released(story: Story, arm: Arm) -> None:
    falls = simulate(arm, Q, np.zeros(arm.n), 2.0, method="rk4")
    story.files.append(story.folder / "released.html")
    falls.to_html(story.files[-1])
    stood = [e for e in falls.events if e.kind == "stick"]
    gained = float(falls.energy["kinetic"][-1] + falls.energy["potential"][-1] - falls.energy["potential"][0])
    story.say(
        "9. Released, motors without current, for 2 s",
        f"{len(falls.t) - 1} steps of 1 ms; joints came to stand {len(stood)} times; friction took "
        f"{falls.energy['lost'][-1]:.4g} J, the arm gave {-gained:.4g} J\n{story.files[-1].name} plays it in a browser",
    )


def _drawings(story: Story) -> None:
    links = read_parts(builtin_folder() / "cmu-dd.parts.toml")
    rows = [[n.name, str(len(n.held)), str(sum(len(p.held) for p in n.held)), number(n.in_link.mass, 4)] for n in links]
    table = text_table(["link", "parts", "sections", "kg"], rows)
    story.say("10. An arm from its drawings: cmu-dd, from a parts file", table)
    warned = [f.text for f in check(load("cmu-dd")) if f.level == "warning"]
    story.say("   checked", "\n".join(warned) or "nothing implausible found")


def _picture(story: Story, arm: Arm) -> None:
    if find_spec("matplotlib") is not None:
        story.files.append(story.folder / "arms.png")
        save_picture([(arm, Q), (load("cmu-dd"), Q)], story.files[-1])


COMMAND = Command("forearm demo", _add_arguments, _run)
