"""The error of a worker that a driver cannot run."""

__all__ = ["WorkerTestError"]


class WorkerTestError(Exception):
    """A handler did something that does not exist in a `WorkerTestDriver`, or would never end there."""

    # Not a KafkaGroupsError: handlers catch those and go on.
