"""The counts of a run of the source, for the query's progress."""

from attrs import define

__all__ = ["Counts"]


@define
class Counts:
    """Totals since the run began.

    Attributes:
        acquired: Records acquired.
        accepted: Records whose acknowledgement the brokers confirmed.
        lock_lost: Records whose acknowledgement was refused or not answered; they are redelivered.
        expired: Records whose locks expired before Spark received them; they are redelivered.
        batches: Batches given to Spark.
        max_delivery_count: The highest delivery count of an acquired record.
        last_deliveries: Records that were acquired on their last delivery.
        dead_letters: Records copied to the dead-letter topic.
        corrupt_batches: Batches of the log that could not be read; they were rejected.
    """

    acquired: int = 0
    accepted: int = 0
    lock_lost: int = 0
    expired: int = 0
    batches: int = 0
    max_delivery_count: int = 0
    last_deliveries: int = 0
    dead_letters: int = 0
    corrupt_batches: int = 0
