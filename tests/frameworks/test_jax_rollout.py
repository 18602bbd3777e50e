"""k.jax.simulate against k.simulate, its gradient and differences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from arms import random_arm

import forearm as fa
from forearm.errors import InputError
from forearm.kernels.kernel import Kernel

jax = pytest.importorskip("jax", reason="JAX is not installed: make test-frameworks")
from jax import numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]
RUN: Any = {"steps": 12, "step": 0.01}


@pytest.fixture(autouse=True)
def _in_float64() -> Iterator[None]:
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def driven_arm() -> fa.Arm:
    """Rotors and viscous friction, which holds nothing."""
    return random_arm(4, 3, drives=False).with_drives(
        motor=fa.Motor(gear_ratio=30.0, rotor_inertia=2e-4, torque_constant=0.05, resistance=1.2),
        friction=fa.Friction(viscous=0.3),
    )


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return fa.compile(driven_arm())


def states(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, shape)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("record", [None, 4])
@pytest.mark.parametrize("drive", [(), (5, 3), (12, 3), (5, 12, 3)], ids=str)
def test_the_bits_of_simulate(dtype: str, record: int | None, drive: tuple[int, ...]) -> None:
    kernel = fa.compile(driven_arm(), dtype=dtype)
    q0, qd0, u = (x.astype(dtype) for x in (states(5, 3), states(5, 3, seed=1), states(*drive, seed=2)))
    for what in ("torque", "voltage"):
        made = kernel.jax.simulate(q0, qd0, **RUN, record=record, **{what: u})
        expected = kernel.simulate(q0, qd0, **RUN, record=record, **{what: u})
        for one, other in zip(made, expected, strict=True):
            assert one.dtype == dtype
            assert np.array_equal(one, other)
    alone = kernel.jax.simulate(q0[0], qd0[0], **RUN, record=record, method="rk3")
    assert np.array_equal(alone.q, kernel.simulate(q0[0], qd0[0], **RUN, record=record, method="rk3").q)


@pytest.mark.parametrize("record", [None, 1, 4, 5])
@pytest.mark.parametrize("drive", [(3,), (12, 3)], ids=str)
def test_gradients_by_jaxs_check(kernel: Kernel, record: int | None, drive: tuple[int, ...]) -> None:
    def end(q0: Any, qd0: Any, torque: Any) -> Any:
        return kernel.jax.simulate(q0, qd0, **RUN, torque=torque, record=record)

    given = (states(3), states(3, seed=1), states(*drive, seed=2))
    check_grads(end, given, order=1, modes=("rev",), eps=1e-5, rtol=1e-6)
    many = (states(2, 5, 3), states(3, seed=1), states(*drive, seed=2))
    check_grads(jax.jit(end), many, order=1, modes=("rev",), eps=1e-5, rtol=1e-6)


def test_open_parameters_and_vmap() -> None:
    arm = driven_arm()
    kernel = fa.compile(arm, parameters=[f"{arm.links[-1].name}.mass", "gravity"])
    own = np.array(list(kernel.parameters.values()))
    q0, rows = states(5, 3), own * (1.0 + 0.1 * states(5, len(own), seed=5))

    def end(q0: Any, values: Any) -> Any:
        return kernel.jax.simulate(q0, 0.0, **RUN, parameters=values).q

    expected = kernel.simulate(q0, np.zeros(3), **RUN, parameters=rows).q
    assert np.array_equal(end(q0, rows), expected)
    assert np.array_equal(jax.vmap(end)(q0, rows), expected)
    for values in (own, rows):
        check_grads(end, (q0, values), order=1, modes=("rev",), eps=1e-5, rtol=1e-6)
    slopes = jax.vmap(jax.grad(lambda *x: end(*x).sum(), argnums=1))(q0, rows)
    np.testing.assert_allclose(slopes, jax.grad(lambda *x: end(*x).sum(), argnums=1)(q0, rows), rtol=1e-12)


def test_mistakes_are_told(kernel: Kernel) -> None:
    simulate = kernel.jax.simulate
    with pytest.raises(
        InputError, match=r"q0: 'random4' has 3 joints, expected shape \(..., 3\), got \(4,\)"
    ):
        simulate(np.zeros(4), 0.0, **RUN)
    with pytest.raises(
        InputError, match=r"torque: expected shape \(..., 3\) held, or \(..., 12, 3\) by step"
    ):
        simulate(np.zeros(3), 0.0, **RUN, torque=np.zeros(2))
    with pytest.raises(InputError, match=r"torque: \(12, 3\) is ambiguous: one row per arm or one per step"):
        simulate(np.zeros((12, 3)), 0.0, **RUN, torque=np.zeros((12, 3)))
    with pytest.raises(InputError, match="leading axes do not broadcast: q0"):
        simulate(np.zeros((2, 3)), np.zeros((4, 3)), **RUN)
    with pytest.raises(InputError, match="parameters: this kernel has no open parameters"):
        simulate(np.zeros(3), 0.0, **RUN, parameters=[1.0])
    sticking = fa.compile(driven_arm().with_drives(friction=fa.Friction(coulomb=0.7)))
    assert sticking.jax.simulate(np.zeros(3), 0.0, **RUN).q.shape == (3,)
    with pytest.raises(InputError, match="stick-slip motion has no gradient"):
        jax.grad(lambda q: sticking.jax.simulate(q, 0.0, **RUN).q.sum())(jnp.zeros(3))
