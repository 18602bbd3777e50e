"""Parts files: adding up solids, holes, frames, errors by their text, and keeping arm files true to them."""

from __future__ import annotations

import json
import tomllib
import warnings
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from numpy.typing import NDArray
from parts.meshes import binary_stl
from refusals import refused

import forearm as fa
from forearm.cli.main import main
from forearm.files.builtin import folder
from forearm.parts.database import SCHEMA, Component, json_schema, read_parts
from forearm.parts.plausibility import parts_findings
from forearm.parts.refresh import describe_change, link_of
from forearm.parts.shapes import SHAPES
from forearm.spatial import pose_xyz_rpy

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


def sample(
    rng: np.random.Generator, node: Component, count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Random points of the flange with weights, in the link's frame, by the geometry above
    and no code of forearm.
    """
    radius, length = 0.06, 0.05
    u = rng.uniform(-1, 1, (count, 3))
    disc = np.hypot(u[:, 0], u[:, 1]) <= 1
    points = (u * [radius, radius, length / 2] + [0, 0, length / 2])[disc]
    brass = np.full(len(points), 8500 * np.pi * radius**2 * length / len(points))
    section = pose_xyz_rpy((0, 0, 0), (0.3, -0.2, 0.1))
    hole = pose_xyz_rpy((0.002, 0.003, 0.0), (0.3, -0.2, 0.1))
    in_part = points @ section[:3, :3].T
    # The hole is a solid of its own in the model, cut where it lies; here too.
    bore = (u * [0.01, 0.01, length / 2] + [0, 0, length / 2])[disc] @ hole[:3, :3].T + hole[:3, 3]
    cut = np.full(len(bore), -8500 * np.pi * 0.01**2 * length / len(bore))
    ball = rng.normal(size=(count, 3))
    ball *= (0.03 * rng.uniform(size=(count, 1)) ** (1 / 3)) / np.linalg.norm(ball, axis=1, keepdims=True)
    part = pose_xyz_rpy((0.03, 0.02, -0.05), (np.pi / 6, 0.1, 0.2))
    drawing = pose_xyz_rpy((0.1, -0.2, 0.3), (0.4, 0.5, -0.6))
    placed = np.vstack([in_part, bore]) @ part[:3, :3].T + part[:3, 3]
    every = np.vstack([placed, ball + [-0.1, 0.0, 0.02]]) @ drawing[:3, :3].T + drawing[:3, 3]
    return every, np.concatenate([brass, cut, np.full(count, 0.7 / count)])


@pytest.mark.slow
def test_a_link_of_placed_parts_agrees_with_a_monte_carlo_integral(tmp_path: Path) -> None:
    (node,) = parts(tmp_path, HEAD + FLANGE)
    points, weights = sample(np.random.default_rng(1), node, 400_000)
    mass = weights.sum()
    com = weights @ points / mass
    r = points - com
    inertia = np.einsum(
        "k,kij->ij",
        weights,
        np.einsum("ki,ki->k", r, r)[:, None, None] * np.eye(3) - r[:, :, None] * r[:, None],
    )
    assert np.isclose(node.in_link.mass, mass, rtol=1e-12)
    # 400,000 samples leave about 1/sqrt(N) = 0.16 %.
    assert np.abs(node.in_link.com - com).max() < 5e-3 * np.abs(com).max()
    assert np.abs(node.in_link.inertia - inertia).max() < 5e-3 * np.abs(inertia).max()


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
    ("change", "message"),
    [
        (('shape = "sphere"', 'shape = "ball"'), "expected one of cylinder"),
        (("radius = 0.03", ""), "a sphere needs 'radius'"),
        (("radius = 0.03", "radius = 0.03\nlength = 1"), "a sphere has no 'length'"),
        (("radius = 0.03", "radius = 0"), "radius"),
        (("mass = 0.7", ""), "give one of density"),
        (("mass = 0.7", "mass = 0.7\ndensity = 1"), "got density and mass"),
        (("mass = 0.7", 'material = "bras"'), "did you mean 'brass'?"),
        (("mass = 0.7", "mass = nan"), "finite"),
        (("mass = 0.7", "mass = 0.7\nhole = true"), "holes are larger than the solids"),
        (('shape = "sphere"\nradius = 0.03', 'shape = "mesh"\nfile = "../x.stl"'), "below the folder"),
        (('shape = "sphere"\nradius = 0.03', 'shape = "mesh"\nfile = "/etc/passwd"'), "below the folder"),
        (('shape = "sphere"\nradius = 0.03', 'shape = "mesh"\nfile = "none.stl"'), "none.stl"),
        (('name = "counterweight"', 'name = "counterweight"\nnmae = 1'), "did you mean 'name'?"),
        ((SCHEMA, "forearm-parts/9"), "p.parts.toml, schema: expected 'forearm-parts/1', got"),
        ((f'schema = "{SCHEMA}"', ""), "not a parts file: expected the first line"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    text = (HEAD + FLANGE).replace(*change)
    assert text != HEAD + FLANGE
    with pytest.raises(fa.ForearmError, match=message.replace("[", r"\[")) as error:
        parts(tmp_path, text)
    assert "p.parts.toml" in str(error.value)
    if "materials" not in message and "schema" not in message and "first line" not in message:
        assert "link1" in str(error.value)


def test_a_hole_outside_the_solid_is_refused(tmp_path: Path) -> None:
    text = (HEAD + FLANGE).replace("xyz = [0.002, 0.003, 0.0]", "xyz = [0.9, 0.003, 0.0]")
    with refused("ModelError.*a hole lies outside the solid"):
        parts(tmp_path, text)


def test_every_shape_has_its_line_in_the_docs_and_can_be_written(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "parts.md").read_text(encoding="utf-8")
    for name, shape in SHAPES.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| {name} |"))
        assert all(dimension in row for dimension in shape.dimensions)


def arm_with_parts(folder: Path) -> Path:
    (folder / "a.parts.toml").write_text(HEAD + FLANGE, encoding="utf-8")
    armfile = folder / "a.toml"
    armfile.write_text(
        'schema = "forearm-arm/1"\nname = "a"  # kept\nparts = "a.parts.toml"\n'
        '[[joint]]\nkind = "revolute"\nframe = {}\n\n[[link]]\nname = "link1" # from the parts\n',
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


def unwrapped(said: str) -> str:
    return " ".join(said.split())


ONE_LINE_EACH = (
    'mass = 1 # kg, weighed\ncom = [0, 0, 0]\ninertia = { about = "com", xx = 1, yy = 1, zz = 1 }\n'
)
OTHER_LINK = "\n[[link]]\nname = 'link2' # not of the parts\nmass = 3\n"


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_update_changes_the_numbers_and_nothing_else(tmp_path: Path, line_end: str) -> None:
    armfile = arm_with_parts(tmp_path)
    before = (armfile.read_text(encoding="utf-8") + ONE_LINE_EACH + OTHER_LINK).replace("\n", line_end)
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


@pytest.mark.parametrize(
    "numbers",
    [
        'mass = 1\n[link.inertia]\nabout = "com"\nxx = 1\nyy = 1\nzz = 1\n',
        "  mass = 1\n",
        '"mass" = 1\n',
        'inertia.about = "com"\ninertia.xx = 1\ninertia.yy = 1\ninertia.zz = 1\n',
        "com = [0,\n 0, 0]\n",
    ],
    ids=["sub-table", "indented", "quoted", "dotted", "several lines"],
)
def test_update_leaves_alone_what_it_cannot_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], numbers: str
) -> None:
    armfile = arm_with_parts(tmp_path)
    before = armfile.read_text(encoding="utf-8") + numbers + OTHER_LINK
    tomllib.loads(before)
    armfile.write_text(before, encoding="utf-8")
    assert main(["parts", str(tmp_path / "a.parts.toml"), "--update", str(armfile)]) == 2
    said = capsys.readouterr()
    assert "recorded" not in said.out
    assert (
        "a.toml: nothing was updated; to update it automatically, write mass, com and inertia of each link "
        "on one unindented line each"
    ) in unwrapped(said.err)
    assert armfile.read_text(encoding="utf-8") == before


def test_update_leaves_alone_a_link_that_it_does_not_find(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    armfile = arm_with_parts(tmp_path)
    before = armfile.read_text(encoding="utf-8").replace("[[link]]", "[[ link ]]")
    armfile.write_text(before, encoding="utf-8")
    assert main(["parts", str(tmp_path / "a.parts.toml"), "--update", str(armfile)]) == 2
    assert "nothing was updated" in unwrapped(capsys.readouterr().err)
    assert armfile.read_text(encoding="utf-8") == before


def test_update_says_which_link_the_arm_file_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    armfile = arm_with_parts(tmp_path)
    armfile.write_text(
        armfile.read_text(encoding="utf-8").replace('name = "link1"', 'name = "link2"'), encoding="utf-8"
    )
    before = armfile.read_text(encoding="utf-8")
    assert main(["parts", str(tmp_path / "a.parts.toml"), "--update", str(armfile)]) == 2
    said = capsys.readouterr()
    assert (
        "a.parts.toml, link 'link1': the arm file a.toml has no such link; did you mean 'link2'?"
        in unwrapped(said.err)
    )
    assert "recorded" not in said.out
    assert armfile.read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("# \xe9\n".encode("latin-1"), "not UTF-8 text (byte 2)"),
        (b"name = \n", "not valid TOML"),
        ((HEAD + FLANGE).encode(), "expected an arm file, got a parts file"),
    ],
)
def test_update_of_what_is_no_arm_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, message: str
) -> None:
    arm_with_parts(tmp_path)
    other = tmp_path / "other.toml"
    other.write_bytes(content)
    assert main(["parts", str(tmp_path / "a.parts.toml"), "--update", str(other)]) == 2
    said = unwrapped(capsys.readouterr().err)
    assert "other.toml" in said
    assert message in said
    assert other.read_bytes() == content


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
    ("change", "said"),
    [
        (("radius = 0.03", "radius = 50"), "link1, counterweight, sphere 1: 63.2 m across"),
        (("radius = 0.06", "radius = 12"), "link1, flange, cylinder 1: 1.92e+05 kg"),
    ],
)
def test_dimensions_in_millimetres_are_asked_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], said: str
) -> None:
    text = (HEAD + FLANGE).replace(*change)
    (tmp_path / "p.parts.toml").write_text(text, encoding="utf-8")
    assert main(["parts", str(tmp_path / "p.parts.toml")]) == 0
    why = "its dimensions look like millimetres."
    assert unwrapped(capsys.readouterr().err).strip() == f"warning: [units-length] {said}: {why}"


def test_plausible_parts_are_not_asked_about(tmp_path: Path) -> None:
    assert parts_findings(parts(tmp_path, HEAD + FLANGE)) == []
    assert parts_findings(read_parts(folder() / "cmu-dd.parts.toml")) == []
