"""WebAssembly modules run by Node.js."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tools import starts

Array = NDArray[Any]
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(not starts("node"), reason="Node.js is not installed")
# As docs/targets.md shows it: arrays lie from heap_base on, functions take their addresses.
SCRIPT = """
const cases = JSON.parse(require('fs').readFileSync(0, 'utf-8'));
const made = cases.map(({code, calls}) => {
  const bytes = Buffer.from(code, 'base64');
  const module = new WebAssembly.Module(bytes);
  if (WebAssembly.Module.imports(module).length) throw new Error('imports');
  const {exports} = new WebAssembly.Instance(module);
  let at = (exports.heap_base ?? exports.__heap_base).value; // the other name is wasm-ld's
  const places = {};
  for (const {name, arrays} of calls) {
    for (const [label, content] of arrays) if (!(label in places)) {
      const data = Buffer.from(content, 'base64');
      new Uint8Array(exports.memory.buffer).set(data, at);
      places[label] = [at, data.length];
      at += data.length;
    }
    exports[name](...arrays.map(([label]) => places[label][0]));
  }
  const read = ([at, size]) => Buffer.from(exports.memory.buffer, at, size).toString('base64');
  return {
    names: Object.keys(exports),
    arrays: Object.fromEntries(Object.entries(places).map(([label, place]) => [label, read(place)])),
  };
});
console.log(JSON.stringify(made));
"""
Calls = Sequence[tuple[str, dict[str, Array]]]  # a function's name, and its arrays by theirs


def run(cases: Sequence[tuple[bytes, Calls]]) -> list[tuple[list[str], dict[str, Array]]]:
    """For each module the names of its exports, and what is in the arrays after its functions were called one
    after the other, those of one name being the same.
    """
    given = [
        {
            "code": base64.b64encode(code).decode(),
            "calls": [
                {
                    "name": name,
                    "arrays": [(k, base64.b64encode(a.tobytes()).decode()) for k, a in arrays.items()],
                }
                for name, arrays in calls
            ],
        }
        for code, calls in cases
    ]
    assert NODE is not None
    ran = subprocess.run(
        [NODE, "-e", SCRIPT], input=json.dumps(given), capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    made = []
    for (_, calls), answer in zip(cases, json.loads(ran.stdout), strict=True):
        arrays = {label: array for _, named in calls for label, array in named.items()}
        made.append(
            (
                answer["names"],
                {
                    label: np.frombuffer(base64.b64decode(answer["arrays"][label]), a.dtype).reshape(a.shape)
                    for label, a in arrays.items()
                },
            )
        )
    return made
