"""`kafka-groups top`: what runs now, printed again and again."""
