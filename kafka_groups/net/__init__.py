"""Clocks, networks and connections: everything that touches an event loop's sockets and timers."""
