"""One module per API: version-free messages, bound to the wire by name (see `kafka_groups.protocol.binding`)."""
