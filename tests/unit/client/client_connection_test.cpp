// The client and its connection: lost, made again, overflowing, in a program's own loop, forked.
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lastcall/client.hpp>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "sdk/cpp/refused_lines.hpp"
#include "tests/unit/client/fake_supervisor.hpp"

namespace lastcall {
namespace {

using test::await;
using test::FakeSupervisor;
using test::kPatience;
using test::options_for;
using test::run_until;

TEST(ClientConnection, Tries_until_a_supervisor_is_there_and_then_sends_all_of_it) {
  FakeSupervisor supervisor;
  Client client(options_for(supervisor));
  client.register_endpoint("generate");
  RequestContext const context = client.begin({.id = "r"});
  supervisor.listen();
  EXPECT_EQ(supervisor.welcome().live, 1U);
  supervisor.next<ipc::EndpointRegister>();
  EXPECT_TRUE(supervisor.next<ipc::RequestBegin>().resumed);
}

TEST(ClientConnection, After_a_restart_requests_cancels_and_unread_ends_are_announced_anew) {
  FakeSupervisor supervisor;
  supervisor.listen();
  Client client(options_for(supervisor));
  supervisor.welcome();
  lifecycle::Instant const before = monotonic_now();
  RequestContext const runs = client.begin({.id = "runs"});
  RequestContext const stopped = client.begin({.id = "stopped"});
  RequestContext const ends = client.begin({.id = "ends"});
  lifecycle::Instant const begun = monotonic_now();
  for (int i = 0; i < 3; ++i) {
    supervisor.next<ipc::RequestBegin>();
  }
  supervisor.stop_listening();
  supervisor.hang_up();
  await([&] { return !client.is_connected(); });
  stopped.stop(Reason::client_disconnect);
  stopped.confirm();
  ends.end();
  supervisor.listen();
  EXPECT_EQ(supervisor.welcome().live, 3U);
  auto end = supervisor.next<ipc::RequestBegin>();
  EXPECT_GE(end.began_at.value(), before) << "its age survives a supervisor";
  EXPECT_LE(end.began_at.value(), begun);
  end.began_at.reset();
  EXPECT_EQ(end, (ipc::RequestBegin{.id = "ends", .resumed = true}));
  EXPECT_EQ(supervisor.next<ipc::RequestEnd>().id, "ends");
  EXPECT_TRUE(supervisor.next<ipc::RequestBegin>().resumed);
  EXPECT_TRUE(supervisor.next<ipc::RequestBegin>().resumed);
  EXPECT_EQ(supervisor.next<ipc::Cancel>().ids, std::vector<std::string>{"stopped"});
  EXPECT_EQ(supervisor.next<ipc::CancelDone>().id, "stopped");
  runs.end();
  EXPECT_EQ(supervisor.next<ipc::RequestEnd>().id, "runs");
}

TEST(ClientConnection, A_waiting_request_asks_again_on_the_next_connection) {
  FakeSupervisor supervisor;
  supervisor.listen();
  Client client(options_for(supervisor));
  supervisor.welcome();
  std::promise<Admission> received;
  client.begin_admitted({.id = "a"},
                        [&](auto const&, Admission const& made) { received.set_value(made); });
  supervisor.next<ipc::RequestBegin>();
  supervisor.hang_up();
  EXPECT_EQ(supervisor.welcome().live, 0U);
  EXPECT_TRUE(supervisor.next<ipc::RequestBegin>().admit);
  supervisor.say(R"({"op":"admitted","id":"a"})");
  EXPECT_TRUE(received.get_future().get().may_run);
}

TEST(ClientConnection, A_supervisor_that_stands_still_counts_as_absent_until_it_answers) {
  FakeSupervisor supervisor;
  supervisor.listen();
  Client client(options_for(supervisor));
  supervisor.welcome();
  await([&] { return client.is_connected(); });
  client.begin_admitted({.id = "first"}).end();  // would wait for ever
  std::uint64_t seq = 0;
  supervisor.next<ipc::RequestBegin>(&seq);
  supervisor.next<ipc::RequestEnd>();
  client.begin_admitted({.id = "second"}).end();
  EXPECT_TRUE(supervisor.next<ipc::RequestBegin>().resumed) << "it did not ask";
  supervisor.next<ipc::RequestEnd>();

  RequestContext const seen = client.begin({.id = "seen"});
  supervisor.next<ipc::RequestBegin>();
  supervisor.say(R"({"op":"ack","seq":)" + std::to_string(seq) + "}");
  supervisor.say(R"({"op":"cancel","ids":["seen"],"mode":"stop","reason":"control"})");
  ASSERT_TRUE(seen.wait_stopped(kPatience)) << "so the line before it was handled, too";
  std::promise<Admission> received;
  client.begin_admitted({.id = "third"},
                        [&](auto const&, Admission const& made) { received.set_value(made); });
  EXPECT_TRUE(supervisor.next<ipc::RequestBegin>(&seq).admit);
  supervisor.say(R"({"op":"ack","seq":)" + std::to_string(seq) + "}");
  auto decided = received.get_future();
  EXPECT_EQ(decided.wait_for(std::chrono::milliseconds(2300)), std::future_status::timeout)
      << "it waits in the supervisor's queue";
  supervisor.say(R"({"op":"admitted","id":"third"})");
  EXPECT_TRUE(decided.get().may_run);
}

TEST(ClientConnection, A_supervisor_that_does_not_read_costs_bounded_memory_and_loses_nothing) {
  FakeSupervisor supervisor;
  supervisor.listen();
  Client client(options_for(supervisor));
  supervisor.welcome();
  RequestContext const context = client.begin({.id = "stays"});
  await([&] { return client.is_connected(); });
  // More than the bound and what a socket takes by itself, in short requests.
  for (int i = 0; i < 1'000'000 && client.is_connected(); ++i) {
    client.begin({.endpoint = std::string(200, 'e')}).end();
  }
  EXPECT_FALSE(client.is_connected());
  supervisor.welcome();
  std::size_t begun = 0;
  for (bool is_announced = false; !is_announced; ++begun) {
    std::string const line = supervisor.line();
    ASSERT_NE(line, "");
    is_announced = line.find("\"stays\"") != std::string::npos;
  }
  EXPECT_LE(begun, 2U * 1024 + 1) << "only the last ends are kept for the next supervisor";
}

TEST(ClientConnection, Works_in_the_loop_of_a_program_without_a_thread) {
  FakeSupervisor supervisor;
  supervisor.listen();
  Client client(options_for(supervisor, false));
  int const handle = client.native_handle();
  std::thread other([&] { supervisor.welcome(); });
  run_until(client, [&] { return client.is_connected(); });
  other.join();
  auto const here = std::this_thread::get_id();
  RequestContext const context = client.begin({.id = "r"});
  std::thread::id heard_on;
  context.on_stop([&](auto const&) { heard_on = std::this_thread::get_id(); });
  std::thread cancels([&] {
    supervisor.next<ipc::RequestBegin>();
    supervisor.say(R"({"op":"cancel","ids":["r"],"mode":"stop","reason":"operator"})");
  });
  run_until(client, [&] { return context.is_stopped(); });
  cancels.join();
  EXPECT_EQ(heard_on, here);
  supervisor.hang_up();
  run_until(client, [&] { return !client.is_connected(); });
  EXPECT_EQ(client.native_handle(), handle);
  EXPECT_THROW(client.begin_admitted({}), std::logic_error);
}

TEST(ClientConnection, Closing_writes_what_is_queued) {
  FakeSupervisor supervisor;
  supervisor.listen();
  Client client(options_for(supervisor));
  supervisor.welcome();
  client.begin({.id = "r"}).end();
  client.close(kPatience);
  EXPECT_EQ(supervisor.next<ipc::RequestBegin>().id, "r");
  EXPECT_EQ(supervisor.next<ipc::RequestEnd>().id, "r");
  EXPECT_EQ(supervisor.line(), "");
  EXPECT_FALSE(client.is_connected());
  EXPECT_TRUE(client.begin_admitted({.id = "later"}).end()) << "as without a socket";
}

TEST(ClientConnection, A_callback_may_close_the_client) {
  FakeSupervisor supervisor;
  supervisor.listen();
  Client client(options_for(supervisor));
  client.on_phase([&](Phase phase) {
    if (phase == Phase::draining) {
      client.close();
    }
  });
  supervisor.welcome();
  supervisor.say(R"({"op":"phase","phase":"draining"})");
  EXPECT_EQ(supervisor.line(), "");
}

// Known before anything that the SDK makes on first use, so destroyed after it. Whatever of that it
// uses then is freed memory, which AddressSanitizer sees.
std::optional<Client> of_the_program;

TEST(ClientConnection, A_client_of_static_storage_ends_after_main) {
  FakeSupervisor supervisor;
  supervisor.listen();
  of_the_program.emplace(options_for(supervisor));
  supervisor.welcome();
  await([&] { return of_the_program->is_connected(); });
}

TEST(ClientConnection, A_forked_child_sends_nothing_and_holds_no_descriptor) {
  FakeSupervisor supervisor;
  supervisor.listen();
  Client client(options_for(supervisor));
  supervisor.welcome();
  RequestContext const context = client.begin({.id = "r"});
  supervisor.next<ipc::RequestBegin>();
  int const handle = client.native_handle();
  pid_t const child = ::fork();
  if (child == 0) {
    bool const is_silent = !client.is_enabled() && client.native_handle() == -1 &&
                           client.in_flight() == 0 && ::fcntl(handle, F_GETFD) == -1;
    context.kill();
    context.end();
    client.begin({.id = "child"}).end();
    client.close();
    ::_exit(is_silent ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(context.is_stopped());
  context.end();
  EXPECT_EQ(supervisor.next<ipc::RequestEnd>().outcome, ipc::Outcome::completed);
}

TEST(ClientConnection, Its_thread_leaves_all_signals_to_the_program) {
  FakeSupervisor supervisor;
  supervisor.listen();
  auto const threads = [] {
    std::set<std::string> ids;
    for (auto const& each : std::filesystem::directory_iterator("/proc/self/task")) {
      ids.insert(each.path().filename());
    }
    return ids;
  };
  auto const before = threads();
  Client client(options_for(supervisor));
  supervisor.welcome();
  sigset_t own;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_EQ(::sigismember(&own, SIGTERM), 0);
  std::size_t made = 0;
  for (std::string const& id : threads()) {
    if (!before.contains(id)) {
      ++made;
      std::ifstream status("/proc/self/task/" + id + "/status");
      std::string const text(std::istreambuf_iterator<char>(status), {});
      EXPECT_NE(text.find("SigBlk:\tfffffff"), std::string::npos) << text;
    }
  }
  EXPECT_GE(made, 1U) << "ThreadSanitizer starts one of its own with the first";
}

/// From now on no descriptor can be watched, as where the system has no memory for that.
bool refuse_to_watch() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_ctl, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof filter / sizeof filter[0], filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(ClientConnection, A_connection_that_cannot_be_watched_is_tried_again_and_ends_nothing) {
  FakeSupervisor supervisor;
  supervisor.listen();
  pid_t const child = ::fork();
  if (child == 0) {
    Client client(options_for(supervisor, false));
    if (!refuse_to_watch()) {
      ::_exit(3);
    }
    try {
      client.process();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(client.is_connected() ? 2 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(ClientConnection, A_refusal_is_logged_once_until_it_changes_or_a_welcome_comes) {
  FakeSupervisor supervisor;
  supervisor.listen();
  auto options = options_for(supervisor, false);
  std::vector<std::string> log;
  options.log = [&](std::string const& text) { log.push_back(text); };
  Client client(options);
  auto const connection = [&](std::string_view answer) {
    std::atomic<bool> is_over = false;
    std::thread other([&] {
      supervisor.accept();
      supervisor.say(answer);
      supervisor.hang_up();
      is_over = true;
    });
    run_until(client, [&] { return is_over.load(); });
    other.join();
    client.process();
  };
  constexpr std::string_view kRefusal =
      R"({"op":"error","code":"not_allowed","message":"uid 7 may not"})";
  for (int i = 0; i < 4; ++i) {
    connection(kRefusal);
  }
  EXPECT_EQ(log.size(), 1U);
  connection(R"({"op":"error","code":"not_allowed","message":"uid 8 may not"})");
  connection(test::kWelcome);
  connection(kRefusal);
  connection(kRefusal);
  EXPECT_THAT(log, testing::ElementsAre(testing::HasSubstr("uid 7"), testing::HasSubstr("uid 8"),
                                        testing::HasSubstr("uid 7")));
}

TEST(ClientConnection, Many_refusals_are_one_line_and_their_number) {
  FakeSupervisor supervisor;
  supervisor.listen();
  auto options = options_for(supervisor, false);
  std::vector<std::string> log;
  options.log = [&](std::string const& text) { log.push_back(text); };
  Client client(options);
  std::thread refuses([&] {
    supervisor.welcome();
    for (int i = 0; i < 1000; ++i) {
      supervisor.say(R"({"op":"error","code":"busy","message":"it has 20000 live requests"})");
      supervisor.say(R"({"op":"error","code":"not_yours","message":"no request )" +
                     std::to_string(i) + R"("})");
    }
    supervisor.hang_up();
  });
  run_until(client, [&] { return log.size() >= 4; });
  refuses.join();
  EXPECT_THAT(log, testing::UnorderedElementsAre(
                       testing::HasSubstr("a line: busy: it has"),
                       testing::HasSubstr("a line: not_yours: no request 0"),
                       testing::HasSubstr("999 more; the last: busy: it has"),
                       testing::HasSubstr("999 more; the last: not_yours: no request "
                                          "999")));
}

TEST(RefusedLines, Their_number_comes_later_and_the_next_one_is_the_first_again) {
  std::vector<std::string> log;
  sdk::ProblemLog const problems([&](std::string const& text) { log.push_back(text); });
  sdk::RefusedLines rows(problems);
  auto const start = sdk::Clock::now();
  auto const tick = [&](sdk::Clock::time_point at) {
    sdk::Later later;
    auto const due = rows.tick(at, later);
    for (auto const& each : later) {
      each();
    }
    return due;
  };
  rows.add(ipc::ErrorCode::busy, "at once", start);
  rows.add(ipc::ErrorCode::busy, "later", start + std::chrono::seconds(1));
  EXPECT_EQ(tick(start + std::chrono::seconds(2)), start + sdk::kCountFor);
  EXPECT_EQ(tick(start + sdk::kCountFor), std::nullopt);
  rows.add(ipc::ErrorCode::busy, "anew", start + sdk::kCountFor);
  EXPECT_EQ(tick(start + 3 * sdk::kCountFor), std::nullopt);  // nothing to count
  EXPECT_THAT(log, testing::ElementsAre(testing::HasSubstr("once"), testing::HasSubstr("1 more"),
                                        testing::HasSubstr("anew")));
}

}  // namespace
}  // namespace lastcall
