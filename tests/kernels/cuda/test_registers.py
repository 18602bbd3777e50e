"""Kernels as the assembler of CUDA sees them: registers, and what they have no room for."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import forearm as fa
from forearm.kernels.compiled import CompileRequest
from forearm.kernels.cpu import HOST
from forearm.kernels.cuda.device_compiled import ENTRY
from forearm.kernels.cuda.device_request import made
from forearm.kernels.cuda.ptx import assembly
from forearm.kernels.cuda.text import DEVICE_TARGETS, device_module

if not sys.platform.startswith("linux"):
    pytest.skip("the wheel's ptxas is looked for on Linux alone", allow_module_level=True)


@pytest.fixture(scope="module")
def ptxas() -> Path:
    found = find_spec("nvidia")
    folders = (found.submodule_search_locations if found else None) or ()
    places = [Path(folder, "cuda_nvcc", "bin", "ptxas") for folder in folders]
    for place in places:
        if place.exists():
            place.chmod(place.stat().st_mode | 0o111)  # installers drop it
            return place
    pytest.skip("no ptxas: pip install nvidia-cuda-nvcc-cu12 (it is there for x86-64 and aarch64)")


def assembled(ptxas: Path, ptx: str, folder: Path, architecture: str) -> tuple[int, int]:
    """Registers, and bytes of what was stored for lack of them."""
    (folder / "kernel.ptx").write_text(ptx, encoding="utf-8")
    command = [str(ptxas), f"-arch={architecture}", "-v", "-o", str(folder / "kernel.cubin"), "kernel.ptx"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert run.returncode == 0, run.stderr
    registers = re.findall(r"Used (\d+) registers", run.stderr)
    spilled = re.findall(r"(\d+) bytes spill stores", run.stderr)
    return max(map(int, registers)), sum(map(int, spilled))


# Registers with which threads enough fit on a processor, with room for another assembler's choice; measured
# with ptxas 12.9: 72, 128, 71, 128, 40, 72.
MOST = {
    ("inverse_dynamics", "float32"): 80,
    ("inverse_dynamics", "float64"): 128,
    ("forward_dynamics", "float32"): 80,
    ("forward_dynamics", "float64"): 128,
    ("inertia_matrix", "float32"): 56,
    ("inertia_matrix", "float64"): 96,
}


@pytest.mark.slow
@pytest.mark.parametrize(("function", "dtype"), MOST)
@pytest.mark.sweep
def test_the_pandas_kernels_fit_into_registers(
    function: str, dtype: str, ptxas: Path, tmp_path: Path
) -> None:
    _, ptx = made(CompileRequest(fa.load("panda"), (function,), dtype), each=False)
    registers, spilled = assembled(ptxas, ptx, tmp_path, "sm_90")
    assert registers <= MOST[function, dtype]
    assert spilled == 0


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_rollout_fits_into_registers(dtype: str, ptxas: Path, tmp_path: Path) -> None:
    from forearm.kernels.batch_rollout_ir import rollout_kernel_text
    from forearm.kernels.rollout_request import RolloutRequest

    program = RolloutRequest(fa.load("panda"), dtype, (), HOST, "rk4", False).program()
    text = rollout_kernel_text(ENTRY, program, DEVICE_TARGETS[dtype], 64)
    _, spilled = assembled(ptxas, assembly(device_module([text], DEVICE_TARGETS[dtype])), tmp_path, "sm_90")
    assert spilled == 0


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["sm_70", "sm_120", "sm_75", "sm_80", "sm_89"])
@pytest.mark.sweep(first=2)
def test_every_gpu_takes_the_same_text(architecture: str, ptxas: Path, tmp_path: Path) -> None:
    _, ptx = made(CompileRequest(fa.load("ascher2"), ("inverse_dynamics",), "float32"), each=False)
    registers, spilled = assembled(ptxas, ptx, tmp_path, architecture)
    assert registers > 8
    assert spilled == 0
