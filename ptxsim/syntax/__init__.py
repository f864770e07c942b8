"""Grammar to AST to text: `parser.parse` and `printer.print_module` are the two doors."""
