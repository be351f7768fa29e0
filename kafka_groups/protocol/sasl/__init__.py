"""SASL mechanisms as message exchanges, both ends: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and OAUTHBEARER.

An exchange takes what the other side sent and returns what to send next. It opens nothing and waits for nothing; the
messages travel in SaslAuthenticate requests and responses (KIP-152).
"""
