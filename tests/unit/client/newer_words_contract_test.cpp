// The cases of tests/contract/newer_words.jsonl, whose format its README describes.
#include <fstream>
#include <vector>

#include <gtest/gtest.h>
#include <lastcall/client.hpp>
#include <nlohmann/json.hpp>

#include "tests/unit/client/fake_supervisor.hpp"

namespace lastcall {
namespace {

using nlohmann::json;
using test::FakeSupervisor;
using test::kPatience;

std::vector<json> newer_words() {
  std::ifstream in(LASTCALL_SOURCE_DIR "/tests/contract/newer_words.jsonl");
  std::vector<json> all;
  for (std::string line; std::getline(in, line);) {
    all.push_back(json::parse(line));
  }
  return all;
}

std::string state_of(RequestContext const& context) {
  return context.is_killed() ? "killed" : context.is_stopped() ? "stopped" : "live";
}

class NewerWords : public testing::TestWithParam<json> {
 protected:
  void SetUp() override { supervisor.listen(); }

  /// Begins the request `r` and lets the supervisor send the case's line.
  void play(Client& client) {
    bool const asks = GetParam().value("asks", false);
    if (asks) {
      context = client.begin_admitted(
          {.id = "r"}, [this](auto const&, Admission const& made) { decided.set_value(made); });
    } else {
      context = client.begin({.id = "r"});
    }
    std::uint64_t question = 0;
    supervisor.next<ipc::RequestBegin>(&question);
    json line = GetParam().at("line");
    bool const is_error = line.at("op") == "error";
    if (is_error) {
      line["seq"] = question;
    }
    supervisor.say(line.dump());
    if (!is_error) {
      EXPECT_EQ(supervisor.next<ipc::Ack>().seq, line.at("seq").get<std::uint64_t>());
    }
    if (asks) {
      auto future = decided.get_future();
      ASSERT_EQ(future.wait_for(kPatience), std::future_status::ready);
      admission = future.get();
    }
  }

  FakeSupervisor supervisor;
  RequestContext context;
  std::promise<Admission> decided;
  Admission admission;
};

TEST_P(NewerWords, Mean_the_same_to_every_sdk) {
  json const& becomes = GetParam().at("becomes");
  ClientOptions options;
  options.socket = supervisor.path();
  options.log = [](std::string const&) {};
  Client client(options);
  supervisor.welcome();
  play(client);
  if (becomes.contains("refused")) {
    ASSERT_TRUE(admission.refusal);
    EXPECT_EQ(name(*admission.refusal), becomes.at("refused").get<std::string>());
    return;
  }
  EXPECT_EQ(state_of(context), becomes.at("state").get<std::string>());
  ASSERT_EQ(context.reason().has_value(), becomes.contains("reason"));
  if (context.reason()) {
    EXPECT_EQ(name(*context.reason()), becomes.at("reason").get<std::string>());
  }
  if (becomes.contains("announced")) {
    supervisor.hang_up();
    supervisor.welcome();
    EXPECT_TRUE(supervisor.next<ipc::RequestBegin>().resumed);
    EXPECT_EQ(name(supervisor.next<ipc::Cancel>().reason),
              becomes.at("announced").get<std::string>());
  }
  EXPECT_TRUE(client.is_connected() || becomes.contains("announced"));
}

INSTANTIATE_TEST_SUITE_P(Table, NewerWords, testing::ValuesIn(newer_words()),
                         [](auto const& each) { return std::to_string(each.index + 1); });

}  // namespace
}  // namespace lastcall
