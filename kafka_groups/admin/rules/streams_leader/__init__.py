"""The leader of a classic group of a streams application: it assigns the tasks to all members, in any language."""
