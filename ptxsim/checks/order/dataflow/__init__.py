"""What becomes of values, by data flow over the program: which loads are of flags or tickets, and which races change no result."""
