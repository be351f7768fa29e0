"""Streams applications in virtual time: workers, members of the group and data planes are those of a cluster."""
