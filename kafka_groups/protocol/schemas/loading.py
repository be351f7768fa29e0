"""The schemas of requests and responses by API and version: kio's, and those that are declared here.

Both come with kio, which is slow to import and not needed before a client speaks, so they are imported on first use.
"""

from kafka_groups.protocol.schemas.plain import Schema, plain_schema

__all__ = ["request_schema", "response_schema"]


def request_schema(api_key: int, version: int) -> Schema:
    """Return the plain schema of an API's request in one version."""
    from kio.index import load_request_schema  # noqa: PLC0415

    from kafka_groups.protocol.schemas.declared.apis import REQUESTS  # noqa: PLC0415

    declared = REQUESTS.get((api_key, version))
    return plain_schema(load_request_schema(api_key, version)) if declared is None else declared


def response_schema(api_key: int, version: int) -> Schema:
    """Return the plain schema of an API's response in one version."""
    from kio.index import load_response_schema  # noqa: PLC0415

    from kafka_groups.protocol.schemas.declared.apis import RESPONSES  # noqa: PLC0415

    declared = RESPONSES.get((api_key, version))
    return plain_schema(load_response_schema(api_key, version)) if declared is None else declared
