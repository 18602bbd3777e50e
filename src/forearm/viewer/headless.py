"""The page's engine without the page, run by Node.js, for benchmarks and tests."""

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
    """The return value of `script`, the body of a JavaScript function that sees `arm` and its `engine`.

    Args:
        arm: the arm.
        script: JavaScript that returns something JSON can represent; typed arrays become lists.
        python, command: how Python and the command line load the arm, for the code shown in the page.
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
        raise InputError(f"the script failed: {done.stderr.strip()[-2000:]}", "node")
    return json.loads(done.stdout)
