"""What `tools/machines.py` runs tests in: virtual environments, an arm64 Python under qemu, another user.

Everything that is installed lies in the folder .machines, and is made anew when pyproject.toml asks for other
packages. Run as a script, it prints the versions and the CPU features that this process got.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MADE = ROOT / ".machines"
NOBODY = "nobody"
# Checked on the host and the same on every machine: not needed where tests run in another Python.
TOOLS = ("build", "hatchling", "mypy", "ruff")
# What LLVM calls the features that each level of x86-64 adds.
LEVELS = {
    "x86-64-v2": ("cx16", "popcnt", "sse4.2", "ssse3"),
    "x86-64-v3": ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
    "x86-64-v4": ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
}


class NotHere(Exception):
    """This machine cannot provide the setting; the message says why."""


@dataclass(frozen=True)
class Setting:
    """How tests are started: which Python, what is added to the environment, in which tree, as which user."""

    python: Path = Path(sys.executable)
    environment: Mapping[str, str] = field(default_factory=dict)
    tree: Path = ROOT
    user: str | None = None


def facts() -> dict[str, str]:
    """Versions, and what NumPy, OpenBLAS and the kernels chose in this process."""
    import llvmlite
    import llvmlite.binding as llvm
    import numpy as np

    core: Any = getattr(np, "_core", None) or np.core
    umath = core._multiarray_umath
    has = llvm.get_host_cpu_features()
    level = "x86-64" if platform.machine() in ("x86_64", "AMD64") else platform.machine()
    for name, needed in LEVELS.items():
        if not all(has.get(feature) for feature in needed):
            break
        level = name
    found = {"python": platform.python_version(), "numpy": np.__version__, "llvmlite": llvmlite.__version__}
    dispatched = [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__.get(name)]
    return found | {
        "level": level,
        "openblas": _openblas(np),
        "dispatched": " ".join(dispatched),
        "lanes": _lanes(),
    }


def _openblas(np: Any) -> str:
    """The core type that NumPy's OpenBLAS computes for, in small letters; empty where it cannot be asked."""
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    for path in folder.glob("*openblas*"):
        library = ctypes.CDLL(str(path))
        for name in ("scipy_openblas_get_corename64_", "openblas_get_corename64_"):
            if hasattr(library, name):
                function = getattr(library, name)
                function.restype = ctypes.c_char_p
                return str(function().decode()).lower()
    return ""


def _lanes() -> str:
    """Doubles in a vector of the kernels."""
    from forearm.kernels.native import host

    return str(host("float64").lanes)


def asked(setting: Setting) -> dict[str, str]:
    """The facts of a process in this setting."""
    command = [str(setting.python), str(setting.tree / "tools" / "machine_settings.py")]
    done = started(command, setting, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise NotHere(f"Python does not start there: {last}")
    found: dict[str, str] = json.loads(done.stdout)
    return found


def started(command: Sequence[str], setting: Setting, **options: Any) -> subprocess.CompletedProcess[str]:
    """A command run to its end in a setting."""
    return subprocess.run(command, check=False, **process_options(setting), **options)


def process_options(setting: Setting) -> dict[str, Any]:
    """What subprocess needs for a setting; variables of pytest, Python and forearm are not passed on."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "PYTHON", "FOREARM_"))}
    options: dict[str, Any] = {"cwd": setting.tree, "env": {**kept, **setting.environment}}
    return options | ({"user": setting.user, "group": "nogroup", "extra_groups": []} if setting.user else {})


def requirements(extras: Sequence[str] = ("test", "plot"), oldest: bool = False) -> list[str]:
    """What pyproject.toml asks for, or exactly the lower bounds in it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = [
        *project["dependencies"],
        *(r for extra in extras for r in project["optional-dependencies"][extra]),
    ]
    return sorted({r.replace(">=", "==") if oldest else r for r in found})


def name_of(requirement: str) -> str:
    """The package's name alone."""
    return re.split(r"[<>=!~\[; ]", requirement)[0]


def environment(name: str, base: Path, wanted: Sequence[str], tree: Path = ROOT, at: Path = MADE) -> Path:
    """The Python of a virtual environment with these packages and forearm itself from a tree."""
    folder = at / name
    python = folder / "bin" / "python"
    if is_made(folder, [str(base), *wanted]):
        return python
    quiet([str(base), "-m", "venv", "--without-pip", str(folder)], name)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    quiet([*pip, "--upgrade", "--only-binary=:all:", *wanted], name)
    quiet([*pip, "--no-deps", "--editable", str(tree)], name)
    mark_made(folder, [str(base), *wanted])
    return python


def available(name: str, base: Path) -> Path:
    """An environment with all packages, or where some have no wheel for that Python with those that have."""
    everything = [r for r in requirements() if name_of(r) not in TOOLS]
    try:
        return environment(name, base, everything)
    except NotHere:
        needed = requirements(extras=()) + [
            r for r in everything if name_of(r) in ("hypothesis", "pytest", "pytest-xdist")
        ]
        return environment(name, base, needed)


def is_made(folder: Path, wanted: Sequence[str]) -> bool:
    """Whether the folder was made whole, for the same; removed if it was not."""
    stamp = folder / "made"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == digest(wanted):
        return True
    shutil.rmtree(folder, ignore_errors=True)
    return False


def mark_made(folder: Path, wanted: Sequence[str]) -> None:
    """Note that the folder is whole."""
    (folder / "made").write_text(digest(wanted), encoding="utf-8")


def digest(wanted: Sequence[str]) -> str:
    """What a folder was made for, in short."""
    return hashlib.sha256("\n".join(wanted).encode()).hexdigest()


def quiet(command: Sequence[str], name: str) -> None:
    """Run a command whose output goes to a log; NotHere where it fails."""
    log = MADE / "log" / f"{name}-setup.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8") as file:
        done = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, cwd=ROOT, check=False)
    if done.returncode:
        raise NotHere(f"{Path(command[0]).name} {' '.join(command[1:3])} failed, see {log.relative_to(ROOT)}")


