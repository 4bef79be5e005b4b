// The record of an injection in a pod's annotation, so that it can be undone: which keys it made,
// and which scalars it replaced.
//
// "container=vllm made=initContainers,volumes was=terminationGracePeriodSeconds:30". It is written
// and read in one place; a text of another form is not a record. Pure values, no thread rule.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lastcall::inject {

inline constexpr std::string_view kRecord = "lastcall.dev/injected";

struct Record {
  std::string container;
  std::string path;                                     // for a spec without a template
  std::set<std::string, std::less<>> made;              // the keys that did not exist before
  std::map<std::string, std::string, std::less<>> was;  // the old texts of replaced values
  std::vector<std::string> secrets;                     // names added to `imagePullSecrets`
};

std::string to_text(Record const& record);
std::optional<Record> parse_record(std::string_view text);

}  // namespace lastcall::inject
