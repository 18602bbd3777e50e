"""Rollouts as machine code: the compile request, and its code, loaded from the cache or compiled now."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

from forearm.arm.arm import Arm
from forearm.kernels.compiled import Names, Native
from forearm.kernels.elf import Loaded
from forearm.kernels.load_or_compile import About, kept_or_made
from forearm.kernels.native import function_of

if TYPE_CHECKING:
    from forearm.codegen.functions import Traced
    from forearm.kernels.batch_rollout_ir import RolloutProgram
    from forearm.kernels.rollout_summary import TracedSummary

# The functions' names in their objects, and their numbers of arrays and integers; the step size comes last.
# The gradient of a controller's reference takes some more.
ROLLOUT, ROLLOUT_GRADIENT = "batch_rollout", "rollout_gradient"
ARGUMENTS = {ROLLOUT: (8, 11), ROLLOUT_GRADIENT: (11, 9)}
OF_CONTROLLER = 1, 3
MOST_KEPT = 32  # rollouts that a process keeps


@dataclass(frozen=True)
class RolloutRequest:
    """A request to compile: an arm driven by torques or voltages under a method, the law of its controller,
    and the summaries, both identified by digests of what they compute. If `is_limited`, motor torques
    saturate at the joints' max_effort.
    """

    arm: Arm
    dtype: str
    parameters: Names
    cpu: str
    method: str
    voltage: bool
    function: str = ROLLOUT
    digest: str = ""
    law: Traced | None = field(default=None, compare=False)
    is_limited: bool = False
    summary: TracedSummary | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """Everything that determines what the code computes."""
        chosen = self.parameters, self.method, self.voltage, self.function, self.digest
        more = self.is_limited, "" if self.summary is None else self.summary.digest
        return "batch rollouts", self.arm, self.dtype, *chosen, *more

    def program(self) -> RolloutProgram:
        """The traced program."""
        from forearm.codegen.rollout_step import RolloutStep
        from forearm.codegen.simulation_step import TracedPlant
        from forearm.drives.coordinates import refuse_drive_states
        from forearm.dynamics.explicit_methods import explicit_method
        from forearm.kernels.batch_rollout_ir import RolloutProgram
        from forearm.reduction.symbolic import chosen_parameters

        refuse_drive_states(self.arm, "simulate", "fa.simulate and fa.simulate_many do. ")
        chosen = chosen_parameters(self.arm, self.parameters)
        single = self.dtype == "float32"
        plant = TracedPlant(self.arm, self.voltage, chosen, single, is_limited=self.is_limited)
        return RolloutProgram(RolloutStep(plant, explicit_method(self.method)), self.law, self.summary)


class CompiledRollout:
    """The machine code of a request, in parts: "single" for one arm, "batch" for many in vector lanes."""

    def __init__(self, request: RolloutRequest) -> None:
        self.request = request
        self._parts: dict[str, Native] = {}
        self.operations = 1  # of one step

    @cached_property
    def _program(self) -> RolloutProgram:
        return self.request.program()

    def part(self, name: str) -> Native:
        """A part from memory, from the cache, or compiled now."""
        return self._parts.get(name) or self._found(name)

    def _found(self, part: str) -> Native:
        request = self.request

        def make() -> tuple[About, bytes]:
            from forearm.kernels.batch_rollout_ir import batch_rollout_text
            from forearm.kernels.llvm import stack_of
            from forearm.kernels.native import host, object_code
            from forearm.kernels.rollout_gradient_ir import rollout_gradient_text

            program = self._program
            target = host(request.dtype, 1 if part == "single" else None, request.cpu)
            write = batch_rollout_text if request.function == ROLLOUT else rollout_gradient_text
            text = write(program, target)
            about = {
                "arm": request.arm.name,
                "functions": [request.function],
                "dtype": request.dtype,
                "part": part,
                "stack": stack_of(text),
                "operations": program.operations,
            }
            return about, object_code(text, request.cpu)

        def place(about: About, memory: Loaded) -> Native:
            number = ctypes.c_double if request.dtype == "float64" else ctypes.c_float
            pointers, whole = ARGUMENTS[request.function]
            if request.digest and request.function == ROLLOUT_GRADIENT:
                pointers, whole = pointers + OF_CONTROLLER[0], whole + OF_CONTROLLER[1]
            kinds = [ctypes.c_void_p] * pointers + [ctypes.c_int64] * whole + [number]
            call = function_of(memory, request.function, *kinds)
            self.operations = int(about["operations"])
            native = Native(call, memory.addresses[request.function], stack=int(about["stack"]))
            return self._parts.setdefault(part, native)

        known = partial(self._parts.get, part)
        return kept_or_made((request.key, part), [request.function], make, place, known, request.cpu)


@lru_cache(maxsize=MOST_KEPT)
def rollout_of(request: RolloutRequest) -> CompiledRollout:
    """The code of a request, kept for the life of the process."""
    return CompiledRollout(request)
