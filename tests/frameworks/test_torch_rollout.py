"""Rollouts on tensors: the kernel's bits, gradients against differences and against steps that autograd
records, and what is refused.
"""

from __future__ import annotations

from typing import Any

import pytest
from arms import random_arm
from frameworks.torch_states import states, torch, variables

import forearm as fa
from forearm.frameworks.torch_evaluation import evaluation_of
from forearm.frameworks.torch_operator import OPERATOR

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]
ARM = random_arm(3, 2, drives=False)
STEPS, STEP = 7, 0.01


@pytest.fixture(scope="module")
def k() -> fa.Kernel:
    return fa.compile(ARM, parameters=["gravity"])


def rollout(k: fa.Kernel, record: int | None = None) -> Any:
    def function(q: Any, qd: Any, torque: Any, p: Any) -> tuple[Any, ...]:
        return tuple(
            k.torch.simulate(q, qd, steps=STEPS, step=STEP, torque=torque, record=record, parameters=p)
        )

    return function


def given(k: fa.Kernel, torque: tuple[int, ...] = (3, STEPS, 2)) -> list[Any]:
    q, qd = states(ARM, 3, count=2)
    values = torch.tensor(list(k.parameters.values()), dtype=torch.float64)
    return [
        q,
        qd,
        torch.linspace(-1.0, 2.0, torch.Size(torque).numel(), dtype=torch.float64).reshape(torque),
        values,
    ]


@pytest.mark.parametrize("record", [None, 1, 3, 7])
@pytest.mark.parametrize("torque", [(2,), (3, 2), (STEPS, 2), (3, STEPS, 2)], ids=str)
def test_gradients_and_bits(k: fa.Kernel, torque: tuple[int, ...], record: int | None) -> None:
    q, qd, u, p = given(k, torque)
    made = rollout(k, record)(q, qd, u, p)
    arrays = {"torque": u.numpy(), "parameters": p.numpy(), "record": record}
    expected = k.simulate(q.numpy(), qd.numpy(), steps=STEPS, step=STEP, **arrays)
    assert all(torch.equal(one, torch.from_numpy(other)) for one, other in zip(made, expected, strict=True))
    assert torch.autograd.gradcheck(rollout(k, record), variables(q, qd, u, p))


def test_gradients_are_those_of_steps_written_out(k: fa.Kernel) -> None:
    """RK4 over k.torch.forward_dynamics, recorded operation by operation."""
    q, qd, u, p = variables(*given(k))

    def slope(q: Any, qd: Any, tau: Any) -> tuple[Any, Any]:
        return qd, k.torch.forward_dynamics(q, qd, tau, parameters=p)

    x, v = q, qd
    for i in range(STEPS):
        a = slope(x, v, u[:, i])
        b = slope(x + STEP / 2 * a[0], v + STEP / 2 * a[1], u[:, i])
        c = slope(x + STEP / 2 * b[0], v + STEP / 2 * b[1], u[:, i])
        d = slope(x + STEP * c[0], v + STEP * c[1], u[:, i])
        x, v = (s + STEP / 6 * (a[j] + 2 * b[j] + 2 * c[j] + d[j]) for j, s in enumerate((x, v)))
    wanted = torch.autograd.grad((x.square() + v).sum(), [q, qd, u, p])
    end, speed = rollout(k)(q, qd, u, p)
    made = torch.autograd.grad((end.square() + speed).sum(), [q, qd, u, p])
    for one, other in zip(made, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)


def test_one_arm_many_dimensions_and_parameters_of_each(k: fa.Kernel) -> None:
    q, qd, u, p = given(k, (STEPS, 2))
    rows = p * torch.linspace(0.9, 1.1, 3, dtype=torch.float64)[:, None]
    for case in ((q[0], qd[0], u, p), (q[None], qd[None], u, p), (q, qd, u, rows)):
        assert torch.autograd.gradcheck(rollout(k), variables(*case))


@pytest.mark.parametrize("torque", [(4, 2), (4, STEPS, 2), (4, 1, 2), (1, 2)], ids=str)
def test_one_state_and_inputs_of_many_arms(k: fa.Kernel, torque: tuple[int, ...]) -> None:
    q, qd, u, p = given(k, torque)
    made = rollout(k)(q[0], qd[0], u, p)
    expected = k.simulate(q[0].numpy(), qd[0].numpy(), steps=STEPS, step=STEP, torque=u.numpy())
    assert all(torch.equal(one, torch.from_numpy(other)) for one, other in zip(made, expected, strict=True))
    assert torch.autograd.gradcheck(rollout(k), variables(q[0], qd[0], u, p))


