"""What PyTorch makes of `k.torch`: `vmap`, `jvp`, `torch.compile`, `torch.export`, and its own checks."""

from __future__ import annotations

from typing import Any

import pytest
from arms import random_arm
from frameworks.torch_states import states, torch, variables

import forearm as fa
from forearm.frameworks.torch_operator import OPERATOR

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]
vmap, grad, jvp = torch.func.vmap, torch.func.grad, torch.func.jvp
ARM = random_arm(3, 3)


@pytest.fixture(scope="module")
def k() -> fa.Kernel:
    made = fa.compile(ARM)
    assert made.torch is made.torch  # before torch.compile sees it
    return made


@pytest.fixture(scope="module")
def loaded() -> fa.Kernel:
    made = fa.compile(ARM, parameters=[f"{ARM.links[-1].name}.mass", "gravity"])
    assert made.torch is made.torch  # before torch.compile sees it
    return made


def parameters_of(kernel: fa.Kernel, *batch: int) -> Any:
    values = torch.tensor(list(kernel.parameters.values()), dtype=torch.float64)
    return values * torch.linspace(0.9, 1.2, max(1, *batch, 1), dtype=torch.float64).reshape(*batch, 1)


def compiled(function: Any, backend: str = "aot_eager") -> Any:
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, backend=backend)


# vmap


def test_mapped_dimensions_in_any_place(k: fa.Kernel) -> None:
    q, qd, qdd = states(ARM, 4)
    expected = torch.stack([k.torch.inverse_dynamics(*x) for x in zip(q, qd, qdd, strict=True)])
    assert torch.equal(vmap(k.torch.inverse_dynamics)(q, qd, qdd), expected)
    assert torch.equal(vmap(k.torch.inverse_dynamics, (1, 0, 0), 1)(q.T, qd, qdd), expected.T)
    once = torch.stack([k.torch.inverse_dynamics(x, qd[0], qdd[0]) for x in q])
    assert torch.equal(vmap(k.torch.inverse_dynamics, (0, None, None))(q, qd[0], qdd[0]), once)
    nested = vmap(vmap(k.torch.inverse_dynamics, (0, None, None)), (None, 0, 0))(q, qd, qdd)
    assert torch.equal(nested, k.torch.inverse_dynamics(q, qd[:, None], qdd[:, None]))


def test_nothing_is_mapped_to_nothing(k: fa.Kernel) -> None:
    none = torch.empty(0, ARM.n, dtype=torch.float64)
    assert vmap(k.torch.gravity)(none).shape == none.shape


def test_jacobians_of_the_functional_module(k: fa.Kernel) -> None:
    """They map in a way of their own."""
    (q,) = states(ARM, count=1)
    expected = torch.func.jacrev(k.torch.gravity)(q)
    for strategy in ("forward-mode", "reverse-mode"):
        made = torch.autograd.functional.jacobian(k.torch.gravity, q, vectorize=True, strategy=strategy)
        torch.testing.assert_close(made, expected, rtol=1e-12, atol=1e-12)


def test_mapped_parameters(loaded: fa.Kernel) -> None:
    q, qd, qdd = states(ARM, 4)
    rows, one = parameters_of(loaded, 3), parameters_of(loaded)

    def function(q: Any, qd: Any, qdd: Any, p: Any) -> Any:
        return loaded.torch.inverse_dynamics(q, qd, qdd, parameters=p)

    made = vmap(function, (None, None, None, 0))(q, qd, qdd, rows)
    assert torch.equal(made, torch.stack([function(q, qd, qdd, row) for row in rows]))
    assert torch.equal(vmap(function, (0, 0, 0, None))(q, qd, qdd, one), function(q, qd, qdd, one))
    each = vmap(function)(q[:3], qd[:3], qdd[:3], rows)
    assert torch.equal(each, function(q[:3], qd[:3], qdd[:3], rows))


def test_gradients_of_each_sample(loaded: fa.Kernel) -> None:
    q, qd, qdd = states(ARM, 4)
    one = parameters_of(loaded)

    def loss(q: Any, qd: Any, qdd: Any, p: Any) -> Any:
        return loaded.torch.inverse_dynamics(q, qd, qdd, parameters=p).square().sum()

    made = vmap(grad(loss, 3), (0, 0, 0, None))(q, qd, qdd, one)
    for k, row in enumerate(made):
        (alone,) = torch.autograd.grad(loss(q[k], qd[k], qdd[k], p := one.clone().requires_grad_()), p)
        torch.testing.assert_close(row, alone, rtol=1e-12, atol=1e-12)


# forward mode, and derivatives of derivatives


def test_second_derivatives_in_four_ways(k: fa.Kernel) -> None:
    q, qd, qdd = states(ARM, count=3)
    forwards, backwards = torch.func.jacfwd, torch.func.jacrev

    def energy(q: Any) -> Any:
        return k.torch.inverse_dynamics(q, qd, qdd).square().sum()

    expected = forwards(backwards(energy))(q)
    for outer, inner in ((backwards, backwards), (backwards, forwards), (forwards, forwards)):
        torch.testing.assert_close(outer(inner(energy))(q), expected, rtol=1e-9, atol=1e-9)
    step = 1e-5
    differences = torch.stack(
        [
            (grad(energy)(q + step * unit) - grad(energy)(q - step * unit)) / (2 * step)
            for unit in torch.eye(ARM.n, dtype=torch.float64)
        ]
    )
    torch.testing.assert_close(expected, differences, rtol=1e-6, atol=1e-5)


