"""Builds the wheel and the sdist, checks them, tries the wheel in an empty environment, says what comes next.

Called by `make release`. Nothing is uploaded.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

import forearm

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
ARM, Q = "puma560", "0.1,-0.5,0.7,0.3,0.2,-0.4"
TOLERANCE = 1e-12  # of the largest torque, between compiled and reference code
TRY = f"""
import json, pathlib, warnings
import forearm as fa

warnings.simplefilter("ignore", fa.ModelWarning)
arm, q = fa.load("{ARM}"), [{Q}]
zero = [0.0] * arm.n
folder = pathlib.Path(fa.__file__).parent
answer = {{
    "folder": str(folder),
    "typed": (folder / "py.typed").is_file(),
    "reference": fa.dynamics.inverse(arm, q, zero, zero).tolist(),
    "compiled": fa.compile(arm).inverse_dynamics(q, zero, zero).tolist(),
}}
print(json.dumps(answer))
"""


class ReleaseError(Exception):
    """What must be mended before a release."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tag", help="tag of this release: v and the version; the change log must be dated")
    given = parser.parse_args()
    try:
        check_version(forearm.__version__, given.tag)
        wheel, sdist = build()
        check_metadata(wheel, sdist)
        check_sdist(wheel, sdist)
        try_wheel(wheel)
    except ReleaseError as error:
        print(f"not ready: {error}", file=sys.stderr)
        return 1
    print(next_steps(wheel, sdist))
    return 0


def check_version(version: str, tag: str | None) -> None:
    """The tag, CITATION.cff and the first heading of the change log name the version of the package."""
    cited = re.search(r"^version: (\S+)$", read("CITATION.cff"), flags=re.M)
    if cited is None or cited[1] != version:
        raise ReleaseError(f"CITATION.cff must have 'version: {version}', as src/forearm/__init__.py has")
    if changes_of(read("CHANGELOG.md"))[0] != version:
        raise ReleaseError(f"the first heading of CHANGELOG.md must be of version {version}")
    if tag is None:
        return
    if tag != f"v{version}":
        raise ReleaseError(f"expected tag v{version}, as src/forearm/__init__.py has, got {tag}")
    if not is_dated(changes_of(read("CHANGELOG.md"))[1]):
        raise ReleaseError(f"CHANGELOG.md must date version {version}: '## {version} (YYYY-MM-DD)'")
    if changed := uncommitted():
        raise ReleaseError(f"not committed, and so not in the tag: {', '.join(changed)}")


def changes_of(changelog: str) -> tuple[str, str]:
    """Version and date, or what stands for it, of the first heading of a change log."""
    heading = re.search(r"^## (\S+) \((.+)\)$", changelog, flags=re.M)
    return (heading[1], heading[2]) if heading else ("", "")


def is_dated(date: str) -> bool:
    return re.fullmatch(r"\d{4}-\d\d-\d\d", date) is not None


def build() -> tuple[Path, Path]:
    """The wheel and the sdist, both from the tree, in an empty dist."""
    shutil.rmtree(DIST, ignore_errors=True)
    step("building wheel and sdist")
    run([sys.executable, "-m", "build", "--wheel", "--sdist", "--outdir", str(DIST), str(ROOT)])
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    if not wheel.name.endswith("-py3-none-any.whl"):
        raise ReleaseError(f"{wheel.name}: the package must stay pure Python")
    return wheel, sdist


def check_metadata(wheel: Path, sdist: Path) -> None:
    step("twine check --strict")
    run([sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist)])


def check_sdist(wheel: Path, sdist: Path) -> None:
    """A wheel from the sdist has the same files, to the byte, as the wheel from the tree."""
    step("building a wheel from the sdist")
    with tempfile.TemporaryDirectory(prefix="forearm-sdist-") as name:
        folder = Path(name)
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        (source,) = folder.iterdir()
        run([sys.executable, "-m", "build", "--wheel", "--outdir", str(folder / "dist"), str(source)])
        (second,) = (folder / "dist").glob("*.whl")
        differing = differences(contents(wheel), contents(second))
    if differing:
        raise ReleaseError(f"the wheels from the tree and from the sdist differ in {', '.join(differing)}")


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def differences(first: dict[str, bytes], second: dict[str, bytes]) -> list[str]:
    """Files that only one of the two has, or that are not the same in both."""
    return sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))


def try_wheel(wheel: Path) -> None:
    """Installed into an empty environment, the command and a compiled function give the same torques."""
    step("trying the wheel in an empty environment")
    with tempfile.TemporaryDirectory(prefix="forearm-wheel-") as name:
        folder = Path(name)
        place = folder / "env"
        venv.create(place, with_pip=True)
        scripts = place / ("Scripts" if os.name == "nt" else "bin")
        python, command = str(scripts / "python"), str(scripts / "forearm")
        run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)])
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
        environment["FOREARM_CACHE"] = str(folder / "cache")  # so that it compiles here and now
        said = run([command, "--version"], folder, environment).strip()
        if said != f"forearm {forearm.__version__}":
            raise ReleaseError(f"expected 'forearm {forearm.__version__}' of forearm --version, got {said!r}")
        shown = run([command, "inverse", ARM, f"--q={Q}", "--json"], folder, environment)
        answer = json.loads(run([python, "-c", TRY], folder, environment))
    if not answer["typed"] or not Path(answer["folder"]).resolve().is_relative_to(folder.resolve()):
        raise ReleaseError(f"expected the installed package with its py.typed, got {answer['folder']}")
    torques = [json.loads(shown)["tau"], answer["reference"], answer["compiled"]]
    if apart(torques) > TOLERANCE:
        raise ReleaseError(f"the command, the reference and compiled code disagree: {torques}")


def apart(torques: list[list[float]]) -> float:
    """The largest difference between these answers over the largest value."""
    largest = max(abs(value) for answer in torques for value in answer)
    spread: float = max(max(values) - min(values) for values in zip(*torques, strict=True))
    return spread / largest


def next_steps(wheel: Path, sdist: Path) -> str:
    version, date = changes_of(read("CHANGELOG.md"))
    lines = [f"ready: dist/{wheel.name}, dist/{sdist.name}", "Next:"]
    if not is_dated(date):
        lines.append(f"  date the change log, which says ({date}): ## {version} (YYYY-MM-DD)")
    if changed := uncommitted():
        lines.append(f"  commit, or put away: {', '.join(changed)}; then make release again")
    lines.append(f"  git tag -a v{version} -m 'forearm {version}' && git push origin v{version}")
    lines.append("  the workflow release.yml builds the tag again and publishes it; see docs/releasing.md")
    return "\n".join(lines)


def uncommitted() -> list[str]:
    """Files that would go into the sdist and are not in the last commit, as git names them."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        return []
    return [line[3:] for line in run(["git", "status", "--porcelain"]).splitlines()]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def step(what: str) -> None:
    print(what, flush=True)


def run(command: list[str], folder: Path = ROOT, environment: dict[str, str] | None = None) -> str:
    """What a command writes to stdout; what it said where it fails."""
    done = subprocess.run(command, check=False, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        said = f"{done.stdout}{done.stderr}"
        raise ReleaseError(f"{' '.join(command[:4])} exited with {done.returncode}\n{said}")
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main())
