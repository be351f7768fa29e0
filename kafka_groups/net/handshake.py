"""Negotiates API versions at the start of a connection (ApiVersions; KIP-35, KIP-511, KIP-584)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from kafka_groups.errors import UnsupportedVersionError, error_for
from kafka_groups.net.connection import ClientConnection
from kafka_groups.protocol.apis import APIS, Api, ApiKey, VersionRange, api_of
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

__all__ = ["BrokerVersions", "broker_versions_of", "negotiate"]

SOFTWARE_NAME = "kafka-groups"
SOFTWARE_VERSION = "0.1.0"


@frozen
class BrokerVersions:
    """The API versions that client and broker can use.

    Attributes:
        peer: Address of the broker, for error messages.
        served: The versions that the broker supports, by API number, including APIs that this client does not know.
        usable: The versions that both sides support.
        features: Finalised feature levels; empty if the broker does not send them.
    """

    peer: str
    served: Mapping[int, VersionRange]
    usable: Mapping[ApiKey, VersionRange]
    features: Mapping[str, int]
    _chosen: dict[type[Any], int] = field(factory=dict, repr=False, eq=False, init=False)

    def version_for(self, request_class: type[Any]) -> int:
        """Return the newest version of a request that both sides support.

        Raises:
            UnsupportedVersionError: There is none. The message names the API and both sides' versions.
        """
        version = self._chosen.get(request_class)
        if version is None:
            version = self._chosen[request_class] = self._newest(api_of(request_class))
        return version

    def _newest(self, api: Api) -> int:
        usable = self.usable.get(api.key)
        if usable is not None:
            return usable.high
        served = self.served.get(api.key)
        theirs = f"The broker at {self.peer} does not support {api}"
        if served is not None:
            theirs = f"{theirs} {api.versions}, only {served}"
        raise UnsupportedVersionError(f"{theirs}.")


async def negotiate(connection: ClientConnection, deadline_ms: float) -> BrokerVersions:
    """Ask the broker which API versions it supports.

    The first request uses the newest version. A broker that does not support it lists its versions in a response of
    version 0, and the second request uses the newest of those.

    Raises:
        DisconnectedError: The connection ended.
        OperationTimeoutError: The deadline passed before the response arrived.
        BrokerError: The broker refused the request.
    """
    request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=SOFTWARE_VERSION)
    version = APIS[ApiKey.API_VERSIONS].versions.high
    response = await connection.request(request, version, deadline_ms)
    if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
        version = _second_choice(response)
        request = request if version >= 3 else ApiVersionsRequest()
        response = await connection.request(request, version, deadline_ms)
    if response.error_code != ErrorCode.NONE:
        raise error_for(response.error_code, f"{connection.peer} refused to list the API versions it supports.")
    return broker_versions_of(response, connection.peer)


def broker_versions_of(response: ApiVersionsResponse, peer: str) -> BrokerVersions:
    """Return what an ApiVersions response says."""
    served = {api.api_key: VersionRange(api.min_version, api.max_version) for api in response.api_keys}
    common = {key: api.versions.common(served[key]) for key, api in APIS.items() if key in served}
    usable = {key: versions for key, versions in common.items() if versions is not None}
    features = {feature.name: feature.max_version_level for feature in response.finalized_features}
    return BrokerVersions(peer, MappingProxyType(served), MappingProxyType(usable), MappingProxyType(features))


def _second_choice(response: ApiVersionsResponse) -> int:
    ours = APIS[ApiKey.API_VERSIONS].versions
    theirs = (VersionRange(a.min_version, a.max_version) for a in response.api_keys if a.api_key == ApiKey.API_VERSIONS)
    common = ours.common(next(theirs, VersionRange(0, 0)))
    return 0 if common is None else common.high
