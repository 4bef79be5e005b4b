#include "sdk/cpp/uncaught.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include <cxxabi.h>
#include <execinfo.h>

#include "ipc/codec.hpp"
#include "ipc/line_buffer.hpp"
#include "sdk/cpp/connection.hpp"
#include "sdk/cpp/fork_watch.hpp"

namespace lastcall::sdk {
namespace {

constexpr std::chrono::seconds kHeldUpFor{1};
constexpr std::uint64_t kSeq = 1;

struct Target {
  void const* owner{};
  std::string path;
  ipc::Hello hello;
  std::uint64_t generation{};
};

/// Replaces std::timed_mutex, because ThreadSanitizer does not know its timed wait.
class TimedMutex {
 public:
  void lock() {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [this] { return !is_held_; });
    is_held_ = true;
  }
  bool try_lock_for(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    if (!freed_.wait_for(lock, time, [this] { return !is_held_; })) {
      return false;
    }
    is_held_ = true;
    return true;
  }
  void unlock() {
    {
      std::lock_guard const lock(mutex_);
      is_held_ = false;
    }
    freed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  bool is_held_ = false;
};

struct Targets {
  TimedMutex mutex;
  std::vector<Target> all;
  /// The handlers that ours has replaced, oldest first: one that was set after ours is replaced by
  /// ours once more.
  std::vector<std::terminate_handler> previous;
};

Targets& targets() {
  static Targets& all = *std::make_unique<Targets>().release();  // outlives what runs at exit
  return all;
}

std::string type_name(std::type_info const& type) {
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> const name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  return name ? name.get() : type.name();
}

/// Appends the texts of the exception and of its causes.
void append_causes(std::exception const& error, std::string& text) {
  text += error.what();
  try {
    std::rethrow_if_nested(error);
  } catch (std::exception const& cause) {
    text += "\ncaused by " + type_name(typeid(cause)) + ": ";
    append_causes(cause, text);
  } catch (...) {
    text += "\ncaused by something that is not a std::exception";
  }
}

/// The stack of the call of std::terminate(); for an exception that was not caught, nothing has
/// been unwound.
std::string stack() {
  std::array<void*, 64> frames{};
  int const size = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  std::unique_ptr<char*, decltype(&std::free)> const lines(::backtrace_symbols(frames.data(), size),
                                                           std::free);
  std::string text;
  for (int i = 0; lines && i < size; ++i) {
    text.append("\n  ").append(lines.get()[i]);
  }
  return text;
}

bool is_answer(std::string_view line) {
  auto const decoded = ipc::decode_from_supervisor(line);
  auto const* const incoming = std::get_if<0>(&decoded);
  if (incoming == nullptr) {
    return false;
  }
  auto const* const ack = std::get_if<ipc::Ack>(&incoming->message);
  auto const* const error = std::get_if<ipc::Error>(&incoming->message);
  return (ack != nullptr && ack->seq == kSeq) || (error != nullptr && error->seq == kSeq);
}

/// Reports the error, and waits until the report was received.
void report(Target const& target, ipc::Fatal const& fatal, Clock::time_point until) {
  Connection connection(target.path);
  if (connection.open() != 0 ||
      !ipc::encode(target.hello, std::nullopt, connection.output().lines()) ||
      !ipc::encode(fatal, kSeq, connection.output().lines())) {
    return;
  }
  ipc::LineBuffer input;
  while (connection.flush()) {
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0) {
      return;
    }
    if (connection.wait(static_cast<int>(left.count())) != Connection::Ready::input) {
      continue;
    }
    auto const size = connection.receive(input.prepare());
    if (!size) {
      return;
    }
    input.commit(*size);
    while (auto const line = input.next_line()) {
      if (is_answer(*line)) {
        return;
      }
    }
  }
}

void report_all(Targets const& at) {
  auto const until = Clock::now() + kHeldUpFor;
  ipc::Fatal fatal = describe_exception("uncaught");
  if (fatal.reason.empty()) {
    fatal = {"std::terminate", "no exception is being handled"};
  }
  fatal.detail += stack();
  constexpr std::size_t kRoom = ipc::kMaxLine / 8;  // an escape takes up to 6 bytes
  fatal.reason.resize(std::min(fatal.reason.size(), ipc::kMaxId));
  fatal.detail.resize(std::min(fatal.detail.size(), kRoom));
  for (Target const& target : at.all) {
    if (target.generation == fork_generation()) {
      report(target, fatal, until);
    }
  }
}

[[noreturn]] void on_terminate() {
  thread_local std::size_t calls = 0;  // a later handler may call this one as the one before it
  Targets& at = targets();
  std::size_t const call = calls++;
  // Another thread that fails at the same time waits for this thread's report; the lock is never
  // released.
  if (call == 0 && at.mutex.try_lock_for(2 * kHeldUpFor)) {
    try {
      report_all(at);
    } catch (...) {  // no memory or no descriptor: the process ends anyway
    }
  }
  if (call < at.previous.size()) {
    if (auto const previous = at.previous[at.previous.size() - 1 - call]; previous != nullptr) {
      previous();
    }
  }
  std::abort();
}

}  // namespace

void report_uncaught(void const* owner, std::string path, ipc::Hello hello) {
  Targets& at = targets();
  std::lock_guard const lock(at.mutex);
  at.all.push_back({owner, std::move(path), std::move(hello), fork_generation()});
  if (std::get_terminate() != on_terminate) {
    at.previous.push_back(std::set_terminate(on_terminate));
  }
}

void forget_uncaught(void const* owner) {
  Targets& at = targets();
  if (at.mutex.try_lock_for(kHeldUpFor)) {  // otherwise the process is terminating
    std::erase_if(at.all, [owner](Target const& each) {
      return each.owner == owner || each.generation != fork_generation();
    });
    // A plugin that is unloaded next must leave no handler behind.
    if (at.all.empty() && std::get_terminate() == on_terminate) {
      std::set_terminate(at.previous.back());
      at.previous.pop_back();
    }
    at.mutex.unlock();
  }
}

ipc::Fatal describe_exception(std::string_view what_failed) {
  if (!std::current_exception()) {
    return {};
  }
  ipc::Fatal fatal{std::string(what_failed) + " " + type_name(*abi::__cxa_current_exception_type()),
                   {}};
  try {
    throw;
  } catch (std::exception const& error) {
    append_causes(error, fatal.detail);
  } catch (char const* text) {
    fatal.detail = text;
  } catch (std::string const& text) {
    fatal.detail = text;
  } catch (...) {
    fatal.detail = "it is not a std::exception";
  }
  return fatal;
}

}  // namespace lastcall::sdk
