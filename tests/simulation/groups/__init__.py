"""What the simulations of classic, consumer and streams groups share."""
