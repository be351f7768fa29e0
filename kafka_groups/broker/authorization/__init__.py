"""Authorization: which principal may do what, by access control lists as Kafka's StandardAuthorizer reads them."""
