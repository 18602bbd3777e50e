"""Every function on a GPU: the bits of the CPU's kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arms import posture, random_arm
from drives.making import loaded_arm
from dynamics.cases import simple_drives
from kernels.cuda.gpu_function import gpu
from kernels.cuda.test_every_function import CLOSED_FORM, RIGID, SPRINGS

import forearm as fa
from forearm.codegen.functions import FUNCTIONS
from forearm.kernels.cuda.driver import Device
from forearm.kernels.function_names import ELASTIC
from forearm.kernels.native import host

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        not host("float64").fused, reason="this processor has no fused multiply-add, which every GPU has"
    ),
]
DTYPES = pytest.mark.parametrize("dtype", ["float64", "float32"])
COUNT = 333
NUMERIC = "numeric_inverse_kinematics"
ARMS: dict[str, fa.Arm] = {
    "friction, sliding": simple_drives(random_arm(3, 3)),
    "load": loaded_arm("chain", 6, 2),
    "tree": random_arm(4, 4, tree=True),
    "mimic": random_arm(7, 3, mimic=True),
}
FAST = 1e-4  # of the largest torque


@pytest.fixture(autouse=True)
def device() -> Device:
    return gpu()


def states(arm: fa.Arm, names: tuple[str, ...], dtype: str) -> list[Any]:
    """By the names of inputs; velocities are not near 0, where friction turns, and one state is NaN."""
    rng, shape, made = np.random.default_rng(arm.n), (COUNT, arm.n), []
    for name in names:
        if name == "q":
            made.append(posture(arm, 3, COUNT))
        elif name == "T":
            made.append(fa.kinematics.forward(arm, posture(arm, 4, COUNT)).reshape(COUNT, 16))
        else:
            made.append(rng.uniform(0.3, 1.5, shape) * rng.choice([-1.0, 1.0], shape))
    made[-1][2, 0] = np.nan
    return [x.astype(dtype) for x in made]


def check(arm: fa.Arm, name: str, dtype: str, parameters: Any = (), values: Any = None) -> None:
    here, there = (fa.compile(arm, dtype, device, parameters).fused([name]) for device in ("cpu", "cuda"))
    given = states(arm, here.inputs, dtype)
    wanted, found = (f(*given, parameters=values) for f in (here, there))
    assert found.keys() == wanted.keys()
    for key, right in wanted.items():
        assert np.isfinite(right).any(), key
        assert np.array_equal(found[key], right, equal_nan=True), key


@DTYPES
@pytest.mark.parametrize("name", RIGID)
@pytest.mark.parametrize("arm", ARMS)
def test_every_function_has_the_bits_of_the_cpu(arm: str, name: str, dtype: str) -> None:
    if name == NUMERIC and dtype == "float32":
        pytest.skip("numeric inverse kinematics is for float64")
    check(ARMS[arm], name, dtype)


@pytest.mark.parametrize("name", ELASTIC)
def test_springs_have_the_bits_of_the_cpu(name: str) -> None:
    check(SPRINGS, name, "float64")


def test_the_closed_form_has_the_bits_of_the_cpu() -> None:
    check(fa.load("puma560-akb").rigid(), CLOSED_FORM, "float64")


@DTYPES
@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "inertia_matrix", "gravity"])
def test_open_parameters_have_the_bits_of_the_cpu(name: str, each: bool, dtype: str) -> None:
    arm = ARMS["friction, sliding"]
    opened = ("joint1.friction", arm.links[-1].name)
    own = np.array([*fa.compile(arm, parameters=opened).parameters.values()])
    shape = (COUNT, len(own)) if each else (len(own),)
    check(arm, name, dtype, opened, own * np.random.default_rng(1).uniform(0.9, 1.1, shape))


@DTYPES
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "inertia_matrix"])
@pytest.mark.parametrize("n", [12, 24, 45])
def test_long_arms_have_the_bits_of_the_cpu(n: int, name: str, dtype: str) -> None:
    arm = simple_drives(random_arm(8, n))
    here, there = (fa.compile(arm, dtype, device) for device in ("cpu", "cuda"))
    given = states(arm, FUNCTIONS[name].inputs, dtype)
    wanted, found = (getattr(k, name)(*given) for k in (here, there))
    assert np.isfinite(wanted).any()
    assert np.array_equal(found, wanted, equal_nan=True)


@pytest.mark.parametrize("arm", ["panda", "puma560"])
def test_fast_code_is_near_and_has_other_bits(arm: str) -> None:
    loaded = fa.load(arm)
    q, qd, qdd = (x[3:] for x in states(loaded, ("q", "qd", "qdd"), "float32"))
    here, there = fa.compile(loaded), fa.compile(loaded, "float32", device="cuda", fast=True)
    tau, torque = here.inverse_dynamics(q, qd, qdd), there.inverse_dynamics(q, qd, qdd)
    assert np.abs(torque - tau).max() < FAST * np.abs(tau).max()
    exact = fa.compile(loaded, "float32")
    assert not np.array_equal(torque, exact.inverse_dynamics(q, qd, qdd))
    # Accelerations by the torques that they need: wrists are light, so that these alone say what is near.
    made = there.forward_dynamics(q, qd, torque)
    needed = here.inverse_dynamics(q, qd, made)
    assert np.abs(needed - torque).max() < FAST * np.abs(tau).max()
    assert not np.array_equal(made, exact.forward_dynamics(q, qd, torque))
