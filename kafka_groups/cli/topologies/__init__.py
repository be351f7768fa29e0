"""`kafka-groups streams topology` and `streams try`: a topology as text or picture, and with data."""
