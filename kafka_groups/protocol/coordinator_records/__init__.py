"""The records of Kafka's internal topics: keys and values to bytes and back, as Kafka's own coordinators write them."""
