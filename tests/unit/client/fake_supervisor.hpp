// A supervisor that sends what a test asks it to, on a real socket in a private directory.
//
// Rule: nothing waits for a fixed time; what does not come within twenty seconds fails the test.
// Thread rule: the test's own thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <lastcall/client.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "ipc/codec.hpp"
#include "ipc/unix_socket.hpp"

namespace lastcall::test {

inline constexpr std::chrono::seconds kPatience{20};
inline constexpr int kPatienceMs = 20'000;

inline constexpr std::string_view kWelcome =
    R"({"op":"welcome","version":1,"phase":"serving","grace_ms":58000,"budgets":{)"
    R"("deregister_ms":5000,"late_accept_ms":1000,"cleanup_reserve_ms":5000,)"
    R"("cancel_settle_ms":1000}})";

class FakeSupervisor {
 public:
  FakeSupervisor() : directory_((std::filesystem::temp_directory_path() / "lastcall-XXXXXX")) {
    EXPECT_NE(::mkdtemp(directory_.data()), nullptr);
    path_ = directory_ + "/lastcall.sock";
  }
  ~FakeSupervisor() { std::filesystem::remove_all(directory_); }
  FakeSupervisor(FakeSupervisor const&) = delete;
  FakeSupervisor& operator=(FakeSupervisor const&) = delete;

  std::string const& path() const { return path_; }

  /// From now on it can be reached; until then nothing is there.
  void listen() {
    auto made = ipc::listen_on(path_, 0600);
    ASSERT_TRUE(std::holds_alternative<ipc::Listening>(made)) << std::get<std::string>(made);
    listening_ = std::move(std::get<ipc::Listening>(made).fd);
  }
  void stop_listening() {
    listening_ = Descriptor();
    std::filesystem::remove(path_);
  }

  /// Takes the next connection and reads its hello, which is returned.
  ipc::Hello accept() {
    pollfd waiting{listening_.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&waiting, 1, kPatienceMs), 1) << "nobody connects";
    peer_ = Descriptor(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    input_.clear();
    return next<ipc::Hello>();
  }
  /// The same, and welcomes it.
  ipc::Hello welcome() {
    auto hello = accept();
    say(kWelcome);
    return hello;
  }
  void hang_up() { peer_ = Descriptor(); }

  void say(std::string_view line) {
    std::string const text = std::string(line) + "\n";
    ASSERT_EQ(::send(peer_.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }

  /// The next line, as the protocol reads it; empty: the connection ended.
  std::string line() {
    std::size_t end = 0;
    while ((end = input_.find('\n')) == std::string::npos) {
      pollfd waiting{peer_.get(), POLLIN, 0};
      if (::poll(&waiting, 1, kPatienceMs) != 1) {
        ADD_FAILURE() << "no line comes";
        return {};
      }
      std::array<char, 4096> bytes{};
      ssize_t const size = ::recv(peer_.get(), bytes.data(), bytes.size(), 0);
      if (size <= 0) {
        return {};
      }
      input_.append(bytes.data(), static_cast<std::size_t>(size));
    }
    std::string const found = input_.substr(0, end);
    input_.erase(0, end + 1);
    return found;
  }
  /// The next message, which must be a T; `seq` gets its number.
  template <typename T>
  T next(std::uint64_t* seq = nullptr) {
    std::string const text = line();
    auto decoded = ipc::decode_to_supervisor(text);
    auto* const incoming = std::get_if<ipc::Incoming<ipc::ToSupervisor>>(&decoded);
    if (incoming == nullptr || !std::holds_alternative<T>(incoming->message)) {
      ADD_FAILURE() << "another line than expected: " << text;
      return {};
    }
    if (seq != nullptr) {
      *seq = incoming->seq.value_or(0);
    }
    return std::get<T>(incoming->message);
  }

 private:
  std::string directory_;
  std::string path_;
  Descriptor listening_, peer_;
  std::string input_;
};

/// A client of this supervisor that logs nothing.
inline ClientOptions options_for(FakeSupervisor const& supervisor, bool own_thread = true) {
  ClientOptions options;
  options.name = "engine";
  options.socket = supervisor.path();
  options.own_thread = own_thread;
  options.log = [](std::string const&) {};
  return options;
}

/// Asks again until it holds: a client has a thread of its own, which nothing else shows.
template <typename Condition>
void await(Condition holds) {
  auto const deadline = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "it does not come to that";
    ::poll(nullptr, 0, 1);
  }
}

/// Runs the client's loop until `holds`, as a program with an event loop of its own does.
template <typename Condition>
void run_until(Client& client, Condition holds) {
  auto const deadline = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "it does not come to that";
    pollfd waiting{client.native_handle(), POLLIN, 0};
    ::poll(&waiting, 1, 1000);
    client.process();
  }
}

}  // namespace lastcall::test
