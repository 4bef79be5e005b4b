#include "tests/fuzz/pod_grammar.hpp"

#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include "supervisor/kube/json.hpp"

namespace lastcall::fuzz {
namespace {

using kube::Json;

constexpr std::string_view kTexts[] = {
    "vllm",
    "serve",
    "Qwen/Qwen3-0.6B",
    "--port=9000",
    "--port",
    "8000",
    "a b",
    "",
    "true",
    "null",
    "#no",
    "key: value",
    "- x",
    "it's \"so\"",
    "\u00e9\u20ac",
    "\u0085\u2028\ufeff",
    "\x7f",
    "\x01\t\x1b[31m",
    "one\ntwo\n",
    " # line\nx\n",
    "*star",
    "&and",
    "!!binary x",
    "{a, [b}",
    "back\\slash",
    "$(VAR)",
    "~1/~0",
};

constexpr std::string_view kConfigs[] = {
    "engine: {kind: vllm}\n",
    "shutdown: {grace_period: 9s}\n",
    "ingress: {listen: '0.0.0.0:8080', upstream: '127.0.0.1:8000'}\n",
    "cleanup: {hooks: [{name: a, command: [/bin/true], timeout: 1s}]}\n",
    "discovery: [{kubernetes: {}}]\n",
    "a: &a [*a]\n",
    "a: &a {b: 1}\nc: *a\n",
    "? [x]\n: y\n",
    "%YAML 9\n---\n",
    "\t",
    "[[[[[[[[",
    "engine: !!str {kind: vllm}\n",
};

constexpr std::string_view kNotes[] = {
    "lastcall.dev/config",
    "lastcall.dev/config.engine.kind",
    "lastcall.dev/config.engine.url",
    "lastcall.dev/config.shutdown.grace_period",
    "lastcall.dev/config.shutdown",
    "lastcall.dev/config.lifecycle.enabled",
    "lastcall.dev/config.ingress.listen",
    "lastcall.dev/config.",
    "lastcall.dev/config..",
    "lastcall.dev/config.discovery",
    "lastcall.dev/container",
    "lastcall.dev/injected",
    "lastcall.dev/inject",
    "a/~b",
};

Json text(Choices& choose) {
  return choose.of(kTexts);
}

Json texts(Choices& choose, std::size_t least) {
  Json made = Json::array();
  for (std::size_t i = least + choose.below(4); i > 0; --i) {
    made.push_back(text(choose));
  }
  return made;
}

/// The part is sometimes missing, sometimes empty, and sometimes null.
void add_list(Choices& choose, Json& to, char const* key, Json const& item) {
  switch (choose.below(6)) {
    case 0:
    case 1:
      return;
    case 2:
      to[key] = choose.one_in(2) ? Json::array() : Json();
      return;
    default:
      to[key] = Json::array({item});
  }
}

Json engine(Choices& choose) {
  Json made{{"name", "engine"}, {"image", choose.one_in(4) ? text(choose) : "vllm/vllm-openai:v1"}};
  if (!choose.one_in(5)) {
    made["command"] = texts(choose, 1);
  }
  if (choose.one_in(2)) {
    made["args"] = texts(choose, 0);
  }
  add_list(choose, made, "env", {{"name", "HOME"}, {"value", text(choose)}});
  add_list(choose, made, "volumeMounts", {{"name", "cache"}, {"mountPath", "/cache"}});
  add_list(choose, made, "ports", {{"containerPort", 8000}, {"name", text(choose)}});
  if (choose.one_in(3)) {
    made["lifecycle"] =
        choose.one_in(2) ? Json{{"preStop", {{"exec", {{"command", {"a"}}}}}}} : Json::object();
  }
  if (choose.one_in(3)) {
    made["securityContext"] = {{"runAsUser", choose.number(70'000)}, {"runAsNonRoot", true}};
  }
  if (choose.one_in(4)) {
    made["livenessProbe"] = {{"tcpSocket", {{"port", 8000}}}};
  }
  return made;
}

Json spec(Choices& choose) {
  Json made{{"containers", Json::array({engine(choose)})}};
  for (std::size_t i = choose.below(3); i > 0; --i) {
    made["containers"].push_back({{"name", text(choose)}, {"args", texts(choose, 0)}});
  }
  if (choose.one_in(2)) {
    made["terminationGracePeriodSeconds"] = choose.number(1'000);
  }
  for (char const* const name : {"hostNetwork", "shareProcessNamespace", "hostPID"}) {
    if (choose.one_in(6)) {
      made[name] = choose.one_in(2);
    }
  }
  if (choose.one_in(4)) {
    made["securityContext"] = {{"runAsUser", choose.number(70'000)}, {"fsGroup", 5}};
  }
  add_list(choose, made, "initContainers", {{"name", "fetch"}, {"command", texts(choose, 1)}});
  add_list(
      choose, made, "volumes",
      {{"name", choose.one_in(4) ? Json("lastcall") : text(choose)}, {"emptyDir", Json::object()}});
  return made;
}

Json metadata(Choices& choose) {
  Json made{{"generateName", "v-"}};
  if (choose.one_in(4)) {
    made["labels"] = {{"app", text(choose)}};
  } else {
    made["labels"] = {{"lastcall.dev/inject", "true"}};
  }
  for (std::size_t i = choose.below(4); i > 0; --i) {
    std::string const key(choose.of(kNotes));
    made["annotations"][key] = choose.one_in(3) ? text(choose) : Json(choose.of(kConfigs));
  }
  return made;
}

/// A part of another kind than the one that belongs there.
Json other(Choices& choose) {
  Json const kinds[] = {nullptr,
                        7,
                        -1.5,
                        "x",
                        true,
                        Json::array(),
                        Json::object(),
                        Json::array({Json::object()}),
                        {{"a", {{"b", nullptr}}}}};
  return choose.of(kinds);
}

/// Walks down from here by chance, and replaces the part where the walk ends.
void spoil(Choices& choose, Json& from) {
  Json* part = &from;
  while (part->is_structured() && !part->empty() && !choose.one_in(4)) {
    auto at = part->begin();
    std::advance(at, static_cast<std::ptrdiff_t>(choose.below(part->size())));
    part = &*at;
  }
  *part = other(choose);
}

}  // namespace

std::string derive_review(Choices& choose) {
  Json request{{"uid", "7c0f"},
               {"operation", "CREATE"},
               {"namespace", "models"},
               {"kind", {{"group", ""}, {"version", "v1"}, {"kind", "Pod"}}},
               {"object", {{"metadata", metadata(choose)}, {"spec", spec(choose)}}}};
  if (choose.one_in(8)) {
    spoil(choose, request);
  }
  return json::dump(Json{{"apiVersion", "admission.k8s.io/v1"},
                         {"kind", "AdmissionReview"},
                         {"request", std::move(request)}});
}

}  // namespace lastcall::fuzz
