"""Makes the tables of docs/reference/rights.md: what each of our clients and each call of the admin client needs,
and what each API asks for.

`python -m tests.generating.rights_page` writes them; a test compares them with what this makes.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from kafka_groups.acls import AclResourceType
from kafka_groups.broker.authorization.rights import RIGHTS, AskedRight, Refusal
from kafka_groups.broker.authorization.rights import Right as AskedFor
from kafka_groups.protocol.apis import APIS, ApiKey
from tests.support.rights.admin_rights import ADMIN_CALLS
from tests.support.rights.client_rights import CLIENTS
from tests.support.rights.recorded_rights import Right

__all__ = ["COMMAND", "PAGE", "generated"]

COMMAND: Final = "python -m tests.generating.rights_page"
PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "rights.md"

_WORDS: Mapping[str, str] = {
    "{group}": "the group",
    "{fresh}": "the group",
    "{group}-retry": "the group `GROUP-retry`",
    "{topic}": "the topics that it reads",
    "{output}": "the topics that it writes",
    "{dead}": "the dead-letter topic",
    "{new}": "the topics to create",
    "{retry}*": "the retry topics",
    "{app}": "the group, which is called like the application",
    "{app}-*": "topics that begin with `APPLICATION_ID-`",
    "{app}*": "transactional ids that begin with `APPLICATION_ID`",
}

_ADMIN_WORDS: Mapping[str, str] = {
    "{topic}": "the topic",
    "{new}": "the topic",
    "{app}": "the transactional id",
    "kafka-cluster": "the cluster",
}

_PLACES: Mapping[Refusal, str] = {
    Refusal.REQUEST: "the request",
    Refusal.ITEM: "each resource",
    Refusal.PARTITION: "each partition",
    Refusal.LEFT_OUT: "left out",
    Refusal.ELSEWHERE: "no error",
}

_RESOURCES: Mapping[AclResourceType, str] = {
    AclResourceType.TOPIC: "topic",
    AclResourceType.GROUP: "group",
    AclResourceType.CLUSTER: "cluster",
    AclResourceType.TRANSACTIONAL_ID: "transactional id",
}


def generated(text: str) -> str:
    """Return the text of the page with its tables as they should be."""
    with_clients = _with_table(text, "clients", _client_rows())
    return _with_table(_with_table(with_clients, "admin calls", _admin_rows()), "apis", _api_rows())


def _with_table(text: str, name: str, rows: Iterable[str]) -> str:
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
    made = f"{begin}\n" + "\n".join(rows) + f"\n\n{end}"
    return re.sub(f"{begin}.*?{end}", lambda _: made, text, flags=re.DOTALL)


def _client_rows() -> Iterable[str]:
    yield "| Client | Needs | Uses if it may |"
    yield "| --- | --- | --- |"
    for client in CLIENTS:
        yield f"| {client.name} | {_listed(client.needed, client.words)} | {_listed(client.optional, client.words)} |"


def _admin_rows() -> Iterable[str]:
    yield "| Calls | Need |"
    yield "| --- | --- |"
    for call in ADMIN_CALLS:
        yield f"| {call.names} | {_listed(call.needed, _ADMIN_WORDS)} |"


def _listed(rights: Sequence[Right], own_words: Mapping[str, str]) -> str:
    words = {**_WORDS, **own_words}
    by_resource = groupby(rights, key=lambda right: words[right[2]])
    return "; ".join(f"{', '.join(str(right[0]) for right in same)} on {resource}" for resource, same in by_resource)


def _api_rows() -> Iterable[str]:
    yield "| API | Asks for, in this order | Without it |"
    yield "| --- | --- | --- |"
    for key, asked in RIGHTS.items():
        shown = [each for each in asked if not _is_about_operations(key, each)]
        rights = "; ".join(_any_of(each.rights) for each in shown) or "nothing"
        places = "; ".join(", ".join(_PLACES[place] for place in each.refusals) for each in shown)
        yield f"| {_name_of(key)} | {rights} | {places} |"


def _is_about_operations(key: ApiKey, asked: AskedRight) -> bool:
    """Return whether a question is one of those about authorized operations, which the page names once."""
    own = key in (ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.STREAMS_GROUP_HEARTBEAT)
    return asked.refusals == (Refusal.ELSEWHERE,) and not own


def _any_of(rights: Sequence[AskedFor]) -> str:
    return " or ".join(f"{right.operation} {_RESOURCES[right.resource_type]}" for right in rights)


def _name_of(key: ApiKey) -> str:
    return next(api.request_class.__name__.removesuffix("Request") for api in APIS.values() if api.key == key)


def main() -> None:
    """Write the page."""
    PAGE.write_text(generated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
