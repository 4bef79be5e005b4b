"""Includes and links follow the arrows of docs/architecture.md.

    base <- core <- {relay, config, telemetry, ipc, probes, discovery} <- {ingress, inject, sdk/cpp}
         <- {router, supervisor}; shim uses headers of base that need no source
"""

import re

import pytest
from lint_cxx import includes_of
from lint_tree import CXX, PRODUCT, THIRD_PARTY, check, core_files, files, finding

LOWER = ("base", "core", "config")
PROBES = ("probes/checks", "probes/listener", "probes/metrics")
ARROWS = {
    "base": (),
    "core": ("base",),
    "relay": ("base", "core"),
    "config": ("base", "core"),
    "telemetry": LOWER,
    "ipc": ("base", "core"),
    "sdk/cpp": ("base", "core", "ipc"),
    "probes/checks": LOWER + ("relay",),
    "probes/listener": LOWER + ("relay",),
    "probes/metrics": LOWER + ("probes/checks", "probes/listener"),
    "discovery": LOWER + ("relay",),
    "ingress": LOWER + ("relay",),
    "inject": ("base", "config"),
    "router/continuation": ("base", "core", "relay"),
    "router": LOWER
    + ("relay", "telemetry", "probes/checks", "probes/listener", "discovery", "ingress",
       "router/continuation"),
    "supervisor/doctor": LOWER + ("ipc",),
    "supervisor/kube": LOWER
    + ("relay", "probes/listener", "discovery", "ingress", "inject", "supervisor/cli"),
    "shim": ("base",),
}
# supervisor/runtime is one library in folders by what they talk to. What each may include of the
# others, and what of the rest of the tree beside the lower folders and telemetry/.
RUNTIME = {
    "loop": ((), ()),
    "record": ((), ("discovery", "ipc")),
    "host": ((), ("ipc",)),
    "cleanup": (("loop", "host"), ("discovery",)),
    "sessions": (("loop", "host"), ("ipc",)),
    "engine": (("loop", "host"), ("ipc", "probes/checks")),
    "registries": (("loop", "cleanup"), ("discovery", "ingress", "ipc")),
    "ingress": (
        ("loop", "host"),
        ("discovery", "ingress", "ipc", "probes/listener", "probes/metrics"),
    ),
    "listener": (
        ("loop", "engine", "registries", "sessions"),
        ("discovery", "ingress", "ipc") + PROBES,
    ),
}
INNER = {name: f"supervisor/runtime/{name}" for name in RUNTIME}
SHELL = LOWER + ("relay", "telemetry", "ipc", "discovery", "ingress") + PROBES
ARROWS |= {
    INNER[name]: LOWER + ("telemetry",) + tuple(INNER[other] for other in own) + rest
    for name, (own, rest) in RUNTIME.items()
}
ARROWS["supervisor/runtime"] = SHELL + tuple(INNER.values())
ARROWS["supervisor/cli"] = ARROWS["supervisor/runtime"] + ("supervisor/runtime",)
LIBRARIES = {"client": "sdk/cpp"}  # what is not named after its folder
LIBRARIES |= {f.rsplit("/", 1)[-1]: f for f in ARROWS if f not in (*INNER.values(), "sdk/cpp")}


# The core computes; what could reach the world, a clock or another thread is not in the list.
PURE_STANDARD = set(
    "algorithm array bit bitset cassert charconv chrono cmath compare concepts cstddef cstdint "
    "cstdlib cstring deque functional initializer_list iosfwd iterator limits list map memory "
    "numeric optional queue ranges set source_location span sstream stack string string_view tuple "
    "type_traits unordered_map unordered_set utility variant vector".split()
)
# PID 1 is small and static: of C++ only what needs no run-time support to speak of.
SHIM_STANDARD = (PURE_STANDARD - {"sstream"}) | set(
    "atomic cctype cerrno cinttypes climits csignal cstdarg cstdio ctime exception new "
    "system_error".split()
)


def folder_of(path):
    for folder in sorted(ARROWS, key=len, reverse=True):
        if path.startswith(folder + "/"):
            return folder
    return None


