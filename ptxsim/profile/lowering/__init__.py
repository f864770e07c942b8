"""From PTX to machine instructions: what the assembler folds, fuses, hoists, predicates and schedules."""
