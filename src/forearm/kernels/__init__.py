"""Functions of an arm compiled in place by LLVM: the graph as vector code, for one state or many.

`compile` is the way in; `ir` writes LLVM's text, `sines` its sines and cosines,
`native` makes machine code of it.
"""

from forearm.kernels.kernel import Kernel, compile

__all__ = ["Kernel", "compile"]
