"""Handler workers compared with programs written by hand."""
