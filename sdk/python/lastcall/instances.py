"""Finds the instances of an endpoint in the registries that lastcall's supervisors use.

Rules
  1. An instance is what a supervisor has published (docs/discovery.md): its id and its URL. Entries
     that have no URL or cannot be read are left out.
  2. While a registry cannot be read the last instances stay; the logger `lastcall` reports it once.
  3. The instances are valid for `REFRESH` seconds; after `changed` the next call reads them again.

Threads: each object belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import json
import logging
import os
import time
import urllib.parse
from typing import Any, Iterable, Optional, Sequence, Union

from . import http1
from .errors import InvalidArgument

REFRESH = 1.0
WITHIN = 2.0  # seconds for an answer from etcd

_log = logging.getLogger("lastcall")


@dataclasses.dataclass(frozen=True)
class Instance:
    id: int
    url: str


@dataclasses.dataclass(frozen=True)
class Name:
    """NAMESPACE.COMPONENT.ENDPOINT, as Dynamo writes it."""

    namespace: str
    component: str
    endpoint: str

    @classmethod
    def parse(cls, text: str) -> Name:
        parts = text.split(".")
        if len(parts) != 3 or not all(parts):
            raise InvalidArgument(f"cannot use {text!r}: expected NAMESPACE.COMPONENT.ENDPOINT")
        return cls(*parts)


class Source:
    """The instances of one endpoint."""

    def __init__(self) -> None:
        self._known: tuple[Instance, ...] = ()
        self._read_at = float("-inf")
        self._complaint: Optional[str] = None
        self._reading: Optional[asyncio.Lock] = None  # made in the loop that uses it

    async def instances(self) -> tuple[Instance, ...]:
        """In the order of their ids."""
        self._reading = self._reading or asyncio.Lock()
        async with self._reading:
            if time.monotonic() >= self._read_at + REFRESH:
                try:
                    found = {each.id: each for each in await self._read()}
                    self._known = tuple(found[id] for id in sorted(found))
                    self._complaint = None
                except (OSError, ValueError, asyncio.TimeoutError) as error:
                    self._complain(f"cannot read {self}: {error or type(error).__name__}")
                self._read_at = time.monotonic()
            return self._known

    def changed(self) -> None:
        """Called if an instance did not answer, since it may be gone."""
        self._read_at = float("-inf")

    async def _read(self) -> Iterable[Instance]:
        raise NotImplementedError

    def _complain(self, complaint: str) -> None:
        if complaint != self._complaint:
            _log.warning("%s; the last %d instances are kept", complaint, len(self._known))
        self._complaint = complaint


class Static(Source):
    """A fixed list of URLs; their ids count from 1."""

    def __init__(self, urls: Sequence[str]) -> None:
        super().__init__()
        self._instances = [Instance(number, url) for number, url in enumerate(urls, 1)]

    def __str__(self) -> str:
        return "the given instances"

    async def _read(self) -> Iterable[Instance]:
        return self._instances


class Directory(Source):
    """The instances that the registry `file` writes into a directory."""

    def __init__(self, path: Union[str, os.PathLike[str]], name: Name) -> None:
        super().__init__()
        self._path = os.fspath(path)
        self._name = name

    def __str__(self) -> str:
        return self._path

    async def _read(self) -> Iterable[Instance]:
        return await asyncio.get_running_loop().run_in_executor(None, self._read_files)

    def _read_files(self) -> list[Instance]:
        found = []
        for entry in os.scandir(self._path):
            if entry.name.endswith(".json"):
                try:
                    with open(entry.path, encoding="utf-8") as file:
                        found.append(_instance_of(json.load(file), self._name, "advertise"))
                except FileNotFoundError:
                    continue  # it left meanwhile
                except (OSError, ValueError) as error:
                    _log.debug("cannot use %s: %s", entry.path, error)
        return [each for each in found if each is not None]


class Etcd(Source):
    """The instances that the registry `etcd` writes under v1/instances/, read through etcd's JSON
    gateway."""

    def __init__(self, endpoints: Union[str, Sequence[str]], name: Name) -> None:
        super().__init__()
        self._endpoints = [endpoints] if isinstance(endpoints, str) else list(endpoints)
        if not self._endpoints:
            raise InvalidArgument("etcd: expected at least one URL")
        self._name = name

    def __str__(self) -> str:
        return f"etcd at {', '.join(self._endpoints)}"

    async def _read(self) -> Iterable[Instance]:
        prefix = f"v1/instances/{self._name.namespace}/{self._name.component}/"
        prefix += f"{self._name.endpoint}/"
        key = prefix.encode()
        question = {"key": _base64(key), "range_end": _base64(key[:-1] + bytes([key[-1] + 1]))}
        failure: Exception = OSError("no endpoint")
        for number, url in enumerate(self._endpoints):
            try:
                answer = await asyncio.wait_for(
                    http1.ask("POST", url.rstrip("/") + "/v3/kv/range", question), WITHIN
                )
                kvs = answer.get("kvs", [])
                self._endpoints.insert(0, self._endpoints.pop(number))
                values = [json.loads(base64.b64decode(kv["value"])) for kv in kvs]
                found = [_instance_of(value, self._name, "transport") for value in values]
                return [each for each in found if each is not None]
            except (OSError, ValueError, KeyError, AttributeError, asyncio.TimeoutError) as error:
                failure = error
        raise OSError(str(failure) or type(failure).__name__)


def _instance_of(value: Any, name: Name, where: str) -> Optional[Instance]:
    if not isinstance(value, dict):
        return None
    given = (value.get("namespace"), value.get("component"), value.get("endpoint"))
    transport = value.get(where)
    url = transport.get("http") if isinstance(transport, dict) else transport
    id = value.get("instance_id")
    if given != dataclasses.astuple(name) or not isinstance(url, str) or not isinstance(id, int):
        return None
    return Instance(id, url) if urllib.parse.urlsplit(url).scheme in ("http", "https") else None


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
