"""What workers, source and drain do while a sink fails, and with records that keep failing."""
