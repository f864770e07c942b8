"""What Triton finds by the entry point `triton.backends`: loaded by every `import triton`, so it loads nothing itself."""
