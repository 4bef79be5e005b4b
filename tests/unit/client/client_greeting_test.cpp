// What a client reports to a supervisor that comes late: all of it, however much that is.
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <lastcall/client.hpp>

#include "tests/unit/client/fake_supervisor.hpp"

namespace lastcall {
namespace {

using test::FakeSupervisor;
using test::options_for;
using test::run_until;

constexpr std::size_t kMany = 6000;  // some 250 bytes each: more than may wait of later lines

RequestOptions long_request(std::string id) {
  RequestOptions options;
  options.id = std::move(id);
  options.endpoint = "generate";
  options.model = std::string(200, 'm');
  return options;
}

TEST(ClientGreeting, Has_every_live_request_and_every_question_however_many_they_are) {
  FakeSupervisor supervisor;
  std::promise<Admission> received;
  Client client(options_for(supervisor));
  std::vector<RequestContext> live;
  for (std::size_t i = 0; i < kMany; ++i) {
    live.push_back(client.begin(long_request("live-" + std::to_string(i))));
  }
  supervisor.listen();
  EXPECT_EQ(supervisor.accept().live, kMany);
  supervisor.say(test::kWelcome);
  test::await([&] { return client.is_connected(); });
  client.begin_admitted(long_request("asks"),
                        [&](auto const&, Admission const& made) { received.set_value(made); });
  std::set<std::string> announced;
  for (std::size_t i = 0; i < kMany; ++i) {
    auto const begin = supervisor.next<ipc::RequestBegin>();
    ASSERT_TRUE(begin.resumed) << begin.id;
    announced.insert(begin.id);
  }
  EXPECT_EQ(announced.size(), kMany);
  EXPECT_TRUE(supervisor.next<ipc::RequestBegin>().admit);
  supervisor.say(R"({"op":"admitted","id":"asks"})");
  EXPECT_TRUE(received.get_future().get().may_run);
}

TEST(ClientGreeting, Asks_again_for_all_that_wait_however_many_they_are) {
  FakeSupervisor supervisor;
  supervisor.listen();
  std::size_t decided = 0;
  std::atomic<bool> is_welcome = false;
  std::atomic<bool> is_answered = false;
  Client client(options_for(supervisor, false));
  std::thread answers([&] {
    supervisor.welcome();
    is_welcome = true;
    supervisor.welcome();  // of the connection after the one that had to wait too much
    for (std::size_t i = 0; i < kMany && !testing::Test::HasFailure(); ++i) {
      auto const asked = supervisor.next<ipc::RequestBegin>();
      supervisor.say(R"({"op":"admitted","id":")" + asked.id + "\"}");
    }
    is_answered = true;
  });
  run_until(client, [&] { return is_welcome && client.is_connected(); });
  for (std::size_t i = 0; i < kMany; ++i) {
    client.begin_admitted(long_request(std::to_string(i)),
                          [&](auto const&, auto const&) { ++decided; });
  }
  // What is late starts without an answer; that is read nevertheless, or nobody could send it.
  run_until(client, [&] { return is_answered.load(); });
  answers.join();
  run_until(client, [&] { return decided == kMany; });
}

TEST(ClientGreeting, Does_not_count_towards_what_may_wait_after_it) {
  FakeSupervisor supervisor;
  ClientOptions options = options_for(supervisor, false);
  Client* logs = nullptr;
  bool is_logged = false;
  options.log = [&](std::string const& text) {
    is_logged = is_logged || text.starts_with("over 1 MiB waits for the supervisor");
    logs->begin(long_request("of-the-log"));  // the program's log may call the client
  };
  Client client(options);
  logs = &client;
  for (std::size_t i = 0; i < kMany; ++i) {
    client.begin(long_request(std::to_string(i)));
  }
  supervisor.listen();
  std::atomic<bool> is_read = false;
  std::thread reads([&] {
    supervisor.welcome();
    for (std::size_t i = 0; i < kMany; ++i) {
      supervisor.next<ipc::RequestBegin>();
    }
    is_read = true;
  });
  run_until(client, [&] { return is_read.load(); });
  reads.join();
  ASSERT_TRUE(client.is_connected());
  // The supervisor does not read any more: what the socket takes by itself, and a little more than
  // may wait.
  for (std::size_t i = 0; i < kMany && client.is_connected(); ++i) {
    client.begin(long_request("more-" + std::to_string(i)));
    client.process();
  }
  EXPECT_FALSE(client.is_connected());
  EXPECT_TRUE(is_logged);
}

}  // namespace
}  // namespace lastcall