# compiled code


def test_compiled_code_gives_the_same_bits(k: fa.Kernel) -> None:
    """Nothing was called before: what is traced must not depend on it."""
    fresh = fa.compile(random_arm(4, 3))
    assert fresh.torch is not None
    given, out = states(fresh.arm, 4), torch.empty(4, fresh.arm.n, dtype=torch.float64)

    def function(q: Any, qd: Any, qdd: Any) -> tuple[Any, ...]:
        made = fresh.torch.inverse_dynamics(q, qd, qdd) + fresh.torch.gravity(q)
        return made, fresh.torch.bias(q, qd, out=out) + 1.0, fresh.torch.inertia_matrix(q[0])

    expected = compiled(function)(*given)
    assert all(torch.equal(a, b) for a, b in zip(expected, function(*given), strict=True))


def test_compiled_gradients(k: fa.Kernel) -> None:
    def gradients(function: Any) -> Any:
        given = variables(*states(ARM, 4))
        return torch.autograd.grad(function(*given).sum(), given)

    expected = gradients(k.torch.inverse_dynamics)
    made = gradients(compiled(k.torch.inverse_dynamics))
    assert all(torch.equal(a, b) for a, b in zip(made, expected, strict=True))


def test_transforms_inside_compiled_code(k: fa.Kernel, loaded: fa.Kernel) -> None:
    q, qd, qdd = states(ARM, 4)
    mass = f"{ARM.links[-1].name}.mass"
    functions: list[Any] = [
        lambda q: grad(lambda q: k.torch.inverse_dynamics(q, qd, qdd).sum())(q) * 2.0,
        lambda q: vmap(k.torch.inverse_dynamics)(q, qd, qdd),
        lambda q: jvp(lambda q: k.torch.inverse_dynamics(q, qd, qdd), (q,), (qd,))[1],
        lambda q: loaded.torch.inverse_dynamics(q, 0.5, qdd[0], parameters={mass: 3.0}),
    ]
    for function in functions:
        assert torch.equal(compiled(function)(q), function(q))


def test_compiled_code_cannot_begin_with_the_kernel_alone() -> None:
    fresh = fa.compile(ARM)
    (q,) = states(ARM, count=1)
    with pytest.raises(Exception, match=r"access k\.torch once before torch\.compile"):
        compiled(lambda q: fresh.torch.gravity(q) + 1.0)(q)
    assert fresh.torch is not None
    assert torch.equal(compiled(lambda q: fresh.torch.gravity(q) + 1.0)(q), fresh.torch.gravity(q) + 1.0)


def test_forwards_of_forwards_inside_compiled_code_is_refused(k: fa.Kernel) -> None:
    q, qd, qdd = states(ARM)
    forwards = torch.func.jacfwd
    function = compiled(forwards(forwards(lambda q: k.torch.inverse_dynamics(q, qd, qdd).sum())))
    with pytest.raises(Exception, match="forward mode of forward mode is not supported in compiled code"):
        function(q)


def test_batches_of_many_sizes_in_one_graph(k: fa.Kernel) -> None:
    function = compiled(lambda *x: k.torch.inverse_dynamics(*x) * 2.0)
    for count in (5, 4, 3):
        given = states(ARM, count)
        assert torch.equal(function(*given), 2.0 * k.torch.inverse_dynamics(*given))


class Held(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, kernel: fa.Kernel) -> None:
        super().__init__()
        self.kernel, self.gravity = kernel, kernel.torch.gravity
        self.gain = torch.nn.Parameter(torch.full((kernel.arm.n,), 0.5, dtype=torch.float64))

    def forward(self, q: Any) -> Any:
        return self.gain * self.gravity(q) + self.kernel.torch.bias(q, 0.1)


def test_exported(k: fa.Kernel) -> None:
    module = Held(k)
    (q,) = states(ARM, 4, count=1)
    assert torch.equal(torch.export.export(module, (q,)).module()(q), module(q))


# PyTorch's own checks


@pytest.mark.parametrize("derived", [(), ("reverse",), ("forward",)], ids="-".join)
@pytest.mark.parametrize("which", ["plain", "shared", "each", "matrix"])
def test_operator_passes_opcheck(
    k: fa.Kernel, loaded: fa.Kernel, which: str, derived: tuple[str, ...]
) -> None:
    kernel = k if which in ("plain", "matrix") else loaded
    function = kernel.torch.inertia_matrix if which == "matrix" else kernel.torch.inverse_dynamics
    evaluation = function._evaluation
    for way in derived:
        evaluation = evaluation.then(way)
    generator = torch.Generator().manual_seed(1)
    given = [
        torch.rand(4, *slot.shape, dtype=torch.float64, generator=generator) for slot in evaluation.inputs
    ]
    if which == "shared":
        given[-1] = given[-1][0]
    torch.library.opcheck(OPERATOR, (evaluation.token, variables(*given)))
