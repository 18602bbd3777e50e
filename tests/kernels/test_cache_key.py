"""What compiled code is kept under: another key for whatever it depends on,
the same for the same in any process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from arms import random_arm

import forearm as fa
from forearm.kernels import cache, cache_key
from forearm.kernels.compiled import Compiled, CompileRequest


def key_of(request: CompileRequest, part: str = "single") -> str:
    """The key under which a request is looked for."""
    read = Mock(side_effect=LookupError)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "read", read)
        with pytest.raises(LookupError):
            Compiled(request).part(part)
    return str(read.call_args.args[0])


GENERIC = random_arm(7, 3)
GENERIC_REQUEST = CompileRequest(GENERIC, ("bias",), "float64")


def nudged(value: Any, *places: tuple[int, ...]) -> Any:
    """A number, or some entries of an array, changed in the last bit."""
    changed = np.array(value)
    for place in places or ((),):
        changed[place] = np.nextafter(changed[place], np.inf)
    return changed if places else float(changed)


def with_link(arm: fa.Arm, **changes: Any) -> fa.Arm:
    return arm.with_link(replace(arm.links[1], **changes))


def with_joint(arm: fa.Arm, field: str, change: Callable[[Any], Any]) -> fa.Arm:
    """The first joint that has such a field, with another value of it."""
    at = next(k for k, joint in enumerate(arm.tree) if getattr(joint, field) is not None)
    changed: fa.Joint = replace(arm.tree[at], **{field: change(getattr(arm.tree[at], field))})
    return arm.replace(tree=(*arm.tree[:at], changed, *arm.tree[at + 1 :]))


CHANGES: dict[str, Callable[[fa.Arm], fa.Arm]] = {
    "mass": lambda a: with_link(a, mass=nudged(a.links[1].mass)),
    "com": lambda a: with_link(a, com=nudged(a.links[1].com, (2,))),
    "inertia": lambda a: with_link(a, inertia=nudged(a.links[1].inertia, (1, 1))),
    "inertia off the diagonal": lambda a: with_link(a, inertia=nudged(a.links[1].inertia, (0, 2), (2, 0))),
    "gravity": lambda a: a.replace(gravity=nudged(a.gravity, (0,))),
    "base": lambda a: a.replace(base=nudged(a.base, (0, 3)), gravity=a.gravity),
    "hand": lambda a: a.replace(hand=nudged(a.hand.pose, (1, 3))),
    "frame": lambda a: with_joint(a, "placement", lambda p: replace(p, xyz=nudged(p.xyz, (1,)))),
    "friction": lambda a: with_joint(a, "friction", lambda f: replace(f, viscous=nudged(f.viscous))),
    "rotor": lambda a: with_joint(a, "motor", lambda m: replace(m, rotor_inertia=nudged(m.rotor_inertia))),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_parameter_changed_in_the_last_bit_is_another_key(change: str) -> None:
    other = CHANGES[change](GENERIC)
    assert key_of(replace(GENERIC_REQUEST, arm=other)) != key_of(GENERIC_REQUEST)


def test_any_other_request_is_another_key() -> None:
    """Every part has its own too."""
    requests: list[dict[str, Any]] = [{"dtype": "float32"}]
    requests += [{"functions": names} for names in (("gravity",), ("bias", "gravity"), ("gravity", "bias"))]
    requests += [
        {"parameters": names} for names in (("gravity.z",), ("gravity.x",), ("gravity.z", "gravity.x"))
    ]
    keys = {key_of(replace(GENERIC_REQUEST, **changes)) for changes in requests}
    keys |= {key_of(GENERIC_REQUEST, part) for part in ("single", "batch", "each")}
    assert len(keys) == len(requests) + 3


@pytest.fixture
def around() -> Iterator[None]:
    """What this machine is known by, asked anew before and after."""
    cache_key._surroundings.cache_clear()
    yield
    cache_key._surroundings.cache_clear()


@pytest.mark.usefixtures("around")
@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("forearm.kernels.cache_key._processor", lambda: "vendor_id : another"),
        ("forearm.kernels.cache_key._llvm", lambda: "libllvmlite.so:1:2"),
        ("forearm.kernels.cache_key._sources", lambda: "another state"),
        ("forearm.__version__", "99.0"),
        ("numpy.__version__", "99.0"),
        ("sys.implementation.cache_tag", "cpython-399"),
        ("platform.machine", lambda: "another"),
    ],
)
def test_another_machine_or_version_is_another_key(
    what: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = key_of(GENERIC_REQUEST)
    cache_key._surroundings.cache_clear()
    monkeypatch.setattr(what, value)
    assert key_of(GENERIC_REQUEST) != here


@pytest.mark.slow
def test_the_same_arm_has_the_same_key_in_any_process() -> None:
    keys = {key_of(CompileRequest(fa.load("panda"), ("bias",), "float64")) for _ in range(2)}
    assert len(keys) == 1
    code = """
import forearm as fa
from forearm.kernels.cache_key import told, surroundings
from forearm.kernels.compiled import CompileRequest
print([told(CompileRequest(fa.load("panda"), ("bias",), "float64")), surroundings()])
"""
    there = subprocess.check_output([sys.executable, "-c", code], text=True)
    request = CompileRequest(fa.load("panda"), ("bias",), "float64")
    assert there.strip() == str([cache_key.told(request), cache_key.surroundings()])
    assert len(there) > 1000


def test_sources_are_known_by_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for room in cache_key.MAKERS:
        (tmp_path / room).mkdir(parents=True)
    module = tmp_path / "kernels" / "one.py"
    monkeypatch.setattr(fa, "__file__", str(tmp_path / "__init__.py"))
    (tmp_path / "lock.py").symlink_to(tmp_path / "nowhere")
    told = []
    for text in ("x = 1", "x = 2", "x = 1"):
        module.write_text(text, encoding="utf-8")
        os.utime(module, (1.0, 1.0))
        told.append(cache_key._sources())
    assert told[0] == told[2] != told[1]


def test_values_are_told_apart_bit_for_bit() -> None:
    arrays = [np.zeros(1), np.zeros((1, 1)), np.zeros(1, np.float32)]
    values = [0.0, -0.0, 0, False, None, "", [], [0.0], *arrays, 5e-324, np.nan]
    assert len({json.dumps(cache_key.told(value)) for value in values}) == len(values)
