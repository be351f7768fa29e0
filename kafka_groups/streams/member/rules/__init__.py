"""The rules that members of every kind of group share: tasks, events, commits. No I/O."""
