"""Functions of an arm, or any function on the graph,
compiled just in time by LLVM to vector code, for one state or a batch.

`compile` and `compile_function` are the entry points; `ir` writes the LLVM IR, `elementary` holds the
coefficients of sines and cosines, `native` compiles the IR to machine code.
"""

from forearm.kernels.kernel import Kernel, compile
from forearm.kernels.traced_function import TracedFunction, compile_function

__all__ = ["Kernel", "TracedFunction", "compile", "compile_function"]
