#include "inject/target.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/words.hpp"

namespace lastcall::inject {
namespace {

constexpr std::string_view kTemplate = "spec.template";
constexpr std::string_view kLeaders = "spec.leaderWorkerTemplate.leaderTemplate";
constexpr std::string_view kWorkers = "spec.leaderWorkerTemplate.workerTemplate";
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kKinds{
    {{"Pod", ""},
     {"PodTemplate", "template"},
     {"Deployment", kTemplate},
     {"StatefulSet", kTemplate},
     {"DaemonSet", kTemplate},
     {"ReplicaSet", kTemplate},
     {"ReplicationController", kTemplate},
     {"Job", kTemplate},
     {"CronJob", "spec.jobTemplate.spec.template"},
     {"LeaderWorkerSet", kLeaders},
     {"LeaderWorkerSet", kWorkers},
     {"Rollout", kTemplate}}};

bool is_list_of_containers(Node const* node) {
  return node != nullptr && node->kind == Node::Kind::list;
}

/// The object's name in messages and for --only. An API server completes a generateName, which is
/// shown with a "*".
std::string name_of(Node const& object) {
  Node const* const name = find_path(object, "metadata.name");
  Node const* const begun = find_path(object, "metadata.generateName");
  if ((name == nullptr || name->text.empty()) && begun != nullptr && !begun->text.empty()) {
    return begun->text + "*";
  }
  return name == nullptr ? "" : name->text;
}

/// The items of a list of objects; null for an object that is not one.
Node const* items_of(Node const& object) {
  return text_of(object, "kind").ends_with("List") ? find(object, "items") : nullptr;
}

void collect(Node const& object, std::string_view kind, std::vector<Node const*>& found) {
  if (Node const* const items = items_of(object)) {
    for (Node const& item : items->items) {
      collect(item, kind, found);
    }
  } else if (text_of(object, "kind") == kind) {
    found.push_back(&object);
  }
}

/// The nodes from the object along the path; fewer if a part of it does not exist.
std::vector<Node const*> walk(Node const& object, std::string_view path) {
  std::vector<Node const*> nodes{&object};
  while (!path.empty()) {
    Node const* const next = find(*nodes.back(), take_part(path, '.'));
    if (next == nullptr) {
      break;
    }
    nodes.push_back(next);
  }
  return nodes;
}

std::size_t parts_of(std::string_view path) {
  return path.empty() ? 0 : static_cast<std::size_t>(std::count(path.begin(), path.end(), '.')) + 1;
}

/// The node along the path at which an alias or a merge key hides the rest; null if there is none.
Node const* hidden_at(Node const& object, std::string path, std::string_view rest) {
  path.append(path.empty() ? "" : ".").append(rest);
  std::vector<Node const*> const nodes = walk(object, path);
  Node const& last = *nodes.back();
  bool const is_cut = nodes.size() <= parts_of(path) && find(last, "<<") != nullptr;
  return last.kind == Node::Kind::alias || is_cut ? &last : nullptr;
}

class Search {
 public:
  explicit Search(std::vector<TemplatePath> const& paths) : paths_(paths) {}

  void visit(Document const& document, Node const& object) {
    std::string_view const kind = text_of(object, "kind");
    if (Node const* const items = items_of(object)) {
      for (Node const& item : items->items) {
        visit(document, item);
      }
      return;
    }
    std::size_t const before = count();
    for (TemplatePath const& given : paths_) {
      if (given.kind == kind) {
        look(document, object, given.path);
      }
    }
    if (count() != before) {
      return;
    }
    for (auto const& [known, path] : kKinds) {
      if (known == kind && count() == before) {
        look(document, object, path);
      }
    }
  }

  Targets targets;

 private:
  std::size_t count() const { return targets.found.size() + targets.hidden.size(); }

