"""Text of LLVM IR: values, the emitter of lane operations, modules. Knows no PTX."""
