#include "discovery/http_message.hpp"

#include <nlohmann/json.hpp>

#include "base/json_member.hpp"

namespace lastcall::discovery {

namespace {

nlohmann::ordered_json everything(std::string_view action, Instance const& instance) {
  return {{"action", action},
          {"instance_id", instance.id},
          {"instance_hex", instance_hex(instance.id)},
          {"namespace", instance.dynamo_namespace},
          {"component", instance.component},
          {"endpoint", instance.endpoint},
          {"advertise", instance.advertise},
          {"model", instance.model},
          {"pod_uid", instance.pod_uid}};
}

}  // namespace

std::string http_message(std::string_view pattern, std::string_view action,
                         Instance const& instance) {
  auto const values = everything(action, instance);
  if (pattern.empty()) {
    return json::dump(values);
  }
  std::string message;
  while (true) {
    auto const at = pattern.find("${");
    auto const end = pattern.find('}', at == std::string_view::npos ? pattern.size() : at);
    message += pattern.substr(0, at);
    if (end == std::string_view::npos) {
      return message += at == std::string_view::npos ? std::string_view{} : pattern.substr(at);
    }
    auto const found = values.find(std::string(pattern.substr(at + 2, end - at - 2)));
    if (found == values.end()) {
      message += pattern.substr(at, end + 1 - at);
    } else {
      auto const text = json::dump(*found);
      message += found->is_string() ? text.substr(1, text.size() - 2) : text;
    }
    pattern.remove_prefix(end + 1);
  }
}

}  // namespace lastcall::discovery
