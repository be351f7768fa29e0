"""The options of workers for records that fail while others succeed."""

__all__ = ["ON_ERROR", "PER_RECORD", "REJECT_ALL", "RELEASE_AND_RAISE", "FailureOption"]

FailureOption = str
"""One of `ON_ERROR`."""

RELEASE_AND_RAISE = "release"
"""Release the records of a batch that fails, and end the run with an error."""

PER_RECORD = "per_record"
"""Find the records that fail, and release only these."""

REJECT_ALL = "reject"
"""Reject the records of a batch that fails."""

ON_ERROR = (RELEASE_AND_RAISE, PER_RECORD, REJECT_ALL)
"""The values of `on_error`."""
