"""k.jax on NVIDIA's GPUs: the CPU's bits, derivatives, loops, streams and launches that are captured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from arms import random_arm

import forearm as fa

jax = pytest.importorskip("jax", reason="JAX is not installed: make test-frameworks")
from jax.test_util import check_grads  # noqa: E402

pytestmark = [pytest.mark.frameworks, pytest.mark.gpu, pytest.mark.slow]


def devices() -> list[Any]:
    try:
        return list(jax.devices("cuda"))
    except RuntimeError:
        return []


@pytest.fixture(autouse=True)
def _on_a_gpu() -> Iterator[None]:
    if not devices():
        pytest.skip("JAX sees no NVIDIA GPU")
    jax.config.update("jax_enable_x64", True)
    with jax.default_device(devices()[0]):
        yield
    jax.config.update("jax_enable_x64", False)


def states(count: int, *shape: int) -> Any:
    return list(np.random.default_rng(0).uniform(-1.0, 1.0, (count, *shape)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("count", [1, 127, 4097])
def test_the_bits_of_the_cpu(dtype: str, count: int) -> None:
    kernel = fa.compile(random_arm(4, 3, drives=False), dtype=dtype)
    given: Any = [x.astype(dtype) for x in states(3, count, 3)]
    for name in ("inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives"):
        made = getattr(kernel.jax, name)(*given)
        expected = getattr(kernel, name)(*given)
        for one, other in zip(jax.tree.leaves(made), jax.tree.leaves(expected), strict=True):
            assert one.devices() == {devices()[0]}
            assert np.array_equal(one, other)
    assert kernel.jax.gravity(given[0][:0]).shape == (0, 3)


def test_gradients_and_open_parameters() -> None:
    arm = random_arm(3, 3, drives=False)
    kernel = fa.compile(arm, parameters=[f"{arm.links[-1].name}.mass", "gravity"])
    given, own = states(3, 5, 3), np.array(list(kernel.parameters.values()))
    rows = own * (1.0 + 0.1 * states(1, 5, len(own))[0])
    for values in (own, rows):
        made = kernel.jax.inverse_dynamics(*given, parameters=values)
        assert np.array_equal(made, kernel.inverse_dynamics(*given, parameters=values))
        check_grads(
            lambda *x: kernel.jax.inverse_dynamics(*x[:3], parameters=x[3]),
            [*given, values],
            order=2,
            eps=1e-4,
            rtol=1e-5,
        )


def test_the_gradient_is_the_cpus() -> None:
    kernel, given = fa.compile(fa.load("panda")), states(3, 300, 7)

    def loss(*x: Any) -> Any:
        return (kernel.jax.inverse_dynamics(*x) ** 2).sum()

    here = jax.jit(jax.grad(loss, argnums=(0, 1, 2)))(*given)
    with jax.default_device(jax.devices("cpu")[0]):
        there = jax.jit(jax.grad(loss, argnums=(0, 1, 2)))(*given)
    for one, other in zip(here, there, strict=True):
        assert np.array_equal(one, other)


def test_many_steps_of_one_program_are_those_of_the_cpu() -> None:
    """Launches follow each other on XLA's stream, and may be captured and replayed."""
    kernel, (q, qd, tau) = fa.compile(fa.load("panda").rigid()), states(3, 64, 7)

    def end(q: Any, qd: Any, tau: Any) -> Any:
        def move(state: Any, _: Any) -> Any:
            q, qd = state
            qd = qd + 0.001 * kernel.jax.forward_dynamics(q, qd, tau)
            return (q + 0.001 * qd, qd), None

        return jax.lax.scan(move, (q, qd), None, 100)[0][0]

    here = jax.jit(end)
    first = here(q, qd, tau)
    with jax.default_device(jax.devices("cpu")[0]):
        expected = jax.jit(end)(q, qd, tau)
    np.testing.assert_allclose(first, expected, rtol=1e-12)
    for _ in range(5):  # after some calls XLA replays what it captured
        assert np.array_equal(here(q, qd, tau), first)


def test_every_device_has_its_own() -> None:
    if len(devices()) < 2:
        pytest.skip("there is one GPU")
    kernel, given = fa.compile(fa.load("panda")), states(3, 50, 7)
    expected = kernel.inverse_dynamics(*given)
    for device in devices():
        made = jax.jit(kernel.jax.inverse_dynamics)(*(jax.device_put(x, device) for x in given))
        assert made.devices() == {device}
        assert np.array_equal(made, expected)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rollouts_have_the_bits_of_the_cpu(dtype: str) -> None:
    kernel = fa.compile(fa.load("puma560"), dtype=dtype)  # with friction that can hold its joints
    q, qd, tau = (x.astype(dtype) for x in states(3, 33, 6))
    options: dict[str, Any] = {"steps": 20, "step": 1e-3, "torque": tau, "record": 5}
    made = jax.jit(lambda q, qd: kernel.jax.simulate(q, qd, **options))(q, qd)
    for one, other in zip(made, kernel.simulate(q, qd, **options), strict=True):
        assert one.devices() == {devices()[0]}
        assert np.array_equal(one, other)


def test_gradients_of_rollouts() -> None:
    arm = random_arm(3, 3, drives=False)
    kernel = fa.compile(arm, parameters=[f"{arm.links[-1].name}.mass"])
    q, qd, tau = states(3, 4, 3)
    values = np.array(list(kernel.parameters.values()))

    def reached(q: Any, qd: Any, tau: Any, values: Any) -> Any:
        made = kernel.jax.simulate(q, qd, steps=12, step=2e-3, torque=tau, parameters=values)
        return (made.q**2).sum() + made.qd.sum()

    slopes = jax.grad(reached, argnums=(0, 1, 2, 3))(q, qd, tau, values)
    with jax.default_device(jax.devices("cpu")[0]):
        expected = jax.grad(reached, argnums=(0, 1, 2, 3))(q, qd, tau, values)
    for one, other in zip(slopes, expected, strict=True):
        assert one.devices() == {devices()[0]}
        np.testing.assert_allclose(one, other, rtol=1e-10)
    check_grads(reached, (q, qd, tau, values), order=1, modes=["rev"], rtol=1e-6, atol=1e-6)
