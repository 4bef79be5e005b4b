#include "supervisor/kube/review.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "base/base64.hpp"
#include "base/utf8.hpp"
#include "inject/pod_parts.hpp"
#include "inject/record.hpp"
#include "supervisor/kube/json.hpp"
#include "supervisor/kube/json_patch.hpp"

namespace lastcall::kube {
namespace {

using json::dump;
using json::member;
using json::text;

/// A pod has less than 20 levels, and one with a thousand variables has about 6000 values. Not only
/// the API server but any pod may post a review, and one thread reads them all.
constexpr json::Limits kLimits{.depth = 64, .members = 1024, .values = 50'000};
/// The most bytes that Kubernetes allows for all annotations of an object; it checks that only
/// after admission.
constexpr std::size_t kMostOfAnnotations = std::size_t{256} * 1024;
constexpr char const* kVersion = "admission.k8s.io/v1";
constexpr char const* kMark = "lastcall.dev/inject";
constexpr std::string_view kLead = "lastcall cannot be put into this pod: ";
constexpr std::size_t kLongestWarning = 256;  // the API server cuts longer ones
/// A limit, because a pod's configuration may have a problem on each line and would fill the log.
constexpr std::size_t kLongestReason = std::size_t{4} * 1024;

/// Nothing if the body is not JSON or exceeds the limits above.
std::optional<Json> parse(std::string_view body) {
  Json parsed = json::parsed<Json>(body, kLimits);
  return parsed.is_discarded() ? std::nullopt : std::optional(std::move(parsed));
}

/// The pod as the text of a manifest: JSON allows an unescaped DEL in a string, YAML does not.
std::string manifest_of(Json const& pod) {
  std::string text = dump(pod);
  for (auto at = text.find('\x7f'); at != std::string::npos; at = text.find('\x7f', at)) {
    text.replace(at, 1, "\\u007f");
  }
  return text;
}

/// Cuts the text at a character boundary.
std::string shortened(std::string_view text, std::size_t longest = kLongestWarning) {
  return std::string(utf8::prefix(text, longest));
}

bool has_container(Json const& spec, char const* list) {
  for (Json const& container : member(spec, list)) {
    if (text(member(container, "name")) == inject::kSidecar) {
      return true;
    }
  }
  return false;
}

bool has_too_long_annotations(Json const& pod) {
  std::size_t bytes = 0;
  for (auto const& [key, value] : member(member(pod, "metadata"), "annotations").items()) {
    bytes += key.size() + text(value).size();
  }
  return bytes > kMostOfAnnotations;
}

bool asks(Json const& pod) {
  Json const& metadata = member(pod, "metadata");
  return text(member(member(metadata, "labels"), kMark)) == "true" ||
         text(member(member(metadata, "annotations"), kMark)) == "true";
}

std::string in_one_line(config::Problems const& problems) {
  std::string line;
  std::size_t shown = 0;
  for (; shown < problems.size() && line.size() < kLongestReason; ++shown) {
    line += (line.empty() ? "" : "; ") + problems[shown].text;
  }
  line = shortened(line, kLongestReason);
  return shown == problems.size() ? line
                                  : line + "; " + std::to_string(problems.size() - shown) + " more";
}

/// Restores the original value of a key in the pod's metadata.
void put_back(Json& pod, Json const& original, char const* map, char const* key) {
  Json const& before = member(member(original, "metadata"), map);
  Json const& was = member(before, key);
  Json& metadata = pod["metadata"];
  if (!was.is_null()) {
    metadata[map][key] = was;
    return;
  }
  auto const found = metadata.find(map);
  if (found == metadata.end() || !found->is_object()) {
    return;
  }
  found->erase(key);
  if (found->empty() && !before.is_object()) {
    metadata.erase(map);
  }
}

void erase(Json& pod, char const* map, char const* key) {
  if (Json& metadata = pod["metadata"]; metadata.is_object()) {
    auto const found = metadata.find(map);
    if (found != metadata.end() && found->is_object()) {
      found->erase(key);
    }
  }
}

/// The metadata by which inject() would decide. It is replaced, because this file has decided that
/// the pod is to be injected and has no lastcall, whatever an annotation says.
constexpr std::pair<char const*, char const*> kDecided[] = {
    {"labels", kMark}, {"annotations", kMark}, {"annotations", inject::kRecord.data()}};

class Answering {
 public:
  Answering(ReviewSettings const& settings, Json review)
      : settings_(settings), review_(std::move(review)), request_(member(review_, "request")) {}

  ReviewAnswer run() {
    answer_.status = 200;
    std::string const uid = text(member(request_, "uid"));
    if (text(member(review_, "apiVersion")) != kVersion ||
        text(member(review_, "kind")) != "AdmissionReview") {
      return no_review("expected an AdmissionReview of " + std::string(kVersion));
    }
    if (uid.empty()) {
      return no_review("expected request.uid");
    }
    response_ = {{"uid", uid}, {"allowed", true}};
    decide();
    answer_.body =
        dump(Json{{"apiVersion", kVersion}, {"kind", "AdmissionReview"}, {"response", response_}});
    return std::move(answer_);
  }

 private:
  ReviewAnswer no_review(std::string reason) {
    answer_.status = 400;
    answer_.body = dump(Json{{"error", reason}});
    answer_.reason = std::move(reason);
    return std::move(answer_);
  }

  void decide() {
    Json const& kind = member(request_, "kind");
    Json const& pod = member(request_, "object");
    bool const is_pod = text(member(kind, "kind")) == "Pod" && text(member(kind, "group")).empty();
    if (!is_pod || text(member(request_, "operation")) != "CREATE") {
      return forbid(
          "expected the CREATE of a Pod: the webhook's configuration sends something else");
    }
    Json const& spec = member(pod, "spec");
    if (!member(pod, "metadata").is_object() || !member(spec, "containers").is_array()) {
      return forbid("expected a pod with metadata and spec.containers in request.object");
    }
    name_pod(pod);
    if (has_too_long_annotations(pod)) {
      return forbid("expected annotations of at most 256 KiB in all");
    }
    if (!asks(pod) || has_container(spec, "containers") || has_container(spec, "initContainers")) {
      answer_.end = ReviewEnd::unchanged;
      return;
    }
    inject_into(pod);
  }

  void name_pod(Json const& pod) {
    Json const& metadata = member(pod, "metadata");
    std::string name = text(member(metadata, "name"));
    if (name.empty()) {
      name = text(member(metadata, "generateName")) + "*";
    }
    answer_.pod = text(member(request_, "namespace")) + "/" + name;
  }

  void inject_into(Json const& original) {
    Json pod = original;
    pod["kind"] = "Pod";
    pod["apiVersion"] = "v1";
    for (auto const& [map, key] : kDecided) {
      erase(pod, map, key);
    }
    inject::Outcome const outcome =
        inject::inject({{.name = "pod", .text = manifest_of(pod)}}, settings_.inject);
    if (!outcome.refusals.empty()) {
      return refuse(in_one_line(outcome.refusals));
    }
    std::optional<Json> made =
        outcome.changed.empty() ? std::nullopt : parse(outcome.texts.front());
    if (!made) {
      return refuse("it could not be read again, expected a pod as the API server writes it");
    }
    for (auto const& [map, key] : kDecided) {
      put_back(*made, original, map, key);
    }
    for (char const* const key : {"kind", "apiVersion"}) {
      if (original.contains(key)) {
        (*made)[key] = original.at(key);
      } else {
        made->erase(key);
      }
    }
    answer_.end = ReviewEnd::injected;
    response_["patchType"] = "JSONPatch";
    response_["patch"] = base64_encode(dump(patch_between(original, *made)));
    for (config::Problem const& note : outcome.notes) {
      response_["warnings"].push_back(shortened("lastcall: " + note.text));
    }
  }

  void refuse(std::string reason) {
    answer_.end = ReviewEnd::refused;
    std::string const message = std::string(kLead) + reason;
    switch (settings_.on_failure) {
      case OnFailure::deny:
        deny(message, 422, "Invalid");
        break;
      case OnFailure::warn:
        response_["warnings"].push_back(shortened(message));
        break;
      case OnFailure::audit:
        response_["auditAnnotations"]["refused"] = message;
        break;
    }
    answer_.reason = std::move(reason);
  }

  void forbid(std::string reason) {
    answer_.end = ReviewEnd::invalid;
    deny(reason, 400, "BadRequest");
    answer_.reason = std::move(reason);
  }

  void deny(std::string const& message, int code, char const* reason) {
    response_["allowed"] = false;
    response_["status"] = {
        {"status", "Failure"}, {"message", message}, {"reason", reason}, {"code", code}};
  }

  ReviewSettings const& settings_;
  Json const review_;
  Json const& request_;
  Json response_;
  ReviewAnswer answer_;
};

}  // namespace

char const* name(ReviewEnd end) {
  constexpr char const* kNames[kReviewEnds] = {"injected", "unchanged", "refused", "invalid"};
  return kNames[static_cast<std::size_t>(end)];
}

ReviewAnswer answer_review(std::string_view body, ReviewSettings const& settings) {
  std::optional<Json> review = parse(body);
  if (!review) {
    std::string const reason = "expected JSON, no deeper than " + std::to_string(kLimits.depth) +
                               ", of at most " + std::to_string(kLimits.values) + " values and " +
                               std::to_string(kLimits.members) + " in an object";
    return {.end = ReviewEnd::invalid,
            .status = 400,
            .body = dump(Json{{"error", reason}}),
            .pod = {},
            .reason = reason};
  }
  return Answering(settings, std::move(*review)).run();
}

}  // namespace lastcall::kube
