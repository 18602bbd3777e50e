"""The commands of `sim`, under Swartz's names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from forearm.dynamics.reference import forward, inverse
from forearm.errors import InputError
from forearm.files.load import load
from forearm.interpreter.lines import Answers
from forearm.interpreter.listing import energies_at_end, events_listed, samples_of, simulation_table
from forearm.interpreter.names import meant
from forearm.interpreter.session import Session, welcome
from forearm.interpreter.sets import plain, torques_of_file, torques_to_file
from forearm.interpreter.simulating import simulated
from forearm.interpreter.variables import SCALARS, VECTORS
from forearm.spatial import Floats
from forearm.tables import number, text_table

PICTURE, PLAYER = "simulation.png", "simulation.html"


@dataclass(frozen=True)
class SessionCommand:
    """Action of a command word. Up to `most` words may follow it; they answer its prompts."""

    words: str
    summary: str
    text: str
    most: int
    run: Callable[[Session, Answers], None]


def _inverse_arm(session: Session, answers: Answers) -> None:
    if answers.given:
        _many_sets(session, answers)
        return
    v = session.variables
    with np.errstate(all="ignore"):
        torque = _finite(inverse(v.arm, v.theta, v.omega, v.alpha), "inverse_arm", "torque")
        session.variables = v.set("torque", list(torque))
    session.show_results("torque", "voltage", "DACOut")


def _many_sets(session: Session, answers: Answers) -> None:
    source = answers.text("File of sets?")
    if answers.given == 2:
        target = answers.text("File for the results?")
        count = torques_to_file(session.variables, source, target)
        session.output.show(f"{count} sets of {source}; wrote {target}")
        return
    names, values = torques_of_file(session.variables, source)
    rows = [[str(k + 1), *(number(float(x)) for x in row)] for k, row in enumerate(values)]
    session.output.listing(text_table(["set", *names], rows, session.output.width_of_listing))
    if session.output.is_open:
        session.output.note(f"{len(rows)} sets to {session.output.name}")


def _forward_arm(session: Session, _answers: Answers) -> None:
    v = session.variables
    with np.errstate(all="ignore"):
        alpha = _finite(forward(v.arm, v.theta, v.omega, v.torque), "forward_arm", "alpha")
    session.variables = v.set("alpha", list(alpha))
    session.show("alpha")


def _simulate(session: Session, answers: Answers) -> None:
    session.simulation, session.variables = simulated(session, answers)
    run = session.simulation
    session.output.show(f"{number(run.t[-1])} s, {len(run.t)} samples: {run.message}")
    session.output.show(energies_at_end(run))
    for line in events_listed(run):
        session.output.show(line)
    session.show_results("theta", "omega")


def _plot_simulation(session: Session, answers: Answers) -> None:
    run = session.run_so_far("plot_simulation")
    path = answers.text("File?") if answers.given else PICTURE
    run.plot(path)
    session.output.show(f"wrote {path}")


def _print_simulation(session: Session, answers: Answers) -> None:
    run = session.run_so_far("print_simulation")
    start = answers.number("Start, s?", float(run.t[0]))
    finish = answers.number("Finish, s?", float(run.t[-1]))
    step = answers.number("Step, s?", max((finish - start) / 10.0, 0.0))
    chosen = samples_of(run, start, finish, step)
    session.output.listing(simulation_table(run, chosen, session.output.width_of_listing))
    if session.output.is_open:
        session.output.note(f"{len(chosen)} samples to {session.output.name}")


def _write_graphic_file(session: Session, answers: Answers) -> None:
    run = session.run_so_far("write_graphic_file")
    path = answers.text("File?") if answers.given else PLAYER
    if Path(path).suffix.lower() in (".html", ".htm"):
        run.to_html(path)
    else:
        run.save(path)
    session.output.show(f"wrote {path}")


def _open_output_file(session: Session, answers: Answers) -> None:
    session.output.open(plain(answers.text("Output file?")))


def _close_output_file(session: Session, _answers: Answers) -> None:
    if not session.output.is_open:
        raise InputError("no output file is open.", "close_output_file")
    session.output.close()


def _database_read(session: Session, answers: Answers) -> None:
    arm = load(plain(answers.text("Arm file, or name of a built-in arm?")))
    session.load(arm)
    session.output.show(welcome(arm, session.variables.gravity))


def _help(session: Session, answers: Answers) -> None:
    if not answers.given:
        rows = [[name, command.summary] for name, command in COMMANDS.items()]
        rows += [[name, what] for name, what in (SCALARS | VECTORS).items()]
        table = text_table(["name", "what"], rows, session.output.width)
        end = (
            "Type a variable's name to show it, 'theta = 0.1 0.2 ...' to set it, 'help NAME' for details. # "
            "begins a comment."
        )
        session.output.show(f"{table}\n\n{end}")
        return
    name = meant(answers.text("Name?"), (*COMMANDS, *SCALARS, *VECTORS), "command or variable")
    if name in COMMANDS:
        session.output.show(
            f"{name} {COMMANDS[name].words}".rstrip()
            + f"\n{COMMANDS[name].summary}\n{COMMANDS[name].text}".rstrip()
        )
        return
    values = "value" if name in SCALARS else " ".join(f"v{i + 1}" for i in range(session.variables.arm.n))
    session.output.show(f"{name} = {values}\n{(SCALARS | VECTORS)[name]}")
    if name == "gravity":
        session.output.show("Swartz's sign: negative if z of the base points down, positive if it points up.")


def _quit(session: Session, _answers: Answers) -> None:
    session.is_over = True


def _finite(values: Floats, command: str, name: str) -> Floats:
    if not np.isfinite(values).all():
        raise InputError(
            f"{name} overflowed; theta, omega, alpha or torque is too large. No variable was changed.",
            command,
        )
    return values


COMMANDS = {
    "inverse_arm": SessionCommand(
        "[FILE [RESULTS]]",
        "inverse dynamics: torque, voltage and DACOut for theta, omega and alpha",
        "With a CSV or Parquet FILE of many sets, columns theta1.., omega1.., alpha1.. (or q1.., qd1.., "
        "qdd1..), torques and\n"
        "voltages of every row are shown, or written to RESULTS after the columns of FILE.",
        2,
        _inverse_arm,
    ),
    "forward_arm": SessionCommand(
        "", "forward dynamics: alpha from theta, omega and torque (or voltage)", "", 0, _forward_arm
    ),
    "simulate": SessionCommand(
        "[new|continue] [yes|no] [SCHEDULE|STEPS]",
        "simulate from the present theta and omega, in steps of 1 ms",
        "Asks whether to start a new simulation or to continue the last one; whether to set theta and "
        "omega to zero before a\n"
        "new one; whether to use a voltage schedule file, and its name, or the number of timesteps at the "
        "present\n"
        "voltage. A schedule runs to the time of its last row. theta, omega, alpha and torque are set to "
        "their final values.",
        4,
        _simulate,
    ),
    "plot_simulation": SessionCommand(
        "[FILE]",
        f"plot the simulation (default: {PICTURE})",
        "FILE must end in .png, .svg or .pdf.",
        1,
        _plot_simulation,
    ),
    "print_simulation": SessionCommand(
        "[START FINISH STEP]",
        "table of the simulation; asks for start, finish and step in s",
        "It goes to the output file while one is open, otherwise to the screen.",
        3,
        _print_simulation,
    ),
    "write_graphic_file": SessionCommand(
        "[FILE]",
        f"write a page that plays the simulation in a browser (default: {PLAYER})",
        "A FILE ending in .csv, .parquet or .npz receives the data instead.",
        1,
        _write_graphic_file,
    ),
    "open_output_file": SessionCommand(
        "[FILE]",
        "copy results to a file; print_simulation writes to it alone",
        "Asks for its name.",
        1,
        _open_output_file,
    ),
    "close_output_file": SessionCommand("", "close the output file", "", 0, _close_output_file),
    "database_read": SessionCommand(
        "[ARM]",
        "load another arm: an arm file, a URDF, or the name of a built-in one",
        "All vectors are reset to zero and the last simulation is discarded; gravity and DACTimePeriod stay.",
        1,
        _database_read,
    ),
    "help": SessionCommand("[NAME]", "list all commands and variables, or describe one", "", 1, _help),
    "quit": SessionCommand("", "end the session; so do exit and the end of input", "", 0, _quit),
    "exit": SessionCommand("", "the same as quit", "", 0, _quit),
}
