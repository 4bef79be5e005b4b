#include "shim/options.hpp"

#include <cstring>

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/socket_address.hpp"
#include "shim/parse.hpp"

namespace lastcall::shim {
namespace {

constexpr Duration kPodMargin{2'000};          // the kubelet's own work
constexpr std::int64_t kDefaultPodGrace = 30;  // if terminationGracePeriodSeconds is not set
constexpr char const* kDefaultSocket = "/run/lastcall/lastcall.sock";

/// The loop leaves the directory that it was started in, so paths are made absolute first.
char const* absolute_path(char const* path, char (&storage)[PATH_MAX]) {
  if (path[0] == '/') {
    return path;
  }
  if (getcwd(storage, sizeof storage) == nullptr) {
    return path;
  }
  std::size_t const length = std::strlen(storage);
  Text tail(storage + length, sizeof storage - length - 1);
  tail << "/" << path;
  storage[length + tail.view().size()] = '\0';
  return tail.overflowed() ? path : storage;
}

class Parser {
 public:
  Parser(char** argv, Options& options, Text& error)
      : next_(argv + 1), options_(options), error_(error) {}

  bool run() {
    while (*next_ != nullptr) {
      char* const argument = *next_;
      std::string_view const word = argument;
      if (word == "--") {
        ++next_;
        break;
      }
      if (!word.starts_with("-") || word == "-") {
        break;
      }
      ++next_;
      if (!option(argument)) {
        return false;
      }
    }
    options_.command = next_;
    if (restarted_ != nullptr) {
      *--options_.command = restarted_;  // it takes the place of an option
    }
    return check();
  }

 private:
  bool fail(std::string_view option, std::string_view what) {
    error_ << option << ": " << what;
    return false;
  }

  bool option(char* argument) {
    std::string_view const word = argument;
    std::size_t const equals = word.find('=');
    name_ = word.substr(0, equals);
    if (bool const known = flag(); known) {
      return equals == std::string_view::npos || fail(name_, "takes no value");
    }
    if (!takes_value()) {
      return fail(name_, "unknown option; see --help");
    }
    if (equals != std::string_view::npos) {
      value_ = argument + equals + 1;
    } else if (*next_ == nullptr) {
      return fail(name_, "needs a value");
    } else {
      value_ = *next_++;
    }
    return valued();
  }

  bool flag() {
    if (name_ == "--tty") {
      options_.tty = true;
    } else if (name_ == "--required") {
      options_.required = true;
    } else if (name_ == "--help" || name_ == "-h") {
      options_.task = Options::Task::help;
    } else if (name_ == "--version" || name_ == "-V") {
      options_.task = Options::Task::version;
    } else {
      return false;
    }
    return true;
  }

  bool takes_value() const {
    constexpr std::string_view kValued[] = {
        "--socket",    "--supervisor-timeout", "--on-exit", "--stop-signals",     "--rewrite",
        "--grace",     "--rest-grace",         "--install", "--prestop",          "--serve",
        "--serve-arg", "--held-signals",       "--restart", "--private-directory"};
    for (std::string_view const option : kValued) {
      if (name_ == option) {
        return true;
      }
    }
    return false;
  }

  bool valued() {
    if (name_ == "--supervisor-timeout") {
      return duration(options_.supervisor_timeout);
    }
    if (name_ == "--grace") {
      return duration(options_.grace);
    }
    if (name_ == "--rest-grace") {
      return duration(options_.rest_grace);
    }
    if (name_ == "--on-exit") {
      return on_exit();
    }
    if (name_ == "--stop-signals") {
      return options_.signals.set_stop_signals(value_) ||
             fail(name_, "expected names like TERM,INT,QUIT");
    }
    if (name_ == "--rewrite") {
      return options_.signals.add_rewrite(value_) ||
             fail(name_, "expected FROM:TO like 15:3 or HUP:TERM, with 0 to drop");
    }
    if (name_ == "--serve-arg") {
      return serve_argument();
    }
    if (name_ == "--held-signals") {
      return held_signals();
    }
    if (name_ == "--prestop") {
      options_.prestop = value_;
      options_.task = Options::Task::prestop;
      return options_.prestop == "engine" || options_.prestop == "supervisor" ||
             fail(name_, "expected engine or supervisor");
    }
    if (*value_ == '\0') {
      return fail(name_, "expected a path");
    }
    if (name_ == "--socket") {
      options_.socket = absolute_path(value_, socket_storage);
    } else if (name_ == "--serve") {
      options_.serve = absolute_path(value_, serve_storage);
    } else if (name_ == "--restart") {
      restarted_ = value_;
    } else if (name_ == "--private-directory") {
      options_.private_directory = absolute_path(value_, private_storage);
    } else {
      options_.install_dir = value_;
      options_.task = Options::Task::install;
    }
    return true;
  }

  bool duration(Duration& target) {
    std::optional<Duration> const parsed = parse_duration(value_);
    if (!parsed) {
      return fail(name_, "expected a duration like 500ms, 60s or 2m");
    }
    target = *parsed;
    return true;
  }

  bool on_exit() {
    std::string_view const value = value_;
    if (value != "fatal" && value != "propagate") {
      return fail(name_, "expected fatal or propagate");
    }
    options_.on_exit = value == "fatal" ? OnExit::fatal : OnExit::propagate;
    return true;
  }

  bool held_signals() {
    std::optional<SignalBits> const held = signals_from_list(value_);
    options_.held = held.value_or(0);
    return held || fail(name_, "expected names like TERM,INT,QUIT");
  }

  bool serve_argument() {
    if (serve_count_ == kMaxServeArguments) {
      return fail(name_, "more than 64 of them");
    }
    options_.serve_argv[++serve_count_] = value_;
    return true;
  }

  bool check() {
    if (options_.task == Options::Task::prestop) {
      return check_prestop();
    }
    if (options_.task != Options::Task::run) {
      return true;
    }
    if (*options_.command == nullptr) {
      return fail("no command", "expected lastcall-shim [options] -- COMMAND [ARGUMENT]...");
    }
    if (!check_socket("--socket")) {
      return false;
    }
    if (restarted_ != nullptr && options_.socket != nullptr) {
      return fail("--restart", "takes no --socket: it is for the supervisor's own container");
    }
    options_.restarts = restarted_ != nullptr && options_.command[1] != nullptr &&
                        std::string_view(options_.command[1]) == "serve";
    if (options_.serve == nullptr && serve_count_ > 0) {
      return fail("--serve-arg", "needs --serve");
    }
    if (options_.socket == nullptr && (options_.serve != nullptr || options_.required)) {
      return fail(options_.required ? "--required" : "--serve", "needs --socket");
    }
    if (options_.serve != nullptr) {
      // The interface of execve takes pointers that are not const, for historical reasons.
      options_.serve_argv[0] = const_cast<char*>(options_.serve);
    }
    options_.signals.finish(!options_.tty);
    return true;
  }

  bool check_socket(std::string_view name) {
    return options_.socket == nullptr || std::strlen(options_.socket) <= kLongestSocketPath ||
           fail(name, "path is longer than the 107 bytes that a Unix socket allows");
  }

  bool check_prestop() {
    if (*options_.command != nullptr) {
      return fail("--prestop", "takes no command");
    }
    if (options_.socket != nullptr) {
      return check_socket("--socket");
    }
    char const* const given = getenv("LASTCALL_SOCKET");
    options_.socket = given != nullptr && *given != '\0' ? given : kDefaultSocket;
    return check_socket("LASTCALL_SOCKET");
  }

  static char socket_storage[PATH_MAX];
  static char serve_storage[PATH_MAX];
  static char private_storage[PATH_MAX];

  char** next_;
  Options& options_;
  Text& error_;
  std::string_view name_;
  char* value_ = nullptr;
  char* restarted_ = nullptr;
  std::size_t serve_count_ = 0;
};

char Parser::socket_storage[PATH_MAX];
char Parser::serve_storage[PATH_MAX];
char Parser::private_storage[PATH_MAX];

}  // namespace

bool parse_options(int argc, char** argv, Options& options, Text& error) {
  return argc > 0 && Parser(argv, options, error).run();
}

bool read_environment(Options& options, Text& error) {
  if (char const* path = getenv("LASTCALL_TERMINATION_LOG"); path != nullptr && *path != '\0') {
    options.termination_log = path;
  }
  std::optional<std::int64_t> seconds;
  if (char const* text = getenv("LASTCALL_POD_GRACE_SECONDS"); text != nullptr && *text != '\0') {
    seconds = parse_unsigned(text);
    if (!seconds || *seconds > std::int64_t{366} * 24 * 3'600) {
      error << "LASTCALL_POD_GRACE_SECONDS: expected whole seconds, got '" << text << "'";
      return false;
    }
    options.declared_grace = Duration{*seconds * 1'000};
  } else if (getenv("KUBERNETES_SERVICE_HOST") != nullptr) {
    seconds = kDefaultPodGrace;
  }
  if (seconds) {
    options.pod_grace = Duration{*seconds * 1'000} - kPodMargin;
  }
  return true;
}

}  // namespace lastcall::shim
