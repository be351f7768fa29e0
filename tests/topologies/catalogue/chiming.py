"""A processor of many punctuations."""

from functools import partial

from kafka_groups.streams import Cancellable, Processor, ProcessorContext, PunctuationType, Record
from tests.topologies.catalogue.functions import ms

__all__ = ["Chiming"]


class Chiming(Processor[str, str, str, str]):
    """Forwards the name of each punctuation.

    Some are scheduled by others, and some by records, from a time that is over.
    """

    def init(self, context: ProcessorContext[str, str]) -> None:
        """Schedule those that never end."""
        super().init(context)
        self.scheduled = 0
        self.handles: dict[tuple[str, int], Cancellable] = {}
        self.ticks: dict[tuple[str, int], int] = {}
        for clock in (PunctuationType.STREAM_TIME, PunctuationType.WALL_CLOCK_TIME):
            for interval_ms in (70, 20, 45, 20):
                context.schedule(ms(interval_ms), clock, partial(self.tick, clock, interval_ms))

    def process(self, record: Record[str, str]) -> None:
        """Process one record."""
        if record.key == "b":
            for clock in (PunctuationType.STREAM_TIME, PunctuationType.WALL_CLOCK_TIME):
                self._schedule_twice(f"from5-{clock.name}", 30, clock, start_ms=5)

    def tick(self, clock: PunctuationType, interval_ms: int, now_ms: int) -> None:
        """Tell the time, and schedule others."""
        self._tell(f"{clock.name}-{interval_ms}", now_ms)
        if interval_ms == 45 and self.scheduled < 4:
            self._schedule_twice(f"inner{self.scheduled}", 60, PunctuationType.STREAM_TIME)
            self.scheduled += 1

    def _schedule_twice(
        self, name: str, interval_ms: int, clock: PunctuationType, *, start_ms: int | None = None
    ) -> None:
        place = name, len(self.handles)
        callback = partial(self._tick_twice, place)
        self.handles[place] = self.context.schedule(ms(interval_ms), clock, callback, start_ms=start_ms)

    def _tick_twice(self, place: tuple[str, int], now_ms: int) -> None:
        self._tell(place[0], now_ms)
        self.ticks[place] = self.ticks.get(place, 0) + 1
        if self.ticks[place] == 2:
            self.handles[place].cancel()

    def _tell(self, name: str, now_ms: int) -> None:
        self.context.forward(Record(name, str(now_ms), now_ms))
