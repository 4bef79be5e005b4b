// The lines of tests/contract, which the shim and the SDKs are held to as well, and the examples of
// docs/ipc.md.
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "ipc/codec.hpp"
#include "ipc/ops.hpp"

namespace lastcall::ipc {
namespace {

std::vector<std::string> lines_of(std::istream& in) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> file(std::string const& path) {
  std::ifstream in(std::string(LASTCALL_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(in) << path;
  return lines_of(in);
}

/// The line that decoding and encoding again gives; why not, if it gives none.
template <typename Decoded>
std::string again(Decoded const& decoded) {
  if (auto const* const problem = std::get_if<DecodeError>(&decoded)) {
    return problem->message;
  }
  auto const& incoming = std::get<0>(decoded);
  std::string line;
  return encode(incoming.message, incoming.seq, line) ? line : "cannot be encoded";
}

std::string again(bool to_supervisor, std::string const& line) {
  return to_supervisor ? again(decode_to_supervisor(line)) : again(decode_from_supervisor(line));
}

DecodeError error_of(bool to_supervisor, std::string const& line) {
  if (to_supervisor) {
    auto decoded = decode_to_supervisor(line);
    auto* const problem = std::get_if<DecodeError>(&decoded);
    return problem == nullptr ? DecodeError{.message = "was accepted"} : *problem;
  }
  auto decoded = decode_from_supervisor(line);
  auto* const problem = std::get_if<DecodeError>(&decoded);
  return problem == nullptr ? DecodeError{.message = "was accepted"} : *problem;
}

TEST(Contract, Every_golden_line_to_the_supervisor_is_what_the_encoder_writes) {
  std::set<std::string_view> seen;
  for (std::string const& line : file("tests/contract/to_supervisor.jsonl")) {
    auto const decoded = decode_to_supervisor(line);
    EXPECT_EQ(again(decoded), line + "\n");
    if (auto const* const incoming = std::get_if<0>(&decoded)) {
      seen.insert(op_of(incoming->message));
    }
  }
  EXPECT_EQ(seen.size(), kToSupervisorOps.size()) << "an op has no golden line";
}

TEST(Contract, Every_golden_line_from_the_supervisor_is_what_the_encoder_writes) {
  std::set<std::string_view> seen;
  for (std::string const& line : file("tests/contract/from_supervisor.jsonl")) {
    auto const decoded = decode_from_supervisor(line);
    EXPECT_EQ(again(decoded), line + "\n");
    if (auto const* const incoming = std::get_if<0>(&decoded)) {
      seen.insert(op_of(incoming->message));
    }
  }
  EXPECT_EQ(seen.size(), kFromSupervisorOps.size()) << "an op has no golden line";
}

TEST(Contract, Tolerated_lines_mean_the_golden_line_beside_them) {
  auto const cases = file("tests/contract/tolerated.jsonl");
  EXPECT_GT(cases.size(), 10U);
  for (std::string const& text : cases) {
    auto const given = nlohmann::json::parse(text);
    EXPECT_EQ(again(given.at("to") == "supervisor", given.at("line").get<std::string>()),
              given.at("means").get<std::string>() + "\n")
        << text;
  }
}

TEST(Contract, Refused_lines_have_the_code_and_name_the_field) {
  auto const cases = file("tests/contract/refused.jsonl");
  EXPECT_GT(cases.size(), 40U);
  for (std::string const& text : cases) {
    auto const given = nlohmann::json::parse(text);
    auto const problem =
        error_of(given.at("to") == "supervisor", given.at("line").get<std::string>());
    EXPECT_EQ(name(problem.code), given.at("code").get<std::string>()) << text << problem.message;
    EXPECT_EQ(problem.close, given.at("close").get<bool>()) << text;
    EXPECT_NE(problem.message.find(given.at("says").get<std::string>()), std::string::npos)
        << text << "\n  says: " << problem.message;
    if (given.contains("seq")) {
      EXPECT_EQ(problem.seq, given.at("seq").get<std::uint64_t>()) << text;
    } else {
      EXPECT_EQ(problem.seq, std::nullopt) << text;
    }
  }
}

struct Example {
  bool to_supervisor{};
  std::string section;
  std::string line;
};

std::vector<Example> examples_of_the_reference() {
  std::vector<Example> found;
  Example at;
  bool is_direction = false;
  bool is_code = false;
  for (std::string const& line : file("docs/ipc.md")) {
    if (line.starts_with("## ")) {
      at.to_supervisor = line == "## To the supervisor";
      is_direction = at.to_supervisor || line == "## From the supervisor";
    } else if (line.starts_with("### ")) {
      at.section = line.substr(4);
    } else if (line.starts_with("```")) {
      is_code = line == "```json";
    } else if (is_code && is_direction) {
      at.line = line;
      found.push_back(at);
    }
  }
  return found;
}

TEST(Reference, Every_example_decodes_and_survives_being_encoded_again) {
  for (Example const& example : examples_of_the_reference()) {
    std::string const line = again(example.to_supervisor, example.line);
    ASSERT_TRUE(line.ends_with("\n")) << example.line << "\n  says: " << line;
    EXPECT_EQ(again(example.to_supervisor, line.substr(0, line.size() - 1)), line);
    // Nothing that the example shows was ignored: every key of it is still there.
    auto const shown = nlohmann::json::parse(example.line);
    auto const kept = nlohmann::json::parse(line);
    EXPECT_EQ(shown.at("op").get<std::string>(), example.section);
    for (auto const& [key, value] : shown.items()) {
      if (kept.contains(key)) {
        EXPECT_TRUE(value == kept.at(key) || value.is_object()) << key << " of " << example.line;
      } else {
        EXPECT_EQ(value, false) << key << " of " << example.line;
      }
    }
  }
}

TEST(Reference, Every_op_has_a_section_with_an_example) {
  std::set<std::string> to;
  std::set<std::string> from;
  for (Example const& example : examples_of_the_reference()) {
    (example.to_supervisor ? to : from).insert(example.section);
  }
  EXPECT_EQ(to, std::set<std::string>(kToSupervisorOps.begin(), kToSupervisorOps.end()));
  EXPECT_EQ(from, std::set<std::string>(kFromSupervisorOps.begin(), kFromSupervisorOps.end()));
}

template <typename Enum>
std::string row(std::string const& set) {
  auto const& words = lifecycle::vocabulary::kWordsOf<Enum>;
  std::string text = "| " + set + " | ";
  for (auto const& word : words) {
    text += (&word == words.data() ? "`" : ", `") + std::string(word) + "`";
  }
  return text + " |";
}

TEST(Reference, The_closed_sets_are_those_of_the_code) {
  auto const lines = file("docs/ipc.md");
  std::set<std::string> const rows(lines.begin(), lines.end());
  for (std::string const& expected :
       {row<Phase>("phase"), row<CancelMode>("mode"), row<CancelReason>("reason"),
        row<Outcome>("outcome"), row<HealthStatus>("health.status"),
        row<RejectedReason>("rejected.reason"), row<ErrorCode>("error.code"), row<Role>("role"),
        row<Container>("prestop container"), row<EngineState>("engine.state"),
        row<SignalScope>("engine.signal scope")}) {
    EXPECT_TRUE(rows.contains(expected)) << expected;
  }
}

}  // namespace
}  // namespace lastcall::ipc
