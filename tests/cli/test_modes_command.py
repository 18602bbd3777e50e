"""`forearm modes`: the modes that Python gives, as tables and as JSON."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from cli.lines import Capture, called, strict_json

import forearm as fa

Q = [0.0, 0.8, -1.6, 0.0, 0.5, 0.0]
WORDS = ",".join(map(str, Q))


def springs(*stiffness: float) -> fa.Arm:
    arm = fa.load("puma560")
    return arm.with_drives(
        {
            joint.name: {"elasticity": fa.Elasticity(stiffness=k) if k else None}
            for joint, k in zip(arm.joints, stiffness, strict=True)
        }
    )


def test_json_has_what_python_has(capsys: Capture) -> None:
    values = (40000.0, 30000.0, 25000.0, 0.0, 0.0, 0.0)
    text = ",".join(map(str, values))
    code, out, err = called(capsys, "modes", "puma560", "--stiffness", text, "--q", WORDS, "--json")
    assert (code, err) == (0, "")
    found, truth = strict_json(out), fa.modes(springs(*values), Q)
    assert found["rotors"] == ["joint1", "joint2", "joint3"]
    assert found["q"] == Q
    assert found["stiffness"] == list(values[:3])
    for part, modes in (("locked", truth.locked), ("free", truth.free)):
        for name in ("frequency_hz", "links", "rotors", "is_rigid"):
            assert np.allclose(found[part][name], getattr(modes, name), rtol=1e-12, atol=1e-12), name
        ratios = [np.nan if x is None else x for x in found[part]["damping_ratio"]]
        assert np.allclose(ratios, modes.damping_ratio, equal_nan=True)
    assert found["notes"] == list(truth.notes)


def test_tables_in_degrees_without_gravity_under_a_load(capsys: Capture) -> None:
    degrees = ",".join(str(float(np.degrees(x))) for x in Q)
    load = "0,30,5,0,0,0"
    code, out, _ = called(
        capsys, "modes", "puma560", "--stiffness", "20000", "--q", degrees, "--degrees", "--no-gravity",
        "--load", load,
    )  # fmt: skip
    truth = fa.modes(springs(*[2e4] * 6), Q, [0.0, 30.0, 5.0, 0.0, 0.0, 0.0], gravity=False)
    assert code == 0
    assert f"{truth.locked.frequency_hz[0]:.4g}" in out
    assert "Motors locked" in out
    assert out.count("rigid body") == 6


def test_an_arm_file_brings_its_own_springs(capsys: Capture, tmp_path: Path) -> None:
    arm = springs(*[3e4] * 6)
    arm.save(tmp_path / "arm.toml")
    code, out, _ = called(capsys, "modes", str(tmp_path / "arm.toml"), "--json")
    assert code == 0
    assert np.allclose(strict_json(out)["free"]["frequency_hz"], fa.modes(arm, np.zeros(6)).free.frequency_hz)
