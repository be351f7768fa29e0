"""The transaction coordinator of a broker, and what brokers ask each other about transactions."""
