// The far ends of a cancel, for cancel_topic.py: each writes the instant (8 bytes, nanoseconds of
// CLOCK_MONOTONIC) at which it received one to standard output.
//
//   engine SOCKET NAME   an engine with the C++ SDK; for each byte of standard input it begins the
//                        next request, NAME-K of root round-K, and for an 'e' it ends all of them
//   relay PATH COUNT     passes each line of the last one that connects on to the first COUNT
//   receiver PATH        what a relay writes to
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <lastcall/client.hpp>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bench/programs/instant.hpp"

namespace {

void report_instant() {
  if (!lastcall::bench::report_instant(STDOUT_FILENO, lastcall::bench::now_ns())) {
    std::_Exit(0);  // nothing is measured any more
  }
}

[[noreturn]] void engine(char const* socket, std::string const& name) {
  lastcall::ClientOptions options;
  options.name = name;
  options.socket = socket;
  lastcall::Client client(options);
  std::vector<lastcall::RequestContext> live;
  char word = 0;
  for (int round = 0; ::read(STDIN_FILENO, &word, 1) == 1;) {
    if (word == 'e') {
      for (lastcall::RequestContext const& context : live) {
        context.end();
      }
      live.clear();
      continue;
    }
    lastcall::RequestOptions what;
    what.id = name + "-" + std::to_string(round);
    what.root = "round-" + std::to_string(round);
    what.endpoint = "generate";
    live.push_back(client.begin(what));
    live.back().on_stop([](auto const&) { report_instant(); });
    ++round;
  }
  std::_Exit(0);
}

int unix_socket(char const* path, bool is_listening) {
  int const fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
  void const* const generic = &address;
  auto const* const where = static_cast<sockaddr const*>(generic);
  int const done =
      is_listening ? ::bind(fd, where, sizeof(address)) : ::connect(fd, where, sizeof(address));
  if (done != 0 || (is_listening && ::listen(fd, 256) != 0)) {
    std::perror(path);
    std::_Exit(1);
  }
  return fd;
}

int relay(char const* path, std::size_t count) {
  int const listening = unix_socket(path, true);
  std::vector<int> receivers;
  while (receivers.size() < count) {
    receivers.push_back(::accept(listening, nullptr, nullptr));
  }
  int const sender = ::accept(listening, nullptr, nullptr);
  // As long as the cancel that a supervisor sends to an engine.
  std::string_view const line =
      R"({"op":"cancel","ids":["peer-12-1234"],"mode":"stop","reason":"operator"})"
      "\n";
  std::array<char, 4096> bytes{};
  while (::read(sender, bytes.data(), bytes.size()) > 0) {
    for (int const each : receivers) {
      if (::write(each, line.data(), line.size()) < 0) {
        return 1;
      }
    }
  }
  return 0;
}

int receiver(char const* path) {
  int const fd = unix_socket(path, false);
  std::array<char, 4096> bytes{};
  while (::read(fd, bytes.data(), bytes.size()) > 0) {
    report_instant();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view const what = argc > 2 ? argv[1] : "";
  if (what == "engine" && argc == 4) {
    engine(argv[2], argv[3]);
  }
  if (what == "relay" && argc == 4) {
    return relay(argv[2], std::strtoul(argv[3], nullptr, 10));
  }
  if (what == "receiver") {
    return receiver(argv[2]);
  }
  std::fputs("usage: bench_cancel engine SOCKET NAME | relay PATH COUNT | receiver PATH\n", stderr);
  return 2;
}
