"""The transaction coordinator's shard, without a log and without a broker."""
