"""The settings of clang-tidy and clang-format do what they are there for.

`./dev lint` runs both over the tree; this proves that a fault would be found.
"""

import subprocess

import pytest
from lint_tree import ROOT

GOOD = """#include <string>
#include <utility>
namespace lastcall {
enum class Phase { starting, serving };
class Peer {
 public:
  explicit Peer(std::string name) : name_(std::move(name)) {}
  std::string const& name() const { return name_; }

 private:
  std::string name_;
};
inline constexpr int kLimit = 3;
}  // namespace lastcall
"""


def complaints(folder, text):
    """Names of the checks that fire; the sample lies where the header filter sees it."""
    sample = folder / "ipc" / "sample.cpp"
    sample.parent.mkdir(exist_ok=True)
    sample.write_text(text)
    command = ["clang-tidy-16", "--quiet", f"--config-file={ROOT}/.clang-tidy", str(sample), "--"]
    done = subprocess.run([*command, "-std=c++20"], capture_output=True, text=True, timeout=60)
    assert (done.returncode != 0) == ("error:" in done.stdout), done.stdout + done.stderr
    return done.stdout


def test_good_code_passes(tmp_path):
    assert complaints(tmp_path, GOOD) == ""


@pytest.mark.parametrize(
    ("check", "text"),
    [
        ("readability-identifier-naming", "inline int DrainAll() { return 0; }\n"),
        ("readability-identifier-naming", "class A {\n  int peers;\n};\n"),
        ("readability-identifier-naming", "enum class Phase { Starting };\n"),
        ("readability-identifier-naming", "constexpr int limit = 3;\n"),
        ("bugprone-unused-return-value", "#include <unistd.h>\nvoid f() { ::write(1, 0, 0); }\n"),
        (
            "bugprone-use-after-move",
            "#include <string>\n#include <utility>\nvoid take(std::string s);\n"
            "char f(std::string s) { take(std::move(s)); return s[0]; }\n",
        ),
        (
            "performance-unnecessary-value-param",
            "#include <string>\nunsigned long f(std::string s) { return s.size(); }\n",
        ),
        (
            "performance-for-range-copy",
            "#include <string>\n#include <vector>\n"
            "unsigned long f(std::vector<std::string> const& v) {\n  unsigned long n = 0;\n"
            "  for (auto s : v) { n += s.size(); }\n  return n;\n}\n",
        ),
    ],
)
def test_a_fault_is_found(tmp_path, check, text):
    assert check in complaints(tmp_path, text)


def test_clang_format_finds_bad_format(tmp_path):
    def is_formatted(text):
        sample = tmp_path / "sample.cpp"
        sample.write_text(text)
        command = ["clang-format-16", f"--style=file:{ROOT}/.clang-format", "--dry-run", "-Werror"]
        return subprocess.run([*command, sample], capture_output=True).returncode == 0

    assert is_formatted(GOOD.replace("#include", "\n#include", 1).lstrip())
    assert not is_formatted("int  f( ) {return 1;}\n")
