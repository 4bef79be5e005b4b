"""A C++ engine's failures reach the supervisor's log, and are the end of the engine."""

import os
import subprocess

import pytest
from cpp_build import BUILD_TIME, call, settings
from serve_peer import PATIENCE

SOURCE = r"""
#include <cstring>
#include <stdexcept>

#include <lastcall/client.hpp>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

template <typename Holds>
void run_until(lastcall::Client& client, Holds holds) {
  while (!holds()) {
    pollfd waiting{client.native_handle(), POLLIN, 0};
    ::poll(&waiting, 1, -1);
    client.process();
  }
}

int main(int, char** arguments) {
  lastcall::ClientOptions options;
  options.own_thread = false;
  lastcall::Client client(options);
  client.register_endpoint("generate");
  run_until(client, [&] { return client.phase() == lastcall::Phase::serving; });
  if (std::strcmp(arguments[1], "throw") == 0) {
    throw std::runtime_error("no blocks left");
  }
  pid_t const worker = ::fork();
  if (worker == 0) {
    ::pause();
  }
  client.watch_child(worker, "worker 3");
  ::kill(worker, SIGKILL);
  run_until(client, [] { return false; });
}
"""


@pytest.fixture(scope="module")
def program(prefix, tmp_path_factory):
    where = tmp_path_factory.mktemp("failing")
    (where / "engine.cpp").write_text(SOURCE)
    compiler, flags = settings()
    [folder] = [folder for folder, _, files in os.walk(prefix) if "lastcall.pc" in files]
    asked = subprocess.run(["pkg-config", "--cflags", "--libs", "lastcall"], text=True,
                           env={**os.environ, "PKG_CONFIG_PATH": folder}, check=True,
                           capture_output=True, timeout=BUILD_TIME)  # fmt: skip
    call(compiler, "-std=c++17", *flags.split(), "-o", where / "engine", where / "engine.cpp",
         *asked.stdout.split())  # fmt: skip
    return str(where / "engine")


@pytest.mark.parametrize("how, reason, detail", [
    ("throw", "uncaught std::runtime_error", "no blocks left"),
    ("lose a worker", "worker 3 died", "was ended by SIGKILL"),
])  # fmt: skip
def test_a_failure_is_reported_in_detail_and_ends_the_engine(world, program, how, reason, detail):
    one = world()
    process = one.run(program, how)
    assert process.wait(PATIENCE) == 1
    reported = [line for line in one.log().splitlines() if '"level":"CRITICAL"' in line]
    assert reason in reported[0] and any(detail in line for line in reported), reported
