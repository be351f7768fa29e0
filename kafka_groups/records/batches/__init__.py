"""Record batches: read into rows and columns, and built for partitions. Nothing here waits."""
