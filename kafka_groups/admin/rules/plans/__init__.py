"""Plans: what a task assignor would do to a running streams group (KIP-924, KIP-1357). Nothing is changed."""
