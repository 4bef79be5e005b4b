// Peers that are killed at random points: peer_storm SOCKET SEED KILLS PARALLEL
//
// Each peer is a process that begins, ends and cancels requests, may drop its connection and come
// back, and kills itself after a random byte. What it wrote completely follows from the seed, so
// that the sums which a supervisor must come to are known; they are printed as JSON.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t count) {
  return static_cast<std::size_t>(random() % count);  // the same everywhere, unlike a distribution
}

struct Sums {
  std::uint64_t begun{}, cancels{};
  std::map<std::string, std::uint64_t> outcomes;
};

struct Request {
  std::string parent;
  std::string outcome;  // the peer has ended it
  bool is_known{};      // the supervisor has read its begin ...
  bool is_over{};       // ... and its end
  bool is_counted{};    // as a user's request
  bool is_cancelled{};
};

enum class What : std::uint8_t { hello, begin, end, cancel, progress };

struct Line {
  What what{};
  std::string id;
  std::string text;
};

/// The life of one peer: what it writes on each connection, and what that adds to the sums.
class Peer {
 public:
  Peer(std::uint64_t seed, std::uint64_t number)
      : random_(seed * 1'000'003 + number), name_(std::to_string(number)) {
    std::size_t const connections = below(random_, 4) == 0 ? 2 : 1;
    while (writes.size() < connections) {
      connect();
    }
  }

  std::vector<std::string> writes;

  void add_to(Sums& sums) const {
    for (auto const& [id, request] : requests_) {
      if (request.is_known && request.is_counted) {
        ++sums.begun;
        ++sums.outcomes[request.is_over ? request.outcome : "lost"];
        sums.cancels += request.is_cancelled ? 1 : 0;
      }
    }
  }

 private:
  void connect() {
    std::vector<Line> lines = greeting();
    for (std::size_t left = below(random_, 24); left > 0; --left) {
      act(lines);
    }
    std::string all;
    for (Line const& line : lines) {
      all += line.text;
    }
    std::size_t const cut = below(random_, 8) == 0 ? all.size() : below(random_, all.size() + 1);
    std::size_t end = 0;
    for (Line const& line : lines) {
      end += line.text.size();
      if (end > cut) {
        break;
      }
      arrives(line);
    }
    writes.push_back(all.substr(0, cut));
  }

  std::vector<Line> greeting() {
    std::vector<Line> lines(1);
    for (auto const& [id, request] : requests_) {
      if (request.outcome.empty() || !request.is_over) {
        lines.push_back(begin_line(id, request, true));
        if (!request.outcome.empty()) {
          lines.push_back(end_line(id, request));
        }
      }
    }
    lines[0] = {What::hello, "",
                R"({"op":"hello","version":1,"role":"engine","name":")" + name_ + R"(","live":)" +
                    std::to_string(lines.size() - 1) + "}\n"};
    return lines;
  }

  void act(std::vector<Line>& lines) {
    std::vector<std::string> live;
    for (auto const& [id, request] : requests_) {
      if (request.outcome.empty()) {
        live.push_back(id);
      }
    }
    std::size_t const choice = live.empty() ? 0 : below(random_, 8);
    if (choice < 3) {
      // Ids sort in the order of their start, so that a greeting names parents first.
      std::string const id = name_ + "-" + std::to_string(100 + requests_.size());
      Request& made = requests_[id];
      made.parent = choice == 2 ? live[below(random_, live.size())] : "";
      lines.push_back(begin_line(id, made, false));
      return;
    }
    std::string const& id = live[below(random_, live.size())];
    Request& request = requests_.at(id);
    if (choice < 5) {
      constexpr char const* kOutcomes[] = {"completed", "error", "cancelled"};
      request.outcome = kOutcomes[below(random_, 3)];
      lines.push_back(end_line(id, request));
    } else if (choice < 7) {
      lines.push_back({What::cancel, id, R"({"op":"cancel","ids":[")" + id + "\"]}\n"});
    } else {
      lines.push_back({What::progress, id, R"({"op":"request.progress","ids":[")" + id + "\"]}\n"});
    }
  }

  static Line begin_line(std::string const& id, Request const& request, bool resumed) {
    std::string text = R"({"op":"request.begin","id":")" + id + R"(","endpoint":"generate")";
    text += request.parent.empty() ? "" : R"(,"parent":")" + request.parent + '"';
    text += resumed ? R"(,"resumed":true)" : "";
    return {What::begin, id, text + "}\n"};
  }

  static Line end_line(std::string const& id, Request const& request) {
    return {What::end, id,
            R"({"op":"request.end","id":")" + id + R"(","outcome":")" + request.outcome + "\"}\n"};
  }

  /// The effect of a line on the supervisor.
  void arrives(Line const& line) {
    if (line.what == What::hello || line.what == What::progress) {
      return;
    }
    Request& request = requests_.at(line.id);
    bool const is_live = request.is_known && !request.is_over;
    if (line.what == What::begin && !is_live) {
      auto const parent = requests_.find(request.parent);
      bool const has_parent =
          parent != requests_.end() && parent->second.is_known && !parent->second.is_over;
      request.is_known = true;
      request.is_counted = !has_parent;
    } else if (line.what == What::end && is_live) {
      request.is_over = true;
    } else if (line.what == What::cancel && is_live) {
      request.is_cancelled = true;
    }
  }

  Random random_;
  std::string name_;
  std::map<std::string, Request> requests_;
};

