"""Questions to brokers: which broker each key goes to, and when it is asked again."""
