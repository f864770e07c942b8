"""A language server for PTX: what an editor asks about a text, and the protocol around it."""
