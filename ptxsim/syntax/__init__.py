"""PTX text to a syntax tree (`parser.parse`), names resolved (`scope.flatten`), and back (`printer.print_module`)."""
