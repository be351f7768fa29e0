"""How workers, source and drain use a share group: consumers, polls, acknowledgements, questions."""
