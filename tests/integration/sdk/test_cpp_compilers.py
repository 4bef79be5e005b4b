"""An engine may be built by another compiler, and at another level, than the C++ SDK was."""

import os
import shutil
import subprocess

import pytest
from asgi_world import ROOT
from cpp_build import call, settings
from serve_peer import PATIENCE

# Everything that takes a word by value, given one that has just come out of an optional.
SOURCE = r"""
#include <cstdio>
#include <string>

#include <lastcall/client.hpp>
#include <lastcall/errors.hpp>
#include <lastcall/stop_channel.hpp>

void say(std::string_view text) {
  std::printf("%s\n", std::string(text.substr(0, 40)).c_str());
}

int main() {
  lastcall::ClientOptions options;
  options.socket = "";
  lastcall::Client client(options);
  lastcall::RequestContext const request = client.begin();
  request.stop(lastcall::Reason::migrate);
  request.end();
  say(name(*request.reason()));
  say(name(*request.cause()));
  say(name(*request.outcome()));
  lastcall::ErrorKind const kind = lastcall::kind_of(*request.cause());
  say(name(kind));
  say(is_retryable(lastcall::kind_of(*request.cause())) ? "retryable" : "final");
  lastcall::ErrorDetails details;
  details.request_id = "r";
  details.reason = name(*request.cause());
  say(lastcall::sse_error(lastcall::kind_of(*request.cause()), details));
  lastcall::RequestContext const other = client.begin();
  other.kill(*request.cause());
  other.end(*request.outcome());
  say(name(*other.cause()));
  say(name(*other.outcome()));
  lastcall::Admission admission;
  admission.refusal = lastcall::Refusal::queue_timeout;
  lastcall::NotAdmitted const refused("r", admission);
  say(name(*refused.admission().refusal));
  say(name(lastcall::kind_of(*refused.admission().refusal)));
  say(name(client.phase().value_or(lastcall::Phase::exited)));
  client.report_health(lastcall::HealthAnswer{lastcall::Health::dead, ""}.status);
}
"""
EXPECTED = """\
migrate
migrate
migrated
migrated
retryable
event: error
data: {"error":{"type":"mig
migrate
migrated
queue_timeout
overloaded
exited
"""


@pytest.mark.plain_build  # one compiler's sanitizers cannot be linked by the other
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-O3"])
def test_an_engine_of_another_compiler_reads_the_words_as_they_are(prefix, tmp_path, level):
    other = shutil.which("g++")
    if other is None:
        pytest.skip("no g++ here")
    compiler, _ = settings()
    (tmp_path / "engine.cpp").write_text(SOURCE)
    [include] = [folder for folder, names, _ in os.walk(prefix) if "lastcall" in names
                 and folder.endswith("include")]  # fmt: skip
    [archive] = [os.path.join(folder, name) for folder, _, names in os.walk(prefix)
                 for name in names if name == "liblastcall.a"]  # fmt: skip
    objects = []
    for name in ("words", "errors", "request_context", "context_state"):  # as they ship: optimised
        objects.append(str(tmp_path / f"{name}.o"))
        call(compiler, "-std=c++20", "-O2", "-I", ROOT, "-I", include, "-c", "-o", objects[-1],
             os.path.join(ROOT, "sdk/cpp", f"{name}.cpp"))  # fmt: skip
    program = str(tmp_path / "engine")
    # The first definition counts: a unity build's archive has the others in one object.
    call(other, "-std=c++17", level, "-I", include, "-o", program, str(tmp_path / "engine.cpp"),
         *objects, archive, "-pthread", "-Wl,-z,muldefs")  # fmt: skip
    done = subprocess.run([program], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, EXPECTED), done.stderr


@pytest.mark.plain_build
@pytest.mark.parametrize("compiler", ["clang++", "g++"])
def test_an_engine_without_exceptions_and_rtti_may_include_the_headers(prefix, tmp_path, compiler):
    command = settings()[0] if compiler == "clang++" else shutil.which(compiler)
    if command is None:
        pytest.skip(f"no {compiler} here")
    headers = set(os.listdir(os.path.join(prefix, "include", "lastcall"))) - {"curl.hpp"}
    assert "client.hpp" in headers
    source = tmp_path / "engine.cpp"
    source.write_text("".join(f"#include <lastcall/{name}>\n" for name in sorted(headers)) +
                      "void end(lastcall::Client& client) { client.begin().end(); }\n")
    call(command, "-std=c++17", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Werror",
         "-I", os.path.join(prefix, "include"), "-fsyntax-only", str(source))  # fmt: skip
