"""What only another run can show: operands of an instruction, who stored an element, whether an unwritten value matters."""
