"""Object files for other machines, without a compiler: microcontrollers, 64-bit Arm, RISC-V, x86 and
WebAssembly. `object_code` is the way in, by `generate(..., target=...)`; `machines` is the list of targets, `text`
writes LLVM's text, `listing` reads stack and cycles from the assembly, `wasm_link` makes modules of wasm objects.
"""
