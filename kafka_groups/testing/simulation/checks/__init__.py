"""Independent checks of a simulated run: by the frames on the wire, and by the logs of the coordinators."""
