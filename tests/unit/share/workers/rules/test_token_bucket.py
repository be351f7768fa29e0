"""A token bucket allows exactly what a rate and a burst allow in each time, and not one token less."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.share.workers.rules.handler_rate import RateRule
from kafka_groups.share.workers.rules.token_bucket import TokenBucket
from tests.support.planted_defects import by_name
from tests.support.workers.naive_rate import NaiveRate

rules = st.builds(RateRule, st.integers(1, 50), st.integers(1, 5_000), st.integers(1, 20))
scenes = st.lists(st.tuples(st.integers(0, 3_000), st.integers(0, 25)), max_size=30)


Scene = list[tuple[int, int]]


def check(rule: RateRule, scene: Scene, begins_ms: int = 0) -> None:
    """Let times pass and take tokens, as many as there are at most."""
    bucket, naive = TokenBucket(rule.count, rule.period_ms, rule.burst), NaiveRate(rule)
    now_ms = begins_ms
    for wait_ms, wish in scene:
        now_ms += wait_ms
        there = naive.allowed(now_ms)
        assert bucket.tokens(now_ms) == there
        due_ms = bucket.due_ms(wish, now_ms)
        wanted = min(wish, rule.burst)
        assert naive.allowed(due_ms) >= wanted
        assert due_ms == now_ms or naive.allowed(due_ms - 1) < wanted
        taken = min(wish, there)
        if taken:
            bucket.take(taken, now_ms)
            naive.start(taken, now_ms)


@given(rules, scenes, st.integers(0, 10**12))
def test_it_gives_what_every_time_allows_and_knows_when_there_is_more(
    rule: RateRule, scene: Scene, begins_ms: int
) -> None:
    check(rule, scene, begins_ms)


# With a burst of one, or several tokens in a millisecond, what comes until the end of a millisecond may be too much.
@given(st.builds(RateRule, st.integers(1, 50), st.integers(50, 5_000), st.integers(2, 20)), st.integers(1, 60))
def test_who_takes_each_token_at_its_time_gets_the_full_rate(rule: RateRule, count: int) -> None:
    bucket, now_ms = TokenBucket(rule.count, rule.period_ms, rule.burst), 0
    for _ in range(count):
        now_ms = bucket.due_ms(1, now_ms)
        bucket.take(1, now_ms)
    after_burst = max(0, count - rule.burst)
    assert now_ms == -(-after_burst * rule.period_ms // rule.count)


def test_a_clock_that_goes_back_brings_nothing() -> None:
    bucket = TokenBucket(1, 1_000, 1)
    bucket.take(1, 5_000)
    assert [bucket.tokens(now_ms) for now_ms in (4_000, 5_500, 4_000, 5_999, 6_000)] == [0, 0, 0, 0, 1]


# ---------------------------------------------------------------------------------------------- planted defects

Patch = pytest.MonkeyPatch


def it_grows_without_end(patch: Patch) -> None:
    """What is not taken is never too much."""
    fill = TokenBucket._fill

    def fill_more(self: TokenBucket, now_ms: int) -> None:
        self._full = 10**15
        fill(self, now_ms)

    patch.setattr(TokenBucket, "_fill", fill_more)


def it_starts_empty(patch: Patch) -> None:
    """The first burst has to wait."""
    init = TokenBucket.__init__

    def init_empty(self: TokenBucket, *arguments: int) -> None:
        init(self, *arguments)
        self._parts = 0

    patch.setattr(TokenBucket, "__init__", init_empty)


def parts_of_tokens_are_lost(patch: Patch) -> None:
    """Each look rounds down to whole tokens."""
    fill = TokenBucket._fill

    def fill_whole(self: TokenBucket, now_ms: int) -> None:
        fill(self, now_ms)
        self._parts -= self._parts % self._period_ms

    patch.setattr(TokenBucket, "_fill", fill_whole)


def a_batch_takes_one(patch: Patch) -> None:
    """However many are taken, one is missing."""
    take = TokenBucket.take
    patch.setattr(TokenBucket, "take", lambda self, tokens, now_ms: take(self, 1, now_ms))


def the_time_is_rounded_down(patch: Patch) -> None:
    """The next token is announced a millisecond too early."""
    due_ms = TokenBucket.due_ms
    patch.setattr(TokenBucket, "due_ms", lambda self, tokens, now_ms: max(now_ms, due_ms(self, tokens, now_ms) - 1))


def the_time_does_not_count_what_is_there(patch: Patch) -> None:
    """The next token is announced as if the bucket were empty."""

    def due_ms(self: TokenBucket, tokens: int, now_ms: int) -> int:
        return now_ms + -(-min(tokens, self.size) * self._period_ms // self._count)

    patch.setattr(TokenBucket, "due_ms", due_ms)


def looks_do_not_fill(patch: Patch) -> None:
    """Time only counts when tokens are taken."""
    patch.setattr(TokenBucket, "tokens", lambda self, now_ms: self._parts // self._period_ms)


DEFECTS: dict[str, Callable[[Patch], None]] = dict(
    by_name(
        it_grows_without_end,
        it_starts_empty,
        parts_of_tokens_are_lost,
        a_batch_takes_one,
        the_time_is_rounded_down,
        the_time_does_not_count_what_is_there,
        looks_do_not_fill,
    )
)


def breaks(seed: int) -> bool:
    rng = random.Random(seed)
    rule = RateRule(rng.randint(1, 50), rng.randint(1, 5_000), rng.randint(1, 20))
    try:
        check(rule, [(rng.choice([0, 1, 30, 1_000]), rng.randint(0, 5)) for _ in range(20)])
    except AssertionError:
        return True
    return False


def test_without_a_defect_no_scene_breaks() -> None:
    assert not any(map(breaks, range(200)))


@pytest.mark.parametrize("name", DEFECTS)
def test_planted_defects_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    DEFECTS[name](monkeypatch)
    assert any(map(breaks, range(200)))
