"""The manuals are those that docs/cli.md gives, and groff takes them without a word."""

import shutil
import subprocess
import sys

import pytest
from lint_tree import ROOT, read

PAGES = ["docs/man/lastcall.1", "docs/man/lastcall-shim.1"]


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
    text = read(page).replace("\\-", "-")
    sections = {line for line in text.splitlines() if line.startswith(".SH")}
    assert {".SH NAME", ".SH SYNOPSIS", ".SH SEE ALSO"} <= sections
    assert "--output" in text if page == PAGES[0] else "--rewrite FROM:TO" in text


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
