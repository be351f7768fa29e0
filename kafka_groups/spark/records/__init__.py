"""Records as Arrow and pandas, their schema, and batches of them."""
