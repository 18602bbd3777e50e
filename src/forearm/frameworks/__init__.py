"""Functions of an arm inside PyTorch, JAX and CasADi, with derivatives."""
