"""What the simulations of classic groups and of consumer groups share."""
