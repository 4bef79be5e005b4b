#include "shim/signal_policy.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace lastcall::shim {
namespace {

std::string name_of(int number) {
  TextOf<16> out;
  append_signal_name(out, number);
  return std::string(out.view());
}

TEST(SignalNames, Names_and_numbers_are_inverse) {
  for (int number = 1; number < kSignalLimit; ++number) {
    EXPECT_EQ(signal_from_text(name_of(number)), number) << name_of(number);
    EXPECT_EQ(signal_from_text(std::to_string(number)), number);
  }
  EXPECT_EQ(name_of(SIGTERM), "TERM");
  EXPECT_EQ(name_of(SIGRTMIN + 3), "RTMIN+3");
  EXPECT_EQ(signal_from_text("SIGTERM"), SIGTERM);
  EXPECT_EQ(signal_from_text("RTMAX-1"), SIGRTMAX - 1);
  for (char const* text :
       {"", "0", "65", "-1", "term", "TERMX", "RTMIN+99", "RTMIN3", "SIG", "1x"}) {
    EXPECT_EQ(signal_from_text(text), std::nullopt) << text;
  }
}

TEST(SignalPolicy, Every_signal_is_forwarded_as_itself_by_default) {
  SignalPolicy const policy;
  for (int number = 1; number < kSignalLimit; ++number) {
    EXPECT_EQ(policy.for_engine(number), number);
  }
}

TEST(SignalPolicy, Fault_is_our_own_only_where_the_kernel_raised_it) {
  EXPECT_TRUE(SignalPolicy::is_own_fault(SIGBUS, BUS_MCEERR_AO));
  EXPECT_TRUE(SignalPolicy::is_own_fault(SIGSEGV, SI_KERNEL));
  EXPECT_FALSE(SignalPolicy::is_own_fault(SIGSEGV, SI_USER));
  EXPECT_FALSE(SignalPolicy::is_own_fault(SIGBUS, SI_QUEUE));
  EXPECT_FALSE(SignalPolicy::is_own_fault(SIGINT, SI_KERNEL)) << "a terminal's";
}

TEST(SignalPolicy, Terminal_stops_become_STOP_only_in_an_own_session_and_only_by_default) {
  SignalPolicy with_terminal;
  with_terminal.finish(false);
  EXPECT_EQ(with_terminal.for_engine(SIGTSTP), SIGTSTP);
  SignalPolicy policy;
  ASSERT_TRUE(policy.add_rewrite("TTIN:0"));
  policy.finish(true);
  EXPECT_EQ(policy.for_engine(SIGTSTP), SIGSTOP);
  EXPECT_EQ(policy.for_engine(SIGTTOU), SIGSTOP);
  EXPECT_EQ(policy.for_engine(SIGTTIN), 0);
}

TEST(SignalPolicy, Signal_is_a_stop_by_its_own_name_or_by_its_target) {
  SignalPolicy policy;
  EXPECT_TRUE(policy.is_stop(SIGTERM) && policy.is_stop(SIGINT) && policy.is_stop(SIGQUIT));
  EXPECT_FALSE(policy.is_stop(SIGHUP));
  ASSERT_TRUE(policy.add_rewrite("HUP:TERM"));
  EXPECT_TRUE(policy.is_stop(SIGHUP));
  ASSERT_TRUE(policy.add_rewrite("TERM:USR1"));
  EXPECT_TRUE(policy.is_stop(SIGTERM)) << "it still begins a drain";
  EXPECT_EQ(policy.for_order(SIGTERM), SIGUSR1) << "and the engine gets what was asked for";
  ASSERT_TRUE(policy.add_rewrite("INT:0"));
  EXPECT_FALSE(policy.is_stop(SIGINT));
}

TEST(SignalPolicy, Highest_signal_is_nobody_elses_bit) {
  SignalPolicy policy;
  ASSERT_TRUE(policy.set_stop_signals("64"));
  EXPECT_TRUE(policy.is_stop(64));
  for (int number = 1; number < 64; ++number) {
    EXPECT_FALSE(policy.is_stop(number)) << number;
  }
}

TEST(SignalPolicy, Kill_and_continue_are_never_rewritten_in_orders) {
  SignalPolicy policy;
  ASSERT_TRUE(policy.add_rewrite("KILL:TERM"));
  ASSERT_TRUE(policy.add_rewrite("CONT:0"));
  EXPECT_EQ(policy.for_order(SIGKILL), SIGKILL);
  EXPECT_EQ(policy.for_order(SIGCONT), SIGCONT);
}

}  // namespace
}  // namespace lastcall::shim
