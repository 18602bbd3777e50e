"""Parts files: adding up solids, holes, frames, errors by their text, and keeping arm files true to them."""

from __future__ import annotations

import json
import tomllib
import warnings
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from parts.meshes import binary_stl
from refusals import refused

import forearm as fa
from forearm.cli.main import main
from forearm.files.builtin import folder
from forearm.parts.database import SCHEMA, Component, json_schema, read_parts
from forearm.parts.plausibility import parts_findings
from forearm.parts.refresh import describe_change, link_of
from forearm.parts.shapes import SHAPES

HEAD = f'schema = "{SCHEMA}"\n[materials]\nbrass = 8500\n'
FLANGE = """
[[link]]
name = "link1"
xyz = [0.1, -0.2, 0.3]
rpy = [0.4, 0.5, -0.6]
[[link.part]]
name = "flange"
xyz = [0.03, 0.02, -0.05]
rpy = ["30 deg", 0.1, 0.2]
[[link.part.section]]
shape = "cylinder"
radius = 0.06
length = 0.05
material = "brass"
rpy = [0.3, -0.2, 0.1]
[[link.part.section]]
shape = "cylinder"
radius = 0.01
length = 0.05
material = "brass"
hole = true
xyz = [0.002, 0.003, 0.0]
rpy = [0.3, -0.2, 0.1]
[[link.part]]
name = "counterweight"
[[link.part.section]]
shape = "sphere"
radius = 0.03
mass = 0.7
xyz = [-0.1, 0.0, 0.02]
"""


def parts(tmp_path: Path, text: str) -> tuple[Component, ...]:
    path = tmp_path / "p.parts.toml"
    path.write_text(text, encoding="utf-8")
    return read_parts(path)


def test_moves_add_up_to_the_whole(tmp_path: Path) -> None:
    (node,) = parts(tmp_path, HEAD + FLANGE)
    for holder in (node, *node.held):
        moved = sum(holder.moved(child)[1] for child in holder.held)
        assert np.abs(moved - holder.own.inertia).max() < 1e-14


def test_a_hole_takes_away_what_it_would_add(tmp_path: Path) -> None:
    block = '[[link]]\nname = "l"\n[[link.part]]\nname = "p"\n'
    ring = block + (
        '[[link.part.section]]\nshape = "tube"\nouter_radius = 0.3\ninner_radius = 0.1\nlength '
        "= 0.4\ndensity = 900\n"
    )
    bored = block + "".join(
        f'[[link.part.section]]\nshape = "cylinder"\nradius = {r}\nlength = 0.4\ndensity = 900\n{hole}'
        for r, hole in ((0.3, ""), (0.1, "hole = true\n"))
    )
    a, b = parts(tmp_path, HEAD + ring)[0].in_link, parts(tmp_path, HEAD + bored)[0].in_link
    assert np.isclose(a.mass, b.mass, rtol=1e-14)
    assert np.allclose(a.com, b.com, atol=1e-15)
    assert np.allclose(a.inertia, b.inertia, rtol=1e-12, atol=1e-14)


