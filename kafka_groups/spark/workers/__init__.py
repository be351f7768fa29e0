"""Share workers: the driver's side, the tasks, and what a task does with records."""
