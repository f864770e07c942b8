"""Grammar to AST to text. `parse` and `print_module` are the two doors."""
