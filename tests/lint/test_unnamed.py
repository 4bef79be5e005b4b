"""What an unnamed namespace declares has a name of its own in its library.

Files of a library compile together, sixteen at a time (LASTCALL_UNITY).
"""

import re
from collections import defaultdict

import pytest
from lint_tree import PRODUCT, files, finding, read
from lint_unnamed import unnamed_names


def clashes(texts):
    """Names that two files of one library have in {path: text}, but for overloads."""
    seen = defaultdict(list)
    for path, text in texts.items():
        library = re.sub(r"^(supervisor/runtime)/.*", r"\1", path.rsplit("/", 1)[0])
        for scope, name, parameters, line in unnamed_names(text):
            seen[library, scope, name].append((path, parameters, line))
    found = []
    for (_, _, name), places in seen.items():
        for number, (path, parameters, line) in enumerate(places):
            others = [other for other, theirs, _ in places[:number] if other != path
                      and (parameters is None or theirs in (None, parameters))]  # fmt: skip
            if others:
                found.append(finding(path, line, f"'{name}' is in {others[0]}, too"))
    return found


def test_names_are_of_one_file():
    texts = {path: read(path) for path in files(".cpp", under=PRODUCT + ("tests/unit/",))}
    found = clashes(texts)
    assert not found, "\n".join(found)


HERE = "namespace lastcall {\nnamespace {\n%s\n}  // namespace\n}  // namespace lastcall\n"


@pytest.mark.parametrize(
    "text",
    [
        "constexpr int kMost = 1;",
        "constexpr std::size_t kMost = std::size_t{2} * 8;",
        "std::map<int, std::string> kMost{{1, {}}};",
        "struct kMost {\n  int a = 0;\n};",
        "enum class kMost : std::uint8_t { one };",
        "template <class T>\nint kMost(T const& it, int b = 2) {\n  return it(b);\n}",
        "void f() {}\nint kMost(int const& other, int c) noexcept {\n  return other;\n}",
    ],
)
def test_a_name_of_two_files_is_found(text):
    assert clashes({"a/one.cpp": HERE % text, "a/two.cpp": HERE % "constexpr int kMost = 7;"})


def test_a_function_with_the_same_parameters_is_found():
    one, two = "int f(int const& a, int b) {\n}", "void f(int const& other, int) {\n}"
    assert clashes({"a/one.cpp": HERE % one, "a/two.cpp": HERE % two})


def test_overloads_other_scopes_and_other_libraries_are_let_through():
    one = HERE % "int f(int a) {\n  int kMost = 1;\n  return kMost;\n}\nusing A = int;"
    assert not clashes({"a/one.cpp": one, "a/two.cpp": HERE % "int f(char a) {\n  return a;\n}"})
    assert not clashes({"a/one.cpp": one, "b/two.cpp": one})
    assert not clashes({"a/one.cpp": one, "a/two.cpp": one.replace("lastcall", "other")})
    assert not clashes({"a/one.cpp": HERE % "int kMost(int);", "a/two.cpp": HERE % "int kMost;"})
    assert clashes({"supervisor/runtime/a/one.cpp": one, "supervisor/runtime/b/two.cpp": one})
