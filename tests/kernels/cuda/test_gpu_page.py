"""The examples of docs/gpu.md and of the recipes that need a GPU run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kernels.cuda.gpu_function import MAKERS, gpu
from test_docs import ON_GPU, assert_same_output, blocks, outputs

pytestmark = [pytest.mark.gpu, pytest.mark.slow]
EXAMPLES = {name: text for name, text in blocks("python") if ON_GPU.search(text)}


def test_there_are_some_of_the_page_and_of_the_recipes() -> None:
    pages = {name.rpartition("-")[0] for name in EXAMPLES}
    assert {"gpu.md", "recipes/speed.md"} <= pages


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gpu()
    monkeypatch.chdir(tmp_path)
    for library in re.findall(r"^import (torch|cupy|jax)\b", EXAMPLES[name], flags=re.M):
        MAKERS[library]()  # skips where it is missing, or made without CUDA
    exec(compile(EXAMPLES[name], name, "exec"), {"__name__": "example"})
    if name in outputs():
        assert_same_output(capsys.readouterr().out, outputs()[name])
