"""The built-in assignor `sticky`: balance first, then as few moves as possible, then existing copies of the state."""

from kafka_groups.assignment.group.sticky.assignor import StickyGroupAssignor

__all__ = ["StickyGroupAssignor"]