def arrows(path, text):
    """A project include names a folder below the file's own; the path is from the root."""
    own = folder_of(path)
    found = []
    for line, kind, name in includes_of(text):
        target = folder_of(name)
        if kind == "quote" and target is None:
            found.append(finding(path, line, f"'{name}' is not a path from the tree's root"))
        elif target not in (None, own) and target not in ARROWS[own]:
            found.append(finding(path, line, f"{own} may not include from {target}: '{name}'"))
    return found


def core_and_simulation(path, text):
    """Whatever folder is deleted beside the core, the core and what proves it still compile."""
    return [
        finding(path, line, f"'{name}' is neither of the core nor of its simulation")
        for line, kind, name in includes_of(text)
        if kind == "quote" and not name.startswith(("base/", "core/", "tests/simulation/"))
    ]


def pure_core(path, text):
    return [
        finding(path, line, f"<{name}> is not of the pure part of the standard library")
        for line, kind, name in includes_of(text)
        if kind == "angle" and name not in PURE_STANDARD
    ]


def links_nothing(path, text):
    """The shim links nothing of ours: what it includes of base/ has no source of its own."""
    sources = files(".cpp", under=("base/",))
    return [
        finding(path, line, f"'{name}' has a source, which the shim does not link")
        for line, kind, name in includes_of(text)
        if kind == "quote" and name.replace(".hpp", ".cpp") in sources and name.startswith("base/")
    ]


def reads_no_clock(path, text):
    return [
        finding(path, line, f"'{name}' reads a clock: time is an argument here")
        for line, kind, name in includes_of(text)
        if kind == "quote" and name == "base/clock.hpp"
    ]


# docs/adr/0018-one-http-parser.md: what cpp-httplib does, and where.
HTTPLIB_FILES = ("discovery/http_client.cpp",)


def other_http_parsers(path, text):
    return [
        finding(path, line, f"<{name}>: HTTP/1.1 is read by relay/ (docs/adr/0018)")
        for line, kind, name in includes_of(text)
        if kind == "angle"
        and (name.startswith("boost/beast") or (name == "httplib.h" and path not in HTTPLIB_FILES))
    ]


def shim_includes(path, text):
    """libc (<...h>, <sys/...>) and the parts of C++ that bring no weight."""
    return [
        finding(path, line, f"{folder_of(path)} may not include <{name}>")
        for line, kind, name in includes_of(text)
        if kind == "angle"
        and name not in SHIM_STANDARD
        and (THIRD_PARTY.match(name) or not name.endswith(".h"))
    ]


def links(path, text):
    """The same arrows in target_link_libraries, so that a wrong include does not link either."""
    own = path.rsplit("/", 1)[0]
    found = []
    for match in re.finditer(r"target_link_libraries\(([^)]*)\)", text):
        for name in re.findall(r"\blastcall_(\w+)", match.group(1)):
            target = LIBRARIES.get(name)
            if target not in (None, own) and target not in ARROWS[own]:
                line = text.count("\n", 0, match.start()) + 1
                found.append(finding(path, line, f"{own} may not link lastcall_{name}"))
    return found


def test_includes_follow_the_arrows():
    check(arrows, files(*CXX, under=PRODUCT))


def test_the_core_includes_only_the_pure_standard_library():
    check(pure_core, core_files())


def test_the_simulation_needs_nothing_but_the_core():
    cxx = files(*CXX, under=("core/", "tests/simulation/"))
    # That of the router proves router/continuation/, and is not part of what proves the core.
    of_router = "tests/simulation/router/"
    check(core_and_simulation, [path for path in cxx if not str(path).startswith(of_router)])


def test_relay_includes_only_the_pure_standard_library():
    check(pure_core, files(*CXX, under=("relay/",)))


def test_base_includes_only_libc_and_the_light_standard_library():
    check(shim_includes, files(*CXX, under=("base/",)))


def test_relay_has_the_only_http_parser():
    check(other_http_parsers, files(*CXX, under=PRODUCT))


def test_shim_includes_only_libc_and_itself():
    check(shim_includes, files(*CXX, under=("shim/",)))


def test_shim_includes_only_headers_that_need_no_source():
    check(links_nothing, files(*CXX, under=("shim/",)))


