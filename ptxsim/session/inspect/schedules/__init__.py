"""Other orders of events that a GPU may choose: launches that are run again on them, and what is wrong there."""
