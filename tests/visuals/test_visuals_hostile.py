"""Files that were damaged or made to harm: they give a result or an error of forearm's own."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import numpy as np
import pytest
from parts.meshes import binary_stl
from refusals import refused
from visuals.shapes_made import write_obj
from visuals.test_collada import CUBE, GOOD
from visuals.test_mjcf_visuals import EVERYTHING

import forearm as fa
from forearm.visuals import VisualSet, scene, solids
from forearm.visuals.mesh_files import MeshFiles

URDF = """<robot name="r"><material name="m"><color rgba="1 0.5 0 1"/></material><link name="a"><visual>
<origin xyz="0.1 0.2 0.3" rpy="0.1 0.2 0.3"/><geometry><box size="0.1 0.2 0.3"/></geometry>
<material name="m"/></visual>
<visual><geometry><mesh filename="m.dae" scale="1 2 3"/></geometry></visual></link>
<link name="b"><visual><geometry><capsule radius="0.1" length="0.2"/></geometry></visual></link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>"""
PIECES = (b"nan", b"-1", b"1e999", b"\0", b"<", b'"', b"9" * 40, b"0", b"e", b"../", b"\xff")


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A few bytes changed, cut out, doubled or put in."""
    made = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(made))
        end = min(len(made), at + rng.randint(1, 30))
        put = rng.choice([rng.randbytes(1), b"", 2 * made[at:end], rng.choice(PIECES) + made[at:end]])
        made[at:end] = put
    return bytes(made)


def attempted(path: Path) -> VisualSet | None:
    try:
        return fa.load_visuals(path)
    except fa.ForearmError:
        return None


def fuzz(name: str, times: int, folder: Path) -> None:
    """Read damaged copies of a file; of what is read, everything is finite and can be shown."""
    files = {"arm.urdf": URDF.encode(), "arm.xml": EVERYTHING.encode(), "m.dae": GOOD.encode()}
    files["m.stl"] = binary_stl(CUBE.corners)
    files["m.obj"] = write_obj(folder / "m.obj", CUBE).read_bytes()
    (folder / "m.dae").write_bytes(files["m.dae"])
    rng = random.Random(name)
    for _ in range(times):
        data = damaged(files[name], rng)
        (folder / name).write_bytes(data)
        if name.startswith("arm"):
            found = attempted(folder / name)
            for visual in () if found is None else found.visuals:
                assert np.isfinite(visual.pose).all()
                assert np.isfinite(visual.mesh.vertices).all()
            continue
        try:
            pieces = MeshFiles().pieces(folder / name, np.ones(3))
        except fa.ForearmError:
            continue
        for mesh, _colour in pieces:
            assert np.isfinite(mesh.vertices).all()
            assert 0 <= mesh.triangles.min() <= mesh.triangles.max() < len(mesh.vertices)


@pytest.mark.parametrize("name", ["arm.urdf", "arm.xml", "m.dae", "m.stl", "m.obj"])
def test_damaged_files(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fuzz(name, 25, tmp_path)


def test_names_stay_text(tmp_path: Path) -> None:
    """Names of links and files go into the scene as they are: pages must set them as text."""
    nasty = "</script><script>alert(1)</script>"
    text = URDF.replace('"a"', f'"{nasty}"'.replace("<", "&lt;")).replace("m.dae", "gone&lt;b&gt;.stl")
    path = tmp_path / "arm.urdf"
    path.write_text(text)
    made = scene(fa.load(path), fa.load_visuals(path))
    assert made["base"]["frames"][0]["name"] == nasty
    assert made["missing"][0].startswith(f"{nasty}: gone<b>.stl: ")


def test_triangles_of_all_files_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forearm.visuals.mesh_files.MOST_IN_ALL", 20)
    box = solids.box(1.0, 1.0, 1.0)
    files = MeshFiles()
    first, second = (write_obj(tmp_path / name, box) for name in ("a.obj", "b.obj"))
    files.pieces(first, np.ones(3))
    files.pieces(first, np.array([2.0, 2.0, 2.0]))  # read once
    with refused("InputError.*more than 20 triangles including earlier meshes"):
        files.pieces(second, np.ones(3))
