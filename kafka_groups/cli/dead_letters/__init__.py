"""`kafka-groups dead-letters`: list, show, send again and delete dead letters."""
