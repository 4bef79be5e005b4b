// A server that streams tokens over HTTP from one poll() loop, and takes part in its own clean
// stop.
//
// lastcall's parts are marked with (1) to (6); the rest is there so that it serves something:
//   POST /v1/completions {"max_tokens": N}   N tokens as server-sent events, one every 20 ms
//   GET /health                              200
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lastcall/client.hpp>
#include <lastcall/errors.hpp>
#include <lastcall/outgoing.hpp>
#include <lastcall/stop_channel.hpp>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

constexpr std::chrono::milliseconds kTokenEvery{20};

std::string const kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
    "Transfer-Encoding: chunked\r\n\r\n";

std::string answer(std::string const& status, std::string const& body, std::string const& more) {
  return "HTTP/1.1 " + status + "\r\nContent-Type: application/json\r\nConnection: close\r\n" +
         more + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string chunk(std::string const& text) {
  char size[16];
  std::snprintf(size, sizeof(size), "%zx\r\n", text.size());
  return size + text + "\r\n";
}

/// The text after `key` in `text`, up to the end of the line; nothing if it is not there.
std::optional<std::string> after(std::string const& text, std::string const& key) {
  std::size_t const at = text.find(key);
  if (at == std::string::npos) {
    return std::nullopt;
  }
  std::size_t const begin = text.find_first_not_of(" :", at + key.size());
  return text.substr(begin, text.find_first_of("\r\n", begin) - begin);
}

struct Connection {
  std::string input;
  std::string output;
  std::optional<lastcall::RequestContext> request;
  std::unique_ptr<lastcall::StoppableCalls::Call> stoppable;
  bool may_run = false;
  bool is_last = false;  // close when all is written
  long tokens_left = 0;
  std::uint64_t events_sent = 0;
  std::uint64_t bytes_sent = 0;
};

class Engine {
 public:
  explicit Engine(int port) : client_(options()) {
    // (1) A drain waits for what runs on this endpoint.
    client_.register_endpoint("completions");
    client_.on_health([] { return lastcall::HealthAnswer{}; });
    listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int const on = 1;
    ::setsockopt(listening_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    if (::bind(listening_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(listening_, 128) != 0) {
      std::perror("cannot listen");
      std::exit(1);
    }
    std::fprintf(stderr, "cpp_engine serves on port %d\n", port);
  }

  void run() {
    auto next_token = std::chrono::steady_clock::now();
    for (;;) {
      std::vector<pollfd> watched{{listening_, POLLIN, 0}, {client_.native_handle(), POLLIN, 0}};
      for (auto const& [fd, each] : connections_) {
        watched.push_back(
            {fd, static_cast<short>(each.output.empty() ? POLLIN : POLLIN | POLLOUT), 0});
      }
      ::poll(watched.data(), watched.size(), static_cast<int>(kTokenEvery.count()));
      // (2) Cancels and admissions are called back from here.
      client_.process();
      if (watched[0].revents != 0) {
        connections_[::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)];
        connections_.erase(-1);
      }
      for (std::size_t i = 2; i < watched.size(); ++i) {
        if ((watched[i].revents & ~POLLOUT) != 0) {
          read(watched[i].fd);
        }
      }
      if (std::chrono::steady_clock::now() >= next_token) {
        next_token += kTokenEvery;
        generate();
      }
      write();
    }
  }

 private:
  static lastcall::ClientOptions options() {
    lastcall::ClientOptions options;
    options.name = "cpp_engine";
    options.own_thread = false;  // the loop is ours
    return options;
  }

  void read(int fd) {
    char bytes[4096];
    ssize_t const size = ::recv(fd, bytes, sizeof(bytes), 0);
    if (size < 0 && errno == EAGAIN) {
      return;
    }
    if (size <= 0) {
      return drop(fd);
    }
    Connection& one = connections_[fd];
    one.input.append(bytes, static_cast<std::size_t>(size));
    std::size_t const head = one.input.find("\r\n\r\n");
    std::size_t const length =
        std::strtoul(after(one.input, "Content-Length").value_or("0").c_str(), nullptr, 10);
    if (one.request || head == std::string::npos || one.input.size() < head + 4 + length) {
      return;
    }
    if (one.input.compare(0, 4, "POST") == 0) {
      return begin(fd, one);
    }
    // (6) A tier that has called this one stops its call.
    bool const is_stop = one.input.compare(0, 7, "DELETE ") == 0 &&
                         calls_.stop(one.input.substr(7, one.input.find(' ', 7) - 7));
    one.output += is_stop ? "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
                          : answer("200 OK", "{}", "");
    one.is_last = true;
  }

  void begin(int fd, Connection& one) {
    one.tokens_left =
        std::strtol(after(one.input, "\"max_tokens\"").value_or("16").c_str(), nullptr, 10);
    lastcall::RequestOptions what;
    what.endpoint = "completions";
    what.stream = true;
    what.id = after(one.input, "X-Request-Id").value_or("");
    what.root = lastcall::id_from_header(after(one.input, "X-Lastcall-Root").value_or(""));
    what.parent_id = lastcall::id_from_header(after(one.input, "X-Lastcall-Parent").value_or(""));
    // (3) A supervisor that drains, or is full, refuses it; without one it may run at once.
    auto const decided = [this, fd](lastcall::RequestContext const& request,
                                    lastcall::Admission const& admission) {
      auto const found = connections_.find(fd);
      if (found == connections_.end()) {
        return;  // its client left while it waited
      }
      Connection& mine = found->second;
      mine.may_run = admission.may_run;
      mine.output = admission.may_run ? kStreamHead : refusal(request.id(), admission);
      mine.is_last = !admission.may_run;
    };
    try {
      one.request = client_.begin_admitted(what, decided);
      one.stoppable = std::make_unique<lastcall::StoppableCalls::Call>(
          calls_, after(one.input, "X-Lastcall-Channel").value_or(""), *one.request);
    } catch (std::invalid_argument const& problem) {  // the id is live, or none
      one.output +=
          answer("400 Bad Request", std::string("{\"error\":\"") + problem.what() + "\"}", "");
      one.is_last = true;
    }
  }

  static std::string refusal(std::string const& id, lastcall::Admission const& admission) {
    if (!admission.refusal) {  // cancelled while it waited
      return answer("499 Client Closed Request",
                    lastcall::error_body(lastcall::ErrorKind::cancelled, {id}), "");
    }
    return answer(
        "503 Service Unavailable",
        lastcall::error_body(lastcall::kind_of(*admission.refusal), {id}),
        "Retry-After: 1\r\nX-Lastcall-Reason: " + std::string(name(*admission.refusal)) + "\r\n");
  }

  void generate() {
    for (auto& [fd, one] : connections_) {
      if (!one.request || !one.may_run || one.is_last) {
        continue;
      }
      // (4) Cancelled: free what the request holds, and end its stream so that it looks cut.
      if (one.request->is_stopped()) {
        one.output +=
            chunk(lastcall::sse_error(lastcall::kind_of(*one.request->cause()),
                                      {one.request->id(), one.events_sent, one.bytes_sent}));
        one.is_last = true;
      } else if (one.tokens_left-- > 0) {
        std::string const event = "data: token\n\n";
        one.output += chunk(event);
        ++one.events_sent;
        one.bytes_sent += event.size();
        one.request->progress();  // it moves, so it is not stuck
      } else {
        one.output += chunk("data: [DONE]\n\n") + "0\r\n\r\n";
        one.is_last = true;
      }
    }
  }

  void write() {
    for (auto each = connections_.begin(); each != connections_.end();) {
      auto& [fd, one] = *each++;
      ssize_t const size =
          one.output.empty() ? 0 : ::send(fd, one.output.data(), one.output.size(), MSG_NOSIGNAL);
      if (size < 0 && errno != EAGAIN) {
        drop(fd);
        continue;
      }
      one.output.erase(0, static_cast<std::size_t>(size < 0 ? 0 : size));
      if (one.output.empty() && one.is_last) {
        drop(fd);
      }
    }
  }

  /// (5) A request is over when its last byte is written, or its client has gone.
  void drop(int fd) {
    Connection const one = std::move(connections_[fd]);
    connections_.erase(fd);
    ::close(fd);
    if (one.request && !one.is_last) {
      one.request->kill(lastcall::Reason::client_disconnect);
    }
    if (one.request) {
      one.request->end();
    }
  }

  lastcall::Client client_;
  lastcall::StoppableCalls calls_;
  int listening_ = -1;
  std::map<int, Connection> connections_;
};

}  // namespace

int main(int argc, char** argv) {
  Engine(argc > 1 ? std::atoi(argv[1]) : 8000).run();
}
