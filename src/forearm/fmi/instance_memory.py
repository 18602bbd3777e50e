"""The memory of an FMU's instances and saved states: the layout of a slot, the modes, and the messages.

Slots are in a fixed pool, so that the code needs no allocator.
"""

from __future__ import annotations

from dataclasses import dataclass

from forearm.fmi.layout import Layout
from forearm.kernels.llvm import IRFunction, Operand, Value, constants, variables

SLOTS = 1024  # instances and saved states that can exist at a time
OK, DISCARD, ERROR = (Value(str(k), "i32") for k in (0, 2, 3))  # FMI's status, the same in versions 2 and 3
INSTANTIATED, INITIALIZATION, EVENT, CONTINUOUS, STEPPING, TERMINATED = (1, 2, 4, 8, 16, 32)  # modes
ALIVE = INSTANTIATED | INITIALIZATION | EVENT | CONTINUOUS | STEPPING
ANY = ALIVE | TERMINATED
READABLE = 128  # not a mode: marks variables, besides the modes in which they can be set
MODEL_EXCHANGE, CO_SIMULATION, SAVED = 1, 2, 3  # contents of a slot
USED, KIND, LOGGER, ENVIRONMENT, NAME, MODE, IS_OLD, CELLS = 0, 8, 16, 24, 32, 160, 168, 176  # bytes
NAME_BYTES = MODE - NAME
MOST_STEPS = 1e9  # steps of one communication step
ROUNDING = 1e-9  # share of a step by which a communication step may exceed whole steps

WRONG_CALL = "this function cannot be called now: see the state machine of the FMI standard"
WRONG_REFERENCE = "there is no such value reference, or it cannot be set now"
NOT_FINITE = "a value is infinite or not a number"
DIVERGED = "the motion diverged: states or derivatives are not finite; take shorter steps"
BAD_STEP = "the step must be above 0, and a communication step at most 1e9 steps"
FULL = "no more instances or saved states: 1024 at a time"
OTHER = "the instantiation token is that of another model description"
BAD_STATE = "not a saved state of this FMU"
MESSAGES = (
    WRONG_CALL, WRONG_REFERENCE, NOT_FINITE, DIVERGED, BAD_STEP, FULL, OTHER, BAD_STATE,
)  # fmt: skip
CATEGORY = "logStatusError"


@dataclass(frozen=True)
class Memory:
    """Sizes of the parts of an instance, bytes."""

    layout: Layout

    @property
    def cells(self) -> int:
        """Bytes of its values."""
        return 8 * self.layout.size

    @property
    def saved(self) -> int:
        """Bytes of its state, from its mode on."""
        return CELLS - MODE + self.cells

    @property
    def stride(self) -> int:
        """Bytes from one slot to the next: the values are followed by room for a copy of them."""
        return (CELLS + 2 * self.cells + 63) // 64 * 64


def pool_text(memory: Memory) -> str:
    """The memory of all instances."""
    return variables("pool", "i64", SLOTS * memory.stride // 8)


def text_constant(name: str, text: str) -> str:
    """A C string."""
    return constants(name, "i8", [*text.encode("ascii"), 0])


def cells_of(f: IRFunction, instance: Operand, array: int = 0) -> Value:
    """A pointer to the values of an instance from a place on."""
    return f.at(str(instance), CELLS + 8 * array, "i8")


def message_of(message: str) -> Value:
    """A message as a C string."""
    return Value(f"@message{MESSAGES.index(message)}", "ptr")


def failed(f: IRFunction, instance: Operand, status: Value, message: str) -> None:
    """Return from a function with an error message."""
    f.call("fmu.told", instance, status, message_of(message))
    f.ret(status)


def is_finite(f: IRFunction, x: Value) -> Value:
    """x - x is 0 if x is finite, and NaN otherwise."""
    return (x - x).equals(0.0)
