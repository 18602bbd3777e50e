"""What files around the package say of it agrees with it: versions, Pythons, oldest dependencies, links."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import check_release
import pytest

import forearm as fa

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOW = ROOT / ".github" / "workflows" / "test.yml"


def test_the_citation_and_the_change_log_have_the_version_and_license_of_the_package() -> None:
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nlicense: {PROJECT['license']}\n" in cited
    assert f"\nurl: {PROJECT['urls']['Homepage']}\n" in cited
    check_release.check_version(fa.__version__, tag=None)


def test_workflows_try_every_python_of_the_classifiers() -> None:
    promised = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d", c)]
    assert PROJECT["requires-python"] == f">={promised[0]}"
    tried = re.findall(r"^ +python: \[(.*)\]$", WORKFLOW.read_text(encoding="utf-8"), flags=re.M)
    assert tried == [", ".join(f'"{python}"' for python in promised)] * 2


def test_the_oldest_dependencies_are_those_that_the_project_allows() -> None:
    given = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    allowed = dict(one.split(">=") for group in given for one in group if ">=" in one)
    lines = (ROOT / ".github" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    oldest = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert oldest.keys() >= {re.split("[<>=]", one)[0] for one in PROJECT["dependencies"]}
    assert oldest == {name: f"{allowed[name]}.*" for name in oldest}


def test_links_of_the_guide_for_contributors_lead_to_files() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", guide):
        assert target.startswith(PROJECT["urls"]["Homepage"]) or (ROOT / target).is_file(), target


def test_files_that_the_guide_for_contributors_names_are_there() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = {path.name for path in (ROOT / "src" / "forearm").iterdir()} | {"src", "tests", "docs", "mjcf"}
    named = {path for path in re.findall(r"`([\w/.]+/[\w.]+)`", guide) if path.partition("/")[0] in rooms}
    assert len(named) > 30
    for path in named:
        places = [folder / path for folder in (ROOT, ROOT / "src/forearm", ROOT / "src/forearm/files")]
        assert re.search(r"\b[A-Z]{4,}\b", path) or any(place.exists() for place in places), path


def test_make_docs_makes_everything_that_is_generated() -> None:
    target = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ndocs:")[2].partition("\n\n")[0]
    made = re.findall(r"docs/(make_\w+\.py)", target)
    assert sorted(made) == sorted(path.name for path in (ROOT / "docs").glob("make_*.py"))
    assert "mkdocs build --strict" in target


def test_the_site_has_every_hook_of_the_folder() -> None:
    named = re.findall(
        r"^  - docs/(site_\w+\.py)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), flags=re.M
    )
    assert sorted(named) == sorted(path.name for path in (ROOT / "docs").glob("site_*.py"))


@pytest.mark.parametrize("tag", ["v9.9.9", fa.__version__, ""])
def test_a_tag_of_another_version_is_no_release(tag: str) -> None:
    said = rf"expected tag v{re.escape(fa.__version__)}, .* got {tag}$"
    with pytest.raises(check_release.ReleaseError, match=said):
        check_release.check_version(fa.__version__, tag)


def test_another_version_than_the_citation_is_no_release() -> None:
    with pytest.raises(check_release.ReleaseError, match=r"CITATION\.cff must have 'version: 9\.9\.9'"):
        check_release.check_version("9.9.9", tag=None)


def test_what_a_release_compares() -> None:
    changelog = "# Changelog\n\n## 1.2.3 (2031-04-05)\n\n- News.\n\n## 1.2.2 (x)\n"
    assert check_release.changes_of(changelog) == ("1.2.3", "2031-04-05")
    assert check_release.is_dated("2031-04-05")
    assert not check_release.is_dated("unreleased")
    built = {"forearm/arm.py": b"one", "forearm/link.py": b"two"}
    assert check_release.differences(built, dict(built)) == []
    other = {"forearm/arm.py": b"on", "extra": b""}
    assert check_release.differences(built, other) == ["extra", *built]
    assert check_release.apart([[2.0, -8.0], [2.5, -8.0]]) == pytest.approx(0.0625)


@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
@pytest.mark.parametrize(("target", "extras"), [("demo", "plot"), (".venv/.installed", "test,plot")])
def test_each_target_of_make_installs_what_it_needs(target: str, extras: str, tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    said = subprocess.run(
        ["make", "--dry-run", "-C", str(tmp_path), target], capture_output=True, text=True, check=True
    ).stdout
    assert re.findall(r'pip install .*"\.\[(.*)\]"', said) == [extras]
    assert "touch .venv/.demo" in said, "the demo runs where the tests do"