def test_pure_code_reads_no_clock():
    check(reads_no_clock, files(*CXX, under=("core/", "relay/", "tests/simulation/")))


def test_links_follow_the_arrows():
    check(links, [p for p in files("CMakeLists.txt", under=PRODUCT) if p[:-15] in ARROWS])


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (arrows, "core/a.cpp", '#include "config/schema.hpp"'),
        (arrows, "ipc/a.cpp", '#include "config/schema.hpp"'),
        (arrows, "probes/checks/a.cpp", '#include "ipc/server.hpp"'),
        (arrows, "probes/listener/a.cpp", '#include "probes/metrics/metrics.hpp"'),
        (arrows, "telemetry/a.cpp", '#include "ipc/unix_socket.hpp"'),
        (arrows, "sdk/cpp/a.cpp", '#include "discovery/lookup.hpp"'),
        (arrows, "ipc/a.cpp", '#include "sdk/cpp/session.hpp"'),
        (arrows, "supervisor/runtime/loop/a.cpp", '#include "supervisor/runtime/reload.hpp"'),
        (arrows, "supervisor/runtime/host/a.cpp", '#include "supervisor/runtime/loop/clock.hpp"'),
        (arrows, "discovery/a.cpp", '#include "probes/metrics/metrics.hpp"'),
        (arrows, "supervisor/runtime/a.cpp", '#include "supervisor/cli/run.hpp"'),
        (arrows, "supervisor/cli/a.cpp", '#include "shim/shim.hpp"'),
        (arrows, "base/a.cpp", '#include "core/instant.hpp"'),
        (arrows, "relay/a.cpp", '#include "ingress/socket.hpp"'),
        (arrows, "relay/a.cpp", '#include "ipc/line_writer.hpp"'),
        (arrows, "shim/a.cpp", '#include "ipc/message.hpp"'),
        (arrows, "shim/a.cpp", '#include <core/instant.hpp>'),
        (arrows, "ipc/a.cpp", '#include "message.hpp"'),
        (links_nothing, "shim/a.cpp", '#include "base/thread.hpp"'),
        (reads_no_clock, "core/a.cpp", '#include "base/clock.hpp"'),
        (core_and_simulation, "tests/simulation/a.cpp", '#include "ipc/message.hpp"'),
        (pure_core, "core/a.hpp", "#include <thread>"),
        (pure_core, "core/a.hpp", "#include <unistd.h>"),
        (pure_core, "core/a.hpp", "#include <nlohmann/json.hpp>"),
        (pure_core, "relay/a.hpp", "#include <sys/socket.h>"),
        (other_http_parsers, "probes/checks/a.cpp", "#include <boost/beast/http.hpp>"),
        (other_http_parsers, "probes/checks/a.cpp", "#include <httplib.h>"),
        (shim_includes, "shim/a.cpp", "#include <boost/asio.hpp>"),
        (shim_includes, "shim/a.cpp", "#include <thread>"),
        (shim_includes, "shim/a.cpp", "#include <httplib.h>"),
        (links, "ipc/CMakeLists.txt", "target_link_libraries(x PRIVATE lastcall_config)"),
        (links, "discovery/CMakeLists.txt", "target_link_libraries(x PUBLIC lastcall_metrics)"),
    ],
)
def test_a_wrong_arrow_is_found(rule, path, text):
    assert len(rule(path, "// a file\n" + text + "\n")) == 1


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (arrows, "supervisor/runtime/a.cpp", '#include "ipc/server.hpp"'),
        (arrows, "supervisor/runtime/ingress/a.cpp", '#include "ingress/options.hpp"'),
        (arrows, "ipc/a.cpp", '// #include "probes/metrics/metrics.hpp"'),
        (pure_core, "core/a.cpp", "#include <vector>"),
        (shim_includes, "shim/a.cpp", "#include <sys/signalfd.h>"),
        (links, "ipc/CMakeLists.txt", "target_link_libraries(x PRIVATE lastcall_asio)"),
    ],
)
def test_a_right_arrow_is_let_through(rule, path, text):
    assert not rule(path, text)
