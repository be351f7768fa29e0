"""The one place where the metadata changes: it makes the next image and publishes it, each image once and in order."""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from attrs import define

from kafka_groups.broker.metadata.delta import MetadataDelta
from kafka_groups.broker.metadata.edit import MetadataEdit
from kafka_groups.broker.metadata.image import MetadataImage

__all__ = ["Authority", "MetadataListener"]

T = TypeVar("T")

MetadataListener = Callable[[MetadataImage, MetadataDelta], None]
"""Receives a new image and how it differs from the one before."""


@define(eq=False)
class _Subscription:
    listener: MetadataListener
    since: int
    has_ended: bool = False


class Authority:
    """Has the current image, and the listeners of changes.

    Args:
        image: The first image.
    """

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self._subscriptions: list[_Subscription] = []
        self._unpublished: deque[tuple[MetadataImage, MetadataDelta]] = deque()
        self._is_editing = False
        self._is_publishing = False

    def __repr__(self) -> str:
        return f"<Authority of {self._image!r}, {len(self._subscriptions)} listeners>"

    @property
    def image(self) -> MetadataImage:
        """The current image."""
        return self._image

    def change(self, edit: Callable[[MetadataEdit], T]) -> T:
        """Make the next image, publish it, and return what `edit` returned.

        An edit that changes nothing makes no image. If a listener changes the metadata, its change is made at once, but
        published after all listeners have received the previous one.

        Args:
            edit: Puts the changes into the `MetadataEdit`. If it raises an error, nothing changes.

        Raises:
            RuntimeError: `edit` itself changes the metadata.
            Exception: A listener failed; an `ExceptionGroup` if several did. The change is made, and the other
                listeners have received it.
        """
        if self._is_editing:
            raise RuntimeError("An edit of the metadata cannot start another one.")
        self._is_editing = True
        try:
            draft = MetadataEdit(self._image)
            result = edit(draft)
            made = draft.finish()
        finally:
            self._is_editing = False
        if made is not None:
            self._image = made[0]
            self._unpublished.append(made)
            self._publish()
        return result

    def on_change(self, listener: MetadataListener) -> Callable[[], None]:
        """Call a listener after every change from now on. Returns a function that stops it."""
        subscription = _Subscription(listener, self._image.version)
        self._subscriptions.append(subscription)
        return partial(self._end, subscription)

    # ----------------------------------------------------------------------------------------- insides

    def _end(self, subscription: _Subscription) -> None:
        subscription.has_ended = True
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def _publish(self) -> None:
        if self._is_publishing:
            return  # a listener made this change: its turn comes after the current one
        self._is_publishing = True
        failures: list[Exception] = []
        try:
            while self._unpublished:
                failures += self._tell(*self._unpublished.popleft())
        finally:
            self._is_publishing = False
        if len(failures) > 1:
            raise ExceptionGroup("Several listeners of the metadata failed.", failures)
        if failures:
            raise failures[0]

    def _tell(self, image: MetadataImage, delta: MetadataDelta) -> list[Exception]:
        failures: list[Exception] = []
        for subscription in tuple(self._subscriptions):
            # Listeners may come and go during this loop. A new one starts after the version at which it subscribed.
            if subscription.since < image.version and not subscription.has_ended:
                try:
                    subscription.listener(image, delta)
                except Exception as error:
                    # One listener's error must not keep the others from the image. It is raised after all of them.
                    failures.append(error)
        return failures
