"""Object files for other machines, without a compiler: microcontrollers, 64-bit Arm, RISC-V and x86,
WebAssembly. `object_source`, by `generate(..., target=...)`, is the way in; `machines` lists the targets,
`text` writes LLVM's text, `measured` says what is known of a file, `wasm_link` makes modules of wasm objects.
"""