def arm64() -> Setting:
    """Debian's arm64 Python under qemu, with pip's aarch64 wheels; no root and no binfmt needed.

    A Python process that tests start is qemu again, as sys.executable is the wrapper script.
    """
    qemu = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if qemu is None:
        raise NotHere("qemu is not installed: apt-get install qemu-user-static")
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        raise NotHere("needs Debian's apt-get and dpkg")
    folder = MADE / "arm64"
    wanted = [r for r in requirements() if name_of(r) not in TOOLS]
    if not is_made(folder, [qemu, *wanted]):
        make_arm64(folder, qemu, wanted)
        mark_made(folder, [qemu, *wanted])
    add_compilers(folder / "bin")
    return Setting(folder / "bin" / "python", {"PATH": str(folder / "bin")})


def make_arm64(folder: Path, qemu: str, wanted: Sequence[str]) -> None:
    """Laid out as a virtual environment whose Python is a script that starts qemu."""
    root = folder / "root"
    unpack_debian(folder / "apt", root)
    version = (root / "usr/bin/python3").readlink().name
    packages = folder / "lib" / version / "site-packages"
    tags = [*(f"manylinux_2_{k}_aarch64" for k in range(17, 37)), "manylinux2014_aarch64"]
    options = "--quiet --disable-pip-version-check --only-binary=:all: --implementation cp"
    options += f" --python-version {version.removeprefix('python')} --platform {' --platform '.join(tags)}"
    quiet(
        [sys.executable, "-m", "pip", "install", *options.split(), "--target", str(packages), *wanted],
        "arm64",
    )
    (packages / "forearm.pth").write_text(f"{ROOT / 'src'}\n", encoding="utf-8")
    home = f"home = {root / 'usr/bin'}\ninclude-system-site-packages = false\n"
    (folder / "pyvenv.cfg").write_text(home, encoding="utf-8")
    (folder / "bin").mkdir()
    start = f'exec "{qemu}" -L "{root}" -0 "$0" "{root}/usr/bin/{version}" "$@"'
    write_script(folder / "bin" / "python", start)


def add_compilers(folder: Path) -> None:
    """Cross compilers, if installed, under the names that tests call: the host's make code for the host.

    No `cc`: tests build programs with it, which the host cannot start.
    """
    for name in ("gcc", "g++", "gfortran"):
        found = shutil.which(f"aarch64-linux-gnu-{name}")
        if found is not None:
            write_script(folder / name, f'exec "{found}" "$@"')


def write_script(path: Path, line: str) -> None:
    """A shell script of one line."""
    path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    path.chmod(0o755)


def unpack_debian(apt: Path, root: Path) -> None:
    """Debian's python3 for arm64 and its libraries, from this machine's sources through our own folders."""
    for part in ("lists/partial", "cache/archives/partial", "log"):
        (apt / part).mkdir(parents=True)
    (apt / "status").touch()
    options = {
        "APT::Architecture": "arm64", "APT::Architectures": "arm64", "APT::Sandbox::User": "",
        "Acquire::Languages": "none", "Debug::NoLocking": "1", "Dir::State": apt,
        "Dir::State::lists": apt / "lists", "Dir::State::status": apt / "status",
        "Dir::Cache": apt / "cache", "Dir::Log": apt / "log",
    }  # fmt: skip
    command = ["apt-get", "--quiet", "--yes", *(f"-o{name}={value}" for name, value in options.items())]
    quiet([*command, "update"], "arm64")
    quiet(
        [*command, "--no-install-recommends", "--download-only", "install", "python3", "libstdc++6"], "arm64"
    )
    root.mkdir()
    for package in sorted((apt / "cache/archives").glob("*.deb")):
        quiet(["dpkg", "-x", str(package), str(root)], "arm64")
    if not (root / "lib").exists():
        (root / "lib").symlink_to("usr/lib")


@cache
def as_nobody() -> Setting:
    """The user nobody, in a copy of the tree which that user can read and cannot write."""
    if os.geteuid() != 0:
        raise NotHere("everything here runs without root's rights")
    folder = Path(tempfile.mkdtemp(prefix="forearm-nobody-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / "tree" / name)
    version = f"python3.{sys.version_info.minor}"
    bases = [Path(sys.executable).resolve(), *(Path(d) / version for d in ("/usr/local/bin", "/usr/bin"))]
    base = next((b for b in bases if runs(b, Setting(tree=Path("/"), user=NOBODY))), None)
    if base is None:
        raise NotHere(f"no {version} that {NOBODY} may execute")
    python = environment("venv", base, requirements(), folder / "tree", at=folder)
    return Setting(python, {"HOME": "/nonexistent"}, folder / "tree", NOBODY)


def runs(python: Path, setting: Setting) -> bool:
    """Whether a Python starts in a setting: links to managers of versions often do not."""
    try:
        return started([str(python), "-c", ""], setting, capture_output=True).returncode == 0
    except OSError:
        return False


if __name__ == "__main__":
    print(json.dumps(facts()))