def test_mesh_section_from_an_stl_in_millimetres(tmp_path: Path) -> None:
    corners = np.array([[0, 0, 0], [200, 0, 0], [0, 300, 0], [0, 0, 500.0]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    (tmp_path / "tetra.stl").write_bytes(binary_stl(corners[faces]))
    text = (
        HEAD
        + '[[link]]\nname = "l"\n[[link.part]]\nname = "p"\n[[link.part.section]]\nshape = "mesh"\n'
        + 'file = "tetra.stl"\nscale = 0.001\nmaterial = "brass"\n'
    )
    mass = parts(tmp_path, text)[0].in_link
    assert np.isclose(mass.mass, 8500 * 0.2 * 0.3 * 0.5 / 6)
    assert np.allclose(mass.com, [0.05, 0.075, 0.125])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('shape = "sphere"', 'shape = "ball"', "link1.*expected one of cylinder"),
        ("radius = 0.03", "", "link1.*a sphere needs 'radius'"),
        ("radius = 0.03", "radius = 0.03\nlength = 1", "link1.*a sphere has no 'length'"),
        ("radius = 0.03", "radius = 0", "link1.*radius"),
        ("mass = 0.7", "", "link1.*give one of density"),
        ("mass = 0.7", "mass = 0.7\ndensity = 1", "link1.*got density and mass"),
        ("mass = 0.7", 'material = "bras"', "link1.*did you mean 'brass'"),
        ("mass = 0.7", "mass = nan", "link1.*finite"),
        ("mass = 0.7", "mass = 0.7\nhole = true", "link1.*holes are larger than the solids"),
        ("xyz = [0.002, 0.003, 0.0]", "xyz = [0.9, 0.003, 0.0]", "link1.*a hole lies outside the solid"),
        ('"sphere"\nradius = 0.03', '"mesh"\nfile = "../x.stl"', "link1.*below the folder"),
        ('"sphere"\nradius = 0.03', '"mesh"\nfile = "/etc/passwd"', "link1.*below the folder"),
        ('"sphere"\nradius = 0.03', '"mesh"\nfile = "none.stl"', "link1.*none.stl"),
        ('name = "counterweight"', 'name = "counterweight"\nnmae = 1', "link1.*did you mean 'name'"),
        (SCHEMA, "forearm-parts/9", "schema: expected 'forearm-parts/1', got"),
        (f'schema = "{SCHEMA}"', "", "not a parts file: expected the first line"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, old: str, new: str, words: str) -> None:
    text = (HEAD + FLANGE).replace(old, new)
    assert text != HEAD + FLANGE
    with refused(f".*p.parts.toml.*{words}"):
        parts(tmp_path, text)


def test_every_shape_has_its_line_in_the_docs_and_can_be_written(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "parts.md").read_text(encoding="utf-8")
    for name, shape in SHAPES.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| {name} |"))
        assert all(dimension in row for dimension in shape.dimensions)


def arm_with_parts(folder: Path, more: str = "") -> Path:
    (folder / "a.parts.toml").write_text(HEAD + FLANGE, encoding="utf-8")
    armfile = folder / "a.toml"
    armfile.write_text(
        'schema = "forearm-arm/1"\nname = "a"  # kept\nparts = "a.parts.toml"\n[[joint]]\nkind = "revolute"\n'
        f'frame = {{}}\n\n[[link]]\nname = "link1" # from the parts\n{more}',
        encoding="utf-8",
    )
    return armfile


def test_loading_recomputes_and_says_which_link_changed_and_by_how_much(tmp_path: Path) -> None:
    armfile = arm_with_parts(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = fa.load(armfile)  # nothing recorded yet: nothing to compare with
    assert main(["parts", str(tmp_path / "a.parts.toml"), "--update", str(armfile)]) == 0
    text = armfile.read_text(encoding="utf-8")
    assert "# kept" in text
    assert "mass = " in text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fa.load(armfile) == first
    changed = (HEAD + FLANGE).replace("mass = 0.7", "mass = 0.9")
    (tmp_path / "a.parts.toml").write_text(changed, encoding="utf-8")
    with pytest.warns(
        fa.PartsWarning, match=r"link 'link1' changed: mass .* kg \(\+\d.* %\), centre of mass moved"
    ):
        second = fa.load(armfile)
    assert np.isclose(second.link("link1").mass - first.link("link1").mass, 0.2)
    assert armfile.read_text(encoding="utf-8") == text, "loading writes nothing"


def test_parts_of_a_link_that_the_arm_does_not_have(tmp_path: Path) -> None:
    armfile = arm_with_parts(tmp_path)
    (tmp_path / "a.parts.toml").write_text(
        (HEAD + FLANGE).replace('name = "link1"', 'name = "lnk1"'), encoding="utf-8"
    )
    with refused("ModelError.*did you mean 'link1'"):
        fa.load(armfile)


ONE_LINE_EACH = (
    'mass = 1 # kg, weighed\ncom = [0, 0, 0]\ninertia = { about = "com", xx = 1, yy = 1, zz = 1 }\n'
)
OTHER_LINK = "\n[[link]]\nname = 'link2' # not of the parts\nmass = 3\n"


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_update_changes_the_numbers_and_nothing_else(tmp_path: Path, line_end: str) -> None:
    armfile = arm_with_parts(tmp_path, ONE_LINE_EACH + OTHER_LINK)
    before = armfile.read_text(encoding="utf-8").replace("\n", line_end)
    armfile.write_bytes(before.encode())
    assert main(["parts", str(tmp_path / "a.parts.toml"), "--update", str(armfile)]) == 0
    after = armfile.read_bytes().decode()
    wanted = parts(tmp_path, HEAD + FLANGE)[0].in_link
    was, now = tomllib.loads(before), tomllib.loads(after)
    block = now["link"][0]
    assert (block["mass"], block["com"]) == (wanted.mass, wanted.com.tolist())
    assert (block["inertia"]["about"], block["inertia"]["xz"]) == ("com", wanted.inertia[0, 2])
    was["link"][0] = block
    assert now == was
    pairs = list(zip(before.split(line_end), after.split(line_end), strict=True))
    assert [old.split(" ")[0] for old, new in pairs if old != new] == ["mass", "com", "inertia"]
    assert "# kg, weighed" in after


FORM = "a.toml: nothing was updated; to update it automatically, write mass, com and inertia of each"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("# here", '\nmass = 1\n[link.inertia]\nabout = "com"\nxx = 1\nyy = 1\nzz = 1', FORM),
        ("# here", "\n  mass = 1", FORM),
        ("# here", '\n"mass" = 1', FORM),
        ("# here", '\ninertia.about = "com"\ninertia.xx = 1\ninertia.yy = 1\ninertia.zz = 1', FORM),
        ("# here", "\ncom = [0,\n 0, 0]", FORM),
        ("[[link]]", "[[ link ]]", "nothing was updated"),
        ('name = "link1"', 'name = "link3"', "link 'link1': the arm file a.toml has no such link"),
        ("name", "# \u00e9 name = \nname = ", "not valid TOML"),
        ('schema = "forearm-arm/1"', HEAD, "a.toml: expected an arm file, got a parts file"),
    ],
)
def test_update_leaves_alone_what_it_cannot_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, said: str
) -> None:
    armfile = arm_with_parts(tmp_path, "# here\n" + OTHER_LINK)
    before = armfile.read_text(encoding="utf-8").replace(old, new, 1)
    armfile.write_text(before, encoding="utf-8")
    assert main(["parts", str(tmp_path / "a.parts.toml"), "--update", str(armfile)]) == 2
    output = capsys.readouterr()
    assert "recorded" not in output.out
    assert said in " ".join(output.err.split())
    assert armfile.read_text(encoding="utf-8") == before


