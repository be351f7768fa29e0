"""The demo: real flights through a share group, into PySpark or plain worker processes, some of which are killed."""
