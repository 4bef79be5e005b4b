"""Every file includes what it uses, so that each compiles alone as well as with its neighbours."""

import pytest
from lint_includes import HEADERS, library_includes, own_includes, standard_includes
from lint_tree import PRODUCT, check, files, read

SOURCE = "relay/head_writer.cpp"


def product():
    return files(*HEADERS, ".cpp", under=PRODUCT)


@pytest.mark.parametrize("rule", [standard_includes, library_includes, own_includes])
def test_files_include_what_they_use(rule):
    check(rule, product())


@pytest.mark.parametrize(
    ("rule", "code", "header"),
    [
        (standard_includes, "auto f() { return std::exchange(a, 0); }", "utility"),
        (standard_includes, "std::chrono::seconds s;", "chrono"),
        (standard_includes, "int f() { return ::fcntl(0, 1); }", "fcntl.h"),
        (standard_includes, "int const mode = O_CLOEXEC;", "fcntl.h"),
        (library_includes, "nlohmann::ordered_json value;", "nlohmann/"),
        (library_includes, "boost::asio::io_context& io;", "boost/asio"),
        (own_includes, "lastcall::LiveIds ids;", "ingress/live_ids.hpp"),
        (own_includes, "auto text = utf8::prefix(word, 3);", "base/utf8.hpp"),
        (own_includes, "namespace lastcall::ingress {\nTime now = monotonic_time();\n}",
         "base/clock.hpp"),
    ],
)
def test_a_missing_include_is_found(rule, code, header):
    [found] = rule("ingress/sample.cpp", code + "\n")
    assert header in found
    assert not rule("ingress/sample.cpp", f"#include <{header}>\n{code}\n")


def test_includes_of_our_own_headers_count():
    text = '#include "relay/refusal.hpp"\nstd::string f();\n'
    assert not standard_includes("ingress/sample.cpp", text)


def test_an_include_that_is_taken_from_a_file_is_missed():
    text = read(SOURCE)
    assert "#include <charconv>" in text
    assert standard_includes(SOURCE, text.replace("#include <charconv>\n", ""))


def test_a_name_in_a_comment_is_no_use():
    assert not standard_includes("ingress/sample.cpp", "// std::exchange\n")
