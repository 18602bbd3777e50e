"""One HTML file with an arm, its own dynamics and the tools to view, pose and simulate it."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from forearm import __version__
from forearm.arm.arm import Arm
from forearm.files.armfile_write import arm_text
from forearm.pages import SCRIPTS, filled_in, html_page
from forearm.palette import COLOURS, DASHES, ON_DARK, PAGE, PAGE_ON_DARK, page_colours
from forearm.viewer.arm_code import arm_code
from forearm.viewer.arm_data import arm_data
from forearm.viewer.recording import Json
from forearm.visuals.scene import scene
from forearm.visuals.visual import VisualSet

TRIANGLES = 6000  # of all mesh files of a page together
FOLDER = Path(__file__).with_name("page")
POLICY = f"{SCRIPTS}; img-src data: blob:"
# Colours of curves and the arm: as variables in the style sheet, and for the scripts.
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


@cache
def _code_of(arm: Arm) -> str:
    """The code of an arm, once per process."""
    return arm_code(arm)


@dataclass(frozen=True)
class ShownArm:
    """An arm, how Python and the command line load it, and its meshes."""

    arm: Arm
    python: str
    command: str
    visuals: VisualSet | None = None


def studio_page(
    arms: Sequence[ShownArm],
    *,
    summary: str = "",
    recording: Mapping[str, Any] | None = None,
    ask: Mapping[str, Any] | None = None,
    triangles: int = TRIANGLES,
    policy: str = "",
    more_script: str = "",
) -> str:
    """The text of the page for one arm or several."""
    meshes: list[Any] = []
    document = {
        "version": __version__,
        "look": LOOK,
        "arms": [_shown(shown, meshes, triangles) for shown in arms],
        "meshes": meshes,
        "recording": recording,
        "ask": ask or {},
    }
    title = " and ".join(shown.arm.name for shown in arms)
    code = f"const engineCode = [{','.join(_code_of(shown.arm) for shown in arms)}];"
    parts = {
        "title": html.escape(title),
        "summary": html.escape(summary or f"{' and '.join(str(shown.arm.n) for shown in arms)} joints"),
        "data": inside_script(document),
        "script": f'"use strict";\n(() => {{\n{code}\n{scripts()}{more_script}\n}})();',
    }
    body = filled_in(FOLDER / "studio.html", parts)
    colours = page_colours(INKS, INKS_ON_DARK)
    return html_page(title, body, FOLDER / "studio.css", colours, policy=f"{POLICY}{policy}")


def _shown(given: ShownArm, meshes: list[Any], triangles: int) -> Json:
    """Data of an arm, its skeleton, and its shapes if any; meshes are appended to `meshes`."""
    arm, seen = given.arm, given.visuals
    bare = _drawn(scene(arm), meshes)
    shapes = _drawn(scene(arm, seen, triangles=triangles), meshes) if seen and seen.visuals else None
    data = arm_data(arm, given.python, given.command)
    bodies = [
        shape
        | {
            "joint": body.joint.name,
            "parent": body.parent,
            "freedom": body.freedom,
            "revolute": body.kind == "revolute",
            "axis": (body.after[:3, :3].T @ body.axis).tolist(),
        }
        for shape, body in zip(bare["bodies"], arm.moving.bodies, strict=True)
    ]
    base = bare["base"] | data["base"]
    for place, shown in zip((*bodies, base), _places(shapes or bare), strict=True):
        place["bones"], place["shapes"] = place["shapes"], shown["shapes"] if shapes else []
    missing = [] if seen is None else [str(entry) for entry in seen.missing]
    return data | {
        "bodies": bodies,
        "base": base,
        "missing": missing,
        "file": arm_text(arm),
        "reach": bare["reach"],
    }


def _places(drawn: Json) -> list[Json]:
    return [*drawn["bodies"], drawn["base"]]


def _drawn(drawn: Json, meshes: list[Any]) -> Json:
    """A scene whose meshes were appended to these; the page computes the normals itself."""
    first = len(meshes)
    meshes += [{key: value for key, value in mesh.items() if key != "normals"} for mesh in drawn["meshes"]]
    for place in _places(drawn):
        for shape in place["shapes"]:
            shape["mesh"] += first
    return drawn


@cache
def scripts() -> str:
    """The scripts of the page in order, without comments and indentation."""
    names = (FOLDER / "order.txt").read_text(encoding="utf-8").split()
    texts = [(FOLDER / name).read_text(encoding="utf-8") for name in names]
    bare = re.sub(r"^[ \t]*//.*\n", "", "\n".join(texts), flags=re.M)
    return re.sub(r"^[ \t]+|\n(?=\n)", "", bare, flags=re.M)


def inside_script(document: Mapping[str, Any]) -> str:
    """JSON that is safe inside a script element, whatever names it contains."""
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
