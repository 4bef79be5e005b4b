// The workloads of a stream: objects that make pods, and where in them a pod's template stands.
//
// Rules:
//  1. For the kinds of Kubernetes and for LeaderWorkerSet the place is known; for any other it is
//     given, as a path to a pod's template, or to a pod's spec.
//  2. Lists, and the ResourceList of a KRM function, are looked into.
//  3. A LeaderWorkerSet serves by its leaders, where it has a template of their own.
//
// Targets point into the documents and the options. Pure, no thread rule.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "inject/node.hpp"

namespace lastcall::inject {

/// "KIND=PATH": where the pod's template of a kind stands.
struct TemplatePath {
  std::string kind;
  std::string path;
};

struct Target {
  Document const* document = nullptr;
  Node const* object = nullptr;
  Node const* holder = nullptr;  // has the pod's `metadata`
  Node const* spec = nullptr;    // the pod's
  /// Whether the holder's annotations become those of the pod.
  bool is_template = true;
  std::vector<Node const*> around;  // from the object to the spec
  std::string path;                 // of the template or the spec, from the object
  std::string kind;
  std::string name;

  /// "Deployment/vllm"
  std::string label() const { return kind + "/" + name; }
  /// The annotations of the pod; nothing if it has none.
  Node const* annotations() const;
  std::string_view annotation(std::string_view key) const;
  /// An annotation or a label, of the pod's template or of the object.
  std::string_view mark(std::string_view key) const;
};

std::vector<Target> targets_of(Stream const& stream, std::vector<TemplatePath> const& paths);

/// Pods' templates whose annotations have this key, wherever they stand; `around` is empty. A spec
/// whose object has the annotation is found by the path that `path_in` reads from its text.
std::vector<Target> annotated_targets(Stream const& stream, std::string_view key,
                                      std::string (*path_in)(std::string_view));

}  // namespace lastcall::inject
