// The workloads of a stream: objects that create pods, and the place of the pod's template in them.
//
// Rules:
//  1. For the kinds of Kubernetes and for LeaderWorkerSet the place is known; for any other kind
//     the user gives it as a path to a pod's template or to a pod's spec.
//  2. The items of Lists, and of the ResourceList of a KRM function, are searched, too.
//  3. Nothing is resolved: a workload whose containers are behind an alias or a merge key is
//     reported as such, and is not a workload without a pod.
//  4. If a LeaderWorkerSet has a template for its leaders, that is the one that serves.
//
// Targets point into the documents and the options. Pure, no thread rule.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "inject/node.hpp"

namespace lastcall::inject {

/// "KIND=PATH": the path to the pod's template in objects of a kind.
struct TemplatePath {
  std::string kind;
  std::string path;
};

struct Target {
  Document const* document = nullptr;
  Node const* object = nullptr;
  Node const* holder = nullptr;  // has the pod's `metadata`
  Node const* spec = nullptr;    // the pod's
  /// Whether the pod gets the holder's annotations.
  bool is_template = true;
  std::vector<Node const*> around;  // the nodes from the object to the spec
  std::string path;                 // from the object to the template or the spec
  std::string kind;
  std::string name;

  /// "Deployment/vllm"
  std::string label() const { return kind + "/" + name; }
  /// The annotations of the pod; null if it has none.
  Node const* annotations() const;
  std::string_view annotation(std::string_view key) const;
  /// An annotation or a label, of the pod's template or of the object.
  std::string_view mark(std::string_view key) const;
};

struct Targets {
  std::vector<Target> found;
  /// Workloads whose containers an alias or a merge key hides; `spec` is the node that has it.
  std::vector<Target> hidden;
};

Targets targets_of(Stream const& stream, std::vector<TemplatePath> const& paths);

/// The objects of a kind, whether they have a pod or not.
std::vector<Node const*> objects_of(Stream const& stream, std::string_view kind);

/// All pod templates whose annotations have this key, wherever they are; `around` is empty. For a
/// spec without a template the object has the annotation, and `path_in` reads the path from its
/// text.
std::vector<Target> annotated_targets(Stream const& stream, std::string_view key,
                                      std::string (*path_in)(std::string_view));

}  // namespace lastcall::inject
