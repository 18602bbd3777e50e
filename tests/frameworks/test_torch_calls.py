"""Calls of `k.torch`: the bits of the kernel, however tensors lie; `out=`; what is refused; copies."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import warnings
from typing import Any

import pytest
from arms import random_arm
from frameworks.torch_states import states, torch, variables

import forearm as fa
from forearm.frameworks import torch_evaluation
from forearm.frameworks.torch_operator import OPERATOR

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]
ARM = random_arm(3, 3)


@pytest.fixture(scope="module")
def k() -> fa.Kernel:
    return fa.compile(ARM)


def expected(k: fa.Kernel, *given: Any) -> Any:
    return torch.from_numpy(k.inverse_dynamics(*(x.detach().numpy() for x in given)))


# The same bits


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("batch", [(), (1,), (7,), (300,)], ids=str)
def test_bits_of_the_kernel(batch: tuple[int, ...], dtype: str) -> None:
    """The first calls and those that go straight to machine code, with derivatives asked for and without."""
    k = fa.compile(ARM, dtype=dtype)
    given = states(ARM, *batch, dtype=dtype)
    wanted = expected(k, *given)
    for _ in range(4):
        assert torch.equal(k.torch.inverse_dynamics(*given), wanted)
    for _ in range(4):
        assert torch.equal(k.torch.inverse_dynamics(*variables(*given)), wanted)
    M = torch.from_numpy(k.inertia_matrix(given[0].numpy()))
    assert all(torch.equal(k.torch.inertia_matrix(given[0]), M) for _ in range(4))


@pytest.mark.parametrize("count", [1, 5])
def test_bits_with_open_parameters(count: int) -> None:
    """For all states and for each, by name, missing; with `out`, which may be the parameters themselves."""
    mass = f"{ARM.links[-1].name}.mass"
    k = fa.compile(ARM, parameters=[mass])
    given, own = states(ARM, count), torch.tensor([k.parameters[mass]], dtype=torch.float64)
    each = own * torch.linspace(0.5, 2.0, count, dtype=torch.float64)[:, None]
    out = torch.empty_like(given[0])
    for values in (own, each, {mass: 3.0}, None, own, each):
        named = values if values is None or isinstance(values, dict) else values.numpy()
        wanted = torch.from_numpy(k.inverse_dynamics(*(x.numpy() for x in given), parameters=named))
        for _ in range(4):
            assert torch.equal(k.torch.inverse_dynamics(*given, parameters=values), wanted)
            assert torch.equal(k.torch.inverse_dynamics(*given, parameters=values, out=out), wanted)
    with pytest.raises(fa.InputError, match="expected the tensors q, qd, qdd, got 4 without a name"):
        k.torch.inverse_dynamics(*given, own)
    one = fa.compile(random_arm(61, 1), parameters=["gravity.x"])
    q, values = (torch.linspace(0.1, 0.6, 3, dtype=torch.float64)[:, None].clone() for _ in range(2))
    wanted = one.torch.gravity(q, parameters=values)
    for _ in range(4):
        memory = values.clone()
        assert torch.equal(one.torch.gravity(q, parameters=memory, out=memory), wanted)


def test_shapes_that_change_from_call_to_call(k: fa.Kernel) -> None:
    for batch in [(4,), (4,), (4,), (2, 2), (), (), (), (4,), (0,), (0,), (0,), (2, 3), (1,), (1,), (1, 1)]:
        q, qd, qdd = states(ARM, *batch, seed=len(batch))
        flat = expected(k, *(x.reshape(-1, ARM.n) for x in (q, qd, qdd)))
        made = k.torch.inverse_dynamics(q, qd, qdd)
        assert made.shape == q.shape
        assert torch.equal(made.reshape(-1, ARM.n), flat)


def test_broadcast_numbers_and_names(k: fa.Kernel) -> None:
    q, qd = states(ARM, 4, count=2)
    wanted = expected(k, q, qd[0].expand(4, -1), torch.full_like(q, 0.5))
    assert torch.equal(k.torch.inverse_dynamics(q, qd[0], 0.5), wanted)
    assert torch.equal(k.torch.inverse_dynamics(q, qdd=0.5, qd=qd[:1]), wanted)
    grid = k.torch.inverse_dynamics(q[:, None], qd, 0.5)
    assert torch.equal(grid[2, 3], k.torch.inverse_dynamics(q[2], qd[3], 0.5))


def test_tensors_that_do_not_lie_in_a_row(k: fa.Kernel) -> None:
    q, qd, qdd = states(ARM, 4)
    wanted = expected(k, q, qd, qdd)
    spread = torch.zeros(ARM.n, 8, dtype=torch.float64).T
    spread[::2] = q
    strange = torch._neg_view(-qd)
    for _ in range(4):
        assert torch.equal(k.torch.inverse_dynamics(spread[::2], strange, qdd), wanted)
    with torch.inference_mode():
        assert torch.equal(k.torch.inverse_dynamics(q.clone(), qd, qdd), wanted)
    assert torch.equal(k.torch.inverse_dynamics(torch.nn.Parameter(q), qd, qdd), wanted)


def test_many_states_by_several_threads(k: fa.Kernel) -> None:
    """More than one thread would be given, and more rows than are computed at once."""
    given = states(ARM, 60_000)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        made = k.torch.inverse_dynamics(*given)
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(made, expected(k, *given))


def test_tensors_without_numbers_have_shapes(k: fa.Kernel) -> None:
    given = [x.to("meta") for x in states(ARM, 4)]
    for _ in range(4):
        assert k.torch.inverse_dynamics(*given).shape == (4, ARM.n)
        assert k.torch.inertia_matrix(given[0]).is_meta


def test_tensors_without_memory(k: fa.Kernel) -> None:
    q, qd, qdd = (x.clone() for x in states(ARM, 4))
    nothing = torch._efficientzerotensor((4, ARM.n), dtype=torch.float64)
    for _ in range(4):
        assert torch.equal(k.torch.inverse_dynamics(q, nothing, qdd), k.torch.inverse_dynamics(q, 0.0, qdd))
    for _ in range(4):
        k.torch.inverse_dynamics(q, qd, qdd)
    qd.untyped_storage().resize_(0)
    with pytest.raises(fa.InputError, match=r"^qd: the memory of this tensor was freed"):
        k.torch.inverse_dynamics(q, qd, qdd)


def test_nan_stays_in_its_state(k: fa.Kernel) -> None:
    q, qd, qdd = states(ARM, 4)
    q[1, 0] = torch.nan
    made = k.torch.inverse_dynamics(q, qd, qdd)
    assert made.isnan().all(-1).tolist() == [False, True, False, False]


def test_fused_functions_and_several_results(k: fa.Kernel) -> None:
    q, qd, qdd = states(ARM, 4)
    both = k.torch.fused(["inertia_matrix", "bias"])
    made = both(q, qd)
    assert list(made) == list(both.outputs) == ["M", "bias"]
    assert torch.equal(made["bias"], torch.from_numpy(k.bias(q.numpy(), qd.numpy())))
    out = {name: torch.empty_like(value) for name, value in made.items()}
    assert both(q, qd, out=out) is out
    assert torch.equal(out["M"], made["M"])
    three = k.torch.inverse_dynamics_derivatives(q, qd, qdd)
    for one, other in zip(
        three, k.inverse_dynamics_derivatives(*(x.numpy() for x in (q, qd, qdd))), strict=True
    ):
        assert torch.equal(one, torch.from_numpy(other))


# out=


def test_out_is_filled_and_given_back(k: fa.Kernel) -> None:
    given = states(ARM, 4)
    wanted, out = expected(k, *given), torch.empty(4, ARM.n, dtype=torch.float64)
    for _ in range(4):
        version = out._version
        out.zero_()
        assert k.torch.inverse_dynamics(*given, out=out) is out
        assert torch.equal(out, wanted)
        assert out._version > version + 1  # autograd would notice
    strided = torch.empty(ARM.n, 4, dtype=torch.float64).T
    assert torch.equal(k.torch.inverse_dynamics(*given, out=strided), wanted)


def test_out_may_lie_in_or_across_an_argument(k: fa.Kernel) -> None:
    for shift in (0, 1):
        for _ in range(4):
            memory = states(ARM, 5, count=1)[0]
            _, qd, qdd = states(ARM, 4, seed=1)
            q, out = memory[:4], memory[shift : 4 + shift]
            wanted = expected(k, q.clone(), qd, qdd)
            assert torch.equal(k.torch.inverse_dynamics(q, qd, qdd, out=out), wanted)
    q = states(ARM, 4, count=1)[0]
    M = k.torch.inertia_matrix(q)
    for _ in range(4):
        memory = torch.cat([q.flatten(), torch.zeros(60, dtype=torch.float64)])
        inside = memory[: 4 * ARM.n].reshape(4, ARM.n)
        assert torch.equal(k.torch.inertia_matrix(inside, out=memory[:36].reshape(4, 3, 3)), M)


def test_out_and_derivatives(k: fa.Kernel) -> None:
    given = states(ARM, 4)
    out = torch.empty_like(given[0])
    for _ in range(3):
        k.torch.inverse_dynamics(*given, out=out)
    with pytest.raises(fa.InputError, match=r"^out: .* have no derivatives, .* under torch\.no_grad\(\)\.$"):
        k.torch.inverse_dynamics(*variables(*given), out=out)
    with torch.no_grad():
        assert torch.equal(k.torch.inverse_dynamics(*variables(*given), out=out), expected(k, *given))


# What is refused


REFUSED: dict[str, tuple[Any, str]] = {
    "dtype": (
        lambda f, q: f(q.float(), q, q),
        r"^q: this kernel computes in float64, got a tensor of float32; convert it with "
        r"\.to\(torch\.float64\), or use fa\.compile\(arm, dtype='float32'\)\.$",
    ),
    "integers": (
        lambda f, q: f(q, q.long(), q),
        r"^qd: .* got a tensor of int64; convert it with \.to\(torch\.float64\)\.$",
    ),
    "joints": (
        lambda f, q: f(q[:, :2], q, q),
        r"^q: '.*' has 3 joints, expected shape \(\.\.\., 3\), got \(4, 2\)\.$",
    ),
    "batches": (lambda f, q: f(q, q[:3], q), r"do not broadcast: q \(4, 3\), qd \(3, 3\), qdd \(4, 3\)\.$"),
    "too few": (
        lambda f, q: f(q, q),
        r"^inverse_dynamics: expected the tensors q, qd, qdd, got 2 without a name\.$",
    ),
    "name": (lambda f, q: f(q, q, tau=q), r"expected the tensors q, qd, qdd, got 2 without a name, tau\.$"),
    "array": (
        lambda f, q: f(q.numpy(), q, q),
        r"^q: expected a torch tensor, got ndarray; for NumPy arrays use the methods of k itself\.$",
    ),
    "number": (lambda f, q: f(1.0, q, q), r"^q: expected a torch tensor, got float;"),
    "device": (
        lambda f, q: f(q, q.to("meta"), q),
        r"^qd: expected a tensor on cpu like q, got one on meta\.$",
    ),
    "sparse": (
        lambda f, q: f(q.to_sparse(), q, q),
        r"^q: expected a dense tensor, got torch\.sparse_coo; use \.to_dense\(\)\.$",
    ),
    "parameters": (lambda f, q: f(q, q, q, parameters=q), r"^parameters: this kernel has no open parameters"),
    "out, shape": (
        lambda f, q: f(q, q, q, out=q[:3]),
        r"^out: expected a tensor \(4, 3\) of torch\.float64 on cpu, got \(3, 3\) of torch",
    ),
    "out, dtype": (
        lambda f, q: f(q, q, q, out=q.float()),
        r"^out: .* got \(4, 3\) of torch\.float32 on cpu\.$",
    ),
    "out, count": (lambda f, q: f(q, q, q, out=[q, q]), r"^out: expected one tensor for each of tau, got "),
}


@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_said(k: fa.Kernel, call: Any, message: str) -> None:
    (q,) = states(ARM, 4, count=1)
    for _ in range(3):  # also after calls that went straight to machine code
        with pytest.raises(fa.InputError, match=message):
            call(k.torch.inverse_dynamics, q)
        k.torch.inverse_dynamics(q, q, q, out=torch.empty_like(q))
        k.torch.inverse_dynamics(q, q, q)


def test_nested_tensors_are_refused(k: fa.Kernel) -> None:
    (q,) = states(ARM, 4, count=1)
    with warnings.catch_warnings(action="ignore"):
        nested = torch.nested.nested_tensor([q, q])
    for _ in range(3):
        with pytest.raises(
            fa.InputError, match=r"^qd: expected a dense tensor, got a nested one; use torch\.nest"
        ):
            k.torch.inverse_dynamics(q, nested, q)
        with pytest.raises(fa.InputError, match=r"^out: expected dense tensors, got a nested one\.$"):
            k.torch.inverse_dynamics(q, q, q, out=nested)
        k.torch.inverse_dynamics(q, q, q, out=torch.empty_like(q))
        k.torch.inverse_dynamics(q, q, q)


def test_modes_see_the_operator(k: fa.Kernel) -> None:
    """Also after calls that went straight to machine code."""
    from torch.fx.experimental.proxy_tensor import make_fx

    q, other = states(ARM, 4, count=2)
    for _ in range(3):
        traced = make_fx(lambda q: k.torch.gravity(q) * 2.0)(q)
        assert torch.equal(traced(other), k.torch.gravity(other) * 2.0)


def test_parameters_that_do_not_fit_are_said() -> None:
    mass = f"{ARM.links[-1].name}.mass"
    k = fa.compile(ARM, parameters=[mass, "gravity"])
    given = states(ARM, 5)
    for wrong, message in (
        (
            torch.zeros(3, dtype=torch.float64),
            r"4 are left open; expected shape \(4,\), or \(5, 4\) .* got \(3,\)",
        ),
        (torch.zeros(2, 4, dtype=torch.float64), r"with one row per state, got \(2, 4\)"),
        ({"mass": 1.0}, r"parameters left open: expected one of .*mass"),
        ({mass: torch.zeros(5)}, r"parameters, .*mass: this kernel computes in float64"),
    ):
        with pytest.raises(fa.InputError, match=message):
            k.torch.inverse_dynamics(*given, parameters=wrong)


def test_names_that_are_not_there(k: fa.Kernel) -> None:
    with pytest.raises(
        AttributeError, match=r"k\.torch: expected one of .*; did you mean 'inverse_dynamics'"
    ):
        k.torch.inverse_dynamic  # noqa: B018
    with pytest.raises(fa.InputError, match="expected one of"):
        k.torch.fused(["inverse_dynamic"])
    assert "coriolis_matrix" in dir(k.torch)


def test_a_graph_whose_kernel_is_gone_says_so() -> None:
    with pytest.raises(
        fa.InputError, match="the kernel that this graph was built with is gone; keep a reference"
    ):
        OPERATOR("0" * 20 + "/gravity", [torch.zeros(3, dtype=torch.float64)])


def test_the_operator_checks_what_it_is_given(k: fa.Kernel) -> None:
    token = k.torch.gravity._evaluation.token
    with pytest.raises(
        fa.InputError, match=r"on one device of shapes \[\(3,\)\], got \[\(\(3,\), torch.float32, 'cpu'"
    ):
        OPERATOR(token, [torch.zeros(3)])


# Copies


class Held(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, kernel: fa.Kernel) -> None:
        super().__init__()
        self.kernel, self.gravity = kernel, kernel.torch.gravity
        self.both = kernel.torch.fused(["gravity", "bias"])

    def forward(self, q: Any) -> Any:
        return self.gravity(q) + self.kernel.torch.bias(q, 0.1) + self.both(q, 0.2)["bias"]


def test_modules_that_hold_a_kernel_are_copied_and_pickled(k: fa.Kernel) -> None:
    module = Held(k)
    (q,) = states(ARM, 4, count=1)
    wanted = module(q)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(other(q), wanted)
        assert other.kernel.torch.gravity._evaluation is k.torch.gravity._evaluation  # compiled once


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_goes_on(k: fa.Kernel) -> None:
    given = states(ARM, 4)
    wanted = k.torch.inverse_dynamics(*given)
    child = os.fork()
    if not child:
        fine = torch.equal(k.torch.inverse_dynamics(*given), wanted)
        os._exit(0 if fine and torch.equal(fa.compile(ARM).torch.inverse_dynamics(*given), wanted) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_kernels_that_are_gone_leave_nothing_behind() -> None:
    gc.collect()
    before = len(torch_evaluation._devices), len(torch_evaluation._evaluations)
    for k in range(6):
        arm = random_arm(60 + k, 1)
        given = variables(*states(arm, 2))
        fa.compile(arm).torch.inverse_dynamics(*given).sum().backward()
    del given
    gc.collect()
    after = len(torch_evaluation._devices), len(torch_evaluation._evaluations)
    assert all(now <= then + 1 for now, then in zip(after, before, strict=True))


# The interface to a GPU, without one


def test_a_launcher_gets_stream_addresses_and_count(k: fa.Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a CUDA kernel is called with, computed here by machine code of the CPU at the same addresses."""
    evaluation = k.torch.inverse_dynamics._evaluation
    native, seen = k.compiled("inverse_dynamics").part("batch"), []

    class Launched:
        def launcher(self, each: bool = False) -> Any:
            def launch(stream: int, addresses: tuple[int, ...], count: int) -> None:
                seen.append((stream, each))
                native.call(*addresses, count)

            return launch

    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda index: 40 + index, raising=False)
    launch = torch_evaluation._on_cuda(Launched(), torch.device("cuda:2"), False)
    given = states(ARM, 5)
    made = torch.empty_like(given[0])
    launch([t.data_ptr() for t in (*given, made)], 5)
    assert torch.equal(made, evaluation(given)[0])
    assert seen == [(42, False)]
