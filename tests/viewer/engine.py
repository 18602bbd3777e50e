"""The engine of the studio's page in node: calls and numbers by JSON."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import forearm as fa
from forearm.viewer.arm_code import arm_code
from forearm.viewer.arm_data import arm_data
from forearm.viewer.studio_page import FOLDER

FILES = ("matrix.js", "engine.js", "words.js")
HEAD = "const clamp = (x, a, b) => Math.min(Math.max(x, a), b);\n"


def run(arm: fa.Arm, script: str, folder: Path, python: str = "", command: str = "") -> Any:
    """What `script`, the body of a function of (arm, engine), returns."""
    data = arm_data(arm, python, command)
    data["bodies"] = [{"name": body.joint.child} for body in arm.moving.bodies]
    text = [HEAD, *((FOLDER / name).read_text(encoding="utf-8") for name in FILES)]
    text += [
        f"const arm = {json.dumps(data)}, engine = makeEngine(arm, {arm_code(arm)});",
        f"const answer = (() => {{\n{script}\n}})();",
        "const plain = (key, x) => (x instanceof Float64Array ? Array.from(x) : x);",
        "console.log(JSON.stringify(answer, plain));",
    ]
    file = folder / "engine_test.js"
    file.write_text("\n".join(text), encoding="utf-8")
    done = subprocess.run(["node", str(file)], capture_output=True, text=True, check=False, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
