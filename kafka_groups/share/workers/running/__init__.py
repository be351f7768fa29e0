"""Running handler workers: consumers, threads and tasks around the rules."""
