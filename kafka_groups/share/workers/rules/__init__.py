"""The rules of handler workers and of Spark workers, without I/O: time and randomness are arguments."""
