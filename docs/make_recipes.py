"""Write what the programs of the recipes print into the pages docs/recipes/*.md.

    python docs/make_recipes.py [PAGE ...]

A program whose framework or GPU is missing here keeps the output that the page has. Messages of usual
mistakes are quoted by hand; tests/test_recipes.py names those that changed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path

FOLDER = Path(__file__).parent / "recipes"
PROGRAM = re.compile(r"^```python\n(.*?)^```\n(\n```text\n.*?^```\n)?", flags=re.M | re.S)
STUDY = re.compile(r"^```toml\n(schema = \"forearm-study.*?)^```", flags=re.M | re.S)
NEEDED = re.compile(r"^(?:import|from) (torch|jax|casadi|cupy|distributed)\b", flags=re.M)


def is_runnable(program: str) -> bool:
    """Whether all that it imports is installed, a GPU apart."""
    on_gpu = 'device="cuda' in program
    return not on_gpu and all(find_spec(name) is not None for name in NEEDED.findall(program))


def output(program: str, study: str | None) -> str:
    """What a program prints, run in a folder of its own."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            if study is not None:
                Path("study.toml").write_text(study, encoding="utf-8")
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(program, "recipe", "exec"), {"__name__": "recipe"})
        finally:
            os.chdir(before)
    return "\n".join(line.rstrip() for line in printed.getvalue().strip().splitlines())


def written(text: str) -> str:
    """The text of a page with every output that can be computed here."""
    study = STUDY.search(text)

    def block(found: re.Match[str]) -> str:
        program = found[1]
        if not is_runnable(program):
            return found[0]
        shown = output(program, study and study[1])
        return f"```python\n{program}```\n" + (f"\n```text\n{shown}\n```\n" if shown else "")

    return PROGRAM.sub(block, text)


if __name__ == "__main__":
    os.environ["COLUMNS"] = "100"
    os.environ.setdefault("MPLBACKEND", "Agg")
    pages = [Path(name).resolve() for name in sys.argv[1:]] or sorted(FOLDER.glob("*.md"))
    for page in pages:
        page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")
