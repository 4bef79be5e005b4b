#include "supervisor/kube/workload.hpp"

#include <array>
#include <cstdint>
#include <string_view>

#include "base/ascii.hpp"

namespace lastcall::kube {
namespace {

using json::member;
using json::text;

/// A number that the API has left out is `absent`.
std::int64_t number(Json const& json, char const* part, char const* name, std::int64_t absent = 0) {
  Json const& found = member(member(json, part), name);
  return found.is_number_integer() ? found.get<std::int64_t>() : absent;
}

bool is_observed(Json const& json) {
  return number(json, "status", "observedGeneration") >= number(json, "metadata", "generation");
}

std::int64_t replicas_of(Json const& json) {
  return number(json, "spec", "replicas", 1);
}

bool deployment_is_over(Json const& json) {
  std::int64_t const wanted = replicas_of(json);
  return is_observed(json) && number(json, "status", "updatedReplicas") == wanted &&
         number(json, "status", "replicas") == wanted &&
         number(json, "status", "availableReplicas") == wanted;
}

bool set_is_over(Json const& json) {
  Json const& rolling = member(member(member(json, "spec"), "updateStrategy"), "rollingUpdate");
  Json const& partition = member(rolling, "partition");
  std::int64_t const kept = partition.is_number_integer() ? partition.get<std::int64_t>() : 0;
  std::int64_t const wanted = replicas_of(json);
  return is_observed(json) && number(json, "status", "replicas") == wanted &&
         number(json, "status", "readyReplicas") == wanted &&
         number(json, "status", "updatedReplicas") >= std::max<std::int64_t>(wanted - kept, 0);
}

bool daemons_are_over(Json const& json) {
  std::int64_t const wanted = number(json, "status", "desiredNumberScheduled");
  return is_observed(json) && number(json, "status", "updatedNumberScheduled") == wanted &&
         number(json, "status", "numberAvailable") == wanted;
}

bool replicas_are_over(Json const& json) {
  std::int64_t const wanted = replicas_of(json);
  return is_observed(json) && number(json, "status", "replicas") == wanted &&
         number(json, "status", "readyReplicas") == wanted;
}

bool groups_are_over(Json const& json) {
  std::int64_t const wanted = replicas_of(json);
  return number(json, "status", "updatedReplicas") >= wanted &&
         number(json, "status", "readyReplicas") >= wanted;
}

constexpr std::array kKinds{
    WorkloadKind{"deployment", "deploy", "apps/v1", "deployments", deployment_is_over},
    WorkloadKind{"statefulset", "sts", "apps/v1", "statefulsets", set_is_over},
    WorkloadKind{"daemonset", "ds", "apps/v1", "daemonsets", daemons_are_over},
    WorkloadKind{"replicaset", "rs", "apps/v1", "replicasets", replicas_are_over},
    WorkloadKind{"leaderworkerset", "lws", "leaderworkerset.x-k8s.io/v1", "leaderworkersets",
                 groups_are_over},
};

void add(std::string& selector, std::string const& term) {
  selector += (selector.empty() ? "" : ",") + term;
}

void add_expression(std::string& selector, Json const& expression) {
  std::string const key = text(member(expression, "key"));
  std::string const word = text(member(expression, "operator"));
  std::string values;
  for (Json const& value : member(expression, "values")) {
    add(values, text(value));
  }
  if (word == "Exists") {
    add(selector, key);
  } else if (word == "DoesNotExist") {
    add(selector, "!" + key);
  } else {
    add(selector, key + (word == "In" ? " in (" : " notin (") + values + ")");
  }
}

}  // namespace

std::optional<WorkloadName> parse_workload(std::string const& text) {
  auto const slash = text.find('/');
  if (slash == std::string::npos || slash + 1 == text.size()) {
    return std::nullopt;
  }
  std::string const word = ascii::lower_text(text.substr(0, slash));
  for (WorkloadKind const& kind : kKinds) {
    if (word == kind.name || word == kind.shortest || word == kind.plural) {
      return WorkloadName{&kind, text.substr(slash + 1)};
    }
  }
  return std::nullopt;
}

std::string known_kinds() {
  std::string names;
  for (WorkloadKind const& kind : kKinds) {
    names += (names.empty() ? "" : ", ") + std::string(kind.name);
  }
  return names;
}

std::string selector_of(WorkloadName const& workload, Json const& object) {
  if (std::string_view(workload.kind->name) == "leaderworkerset") {
    return "leaderworkerset.sigs.k8s.io/name=" + workload.name;
  }
  Json const& given = member(member(object, "spec"), "selector");
  std::string selector;
  for (auto const& [key, value] : member(given, "matchLabels").items()) {
    add(selector, key + "=" + text(value));
  }
  for (Json const& expression : member(given, "matchExpressions")) {
    add_expression(selector, expression);
  }
  return selector;
}

}  // namespace lastcall::kube
