// The end of a client, wherever it is closed; and what a callback may not wait for.
#include <atomic>
#include <future>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <lastcall/client.hpp>

#include "tests/unit/client/fake_supervisor.hpp"

namespace lastcall {
namespace {

using test::await;
using test::FakeSupervisor;
using test::kPatience;
using test::options_for;
using test::run_until;

constexpr std::chrono::milliseconds kShort{200};  // long enough to write, short enough to wait for

/// A supervisor that welcomes, and then reads until the client has gone.
std::thread welcomes(FakeSupervisor& supervisor) {
  return std::thread([&] {
    supervisor.welcome();
    while (!supervisor.line().empty()) {
    }
  });
}

TEST(ClientClose, In_a_callback_of_the_programs_loop_returns_and_leaves_the_handle_quiet) {
  FakeSupervisor supervisor;
  supervisor.listen();
  Client client(options_for(supervisor, false));
  bool is_closed = false;
  client.on_phase([&](Phase) {
    client.close(kShort);
    is_closed = true;
  });
  std::thread other = welcomes(supervisor);
  run_until(client, [&] { return is_closed; });
  other.join();
  EXPECT_FALSE(client.is_connected());
  client.process();
  pollfd waiting{client.native_handle(), POLLIN, 0};
  EXPECT_EQ(::poll(&waiting, 1, 2 * static_cast<int>(kShort.count())), 0)
      << "a loop that goes on to poll it would spin";
}

TEST(ClientClose, A_callback_of_the_programs_loop_may_destroy_the_client) {
  FakeSupervisor supervisor;
  supervisor.listen();
  auto client = std::make_optional<Client>(options_for(supervisor, false));
  client->on_phase([&](Phase) { client.reset(); });
  std::thread other = welcomes(supervisor);
  auto const deadline = std::chrono::steady_clock::now() + kPatience;
  while (client && std::chrono::steady_clock::now() < deadline) {
    pollfd waiting{client->native_handle(), POLLIN, 0};
    ::poll(&waiting, 1, 1000);
    client->process();
  }
  EXPECT_FALSE(client);
  other.join();
}

TEST(ClientClose, The_end_of_a_client_waits_for_the_callback_that_closed_it) {
  FakeSupervisor supervisor;
  supervisor.listen();
  std::promise<void> closed;
  std::promise<void> may_return;
  std::atomic<bool> has_returned = false;
  auto client = std::make_optional<Client>(options_for(supervisor));
  client->on_phase([&](Phase) {
    client->close();
    closed.set_value();
    may_return.get_future().wait();
    has_returned = true;
  });
  supervisor.welcome();
  ASSERT_EQ(closed.get_future().wait_for(kPatience), std::future_status::ready);
  std::atomic<bool> is_gone = false;
  bool had_returned = false;
  std::thread ends([&] {
    client->close();
    had_returned = has_returned;
    client.reset();
    is_gone = true;
  });
  // A close that does not wait has ended long before this.
  auto const deadline = std::chrono::steady_clock::now() + kShort;
  while (!is_gone && std::chrono::steady_clock::now() < deadline) {
    ::poll(nullptr, 0, 1);
  }
  may_return.set_value();
  ends.join();
  EXPECT_TRUE(had_returned);
}

TEST(ClientClose, A_callback_on_the_clients_own_thread_may_destroy_it) {
  FakeSupervisor supervisor;
  supervisor.listen();
  std::promise<void> destroyed;
  auto client = std::make_optional<Client>(options_for(supervisor));
  client->on_phase([&](Phase) {
    client.reset();
    destroyed.set_value();
  });
  supervisor.welcome();
  EXPECT_EQ(destroyed.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(supervisor.line(), "");
}

TEST(ClientClose, May_come_from_another_thread_while_the_loop_processes) {
  FakeSupervisor supervisor;
  supervisor.listen();
  Client client(options_for(supervisor, false));
  std::thread other = welcomes(supervisor);
  std::atomic<bool> is_closed = false;
  std::thread closes;
  run_until(client, [&] { return client.is_connected(); });
  closes = std::thread([&] {
    client.close(kShort);
    is_closed = true;
  });
  while (!is_closed) {
    client.process();
  }
  closes.join();
  other.join();
  EXPECT_FALSE(client.is_connected());
}

TEST(ClientWait, A_client_of_a_loop_refuses_to_wait_without_a_socket_too) {
  ClientOptions options;
  options.socket = "";
  options.own_thread = false;
  Client client(options);
  EXPECT_THROW(client.begin_admitted({}), std::logic_error);
  options.own_thread = true;
  Client other(options);
  EXPECT_NO_THROW(other.begin_admitted({}).end());
}

TEST(ClientWait, A_new_thread_with_the_id_of_the_closed_clients_thread_is_another_one) {
  FakeSupervisor supervisor;
  supervisor.listen();
  Client client(options_for(supervisor));
  client.close();
  // libc gives the next thread the stack, and so the id, of one that has ended.
  std::thread([&] { EXPECT_NO_THROW(client.begin_admitted({}).end()); }).join();
}

TEST(ClientWait, A_callback_cannot_wait_for_an_admission_that_it_would_have_to_receive_itself) {
  FakeSupervisor supervisor;
  supervisor.listen();
  std::promise<bool> refused;
  Client client(options_for(supervisor));
  client.on_phase([&](Phase) {
    try {
      client.begin_admitted({});
      refused.set_value(false);
    } catch (std::logic_error const&) {
      refused.set_value(true);
    }
  });
  supervisor.welcome();
  auto answer = refused.get_future();
  ASSERT_EQ(answer.wait_for(kPatience), std::future_status::ready);
  EXPECT_TRUE(answer.get());
}

TEST(ClientStall, A_callback_that_hangs_is_reported_once) {
  FakeSupervisor supervisor;
  supervisor.listen();
  std::promise<void> hangs;
  std::promise<void> may_return;
  std::atomic<int> reported = 0;
  ClientOptions options = options_for(supervisor);
  options.log = [&](std::string const& line) {
    EXPECT_NE(line.find("a callback has held up the connection"), std::string::npos) << line;
    ++reported;
  };
  Client client(std::move(options));
  client.on_phase([&](Phase) {
    client.begin().end();  // a callback that sends is not one that hangs
    hangs.set_value();
    may_return.get_future().wait();
  });
  supervisor.welcome();
  ASSERT_EQ(hangs.get_future().wait_for(kPatience), std::future_status::ready);
  await([&] {
    client.begin().end();
    return reported > 0;
  });
  client.begin().end();
  may_return.set_value();
  client.close();
  EXPECT_EQ(reported, 1);
}

TEST(ClientAbsence, Is_reported_once_with_its_cause_when_it_lasts) {
  FakeSupervisor supervisor;  // which no client can reach yet
  std::atomic<int> reported = 0;
  ClientOptions options = options_for(supervisor);
  options.log = [&](std::string const& line) {
    EXPECT_EQ(line, "cannot connect to the supervisor at " + supervisor.path() +
                        ": No such file or directory; trying again");
    ++reported;
  };
  Client client(std::move(options));
  await([&] { return reported > 0; });
  supervisor.listen();
  supervisor.welcome();
  await([&] { return client.is_connected(); });
  EXPECT_EQ(reported, 1);
}

}  // namespace
}  // namespace lastcall
