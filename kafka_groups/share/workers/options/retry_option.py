"""The option `retry_topics` of a handler: what it excludes and needs, and how long waits may be with and without it."""

from collections.abc import Iterator

from kafka_groups.errors import ConfigurationError
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.rules.failures.backoffs import LONGEST_WAIT_IN_PROCESS_S, LONGEST_WAIT_S, Backoff
from kafka_groups.share.workers.rules.retry_topics.delays import RetryTopics

__all__ = ["check_retries_of_others", "check_retry_topics", "longest_wait_s"]


def longest_wait_s(retry_topics: RetryTopics | None) -> float:
    """Return the longest wait between two attempts, in seconds."""
    return LONGEST_WAIT_IN_PROCESS_S if retry_topics is None else LONGEST_WAIT_S


def check_retry_topics(spec: HandlerSpec) -> None:
    """Check the options of one handler that have to do with its retry topics.

    Raises:
        ConfigurationError: They exclude each other, or a wait is too long.
    """
    if spec.retry_topics is None:
        _check_waits(spec)
        return
    given = f"handler {spec.name}: retry_topics={spec.retry_topics.prefix!r}"
    if spec.order_by is not None:
        raise ConfigurationError(
            f"{given} with order_by: retry topics give up the order of a key, as the records behind one that waits go"
            " on. Leave out one of them"
        )
    if spec.on_blocked is not None:
        raise ConfigurationError(
            f"{given} with on_blocked={spec.on_blocked}: retry topics replace on_blocked, as a record that fills the"
            " window of its partition moves to the smallest delay. Leave out on_blocked"
        )
    if spec.dead_letters is None:
        raise ConfigurationError(
            f"{given} without dead_letters: a record that fails too often leaves the retry topics as a dead letter. Set"
            " dead_letters= of the handler"
        )
    if spec.dead_letters in spec.retry_topics.names:
        raise ConfigurationError(
            f"{given}: {spec.dead_letters!r} is the topic for dead letters, too. Give another prefix"
        )
    _check_no_loop(spec, spec)
    _check_no_outputs_for_retries(spec, spec)


def _check_waits(spec: HandlerSpec) -> None:
    for option, backoff in _backoffs(spec):
        if backoff.most > LONGEST_WAIT_IN_PROCESS_S:
            raise ConfigurationError(
                f"handler {spec.name}: {option}=Backoff(most={backoff.most!r}): without retry topics, a record waits"
                f" for {LONGEST_WAIT_IN_PROCESS_S:.0f} seconds at most, as it holds back its partition. Set"
                " retry_topics=RetryTopics(...) of the handler for longer waits"
            )


def _backoffs(spec: HandlerSpec) -> Iterator[tuple[str, Backoff]]:
    yield "retries", spec.retries
    for kind, rule in spec.errors.items():
        if isinstance(rule, Backoff):
            yield f"errors[{kind.__name__}]", rule


def check_retries_of_others(spec: HandlerSpec, other: HandlerSpec) -> None:
    """Check that no handler of a worker reads what it writes itself, or what another one writes when records fail.

    Raises:
        ConfigurationError: One reads a retry topic or a topic for dead letters, or both have one retry topic.
    """
    for writer, reader in ((spec, other), (other, spec)):
        _check_no_loop(writer, reader)
        _check_no_letters_for_retries(writer, reader)
        _check_no_outputs_for_retries(writer, reader)
    if spec.retry_topics is not None and other.retry_topics is not None:
        _check_prefixes(spec, spec.retry_topics, other, other.retry_topics)


def _check_prefixes(spec: HandlerSpec, own: RetryTopics, other: HandlerSpec, others: RetryTopics) -> None:
    # Even if no delay is the same: the next deployment may add one.
    if own.prefix == others.prefix:
        raise ConfigurationError(
            f"handlers {other.name} and {spec.name} have the same prefix of retry topics, {own.prefix!r}: each would"
            " get records of the other. Give each a prefix of its own"
        )


def _check_no_outputs_for_retries(writer: HandlerSpec, reader: HandlerSpec) -> None:
    names = () if reader.retry_topics is None else reader.retry_topics.names
    for output in writer.outputs:
        if output.topic in names:
            raise ConfigurationError(
                f"handler {writer.name}: output={output.topic!r} is a retry topic of handler {reader.name}, in which"
                " only that handler's failed records may be. Use another topic"
            )


def _check_no_letters_for_retries(writer: HandlerSpec, reader: HandlerSpec) -> None:
    if reader.retry_topics is not None and writer.dead_letters in reader.retry_topics.names:
        raise ConfigurationError(
            f"handler {writer.name}: dead_letters={writer.dead_letters!r} is a retry topic of handler {reader.name}."
            " Use another topic"
        )


def _check_no_loop(writer: HandlerSpec, reader: HandlerSpec) -> None:
    retry_topics = () if writer.retry_topics is None else writer.retry_topics.names
    for option, topics in (("retry topic", retry_topics), ("topic for dead letters", (writer.dead_letters,))):
        for topic in topics:
            if topic in reader.topics:
                raise ConfigurationError(
                    f"handler {reader.name} reads {topic!r}, which is the {option} of handler {writer.name}: records"
                    " that fail would go round in a loop. Read it with another worker, or use another topic"
                )
