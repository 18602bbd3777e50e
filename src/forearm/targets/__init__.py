"""Object files for other machines, without a compiler: microcontrollers, 64-bit Arm, RISC-V and x86,
WebAssembly. `generate(..., target=...)` calls `object_source`; `machines` lists the targets, `text` writes
LLVM IR, `measured` checks and measures a file, `wasm_link` links wasm objects into modules.
"""
