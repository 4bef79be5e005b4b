// bench_hostile PORT SECONDS: as many hostile connections to 127.0.0.1:PORT as one core makes.
//
// Each is opened, gets one of the payloads below in turn, and is closed when its place is needed
// for another one: most are closed before they are answered, some are reset, the rest stays open
// and silent meanwhile. Prints "CONNECTIONS FAILED": how many it has made, and how many could not
// be.
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "instant.hpp"

namespace lastcall::bench {
namespace {

constexpr std::size_t kOpen = 1'000;
constexpr std::int64_t kSecond = 1'000'000'000;

std::string head(std::string_view more) {
  return "GET /v1/models HTTP/1.1\r\nHost: h\r\n" + std::string(more);
}

std::string lines(std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    all += "X-" + std::to_string(i) + ": a\r\n";
  }
  return all;
}

/// One payload of each kind that is known to have hurt servers; they take turns.
std::vector<std::string> payloads() {
  std::string const commas(30'000, ',');
  std::string pipelined;
  for (int i = 0; i < 50; ++i) {
    pipelined += head("\r\n");
  }
  return {
      "",                                                               // sends nothing
      head("X: "),                                                      // a head that never ends
      head(lines(110) + "Connection: " + commas + "\r\n\r\n"),          // the dearest list
      head(lines(110) + "X-List: " + commas + "\r\n\r\n"),              // a large head that is good
      std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),  // TLS where there is none
      pipelined,  // whose answers are not read
      "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n{",
      "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffffffff",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nTransfer-Encoding: "
      "chunked\r\n\r\n0\r\n\r\n",
      "GET /" + std::string(30'000, '%') + " HTTP/1.1\r\nHost: h\r\n\r\n",
      std::string(16'000, '\r'),
      head("\r\n"),  // a good one, that does not wait
  };
}

int connect_to(sockaddr_in const& there) {
  int const made = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) {
    return -1;
  }
  int const done = ::connect(made, reinterpret_cast<sockaddr const*>(&there), sizeof there);
  if (done != 0 && errno != EINPROGRESS) {
    ::close(made);
    return -1;
  }
  return made;
}

void end(int socket, bool resets) {
  if (socket < 0) {
    return;
  }
  if (resets) {
    linger const at_once{1, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  ::close(socket);
}

int run(std::uint16_t port, std::int64_t seconds) {
  std::vector<std::string> const all = payloads();
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(port);
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::vector<int> open(kOpen, -1);
  unsigned long long made = 0;
  unsigned long long failed = 0;
  std::int64_t const until = now_ns() + seconds * kSecond;
  for (std::size_t turn = 0; now_ns() < until; ++turn) {
    int& place = open[turn % kOpen];
    end(place, turn % 3 == 0);
    place = connect_to(there);
    if (place < 0) {
      ++failed;
      continue;
    }
    ++made;
    std::string const& payload = all[turn % all.size()];
    if (!payload.empty()) {
      static_cast<void>(::send(place, payload.data(), payload.size(), MSG_NOSIGNAL));
    }
  }
  for (int const socket : open) {
    end(socket, true);
  }
  std::printf("%llu %llu\n", made, failed);
  return 0;
}

}  // namespace
}  // namespace lastcall::bench

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: bench_hostile PORT SECONDS\n", stderr);
    return 2;
  }
  return lastcall::bench::run(static_cast<std::uint16_t>(std::atoi(argv[1])), std::atoll(argv[2]));
}
