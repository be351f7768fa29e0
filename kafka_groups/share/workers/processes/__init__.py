"""Worker processes: the parent that starts and replaces them, and what parent and child tell each other."""
