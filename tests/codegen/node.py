"""Generated JavaScript, run by one node for all tests of a process: arrays go there and back bit for bit."""

from __future__ import annotations

import base64
import json
import subprocess
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SERVER = """
const rows = (text) => new Float64Array(new Uint8Array(Buffer.from(text, "base64")).buffer);
const said = (a) => Buffer.from(a.buffer, a.byteOffset, a.byteLength).toString("base64");
require("readline").createInterface({ input: process.stdin }).on("line", async (line) => {
    const asked = JSON.parse(line);
    try {
        const module = await import(asked.file);
        const arrays = asked.arrays.map(rows);
        const answer = module[asked.name](...arrays);
        const last = arrays[arrays.length - 1];
        if (asked.single && answer !== last) throw new Error("not the array that was given");
        console.log(JSON.stringify({ arrays: arrays.map(said) }));
    } catch (error) { console.log(JSON.stringify({ error: String(error && error.stack || error) })); }
});
"""


@lru_cache(maxsize=1)
def _node() -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["node", "-e", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )


def call(file: Path, name: str, arrays: list[Floats], made: int = 1) -> None:
    """A function of a module, called with arrays of which the last are those that it fills."""
    node = _node()
    assert node.stdin is not None
    assert node.stdout is not None
    sent = [base64.b64encode(np.ascontiguousarray(a, dtype="<f8").tobytes()).decode() for a in arrays]
    asked = {"file": file.resolve().as_uri(), "name": name, "arrays": sent, "single": made == 1}
    node.stdin.write(json.dumps(asked) + "\n")
    node.stdin.flush()
    answer = json.loads(node.stdout.readline())
    assert "error" not in answer, answer["error"]
    for array, text in zip(arrays, answer["arrays"], strict=True):
        array[...] = np.frombuffer(base64.b64decode(text), dtype="<f8").reshape(array.shape)
