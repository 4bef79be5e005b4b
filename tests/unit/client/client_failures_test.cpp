// What a client reports as the end of the engine: uncaught exceptions, dead children, guards.
#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <lastcall/client.hpp>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/client/fake_supervisor.hpp"

namespace lastcall {
namespace {

using test::await;
using test::FakeSupervisor;
using test::kPatience;
using test::options_for;

/// A process that does this; its result is its exit code.
template <typename Act>
pid_t fork_to(Act act) {
  pid_t const pid = ::fork();
  if (pid == 0) {
    rlimit const none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::close(STDERR_FILENO);  // the runtime reports an uncaught exception on the terminal
    ::_exit(act());
  }
  return pid;
}

/// Waits for the end and leaves the process to be reaped.
void wait_for_end(pid_t pid) {
  siginfo_t end{};
  EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOWAIT), 0);
}

int status_of(pid_t pid) {
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return status;
}

class Failures : public testing::Test {
 protected:
  void SetUp() override { supervisor.listen(); }

  /// The report of a process that is terminating, which is acknowledged.
  ipc::Fatal report() {
    EXPECT_EQ(supervisor.accept().name, "engine");
    std::uint64_t seq = 0;
    auto fatal = supervisor.next<ipc::Fatal>(&seq);
    supervisor.say(R"({"op":"ack","seq":)" + std::to_string(seq) + "}");
    return fatal;
  }
  /// Connects in a process of its own and does the same.
  template <typename Act>
  pid_t engine(ClientOptions const& options, Act act) {
    pid_t const pid = fork_to([&] {
      Client client(options);
      await([&] { return client.is_connected(); });
      act(client);
      return 0;
    });
    supervisor.welcome();
    return pid;
  }

  FakeSupervisor supervisor;
};

TEST_F(Failures, An_exception_that_nobody_catches_is_reported_before_the_process_ends) {
  pid_t const pid = engine(options_for(supervisor), [](Client& client) noexcept {
    client.begin({.id = "r"});
    client.begin({.id = "r"});  // thrown with the client's lock held
  });
  supervisor.next<ipc::RequestBegin>();
  ipc::Fatal const fatal = report();
  EXPECT_EQ(fatal.reason, "uncaught std::invalid_argument");
  EXPECT_TRUE(fatal.detail.starts_with("cannot begin request 'r': the id is live already\n  "));
  int const status = status_of(pid);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
}

TEST_F(Failures, So_is_one_of_a_thread_with_what_caused_it) {
  auto options = options_for(supervisor);
  options.own_thread = true;
  pid_t const pid = engine(options, [](Client&) {
    std::thread([] {
      try {
        throw std::out_of_range("no such block");
      } catch (...) {
        std::throw_with_nested(std::runtime_error("the scheduler failed"));
      }
    }).join();
  });
  ipc::Fatal const fatal = report();
  EXPECT_NE(fatal.reason.find("std::runtime_error"), std::string::npos) << fatal.reason;
  EXPECT_TRUE(fatal.detail.starts_with(
      "the scheduler failed\ncaused by std::out_of_range: no such block\n"));
  EXPECT_TRUE(WIFSIGNALED(status_of(pid)));
}

