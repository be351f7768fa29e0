"""`kafka-groups acls`: who may do what to which resource."""
