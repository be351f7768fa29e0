"""The configuration keys for TLS and SASL."""
