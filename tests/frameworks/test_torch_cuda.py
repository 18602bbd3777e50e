"""`k.torch` on a GPU: bits of the CPU, streams, graphs, derivatives. As a program it measures calls."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from frameworks.torch_states import states, torch, variables

import forearm as fa

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.gpu,
    pytest.mark.slow,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU is here"),
]
ARM = random_arm(3, 3)


@pytest.fixture(scope="module")
def k() -> fa.Kernel:
    return fa.compile(ARM)


def there(*tensors: Any) -> list[Any]:
    return [t.cuda() for t in tensors]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "name", ["inverse_dynamics", "inertia_matrix", "jacobian", "inverse_dynamics_derivatives"]
)
def test_bits_of_the_cpu(name: str, dtype: str) -> None:
    k = fa.compile(ARM, dtype=dtype)
    function = getattr(k.torch, name)
    for batch in ((), (1,), (257,), (3, 5)):
        given = states(ARM, *batch, count=len(function.inputs), dtype=dtype)
        wanted = function(*given)
        for _ in range(3):  # the last of them by the shortcut
            made = function(*there(*given))
            pairs = zip(made, wanted, strict=True) if isinstance(made, tuple) else [(made, wanted)]
            assert all(torch.equal(one.cpu(), other) for one, other in pairs)


def test_gradients_have_the_bits_of_the_cpu(k: fa.Kernel) -> None:
    given = states(ARM, 100)
    here, away = variables(*given), variables(*there(*given))
    wanted = torch.autograd.grad(k.torch.inverse_dynamics(*here).sum(), here)
    made = torch.autograd.grad(k.torch.inverse_dynamics(*away).sum(), away)
    assert all(torch.equal(one.cpu(), other) for one, other in zip(made, wanted, strict=True))


@pytest.mark.parametrize("each", [False, True], ids=["shared", "each"])
def test_open_parameters(each: bool) -> None:
    k = fa.compile(ARM, parameters=[f"{ARM.links[-1].name}.mass", "gravity"])
    values = torch.tensor(list(k.parameters.values()), dtype=torch.float64)
    if each:
        values = values * torch.linspace(0.9, 1.2, 4, dtype=torch.float64)[:, None]
    given = states(ARM, 4)
    wanted = k.torch.inverse_dynamics(*given, parameters=values)
    assert torch.equal(k.torch.inverse_dynamics(*there(*given), parameters=values.cuda()).cpu(), wanted)
    own = k.torch.inverse_dynamics(*given)
    assert torch.equal(k.torch.inverse_dynamics(*there(*given)).cpu(), own)
    leaves = variables(*there(*given, values))
    assert torch.autograd.gradcheck(
        lambda q, qd, qdd, p: k.torch.inverse_dynamics(q, qd, qdd, parameters=p), leaves
    )


def test_work_is_on_the_current_stream(k: fa.Kernel) -> None:
    """A stream that is kept busy first: what is read from another one too early would be the old numbers."""
    given = states(ARM, 1000)
    wanted = k.torch.inverse_dynamics(*given)
    q, qd, qdd = there(*given)
    late = torch.zeros_like(q)
    k.torch.inverse_dynamics(late, qd, qdd)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        late.copy_(q)
        made = k.torch.inverse_dynamics(late, qd, qdd)
    stream.synchronize()
    assert torch.equal(made.cpu(), wanted)


def test_captured_in_a_graph(k: fa.Kernel) -> None:
    given = states(ARM, 64)
    q, qd, qdd = there(*given)
    out = torch.empty_like(q)
    k.torch.inverse_dynamics(q, qd, qdd, out=out)
    k.torch.inverse_dynamics(q, qd, qdd, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        k.torch.inverse_dynamics(q, qd, qdd, out=out)
        twice = 2.0 * out
    q.add_(0.25)
    graph.replay()
    torch.cuda.synchronize()
    wanted = k.torch.inverse_dynamics(given[0] + 0.25, *given[1:])
    assert torch.equal(out.cpu(), wanted)
    assert torch.equal(twice.cpu(), 2.0 * wanted)


def test_compiled_code_and_vmap(k: fa.Kernel) -> None:
    given = there(*states(ARM, 16))
    wanted = k.torch.inverse_dynamics(*given)
    compiled = torch.compile(
        lambda *x: k.torch.inverse_dynamics(*x) + 0.0, fullgraph=True, backend="aot_eager"
    )
    assert torch.equal(compiled(*given), wanted + 0.0)
    assert torch.equal(torch.func.vmap(k.torch.inverse_dynamics)(*given), wanted)


def test_a_device_for_each_tensor_is_refused(k: fa.Kernel) -> None:
    q, qd, qdd = states(ARM, 4)
    with pytest.raises(fa.InputError, match=r"^qd: expected a tensor on cuda:0 like q, got one on cpu\.$"):
        k.torch.inverse_dynamics(q.cuda(), qd, qdd.cuda())


def test_rollouts(k: fa.Kernel) -> None:
    arm = random_arm(3, 2, drives=False)
    rigid = fa.compile(arm)
    q, qd = states(arm, 5, count=2)
    wanted: Any = rigid.torch.simulate(q, qd, steps=20, step=0.01)
    made: Any = rigid.torch.simulate(q.cuda(), qd.cuda(), steps=20, step=0.01)
    assert all(torch.equal(one.cpu(), other) for one, other in zip(made, wanted, strict=True))
    torque = torch.linspace(-1.0, 1.0, 2, dtype=q.dtype)
    slopes = []
    for given in ((q, qd, torque), (q.cuda(), qd.cuda(), torque.cuda())):
        *start, drive = variables(*given)
        end: Any = rigid.torch.simulate(*start, steps=20, step=0.01, torque=drive)
        (end.q.square().sum() + end.qd.sum()).backward()
        slopes.append([t.grad for t in (*start, drive)])
    for here, there in zip(*slopes, strict=True):
        assert there.is_cuda
        assert torch.allclose(there.cpu(), here, rtol=1e-12, atol=1e-12)


def measured() -> None:
    """Microseconds of a call of the Panda, from Python, beside torch.add: launches, not results."""
    k = fa.compile(fa.load("panda"), dtype="float32")
    f = k.torch.inverse_dynamics
    for batch in (1, 256, 4096):
        q, qd, qdd = there(*states(k.arm, batch, dtype="float32"))
        out, leaf = torch.empty_like(q), q.clone().requires_grad_()
        cases: dict[str, Any] = {
            "torch.add(out=)": lambda q=q, qd=qd, out=out: torch.add(q, qd, out=out),
            "k.torch, out=": lambda q=q, qd=qd, qdd=qdd, out=out: f(q, qd, qdd, out=out),
            "torch.add": lambda q=q, qd=qd: torch.add(q, qd),
            "k.torch": lambda q=q, qd=qd, qdd=qdd: f(q, qd, qdd),
            "torch.add, recorded": lambda leaf=leaf, qd=qd: torch.add(leaf, qd),
            "k.torch, recorded": lambda leaf=leaf, qd=qd, qdd=qdd: f(leaf, qd, qdd),
            "backward": lambda leaf=leaf, qd=qd, qdd=qdd: torch.autograd.grad(f(leaf, qd, qdd), leaf, qd),
        }
        for name, call in cases.items():
            times = []
            for _ in range(30):
                torch.cuda.synchronize()
                start = perf_counter()
                for _ in range(200):
                    call()
                times.append((perf_counter() - start) / 200)
            print(f"{batch:5} {name:20} {1e6 * np.median(times):7.2f} us, least {1e6 * min(times):7.2f}")


if __name__ == "__main__":
    measured()
