"""The recipes with PyTorch, JAX and CasADi run, and their mistakes leave the messages that they quote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import test_recipes
from recipe_mistakes import MISTAKES
from test_docs import FRAMEWORKS, ON_GPU, assert_same_output, blocks, outputs

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]
EXAMPLES = {
    name: text
    for name, text in blocks("python")
    if name.startswith("recipes/") and FRAMEWORKS.search(text) and not ON_GPU.search(text)
}
NEEDING = [title for title, text in test_recipes.ALL.items() if FRAMEWORKS.search(text)]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    frameworks = re.findall(r"^import (torch|jax|casadi)\b", EXAMPLES[name], flags=re.M)
    found = [pytest.importorskip(framework) for framework in frameworks]
    try:
        exec(compile(EXAMPLES[name], name, "exec"), {"__name__": "example"})
    finally:
        if "jax" in frameworks:
            found[0].config.update("jax_enable_x64", False)
    assert_same_output(capsys.readouterr().out, outputs()[name])


@pytest.mark.parametrize(("title", "name"), [(title, name) for title in NEEDING for name in MISTAKES[title]])
def test_a_mistake_leaves_the_message_that_the_page_quotes(
    title: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    test_recipes.check_quote(title, name)
