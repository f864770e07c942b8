"""What findings of several checks share: their causes, changes of the text that would correct them, the waits they name."""
