"""What orders threads, as edges of happens-before: barriers, mbarriers, fences, releases and acquires, completions of copies."""
