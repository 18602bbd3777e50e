"""The engine of the page without a page, run by node: for benchmarks and tests."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.viewer.arm_code import arm_code
from forearm.viewer.arm_data import arm_data
from forearm.viewer.studio_page import FOLDER

FILES = ("matrix.js", "engine.js", "words.js")
HEAD = "const clamp = (x, a, b) => Math.min(Math.max(x, a), b);"


def in_node(arm: Arm, script: str, python: str = "", command: str = "") -> Any:
    """What `script`, the body of a function of an `arm` as data and its `engine`, returns.

    Args:
        arm: the arm.
        script: JavaScript that returns what JSON can hold; typed arrays become lists.
        python, command: how Python and the command line get the arm, for lines that the page shows.
    """
    data = arm_data(arm, python, command)
    data["bodies"] = [{"name": body.joint.child} for body in arm.moving.bodies]
    lines = [HEAD, *((FOLDER / name).read_text(encoding="utf-8") for name in FILES)]
    lines += [
        f"const arm = {json.dumps(data)}, engine = makeEngine(arm, {arm_code(arm)});",
        f"const answer = (() => {{\n{script}\n}})();",
        "const plain = (key, x) => (x instanceof Float64Array ? Array.from(x) : x);",
        "console.log(JSON.stringify(answer, plain));",
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "engine.js"
        file.write_text("\n".join(lines), encoding="utf-8")
        done = subprocess.run(
            ["node", str(file)], capture_output=True, text=True, check=False, encoding="utf-8"
        )
    if done.returncode:
        raise InputError(f"node: the script failed: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout)
