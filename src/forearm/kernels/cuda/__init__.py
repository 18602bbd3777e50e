"""Functions of an arm on a GPU: the graph as PTX, one thread per state, bit-identical to the CPU's kernels.

`text` writes the kernels, `ptx` translates them, `driver` wraps CUDA's driver, `device_arrays` reads device
arrays in place.
"""
