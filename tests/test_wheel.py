"""The wheel, as pip would install it: built, put into an empty environment,
and used there from another folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_wheel_installs_into_an_empty_environment_and_works(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl"), "the package must stay pure Python"
    place = tmp_path / "env"
    venv.create(place)
    scripts = place / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--python", str(scripts / "python"), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-compile", wheel], check=True, capture_output=True)
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    answer = subprocess.run(
        [scripts / "forearm", "info", "cmu-dd", "--json"],
        check=True,
        capture_output=True,
        cwd=tmp_path,
        env=clean,
    )
    assert json.loads(answer.stdout)["n"] == 6
    (installed,) = place.rglob("forearm/__init__.py")  # nothing else is there that could have answered
    assert installed.with_name("py.typed").is_file()
