"""Functions of an arm, or any function on the graph, compiled in place by LLVM: as vector code, for one
state or many.

`compile` and `compile_function` are the ways in; `ir` writes LLVM's text, `elementary` its sines and
cosines, `native` makes machine code of it.
"""

from forearm.kernels.kernel import Kernel, compile
from forearm.kernels.traced_function import TracedFunction, compile_function

__all__ = ["Kernel", "TracedFunction", "compile", "compile_function"]
