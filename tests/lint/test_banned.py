"""Constructs that this tree does without, each with the reason in its message."""

import ast
import re

import pytest
from lint_cxx import code_of
from lint_tree import CXX, PRODUCT, check, core_files, files, finding, line_of


def _search(path, code, table):
    return [
        finding(path, line_of(code, match.start()), why)
        for pattern, why in table
        for match in re.finditer(pattern, code)
    ]


EVERYWHERE = [
    (r"\bstd::format\b|#\s*include\s*<(format|expected)>", "libstdc++ 12 has it not; use fmt"),
    (r"(?<!operator )\bnew\b(?!\s*[(>])", "owned by nobody; use make_unique or a container"),
    (r"(?<!operator )\bdelete\b(?=\s*(\[\s*\])?\s*[\w(*:])", "nothing is owned by hand"),
    (r"\bkill\s*\(\s*-\s*1\s*,", "signals everything that can be seen, other containers included"),
]
CLOCKS = [
    (r"\b\w+_clock\b|\bclock_gettime\b|\bgettimeofday\b", "time is an argument"),
    (r"\bstd::time\s*\(|::now\s*\(", "time is an argument"),
    (r"\bstd::(thread|jthread|mutex|atomic|cout|cerr|clog)\b|\bf?printf\s*\(", "the core is pure"),
]
SHIPPED = [
    (r"\bnlohmann::json\b", "a second kind of JSON value is compiled once more; use ordered_json"),
]
SLEEPS = [
    (r"\bsleep_(for|until)\b|\b(u|nano)?sleep\s*\(|\bclock_nanosleep\b", "await the event instead"),
]
POLLING_HELPERS = ("eventually", "wait_until", "holds_for")
LAMBDA = re.compile(
    r"(?<![\w\])])\[(?P<captures>[^\[\]]+)\]\s*"  # not a subscript, not an empty capture
    r"(\([^()]*(\([^()]*\)[^()]*)*\))?[^;{}()]*\{"
)


def banned_cxx(path, text):
    return _search(path, code_of(text), EVERYWHERE)


def clocks_in_core(path, text):
    return _search(path, code_of(text), CLOCKS)


def large_cxx(path, text):
    return _search(path, code_of(text), SHIPPED)


def sleeps_cxx(path, text):
    return _search(path, code_of(text), SLEEPS)


def capturing_coroutines(path, text):
    """A lambda's captures live in the lambda, not in the coroutine's frame, and outlive nothing."""
    code = code_of(text)
    found = []
    for match in LAMBDA.finditer(code):
        depth, end = 1, match.end()
        while depth and end < len(code):
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        if re.search(r"\bco_(await|return|yield)\b", code[match.end() : end]):
            why = f"a coroutine may not capture ([{match.group('captures').strip()}])"
            found.append(finding(path, line_of(code, match.start()), why))
    return found


def _calls(tree):
    """(node, dotted name) of each call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node, ast.unparse(node.func)


def banned_python(path, text):
    return [
        finding(path, node.lineno, "signals everything that can be seen")
        for node, name in _calls(ast.parse(text))
        if name == "os.kill" and node.args and ast.unparse(node.args[0]) == "-1"
    ]


def sleeps_python(path, text):
    """Outside of the helpers whose pause makes every other sleep needless; they go by name.

    A sleep of 0 only yields, and one of an hour waits for nothing: it is work that never ends.
    """
    tree = ast.parse(text)
    helpers = [node for node in ast.walk(tree) if getattr(node, "name", "") in POLLING_HELPERS]
    pauses = {call for helper in helpers for call, _ in _calls(helper)}
    return [
        finding(path, call.lineno, f"{name}: await the event instead (poll with a deadline)")
        for call, name in _calls(tree)
        if name in ("time.sleep", "sleep", "asyncio.sleep")
        and call not in pauses
        and not (call.args and ast.unparse(call.args[0]) in ("0", "3600"))
    ]


def test_banned_constructs_are_absent():
    check(banned_cxx, files(*CXX))


def test_shipped_files_stay_small():
    check(large_cxx, files(*CXX, under=PRODUCT))


def test_core_reads_no_clock():
    check(clocks_in_core, core_files())


def test_no_coroutine_captures():
    check(capturing_coroutines, files(*CXX))


def test_product_and_tests_in_cxx_do_not_sleep():
    """The command line's clients may: they have no loop, and ask again after a pause."""
    clients = ("supervisor/cli/", "supervisor/kube/")
    watched = files(*CXX, under=PRODUCT + ("tests/",))
    check(sleeps_cxx, [path for path in watched if not path.startswith(clients)])


def test_python_signals_only_what_it_started():
    check(banned_python, files(".py"))


def test_python_tests_do_not_sleep():
    check(sleeps_python, files(".py", under=("tests/", "sdk/python/tests/")))


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (banned_cxx, 'auto s = std::format("{}", 1);'),
        (banned_cxx, "#include <expected>"),
        (banned_cxx, "auto* p = new Peer(1);"),
        (banned_cxx, "delete p;"),
        (banned_cxx, "delete[] p;"),
        (banned_cxx, "::kill(-1, SIGKILL);"),
        (clocks_in_core, "auto now = std::chrono::system_clock::now();"),
        (clocks_in_core, "std::time(nullptr);"),
        (clocks_in_core, "std::mutex m;"),
        (large_cxx, "auto const parsed = nlohmann::json::parse(text);"),
        (sleeps_cxx, "std::this_thread::sleep_for(1s);"),
        (sleeps_cxx, "usleep(10);"),
        (sleeps_cxx, "sleep(1);"),
        (capturing_coroutines, "auto f = [self]() -> awaitable<void> { co_await g(); };"),
        (capturing_coroutines, "spawn([&, x = f(1)](int n) mutable {\n  if (n) co_return;\n});"),
        (banned_python, "import os\nos.kill(-1, 9)"),
        (sleeps_python, "import time\ntime.sleep(0.1)"),
        (sleeps_python, "async def f():\n    await asyncio.sleep(1)"),
    ],
)
def test_a_banned_construct_is_found(rule, text):
    assert rule("sample", text)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (banned_cxx, 'Peer(Peer const&) = delete;  // a new one each time\nlog("new, delete p");'),
        (banned_cxx, "::kill(-pid, SIGTERM); ::kill(pid, 9); new (at) S;\n#include <new>"),
        (clocks_in_core, "Instant const deadline_at = now + total; runtime(x);"),
        (large_cxx, "#include <nlohmann/json.hpp>\nnlohmann::ordered_json value;"),
        (sleeps_cxx, "// sleep_for(1s)\nasleep(1);"),
        (capturing_coroutines, "auto f = [](int n) -> awaitable<void> { co_return; };"),
        (capturing_coroutines, "auto f = [this] { go(); };\nawaitable<void> g() { co_return; }"),
        (sleeps_python, "command = 'import time; time.sleep(60)'"),
        (sleeps_python, "await asyncio.sleep(0)"),
        (sleeps_python, "await asyncio.sleep(3600)"),
        (sleeps_python, "def eventually(f):\n    while not f():\n        time.sleep(0.01)"),
    ],
)
def test_allowed_text_is_let_through(rule, text):
    assert not rule("sample", text)
