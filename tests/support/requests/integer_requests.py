"""Valid requests whose integers are at the bounds of their fields: every API, in every version that a broker serves."""

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import attrs
from attrs import evolve, frozen
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from kafka_groups.broker.profile import DEFAULT_PROFILE
from kafka_groups.protocol.apis import APIS, ApiKey
from kafka_groups.protocol.codec import request_schema
from kafka_groups.protocol.messages.offset_fetch import OffsetFetchRequestTopic
from kafka_groups.protocol.schemas.plain_schema import Schema
from tests.support.requests.number_requests import CASES, Place, is_possible, number_variants
from tests.support.requests.protocol_messages import ANY_SCALARS, Scalars, messages_of

_BITS = (8, 16, 32, 64)
NUMBERS = tuple(sorted({
    -2, -1, 0, 1, 2,
    *(number for bits in _BITS for number in (-(1 << bits - 1), 1 - (1 << bits - 1), (1 << bits - 1) - 2,
                                              (1 << bits - 1) - 1, (1 << bits) - 1)),
    -62135596800001, 253402300800000,  # no datetime is before and after these, in milliseconds
}))  # fmt: skip


@frozen
class Attempt:
    """A request in one version, and what is special about it."""

    what: str
    request: Any
    version: int


def served_versions(key: ApiKey) -> range:
    """The versions of an API that a broker answers."""
    served = DEFAULT_PROFILE.served(key)
    assert served is not None
    return range(served.low, served.high + 1)


def plain_request(key: ApiKey, version: int, place: Place) -> Any:
    """The request of an API's case as a version has it."""
    request = CASES[key].request(place)
    return _as_version(request, request_schema(key, version), _old_values(key, place))


def one_at_a_time(request: Any, version: int) -> Iterator[Attempt]:
    """The request with one of its integers at a time replaced."""
    for path, variant in number_variants(request):
        for number in NUMBERS:
            if is_possible(changed := variant(number), version):
                yield Attempt(f"{path}={number}", changed, version)


def several_at_once(request: Any, version: int, rng: Random, count: int) -> Iterator[Attempt]:
    """The request with about half of its integers replaced."""
    size = len(list(number_variants(request)))
    for _ in range(count if size > 1 else 0):
        changed, paths = request, []
        for index in range(size):
            path, variant = list(number_variants(changed))[index]
            number = rng.choice(NUMBERS)
            if rng.random() < 1 / 2 and is_possible(variant(number), version):
                changed = variant(number)
                paths.append(f"{path}={number}")
        yield Attempt(", ".join(paths), changed, version)


def random_requests(key: ApiKey, version: int, place: Place, count: int) -> list[Attempt]:
    """Requests with any elements and all integers at bounds. What they name often exists."""
    attempts: list[Attempt] = []

    @seed(f"{key}-{version}")
    @settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(messages_of(APIS[key].request_class, request_schema(key, version), _scalars(place)))
    def keep(request: Any) -> None:
        attempts.append(Attempt("random", request, version))

    keep()
    return attempts


def _as_version(message: Any, schema: Schema, old_values: Mapping[str, Any]) -> Any:
    """The message with the fields of a schema. Those that the newest version lacks get old values."""
    changed: dict[str, Any] = {}
    for field in attrs.fields(type(message)):
        value = getattr(message, field.name)
        if field.name not in schema.__dataclass_fields__:
            changed[field.name] = _default(field)
        elif not value and field.name in old_values:
            changed[field.name] = old_values[field.name]
        else:
            changed[field.name] = _inner_as_version(value, schema.__dataclass_fields__[field.name], old_values)
    return evolve(message, **{name: value for name, value in changed.items() if value is not attrs.NOTHING})


def _inner_as_version(value: Any, field: Any, old_values: Mapping[str, Any]) -> Any:
    if attrs.has(type(value)):
        return _as_version(value, _entity(field.type), old_values)
    if isinstance(value, tuple) and value and attrs.has(type(value[0])):
        return tuple(_as_version(each, _entity(field.type), old_values) for each in value)
    return value


def _entity(annotation: Any) -> Schema:
    """The schema in the type of a field: `Schema | None`, `tuple[Schema, ...] | None`."""
    if hasattr(annotation, "__dataclass_fields__"):
        found: Schema = annotation
        return found
    return next(_entity(part) for part in annotation.__args__ if part not in (type(None), Ellipsis))


def _default(field: "attrs.Attribute[Any]") -> Any:
    default: Any = field.default
    return default.factory() if isinstance(default, attrs.Factory) else default  # type: ignore[arg-type]


def _old_values(key: ApiKey, place: Place) -> Mapping[str, Any]:
    """What old versions of requests say instead of what the newest one says."""
    committed = (OffsetFetchRequestTopic(name=place.topic, partition_indexes=(0,)),)
    values: dict[ApiKey, dict[str, Any]] = {
        ApiKey.FIND_COORDINATOR: {"key": place.group_id},
        ApiKey.LEAVE_GROUP: {"member_id": place.classic_member_id},
        ApiKey.DELETE_TOPICS: {"topic_names": ("other",)},
        ApiKey.OFFSET_FETCH: {"group_id": place.committing_group_id, "topics": committed, "name": place.topic},
    }
    return values.get(key, {"name": place.topic, "topic": place.topic})


def _scalars(place: Place) -> Scalars:
    texts = (
        "", place.topic, place.group_id, place.member_id, place.committing_group_id, place.classic_group_id,
        place.classic_member_id, f"{place.group_id}-consumers", f"{place.group_id}-streams", "new", "consumer", "range",
    )  # fmt: skip
    integers = {
        f"int{bits}": st.sampled_from([n for n in NUMBERS if -(1 << bits - 1) <= n < 1 << bits - 1]) for bits in _BITS
    }
    return {
        **ANY_SCALARS,
        **integers,
        "uint16": st.sampled_from([n for n in NUMBERS if 0 <= n < 1 << 16]),
        "string": st.sampled_from(texts),
        "bytes": st.sampled_from((b"", place.batch)),
        "records": st.just(place.batch),
        "uuid": st.sampled_from((None, place.topic_id)),
        "id": st.just(place.topic_id),
    }
