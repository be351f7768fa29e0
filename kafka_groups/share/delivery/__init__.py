"""What a share consumer does with deliveries, without any I/O: sessions, acquired records, acknowledgements."""
