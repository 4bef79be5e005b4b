"""How programs that link the C++ SDK are built here: as the tree itself was."""

import os
import re
import subprocess

from serve_world import BUILD

BUILD_TIME = 300


def settings():
    """What the tree was configured with, as far as programs that link the SDK need it."""
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as file:
        text = file.read()
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.+)$", text, re.MULTILINE)[1]
    sanitize = re.search(r"^LASTCALL_SANITIZE:\w+=(.*)$", text, re.MULTILINE)[1]
    return compiler, f"-fsanitize={sanitize}" if sanitize else ""


def call(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_TIME, **options)
    assert done.returncode == 0, done.stdout + done.stderr
