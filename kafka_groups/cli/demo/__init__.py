"""The demo: 336,776 real flights through a share group of worker processes, one of which is killed on the way."""
