"""The end of attempts that outlast a worker."""

__all__ = ["WorkerStoppedError"]


class WorkerStoppedError(Exception):
    """The worker has stopped, and the attempt was cancelled after `shutdown_timeout`. Its record is released."""

    def __init__(self) -> None:
        super().__init__("the attempt was cancelled because the worker has stopped")
