"""Dead letters of share groups (KIP-1191): the writer, its retries, and the records that letters copy."""
