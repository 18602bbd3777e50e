"""Functions of an arm on a GPU: the graph as PTX, one thread per state, with the bits of the CPU's kernels.

`text` writes the kernels, `ptx` translates them, `driver` talks to CUDA's driver, `device_arrays` takes
arrays where they are.
"""
