"""A simulation as one HTML file that plays by itself: the arm as a moving skeleton,
the curves of its joints beside it.

The page is `player.html` with `player.css`, `player.js` and the motion put in; it fetches nothing.
"""

from __future__ import annotations

import base64
import html
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forearm.pages import SCRIPTS, filled_in, html_page
from forearm.palette import COLOURS, DASHES, ON_DARK, PAGE, PAGE_ON_DARK, page_colours
from forearm.reading.textfile import write_text
from forearm.values import check_ending

if TYPE_CHECKING:
    from forearm.simulation.result import Simulation

FOLDER = Path(__file__).parent
ENDINGS = (".html", ".htm")
MAX_FRAMES = 2000
MAX_EVENTS = 500  # that are listed; the page says how many there were
# What curves and the arm are drawn in: in the style sheet as variables, and for the script.
INKS = {f"curve{k}": colour for k, colour in enumerate(COLOURS)} | {
    "haze": "#eef3f7",
    "floor": "#d3dbe1",
    "middle": "#93a7b5",
    "shadow": "#d0d4d8",
    "bone": "#8795a1",
    "edge": "#3c4650",
    "grid": "#e3e3e3",
    "zero": "#999",
}
INKS_ON_DARK = {f"curve{k}": colour for k, colour in enumerate(ON_DARK)} | {
    "haze": "#1e252b",
    "floor": "#323a41",
    "middle": "#5d6d79",
    "shadow": "#0c0e10",
    "bone": "#93a1ad",
    "edge": "#4b5762",
    "grid": "#2d3338",
    "zero": "#70777d",
}
LOOK = {
    "curves": len(COLOURS),
    "dashes": DASHES,
    "inks": {"light": PAGE | INKS, "dark": PAGE_ON_DARK | INKS_ON_DARK},
}
RATE = 60.0  # frames per second that are made even of few samples


def write_player(simulation: Simulation, path: str | os.PathLike[str]) -> None:
    """Write the page, whole or not at all."""
    check_ending(path, ENDINGS, "a page for a browser")
    write_text(path, page(simulation))


def page(simulation: Simulation) -> str:
    """The text of the page."""
    span = f"{simulation.t[0]:g} to {simulation.t[-1]:g} s, {len(simulation.t)} samples"
    parts = {
        "title": html.escape(simulation.arm.name),
        "summary": html.escape(f"{simulation.method}, {span}. {simulation.message}"),
        "script": (FOLDER / "player.js").read_text(encoding="utf-8"),
        "data": _inside_script(motion(simulation) | {"look": LOOK}),
    }
    return html_page(
        simulation.arm.name,
        filled_in(FOLDER / "player.html", parts),
        FOLDER / "player.css",
        page_colours(INKS, INKS_ON_DARK),
        policy=SCRIPTS,
    )


def motion(simulation: Simulation) -> dict[str, Any]:
    """What the page shows: the bodies of the arm, and frames at equal times of every curve."""
    arm = simulation.arm
    times = frame_times(simulation)
    carrier, T = arm.moving.frames[arm.hand.link]
    return {
        "start": float(times[0]),
        "end": float(times[-1]),
        "frames": len(times),
        "joints": [{"name": j.name, "unit": "rad" if j.kind == "revolute" else "m"} for j in arm.joints],
        "base": arm.base.ravel().tolist(),
        "bodies": [
            {
                "parent": body.parent,
                "before": body.before.ravel().tolist(),
                "turns": body.kind == "revolute",
                "axis": body.axis.tolist(),
                "after": body.after.ravel().tolist(),
                "freedom": body.freedom,
                "multiplier": body.multiplier,
                "offset": body.offset,
            }
            for body in arm.moving.bodies
        ],
        "hand": {"body": carrier, "pose": (T @ arm.hand.pose).ravel().tolist()},
        "panels": _panels(simulation, times),
        "happened": len(simulation.events),
        "events": [
            {"t": event.t, "kind": event.kind, "joint": event.joint, "text": event.text}
            for event in simulation.events[:MAX_EVENTS]
        ],
    }


def frame_times(simulation: Simulation) -> NDArray[np.float64]:
    """Equal times from first to last: as many as there are samples, more where these are far
    apart, at most MAX_FRAMES.
    """
    t = simulation.t
    wanted = max(len(t), math.ceil(min(float(t[-1] - t[0]) * RATE, MAX_FRAMES)) + 1)
    times = np.linspace(t[0], t[-1], min(wanted, MAX_FRAMES) if t[-1] > t[0] else 1)
    return np.clip(times, t[0], t[-1])


def _panels(simulation: Simulation, times: NDArray[np.float64]) -> list[dict[str, Any]]:
    """The curves by panel, positions first; what has no derivative to go by is joined by straight lines."""
    kinds = {joint.kind for joint in simulation.arm.joints}
    names = [joint.name for joint in simulation.arm.joints]

    def words(turning: str, sliding: str) -> str:
        return " or ".join(
            word for kind, word in (("revolute", turning), ("prismatic", sliding)) if kind in kinds
        )

    def straight(block: NDArray[np.float64]) -> NDArray[np.float64]:
        columns = [np.interp(times, simulation.t, column) for column in block.T]
        return np.column_stack(columns) if columns else np.empty((len(times), 0))

    q, qd = simulation.at(times)
    blocks = [(f"position, {words('rad', 'm')}", q), (f"velocity, {words('rad/s', 'm/s')}", qd)]
    blocks.append((f"{words('torque', 'force')}, {words('N m', 'N')}", straight(simulation.tau)))
    error = getattr(simulation, "error", None)  # of a run under a controller
    if error is not None:
        blocks.append((f"error, {words('rad', 'm')}", straight(error)))
    if simulation.voltage is not None:
        blocks.append(("voltage, V", straight(simulation.voltage)))
    panels = [
        {"title": title, "joints": True, "names": names, "data": _encoded(block)} for title, block in blocks
    ]
    if simulation.energy:
        energies = straight(np.column_stack(list(simulation.energy.values())))
        panels.append(
            {
                "title": "energy, J",
                "joints": False,
                "names": list(simulation.energy),
                "data": _encoded(energies),
            }
        )
    return panels


def _encoded(block: NDArray[np.float64]) -> str:
    """Numbers (T, m) as little-endian float32 in base64, one column after the other."""
    with np.errstate(over="ignore"):
        return base64.b64encode(block.T.astype("<f4").tobytes()).decode()


def _inside_script(document: dict[str, Any]) -> str:
    """JSON that no HTML parser takes for anything else, whatever names are in it."""
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