TEST_F(Failures, A_call_of_terminate_is_reported_and_the_earlier_handler_runs) {
  std::set_terminate([] { ::_exit(7); });
  pid_t const pid = engine(options_for(supervisor), [](Client&) { std::terminate(); });
  std::set_terminate(nullptr);
  EXPECT_EQ(report().reason, "std::terminate");
  int const status = status_of(pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

std::terminate_handler in_between = nullptr;

TEST_F(Failures, A_handler_that_is_set_between_two_clients_and_calls_the_one_before_it_runs_once) {
  auto elsewhere = options_for(supervisor);
  elsewhere.socket = supervisor.path() + ".none";
  pid_t const pid = fork_to([&] {
    std::set_terminate([] { ::_exit(7); });
    Client const first(elsewhere);
    in_between = std::set_terminate([] { in_between(); });
    Client const second(options_for(supervisor));
    await([&] { return second.is_connected(); });
    std::terminate();
    return 0;
  });
  supervisor.welcome();
  EXPECT_EQ(report().reason, "std::terminate");
  int const status = status_of(pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

TEST_F(Failures, The_last_client_that_closes_puts_the_earlier_handler_back) {
  pid_t const pid = fork_to([&] {
    std::terminate_handler const mine = [] { ::_exit(7); };
    std::set_terminate(mine);
    {
      Client first(options_for(supervisor));
      Client const second(options_for(supervisor));
      first.close();
      if (std::get_terminate() == mine) {
        return 1;
      }
    }
    return std::get_terminate() == mine ? 0 : 2;
  });
  int const status = status_of(pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(Failures, Nothing_is_reported_where_it_is_off_or_the_client_is_closed_or_forked) {
  auto silent = options_for(supervisor);
  silent.report_uncaught = false;
  EXPECT_TRUE(WIFSIGNALED(status_of(engine(silent, [](Client&) { std::terminate(); }))));
  EXPECT_EQ(supervisor.line(), "");
  EXPECT_TRUE(WIFSIGNALED(status_of(engine(options_for(supervisor), [](Client& client) {
    client.close();
    std::terminate();
  }))));
  EXPECT_EQ(supervisor.line(), "");
  auto const forks = [](Client&) { status_of(fork_to([]() -> int { std::terminate(); })); };
  EXPECT_TRUE(WIFEXITED(status_of(engine(options_for(supervisor), forks))));
  EXPECT_EQ(supervisor.line(), "");
  // A client that had reported would wait to be accepted.
  Client client(options_for(supervisor));
  EXPECT_EQ(supervisor.welcome().live, 0U);
  client.report_fatal("mine");
  EXPECT_EQ(supervisor.next<ipc::Fatal>().reason, "mine");
}

TEST_F(Failures, A_supervisor_that_does_not_answer_does_not_keep_a_process_from_its_end) {
  pid_t const pid = engine(options_for(supervisor), [](Client&) { std::terminate(); });
  supervisor.accept();
  EXPECT_TRUE(WIFSIGNALED(status_of(pid)));
}

TEST_F(Failures, A_child_that_fails_is_fatal_and_left_to_be_reaped) {
  Client client(options_for(supervisor));
  supervisor.welcome();
  pid_t const stopped = fork_to([] { return ::pause(); });
  client.watch_child(stopped, "one that is stopped");
  ::kill(stopped, SIGTERM);
  pid_t const fine = fork_to([] { return 0; });
  client.watch_child(fine);
  wait_for_end(stopped);
  wait_for_end(fine);
  pid_t const forgotten = fork_to([] { return ::pause(); });
  client.watch_child(forgotten, "one that was forgotten");
  EXPECT_TRUE(client.forget_child(forgotten));
  ::kill(forgotten, SIGKILL);
  pid_t const worker = fork_to([] { return ::pause(); });
  client.watch_child(worker, "worker 3");
  ::kill(worker, SIGKILL);
  ipc::Fatal const fatal = supervisor.next<ipc::Fatal>();
  EXPECT_EQ(fatal.reason, "worker 3 died");
  EXPECT_EQ(fatal.detail, "pid " + std::to_string(worker) + " was ended by SIGKILL");
  for (pid_t const each : {stopped, fine, forgotten, worker}) {
    status_of(each);
  }
}

TEST_F(Failures, A_child_that_may_not_end_is_fatal_however_it_ends) {
  Client client(options_for(supervisor));
  supervisor.welcome();
  EXPECT_THROW(client.watch_child(0), std::invalid_argument);
  pid_t const worker = fork_to([] { return 0; });
  client.watch_child(worker, "worker", true);
  EXPECT_EQ(supervisor.next<ipc::Fatal>().detail,
            "pid " + std::to_string(worker) + " exited with 0");
  status_of(worker);
}

TEST_F(Failures, Ends_are_wanted_once_the_supervisor_cleans_up) {
  Client client(options_for(supervisor));
  supervisor.welcome();
  supervisor.say(R"({"op":"phase","phase":"cleaning_up","deadline_at_ms":1000000000000})");
  await([&] { return client.phase() == Phase::cleaning_up; });
  pid_t const worker = fork_to([] { return 1; });
  status_of(worker);
  client.watch_child(worker, "worker", true);  // gone: it is looked at here and now
  client.report_fatal("mine");                 // the first report would count
  EXPECT_EQ(supervisor.next<ipc::Fatal>().reason, "mine");
}

TEST_F(Failures, An_exception_that_leaves_a_guard_is_fatal_and_goes_on) {
  Client client(options_for(supervisor));
  supervisor.welcome();
  EXPECT_EQ(client.guard("adder", [] { return 1 + 1; }), 2);
  EXPECT_THROW(client.guard("waiter", [] { throw NotAdmitted("r", {}); }), NotAdmitted);
  EXPECT_THROW(client.guard("scheduler", [] { throw std::runtime_error("no blocks left"); }),
               std::runtime_error);
  EXPECT_EQ(supervisor.next<ipc::Fatal>(),
            (ipc::Fatal{"scheduler failed: std::runtime_error", "no blocks left"}));
}

}  // namespace
}  // namespace lastcall
