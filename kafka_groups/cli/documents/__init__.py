"""The JSON documents that commands print, as frozen classes.

Fields are added, never renamed. Times are integers that end in `_ms`, unknown numbers are null, and ids are text.
"""
