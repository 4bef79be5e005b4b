"""The manuals are those that docs/cli.md gives, and groff takes them without a complaint."""

import shutil
import subprocess
import sys

import pytest
from lint_tree import ROOT, read

WORDS = {"lastcall": "--output", "lastcall-shim": "--rewrite FROM:TO",
         "lastcall-router": "--set KEY=VALUE"}  # fmt: skip
PAGES = [f"docs/man/{name}.1" for name in WORDS]


def generate(*arguments):
    return subprocess.run(
        [sys.executable, ROOT / "docs/man/generate.py", *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_manuals_are_up_to_date():
    done = generate("--check")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_a_manual_has_what_its_page_has(page):
    [words] = [words for name, words in WORDS.items() if page.endswith(f"/{name}.1")]
    text = read(page).replace("\\-", "-")
    sections = {line for line in text.splitlines() if line.startswith(".SH")}
    assert {".SH NAME", ".SH SYNOPSIS", ".SH SEE ALSO"} <= sections
    assert words in text


def test_the_manual_of_the_shim_has_its_codes_and_only_its_variables():
    text = read(PAGES[1]).replace("\\-", "-").replace("\\fB", "").replace("\\fR", "")
    assert {"0", "1", "2", "126", "127", "137"} <= set(text.splitlines())
    assert "LASTCALL_POD_GRACE_SECONDS" in text and "LASTCALL_SOCKET" in text
    assert "LASTCALL_CONFIG" not in text and "LASTCALL_ETCD_PASSWORD" not in text


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
@pytest.mark.parametrize("page", PAGES)
def test_groff_has_no_warning_about_a_manual(page):
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", ROOT / page], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) > 50
