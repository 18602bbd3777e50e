"""Arms made of parts: what is drawn encloses what is weighed, where it is weighed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from nearness import assert_near
from visuals.shapes_made import is_closed, write_obj, write_stl

import forearm as fa
from forearm.parts.database import read_parts
from forearm.parts.stl import mesh_moments
from forearm.visuals import solids
from forearm.visuals.parts_visuals import parts_visuals

PLACES = """xyz = [0.1, -0.2, 0.3]
rpy = [0.3, -0.4, 1.2]
"""
FACETS = 0.035  # of the volume, which polygons leave out of circles


def written(folder: Path, sections: str) -> Path:
    path = folder / "arm.parts.toml"
    path.write_text(
        f'schema = "forearm-parts/1"\n[[link]]\nname = "link1"\n{PLACES}[[link.part]]\nname = "p"\n{PLACES}'
        f"section = [\n{sections}\n]\n",
        encoding="utf-8",
    )
    return path


SECTIONS = {
    "cylinder": "radius = 0.2, length = 0.5",
    "semi-cylinder": "radius = 0.2, length = 0.5",
    "tube": "outer_radius = 0.2, inner_radius = 0.1, length = 0.5",
    "cone": "radius = 0.2, height = 0.5",
    "frustum": "bottom_radius = 0.2, top_radius = 0.1, height = 0.5",
    "sphere": "radius = 0.2",
    "hemisphere": "radius = 0.2",
    "box": "x = 0.1, y = 0.2, z = 0.3",
    "wedge": "x = 0.1, y = 0.2, z = 0.3",
    "prism": "points = [[0, 0], [0.3, 0], [0.1, 0.1], [0, 0.4]], length = 0.2",
}


@pytest.mark.parametrize("shape", SECTIONS)
def test_each_solid_is_drawn_where_it_is_weighed(shape: str, tmp_path: Path) -> None:
    """Mass, centre and tensor of a section in a part in a link, against the integral over what is drawn."""
    place = "density = 1.0, xyz = [0.05, 0.07, -0.1], rpy = [1.0, 0.2, -0.5]"
    path = written(tmp_path, f'{{ shape = "{shape}", {SECTIONS[shape]}, {place} }}')
    (visual,) = parts_visuals(path).visuals
    weighed = read_parts(path)[0].in_link
    drawn = visual.mesh.moved(visual.pose)
    assert is_closed(drawn)
    moments = mesh_moments(drawn.corners)
    assert drawn.volume > 0.0
    assert moments.volume == pytest.approx(weighed.mass, rel=FACETS)
    assert_near(moments.centroid, weighed.com, 0.002)
    inertia = np.trace(moments.second) * np.eye(3) - moments.second
    assert_near(inertia, weighed.inertia, 2.0 * FACETS * np.abs(weighed.inertia).max())
    assert (visual.link, visual.source) == ("link1", shape)


def test_holes_are_noted_and_meshes_read(tmp_path: Path) -> None:
    box = solids.box(100.0, 200.0, 300.0)
    write_stl(tmp_path / "box.stl", box)
    write_obj(tmp_path / "box.obj", box)
    sections = [
        '{ shape = "mesh", file = "box.stl", scale = 0.001, material = "steel" }',
        '{ shape = "mesh", file = "box.obj", scale = 0.001, density = 1.0 }',
        '{ shape = "mesh", file = "gone.stl", density = 1.0 }',
        '{ shape = "cylinder", radius = 0.01, length = 0.1, density = 1.0, hole = true }',
    ]
    found = parts_visuals(written(tmp_path, ",\n".join(sections)))
    assert [v.mesh.volume for v in found.visuals] == pytest.approx([0.006] * 2, rel=1e-6)
    assert [v.colour for v in found.visuals] == ["#8f979e", None]
    assert found.notes == ("arm.parts.toml: 1 holes are drawn filled",)
    (missing,) = found.missing
    assert (missing.link, missing.file) == ("link1", "gone.stl")
    assert "no such file" in missing.reason


def test_the_built_in_arm_of_parts_has_all_its_links() -> None:
    found = fa.load_visuals("cmu-dd")
    arm = fa.load("cmu-dd")
    assert {v.link for v in found.visuals} == {link.name for link in arm.links if link.mass > 0.0}
    assert found.missing == ()