int dial(char const* path) {
  int const fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
  void const* const generic = &address;
  if (fd < 0 || ::connect(fd, static_cast<sockaddr const*>(generic), sizeof(address)) != 0) {
    std::perror("cannot connect");
    std::_Exit(1);
  }
  return fd;
}

[[noreturn]] void live_and_die(char const* path, Peer const& peer) {
  for (std::string const& text : peer.writes) {
    int const fd = dial(path);
    for (std::size_t done = 0; done < text.size();) {
      ssize_t const size = ::send(fd, text.data() + done, text.size() - done, MSG_NOSIGNAL);
      if (size < 0) {
        std::perror("cannot write");
        std::_Exit(1);
      }
      done += static_cast<std::size_t>(size);
    }
    if (&text != &peer.writes.back()) {
      ::close(fd);
    }
  }
  std::raise(SIGKILL);
  std::_Exit(1);
}

/// This waits until the supervisor has accepted all earlier peers: they die faster than it can
/// handle them, and those that find every place taken are refused.
void wait_for_a_welcome(char const* path) {
  int const fd = dial(path);
  std::string const hello = R"({"op":"hello","version":1,"role":"engine","name":"barrier"})"
                            "\n";
  char welcome[256];
  if (::send(fd, hello.data(), hello.size(), MSG_NOSIGNAL) < 0 ||
      ::recv(fd, welcome, sizeof(welcome), 0) <= 0) {
    std::perror("cannot receive a welcome");
    std::_Exit(1);
  }
  ::close(fd);
}

/// Returns false if a peer ended otherwise than by being killed.
bool await_one() {
  int status = 0;
  return ::wait(&status) > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: peer_storm SOCKET SEED KILLS PARALLEL\n", stderr);
    return 2;
  }
  std::uint64_t const seed = std::strtoull(argv[2], nullptr, 10);
  std::uint64_t const kills = std::strtoull(argv[3], nullptr, 10);
  std::uint64_t const parallel = std::strtoull(argv[4], nullptr, 10);
  Sums sums;
  for (std::uint64_t number = 0; number < kills; ++number) {
    Peer const peer(seed, number);
    peer.add_to(sums);
    if (number >= parallel && !await_one()) {
      return 1;
    }
    if (number % 32 == 31) {
      wait_for_a_welcome(argv[1]);
    }
    if (::fork() == 0) {
      live_and_die(argv[1], peer);
    }
  }
  for (std::uint64_t left = std::min(kills, parallel); left > 0; --left) {
    if (!await_one()) {
      return 1;
    }
  }
  std::printf("{\"begun\": %ju, \"cancels\": %ju, \"outcomes\": {", sums.begun, sums.cancels);
  char const* comma = "";
  for (auto const& [outcome, count] : sums.outcomes) {
    std::printf("%s\"%s\": %ju", comma, outcome.c_str(), count);
    comma = ", ";
  }
  std::puts("}}");
  return 0;
}
