"""What the kernel's trace rings tell (docs/tracing.md): read from records, written for the tools that people use."""
