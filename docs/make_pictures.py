"""Make the pictures of the documentation and the published schemas anew: `make docs` runs this."""

from __future__ import annotations

import json
import re
import shlex
import warnings
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image

import forearm as fa
from forearm.cli.main import main as command_line
from forearm.files.armfile import json_schema
from forearm.parts.database import json_schema as parts_schema
from forearm.plots.arms import save_picture
from forearm.plots.costs import save_cost_picture
from forearm.plots.figure import COLOURS, THIN, WIDE, drawn, new_figure, save_figure
from forearm.plots.precision import precision_figure
from forearm.plots.trajectories import waters_figure
from forearm.studies.study_file import study_schema
from forearm.trajectories.requestfile import request_schema

HERE = Path(__file__).parent
FEW = 64  # colours of a picture of the gallery: a third of the bytes
POSTURES = {
    "puma560": np.radians([20, 40, -160, 0, 40, 0]),
    "stanford": np.array([0.5, -1.2, 0.9, 0.0, 0.6, 0.0]),
    "cmu-dd": np.radians([30, 50, 0, 60, 0, -30]),
    "panda": np.radians([0, 20, 0, -110, 0, 130, 45]),
}


def main() -> None:
    """Write everything that is generated: the pictures and the schemas."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fa.ModelWarning)
        save_picture([(fa.load(name), q) for name, q in POSTURES.items()], HERE / "pictures" / "arms.png")
    arm = fa.load("ascher2")
    study = fa.dynamics.precision_study(arm, [[0.0, np.radians(2.0 * k)] for k in range(180)])
    save_figure(precision_figure(arm, study, 1, 1), HERE / "pictures" / "precision.png")
    save_cost_picture(HERE / "pictures" / "cost.png")
    save_figure(waters_figure(), HERE / "pictures" / "phase-plane.png")
    first_example("time-optimal.md")["plan"].timing.plot(HERE / "pictures" / "time-optimal.png")
    if find_spec("casadi") is not None:  # extra
        save_figure(swing_figure(), HERE / "pictures" / "casadi-swing.png")
    make_gallery(HERE / "pictures" / "gallery")
    schemas = {
        "arm": json_schema(),
        "parts": parts_schema(),
        "request": request_schema(),
        "study": study_schema(),
    }
    for name, schema in schemas.items():
        text = json.dumps(schema, indent=1) + "\n"
        (HERE.parent / "src" / "forearm" / "schemas" / f"{name}.schema.json").write_text(
            text, encoding="utf-8"
        )


def make_gallery(folder: Path) -> None:
    """The pictures of docs/gallery.md, by the lines of the page, in few colours."""
    text = (HERE / "gallery.md").read_text(encoding="utf-8")
    with TemporaryDirectory() as made, chdir(made), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, block in re.findall(r"^```(python|console)\n(.*?)^```", text, flags=re.M | re.S):
            if kind == "python":
                exec(compile(block, "gallery.md", "exec"), {"__name__": "gallery"})
            for line in re.findall(r"^\$ forearm (.*)", block, flags=re.M) if kind == "console" else ():
                command_line(shlex.split(line))
        folder.mkdir(exist_ok=True)
        for path in Path().glob("*.png"):
            picture = Image.open(path).convert("RGB").quantize(FEW)
            picture.save(folder / path.name, optimize=True)


def first_example(page: str) -> dict[str, Any]:
    """What the first example of a page leaves."""
    text = (HERE / page).read_text(encoding="utf-8")
    made: dict[str, Any] = {}
    exec(compile(re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S)[0], page, "exec"), made)
    return made


@drawn
def swing_figure() -> Any:
    """The swing of docs/casadi.md, which is run for it: angles and torques beside the polynomial's."""
    text = (HERE / "casadi.md").read_text(encoding="utf-8")
    example = next(b for b in re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S) if "Opti()" in b)
    made: dict[str, Any] = {}
    exec(compile(example, "casadi.md", "exec"), made)
    arm, start, t = made["arm"], np.linspace(0.0, made["duration"], made["N"] + 1), made["t"]
    usual = made["k"].inverse_dynamics(*(table.T for table in made["usual"]))
    figure = new_figure(WIDE, 4.2)
    angles, torques = figure.subplots(1, 2)
    for j in range(arm.n):
        look = {"color": COLOURS[j % len(COLOURS)]}
        angles.plot(t, np.degrees(made["q_t"][:, j]), label=arm.joints[j].name, **look)
        angles.plot(start, np.degrees(made["usual"][0][j]), linestyle=":", linewidth=THIN, **look)
        torques.plot(t, made["torques"].values[:, j], **look)
        torques.plot(start, usual[:, j], linestyle=":", linewidth=THIN, **look)
    angles.set(title="angles", xlabel="time, s", ylabel="degrees")
    torques.set(title="torques", xlabel="time, s", ylabel="N m")
    angles.legend(title=f"{made['spent']:.1f} J; dotted {made['usually']:.1f} J", ncols=2)
    return figure


if __name__ == "__main__":
    main()