def test_one_state_and_parameters_of_many_arms(k: fa.Kernel) -> None:
    q, qd, u, p = given(k, (STEPS, 2))
    rows = p * torch.linspace(0.9, 1.1, 3, dtype=torch.float64)[:, None]
    expected = rollout(k)(q[:1].expand(3, -1), qd[:1].expand(3, -1), u, rows)
    named = dict(zip(k.parameters, rows.T, strict=True))
    for parameters in (rows, named):
        made = rollout(k)(q[0], qd[0], u, parameters)
        assert all(torch.equal(*pair) for pair in zip(made, expected, strict=True))


def test_compiled_before_any_call(k: fa.Kernel) -> None:
    """A plan that compiled code is the first to ask for."""
    q, qd, _, p = given(k)

    def end(q: Any) -> Any:
        left: Any = k.torch.simulate(q, qd, steps=5, step=STEP, parameters=p)
        return left.q.square().sum()

    (x,) = variables(q)
    torch._dynamo.reset()
    torch.compile(end, fullgraph=True, backend="aot_eager")(x).backward()
    (y,) = variables(q)
    end(y).backward()
    assert torch.equal(x.grad, y.grad)


def test_transforms(k: fa.Kernel) -> None:
    q, qd, u, p = given(k, (STEPS, 2))
    rows = p * torch.linspace(0.9, 1.1, 3, dtype=torch.float64)[:, None]
    vmap, grad = torch.func.vmap, torch.func.grad

    def function(q: Any, qd: Any, u: Any, p: Any) -> Any:
        return rollout(k)(q, qd, u, p)[0]

    both = torch.stack([u, 2.0 * u])
    assert torch.equal(vmap(function, (0, 0, None, None))(q, qd, u, p), function(q, qd, u, p))
    made = vmap(function, (None, None, 0, None))(q, qd, both, p)
    assert torch.equal(made, torch.stack([function(q, qd, one, p) for one in both]))
    made = vmap(function, (None, None, None, 0))(q, qd, u, rows)
    assert torch.equal(made, torch.stack([function(q, qd, u, row) for row in rows]))
    each = vmap(grad(lambda *x: function(*x).sum(), 2), (0, 0, None, None))(q, qd, u, p)
    whole = grad(lambda u: function(q, qd, u, p).sum())(u)
    torch.testing.assert_close(each.sum(0), whole, rtol=1e-12, atol=1e-14)
    torch._dynamo.reset()
    compiled = torch.compile(lambda u: function(q, qd, u, p) + 1.0, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(u), function(q, qd, u, p) + 1.0)


@pytest.mark.parametrize("derived", ["", "/reverse"])
def test_operator_passes_opcheck(k: fa.Kernel, derived: str) -> None:
    token = f"{k.torch._shared.key}/simulate torque steps rk4 {STEPS} {STEP.hex()} 0{derived}"
    sizes = [slot.shape for slot in evaluation_of(token).inputs]
    generator = torch.Generator().manual_seed(1)
    tensors = [torch.rand(3, *size, dtype=torch.float64, generator=generator) for size in sizes]
    if not derived:
        tensors = variables(*tensors)
    torch.library.opcheck(OPERATOR, (token, tensors))


def test_what_is_refused(k: fa.Kernel) -> None:
    q, qd, u, p = given(k, (STEPS, 2))
    once = "rollouts support reverse mode only, once: use .backward"
    with pytest.raises(fa.InputError, match=once):
        torch.func.jvp(lambda q: rollout(k)(q, qd, u, p)[0], (q,), (qd,))
    with pytest.raises(fa.InputError, match=once):
        torch.func.jacrev(torch.func.jacrev(lambda q: rollout(k)(q, qd, u, p)[0].sum()))(q)
    with pytest.raises(
        fa.InputError, match=r"^torque: expected shape \(2,\) or \(3, 2\) held, \(7, 2\) or \(3, 7, 2\) by"
    ):
        rollout(k)(q, qd, u[:4], p)
    with pytest.raises(
        fa.InputError, match=r"^torque: \(3, 2\) is ambiguous: one row per arm or one per step"
    ):
        k.torch.simulate(q, qd, steps=3, step=STEP, torque=q, parameters=p)
    with pytest.raises(
        fa.InputError, match="expected one of torque, voltage and controller, got torque and voltage"
    ):
        k.torch.simulate(q, qd, steps=3, step=STEP, torque=u[0], voltage=u[0], parameters=p)
    sticking = fa.compile(fa.load("puma560"))
    still = torch.zeros(6, dtype=torch.float64, requires_grad=True)
    end = sticking.torch.simulate(still, still, steps=3, step=STEP)
    with pytest.raises(fa.InputError, match="stick-slip motion has no gradient"):
        end.q.sum().backward()
