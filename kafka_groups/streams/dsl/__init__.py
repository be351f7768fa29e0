"""The DSL: streams, tables, groups and joins. It writes a graph of operators, from which a topology is built."""
