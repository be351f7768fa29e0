"""The group coordinator: groups by id, their records, and the operations on them."""
