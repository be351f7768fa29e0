"""Streams applications in classic groups: what DescribeGroups tells of them, and their offsets and topics."""
