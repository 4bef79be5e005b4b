"""Functions and lines stay short enough to be read without scrolling.

Files have no limit: a limit of lines cuts a class into slices instead of objects.
"""

import ast

import pytest
from lint_cxx import functions_of
from lint_tree import CXX, SCRIPTS, SHELL, check, files, finding

FUNCTION_LINES = 60
COLUMNS = 100


def line_width(path, text):
    return [
        finding(path, number, f"{len(line)} columns, {COLUMNS} is the limit")
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > COLUMNS
    ]


def cxx_function_length(path, text):
    return [
        finding(path, f.first_line, f"{f.name} has {f.length} lines, {FUNCTION_LINES} is the limit")
        for f in functions_of(text)
        if f.length > FUNCTION_LINES
    ]


def python_function_length(path, text):
    return [
        finding(path, node.lineno, f"{node.name} is longer than {FUNCTION_LINES} lines")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.end_lineno - node.lineno >= FUNCTION_LINES
    ]


def code_files():
    scripts = [path for path in SCRIPTS if path in files("")]
    return files(*CXX, *SHELL, ".py", ".cmake", "CMakeLists.txt") + scripts


def test_code_files_keep_to_the_columns():
    check(line_width, code_files())


def test_cxx_functions_keep_to_the_limit():
    check(cxx_function_length, files(*CXX))


def test_python_functions_keep_to_the_limit():
    check(python_function_length, files(".py"))


def test_the_limit_of_columns_is_exact():
    assert not line_width("f", "x" * COLUMNS)
    assert line_width("f", "ok\n" + "x" * (COLUMNS + 1)) == ["f:2: 101 columns, 100 is the limit"]


@pytest.mark.parametrize(
    "opening",
    [
        "void f(int x) {\n",
        "void A::f() const noexcept {\n",
        "A::A(int x) : a_{x}, b_(x) {\n",
        "A::A(int x) : a_(x), b_{x} {\n",
        "template <typename T = int>\nauto f(T t) -> std::vector<T> {\n",
        "namespace n {\nclass A {\n public:\n  int g() { return 1; }\n  void f(int x = 3) {\n",
        "bool operator==(A const& a, A const& b) {\n",
        "TEST(Shutdown, Ends) {\n",
        'constexpr char const* kBrace = "{";\nvoid f(char c = \'{\') {\n',
        "Table const kTable{{1, 2}, {3, 4}};\nvoid f() { // {\n",
        "auto const kParse = [](int x) { return x; };\nvoid f() {\n",
    ],
)
def test_a_long_function_is_found_in_every_shape(opening):
    head = opening.rsplit("\n", 2)[-2] if "\n" in opening.strip() else opening
    before = opening.count("\n")
    for lines, is_long in ((FUNCTION_LINES - 2, False), (FUNCTION_LINES, True)):
        body = "".join("  if (x) { y(); }\n" for _ in range(lines - opening.startswith("template")))
        found = cxx_function_length("f.cpp", opening + body + "}\n")
        assert bool(found) == is_long, (head, before, found)


def test_types_and_namespaces_are_no_functions():
    members = "  int value = 0;\n" * 100
    for opening in ("struct A {\n", "namespace a::b {\n", "enum class E {\n", "int k[] = {\n"):
        assert not cxx_function_length("f.cpp", opening + members + "};\n")
    calls = "SHAPE(A, one; two;)\n" * 100
    assert not cxx_function_length("f.cpp", calls + "void f() {\n}\n")


def test_a_long_python_function_is_found():
    body = "".join("    x = 1\n" for _ in range(FUNCTION_LINES - 1))
    assert not python_function_length("f.py", "def f():\n" + body)
    assert python_function_length("f.py", "def f():\n" + body + "    y = 2\n")
