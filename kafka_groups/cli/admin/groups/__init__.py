"""`kafka-groups groups`: groups of all types."""
