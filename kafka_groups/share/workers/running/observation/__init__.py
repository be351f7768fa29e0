"""Shows a running worker to people: its status, a page with it, and the address that answers."""
