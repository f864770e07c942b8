"""From a module's text to programs: operands resolved, variables placed, what ptxas changes put in."""