def test_two_links_of_one_name_are_refused_two_parts_are_not(tmp_path: Path) -> None:
    with refused(r"ModelError.*p.parts.toml, link 'link1': 2 links of that name"):
        parts(tmp_path, HEAD + FLANGE + FLANGE)
    (node,) = parts(tmp_path, HEAD + FLANGE.replace('"counterweight"', '"flange"'))
    assert [part.name for part in node.held] == ["flange", "flange"]


def test_no_change_is_no_words(tmp_path: Path) -> None:
    link = link_of(parts(tmp_path, HEAD + FLANGE)[0])
    assert describe_change(link, link) == ""
    heavier = fa.Link(name="link1", mass=link.mass * 1.01, com=link.com, inertia=link.inertia)
    assert "+1 %" in describe_change(link, heavier)


def test_published_schema_is_the_current_one_and_accepts_the_built_in_file() -> None:
    root = Path(fa.__file__).parent
    assert json.loads((root / "schemas" / "parts.schema.json").read_text(encoding="utf-8")) == json_schema()
    document = tomllib.loads((root / "builtin" / "cmu-dd.parts.toml").read_text(encoding="utf-8"))
    jsonschema.validate(document, json_schema())
    document["link"][0]["part"][0]["section"][0]["shape"] = "blob"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, json_schema())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("radius = 0.03", "radius = 50", "link1, counterweight, sphere 1: 63.2 m across"),
        ("radius = 0.06", "radius = 12", "link1, flange, cylinder 1: 1.92e+05 kg"),
    ],
)
def test_dimensions_in_millimetres_are_asked_about(tmp_path: Path, old: str, new: str, said: str) -> None:
    (found,) = parts_findings(parts(tmp_path, (HEAD + FLANGE).replace(old, new)))
    assert found.code == "units-length"
    assert found.text == f"{said}: its dimensions look like millimetres."
    assert parts_findings(parts(tmp_path, HEAD + FLANGE)) == []
    assert parts_findings(read_parts(folder() / "cmu-dd.parts.toml")) == []
