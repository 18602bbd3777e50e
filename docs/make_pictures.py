"""Make the pictures of the documentation and the published schemas anew: `make docs` runs this."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np

import forearm as fa
from forearm.files.armfile import json_schema
from forearm.parts.database import json_schema as parts_schema
from forearm.plots.arms import save_picture
from forearm.plots.costs import save_cost_picture
from forearm.plots.figure import save_figure
from forearm.plots.precision import precision_figure
from forearm.plots.trajectories import waters_figure
from forearm.trajectories.requestfile import request_schema

HERE = Path(__file__).parent
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
    for name, schema in (("arm", json_schema()), ("parts", parts_schema()), ("request", request_schema())):
        text = json.dumps(schema, indent=1) + "\n"
        (HERE.parent / "src" / "forearm" / "schemas" / f"{name}.schema.json").write_text(
            text, encoding="utf-8"
        )


if __name__ == "__main__":
    main()
