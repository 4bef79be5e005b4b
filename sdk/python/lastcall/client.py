"""Client: the interface of lastcall for an engine.

Rules
  1. Without a socket (LASTCALL_SOCKET unset) everything works and nothing is sent.
  2. With one, the engine never waits for the supervisor and never fails because of it, except when
     it asks for admission; and even then the request starts after 1 s without a supervisor, or 2 s
     without an answer.
  3. A forked child is detached: its copy of the client sends nothing until the child connects
     again. From then on the copy stands for the new client (see standin.py), and so does a closed
     client.

Threads: every method may be called from any thread and from asyncio code; methods that block are
documented as such.
Callbacks run on threads of the client's own (see callbacks.py).
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from typing import Callable, Optional, Union

from . import session, spawned, standin, uncaught, wire
from .callbacks import Hooks
from .context import Context
from .errors import InvalidArgument
from .failures import Failures
from .handlers import Result, is_stream, wrap_handler
from .scope import RequestScope
from .version import __version__


class Client(Hooks, Failures):
    """One connection to the supervisor. Most programs want `lastcall.connect()`.

    name            shown to operators; the program's name unless given
    socket          used instead of $LASTCALL_SOCKET; a path that no Unix socket can have raises
                    InvalidArgument
    critical        the engine is dead if this process is: its end while serving is fatal. It has no
                    effect while multiprocessing imports the program's main module in a child; a
                    child that is critical connects again in its target
    report_uncaught "main": an uncaught exception that ends the process is reported as fatal;
                    "all": also one that ends any thread, and the death of any child process that
                    multiprocessing started (see `watch`); "off": neither. Critical processes
                    default to "all", others to "main"
    """

    def __init__(
        self,
        name: Optional[str] = None,
        *,
        socket: Union[str, os.PathLike[str], None] = None,
        critical: bool = False,
        report_uncaught: Optional[uncaught.Choice] = None,
    ) -> None:
        path = os.environ.get("LASTCALL_SOCKET") if socket is None else os.fsdecode(socket)
        self.name = name or _program_name(sys.argv[0])
        self._models: dict[str, str] = {}  # by endpoint, if it has one
        super().__init__()
        critical = critical and not spawned.is_being_imported()
        hello = {
            "version": wire.VERSION,
            "role": "engine",
            "name": wire.clip_name(self.name),
            "sdk": f"python/{__version__}",
            "critical": critical,
        }
        self._own = session.Session(path or None, hello, self._callbacks)
        if self.enabled:
            uncaught.at_child_end(_close_all, priority=0)
            self._report_failures(report_uncaught or ("all" if critical else "main"))

    # --- the supervisor

    @property
    def _session(self) -> session.Session:
        return standin.session_for(self._own)

    def _joins_registries(self) -> None:
        self._own.announce_registration()  # its callbacks will be called

    @property
    def enabled(self) -> bool:
        """Whether there is a socket to use; if not, everything is a no-op."""
        return self._session.enabled

    @property
    def connected(self) -> bool:
        """Whether a supervisor has welcomed this client."""
        return self._session.welcome is not None

    @property
    def probe_mark(self) -> Optional[str]:
        """The value of X-Lastcall-Probe in the supervisor's own requests; None if it gave none."""
        mark = (self._session.welcome or {}).get("probe")
        return mark if isinstance(mark, str) and mark else None

    @property
    def phase(self) -> Optional[str]:
        """The last phase that a supervisor reported; None before the first."""
        return self._session.phase

    @property
    def draining(self) -> bool:
        """Whether new work will be refused or is likely to be cut."""
        return self.phase in ("draining", "drained", "cleaning_up", "exited")

    def time_left(self) -> Optional[float]:
        """Seconds until the current stop has to be over; None if there is no stop."""
        deadline = self._session.deadline_at_ms
        return None if deadline is None else max(0.0, deadline / 1000 - time.monotonic())

    def close(self, timeout: float = 0.5) -> None:
        """Sends queued lines and disconnects for good. Blocks for at most about `timeout`
        seconds."""
        self._stop_reporting()
        self._own.is_over = True
        self._own.close(timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- endpoints

    def register_endpoint(
        self, name: str, graceful_shutdown: bool = True, *, model: Optional[str] = None
    ) -> None:
        """graceful_shutdown: a drain waits for its requests; otherwise they are handed off.

        model is the model of requests that do not name another one.
        """
        if model is not None:
            self._models[name] = model
        for each in (self._own, self._session):
            each.set_endpoint(wire.check_id(name, "endpoint"), graceful_shutdown)

    def unregister_endpoint(self, name: str) -> None:
        for each in (self._own, self._session):
            each.drop_endpoint(name)

    def endpoint(
        self,
        name: str,
        *,
        graceful_shutdown: bool = True,
        model: Optional[str] = None,
        admit: bool = False,
        priority: Optional[int] = None,
    ) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
        """Registers the endpoint and makes each call of the decorated handler a request of it.

        The handler is a generator or a function, with or without `async`, and gets `context` if its
        signature has it. Callers may add `request_id=`, and their own context as `parent=` or
        `context=`, by default that of `lastcall.current()`. A call whose request was cancelled
        raises `Cancelled`, so that a cut stream cannot be taken for a finished one. For a type
        checker the result type stays and any arguments are accepted, because `context` is removed
        and `request_id` is added.
        """
        self.register_endpoint(name, graceful_shutdown)

        def wrap(handler: Callable[..., Result]) -> Callable[..., Result]:
            stream = is_stream(handler)

            def begin(id: Optional[str], parent: Optional[Context]) -> RequestScope:
                return self.request(
                    id, endpoint=name, model=model, stream=stream, parent=parent, admit=admit,
                    priority=priority,
                )

            return wrap_handler(handler, begin)

        return wrap

    # --- requests

    def begin(
        self,
        id: Optional[str] = None,
        *,
        endpoint: Optional[str] = None,
        model: Optional[str] = None,
        stream: Optional[bool] = None,
        root: Optional[str] = None,
        parent: Union[Context, str, None] = None,
        admit: bool = False,
        priority: Optional[int] = None,
    ) -> Context:
        """Begins a request. It ends with `end()`, or with the `with` block that uses the result.

        stream is whether the answer is streamed, for metrics; None: not given.
        root is the user's request id if this is one of its sub-requests. A `parent` that is a
        Context passes on its root and its cancels; without a parent it is the live request that is
        being worked on here, if any (`lastcall.current()`). With `admit` the call waits until the
        supervisor lets the request run (it blocks: in asyncio use `begin_async` or `request`; do
        not use it in a callback of a context). It raises `Rejected` if the request is refused, and
        `Cancelled` if it is cancelled while it waits. `priority` is 0 (the most urgent) to 7, by
        default 3: the request's place among those that wait, if `admission.priorities` is on.
        """
        return self.request(
            id, endpoint=endpoint, model=model, stream=stream, root=root, parent=parent,
            admit=admit, priority=priority,
        ).__enter__()

    async def begin_async(
        self,
        id: Optional[str] = None,
        *,
        endpoint: Optional[str] = None,
        model: Optional[str] = None,
        stream: Optional[bool] = None,
        root: Optional[str] = None,
        parent: Union[Context, str, None] = None,
        admit: bool = False,
        priority: Optional[int] = None,
    ) -> Context:
        """Like `begin`, but the wait does not block the loop."""
        return await self.request(
            id, endpoint=endpoint, model=model, stream=stream, root=root, parent=parent,
            admit=admit, priority=priority,
        ).__aenter__()

    def request(
        self,
        id: Optional[str] = None,
        *,
        endpoint: Optional[str] = None,
        model: Optional[str] = None,
        stream: Optional[bool] = None,
        root: Optional[str] = None,
        parent: Union[Context, str, None] = None,
        admit: bool = False,
        priority: Optional[int] = None,
        way: Optional[str] = None,
    ) -> RequestScope:
        """For `with` or `async with`: the request begins with the block and ends with it.

        way is the `X-Lastcall-Way` of this HTTP request, "0" if it has none: then the request is
        not mistaken for one of the ingress whose client has chosen the same id. Text that no
        ingress sends counts as "0".
        """
        ledger = standin.session_to_begin(self._own, endpoint).ledger
        if model is None and endpoint is not None:
            model = self._models.get(endpoint)
        return RequestScope(
            ledger, id, endpoint, model, stream, root, parent, admit, priority, way
        )

    def find(self, id: str) -> Optional[Context]:
        """The live request with that id, if there is one."""
        return self._session.ledger.find(id)

    def live(self) -> list[Context]:
        return self._session.ledger.live()

    @property
    def in_flight(self) -> int:
        return len(self._session.ledger)

    def end(self, request: Union[Context, str], outcome: Optional[str] = None) -> bool:
        """Like `Context.end`, but also takes an id. False if the request is not live."""
        context = request if isinstance(request, Context) else self.find(request)
        return context is not None and context.end(outcome)

    def progress(self, id: str) -> None:
        """Reports progress of the request. Cheap: the supervisor is notified at most twice a
        second."""
        self._session.ledger.progress(id)

    def cancel(
        self,
        id: Optional[str] = None,
        *,
        root: Optional[str] = None,
        reason: str = "control",
        kill: bool = False,
    ) -> int:
        """Cancels live requests of this process by id or by root; returns for how many it was
        new."""
        if (id is None) == (root is None):
            raise InvalidArgument("cannot cancel: expected an id or a root")
        hit = [each for each in self.live() if each.id() == id or each.root == root]
        return sum(each.kill(reason) if kill else each.stop(reason) for each in hit)

    # --- the engine's state

    def doubt(self, cleared: Callable[[], object]) -> Callable[[], None]:
        """For an answer that is held back because it may mean that the engine has died.

        The supervisor checks the engine at once. `cleared` is called on the connection's thread
        when the answer may be sent; if the engine is dead, the request is cancelled with
        `engine_dead` instead. Hold the answer for at most 2 s, and call the result when it is not
        held any more.
        """
        session = self._session
        doubt = session.doubt(cleared)
        return lambda: session.forget_doubt(doubt)

    def report_load(
        self,
        *,
        dp_rank: int = 0,
        active_decode_blocks: Optional[int] = None,
        kv_total_blocks: Optional[int] = None,
        active_prefill_tokens: Optional[int] = None,
    ) -> None:
        """For busy detection; a report is valid only for some seconds, so repeat it."""
        given = {
            "dp_rank": dp_rank,
            "active_decode_blocks": active_decode_blocks,
            "kv_total_blocks": kv_total_blocks,
            "active_prefill_tokens": active_prefill_tokens,
        }
        self._session.report_load(
            **{name: wire.check_count(n, name) for name, n in given.items() if n is not None}
        )


def _program_name(path: str) -> str:
    folder, name = os.path.split(path)
    if name == "__main__.py":  # python -m PACKAGE
        name = os.path.basename(folder)
    return name if name not in ("", "-c", "-m") else "python"


def _close_all() -> None:
    session.close_all(0.5)


atexit.register(_close_all)
