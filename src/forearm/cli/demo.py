"""`forearm demo`: the story on built-in arms, with what is written left in a folder to look at."""

from __future__ import annotations

import argparse
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

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


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", default="demo-output", metavar="DIR", help="where files go (demo-output unless given)")
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    start = time.perf_counter()
    folder = Path(given.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--output: {folder} cannot be made: {error.strerror}.") from error
    say = (lambda *_: None) if given.json else _say
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        arm = load("puma560")
    say("1. An arm, by name", headline(arm))
    say("   and at a posture", draw(arm, np.radians([0, 45, -90, 0, 0, 0]), width()))

    say("2. Checked when loaded", "\n".join(str(w.message) for w in caught))
    cost = balance(arm)
    say(
        "3. What gravity costs at worst",
        ", ".join(f"{j.name} {number(cost.worst[i], 4)} N m" for i, j in enumerate(arm.joints) if not cost.balanced[i]),
    )
    balanced = with_counterweights(arm, cost.counterweights)
    left = float(np.abs(gravity_torque(balanced, np.linspace(-1.0, 1.0, 6))).max())
    weights = ", ".join(f"{number(w.mass, 3)} kg on {w.link}" for w in cost.counterweights)
    say("   Counterweights 0.2 m from the axes remove it", f"{weights}; left over {left:.1e} N m")

    loaded = arm.with_payload(mass=2.0, com=(0.0, 0.0, 0.05)).lock({"joint4": 0.0})
    say("4. Changed: 2 kg in the hand, joint 4 locked", repr(loaded))

    files = [folder / "puma560.toml", folder / "puma560-rigid.urdf"]
    arm.save(files[0])
    arm.rigid().to_urdf(files[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again, urdf = load(files[0]), load(files[1])
    q = np.array([0.1, -0.5, 0.7, 0.3, 0.2, -0.4])
    apart = float(np.abs(hand_pose(urdf, q) - hand_pose(arm, q)).max())
    say(
        "5. Written and read back",
        f"{files[0]}: equal to the last bit: {again == arm}\n{files[1]}: hand poses {apart:.1e} apart",
    )

    qd, qdd = np.linspace(0.5, 1.0, 6), np.linspace(-1.0, 1.0, 6)
    tau, spread = _torques(arm, q, qd, qdd)
    rigid = inverse(arm.rigid(), q, qd, qdd)
    rows = [[j.name, number(r, 5), number(t, 5)] for j, r, t in zip(arm.joints, rigid, tau, strict=True)]
    say(f"6. Torques, by {len(formulations()['inverse'])} formulations", f"they agree to {spread:.1e} of the largest")
    say("   rigid, and with rotors and friction, N m", text_table(["joint", "rigid", "real arm"], rows))
    found = forward(arm, q, qd, tau)
    say("   and back: accelerations from these torques", f"{np.abs(found - qdd).max():.1e} rad/s^2 off")

    source = generate(arm, "inverse_dynamics", "c")
    files += source.save(folder)
    base = arm.base_parameters()
    say(
        "7. Code for its controller",
        f"{files[-2].name}: {source.counts} an evaluation, friction and rotors included\n"
        f"of {len(base.standard)} inertial parameters {len(base)} combinations are felt, the first: {base.labels[0][:60]}...",
    )

    kernel = compile_arm(arm)
    batch = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 100_000, arm.n))
    kernel.inverse_dynamics(*batch)
    began = time.perf_counter()
    kernel.inverse_dynamics(*batch)
    each = 1e9 * (time.perf_counter() - began) / len(batch[0])
    say("8. The same compiled in place", f"100,000 states, {each:.0f} ns each, friction and rotors included")

    falls = simulate(arm, q, np.zeros(arm.n), 2.0, method="rk4")
    files.append(folder / "released.html")
    falls.to_html(files[-1])
    stood = [e for e in falls.events if e.kind == "stick"]
    balance_left = float(falls.energy["kinetic"][-1] + falls.energy["potential"][-1] - falls.energy["potential"][0])
    say(
        "9. Released, motors without current, for 2 s",
        f"{len(falls.t) - 1} steps of 1 ms; joints came to stand {len(stood)} times; friction took "
        f"{falls.energy['lost'][-1]:.4g} J, the arm gave {-balance_left:.4g} J\n{files[-1].name} plays it in a browser",
    )

    links = read_parts(builtin_folder() / "cmu-dd.parts.toml")
    rows = [[n.name, str(len(n.held)), str(sum(len(p.held) for p in n.held)), number(n.in_link.mass, 4)] for n in links]
    say("10. An arm from its drawings: cmu-dd, from a parts file", text_table(["link", "parts", "sections", "kg"], rows))
    warned = [f.text for f in check(load("cmu-dd")) if f.level == "warning"]
    say("   checked", "\n".join(warned) or "nothing implausible found")
    if find_spec("matplotlib") is not None:
        save_picture([(arm, q), (load("cmu-dd"), q)], folder / "arms.png")
        files.append(folder / "arms.png")
    seconds = time.perf_counter() - start
    if given.json:
        figures = {"gravity": cost.worst, "left_over": left, "tau": tau, "formulations_apart": spread}
        show_json(
            {"arm": arm.name, "equal": again == arm, "hand_poses_apart": apart, "files": [str(f) for f in files]}
            | figures
            | {"seconds": seconds}
        )
    else:
        print(f"\nDone in {seconds:.1f} s. Files are in {folder}. Next: forearm info cmu-dd")
    return 0


def _torques(
    arm: Arm, q: NDArray[np.float64], qd: NDArray[np.float64], qdd: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """The torque, and how far apart all formulations are, relative to the largest."""
    every = np.array([inverse(arm, q, qd, qdd, name) for name in formulations()["inverse"]])
    return every[0], float(np.ptp(every, axis=0).max() / np.abs(every).max())


def _say(title: str, text: str) -> None:
    print(f"\n{title}\n" + "\n".join(f"   {line}" for line in text.splitlines()))


COMMAND = Command("forearm demo", _add_arguments, _run)
