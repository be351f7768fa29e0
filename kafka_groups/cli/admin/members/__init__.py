"""`kafka-groups members`: members of classic and consumer groups (KIP-345)."""