  void look(Document const& document, Node const& object, std::string_view path) {
    Target target;
    target.document = &document;
    target.object = &object;
    target.kind = text_of(object, "kind");
    target.name = name_of(object);
    target.path = path;
    target.around = walk(object, path);
    if (target.around.size() == parts_of(path) + 1 && find_spec(target)) {
      targets.found.push_back(std::move(target));
      return;
    }
    for (std::string_view const rest : {"spec.containers", "containers"}) {
      if (Node const* const hidden = hidden_at(object, target.path, rest)) {
        target.holder = &object;
        target.spec = hidden;
        targets.hidden.push_back(std::move(target));
        return;
      }
    }
  }

  /// Containers that are written out count as such, whatever is merged beside them.
  static bool find_spec(Target& target) {
    Node const* const end = target.around.back();
    Node const* const spec = find(*end, "spec");
    if (spec != nullptr && is_list_of_containers(find(*spec, "containers"))) {
      target.holder = end;
      target.spec = spec;
      target.around.push_back(spec);
    } else if (is_list_of_containers(find(*end, "containers"))) {
      target.holder = target.object;
      target.spec = end;
      target.is_template = false;
    } else {
      return false;
    }
    return true;
  }

  std::vector<TemplatePath> const& paths_;
};

/// Walks through every map of a document, and knows the object that contains it.
class Annotated {
 public:
  Annotated(std::string_view key, std::string (*path_in)(std::string_view))
      : key_(key), path_in_(path_in) {}

  void visit(Document const& document, Node const& node, Node const& object) {
    for (Node const& item : node.items) {
      visit(document, item, item);
    }
    Node const* const notes = find_path(node, "metadata.annotations");
    std::string_view const note = notes == nullptr ? std::string_view() : text_of(*notes, key_);
    if (!note.empty()) {
      add(document, node, object, note);
    }
    for (Entry const& entry : node.entries) {
      visit(document, entry.value, object);
    }
  }

  std::vector<Target> targets;

 private:
  void add(Document const& document, Node const& holder, Node const& object,
           std::string_view note) {
    std::string const path = path_in_(note);
    Node const* const spec = find_path(holder, path.empty() ? "spec" : path);
    if (spec == nullptr || !is_list_of_containers(find(*spec, "containers"))) {
      return;
    }
    Target target;
    target.document = &document;
    target.object = &object;
    target.holder = &holder;
    target.spec = spec;
    target.is_template = path.empty();
    target.kind = text_of(object, "kind");
    target.name = name_of(object);
    targets.push_back(std::move(target));
  }

  std::string_view key_;
  std::string (*path_in_)(std::string_view);
};

std::string_view mark_of(Node const& holder, std::string_view key) {
  Node const* const metadata = find(holder, "metadata");
  for (std::string_view const place : {"annotations", "labels"}) {
    Node const* const marks = metadata == nullptr ? nullptr : find(*metadata, place);
    std::string_view const mark = marks == nullptr ? std::string_view() : text_of(*marks, key);
    if (!mark.empty()) {
      return mark;
    }
  }
  return {};
}

}  // namespace

Node const* Target::annotations() const {
  return find_path(*holder, "metadata.annotations");
}

std::string_view Target::annotation(std::string_view key) const {
  Node const* const notes = annotations();
  return notes == nullptr ? std::string_view() : text_of(*notes, key);
}

std::string_view Target::mark(std::string_view key) const {
  std::string_view const own = mark_of(*holder, key);
  return own.empty() ? mark_of(*object, key) : own;
}

Targets targets_of(Stream const& stream, std::vector<TemplatePath> const& paths) {
  Search search(paths);
  for (Document const& document : stream.documents) {
    search.visit(document, document.root);
  }
  return std::move(search.targets);
}

std::vector<Node const*> objects_of(Stream const& stream, std::string_view kind) {
  std::vector<Node const*> found;
  for (Document const& document : stream.documents) {
    collect(document.root, kind, found);
  }
  return found;
}

std::vector<Target> annotated_targets(Stream const& stream, std::string_view key,
                                      std::string (*path_in)(std::string_view)) {
  Annotated search(key, path_in);
  for (Document const& document : stream.documents) {
    search.visit(document, document.root, document.root);
  }
  return std::move(search.targets);
}

}  // namespace lastcall::inject
