#include "inject/pod_checks.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include "inject/decisions.hpp"
#include "inject/pod_parts.hpp"

namespace lastcall::inject {
namespace {

/// Containers that service meshes put in front of the others, so that they start first.
constexpr std::array<std::string_view, 2> kMeshProxies{"istio-proxy", "linkerd-proxy"};
constexpr std::string_view kContainers = "containers";

class Checks {
 public:
  Checks(Ledger const& ledger, Node const& engine)
      : ledger_(ledger), target_(ledger.target), engine_(&engine) {}

  bool run() const { return check_layout() && check_names(); }

 private:
  Node const& spec() const { return *target_.spec; }

  void refuse(Node const& at, std::string text) const { ledger_.refuse(at.begin, std::move(text)); }

  /// A node may be edited in place if no other place uses the same bytes.
  bool is_editable(Node const* node, char const* what) const {
    if (node == nullptr) {
      return true;
    }
    auto const& aliased = target_.document->aliased;
    if (node->kind == Node::Kind::alias) {
      refuse(*node, std::string(what) +
                        " is an alias, expected it written out: an addition would appear in the "
                        "other place too");
      return false;
    }
    if (node->anchor != 0 &&
        std::find(aliased.begin(), aliased.end(), node->anchor) != aliased.end()) {
      refuse(*node, std::string(what) +
                        " has an anchor that is used elsewhere, expected none: an addition would "
                        "appear there too");
      return false;
    }
    for (std::size_t i = 0; i < node->entries.size(); ++i) {
      Node const& key = node->entries[i].key;
      if (key.kind != Node::Kind::scalar || key.text == "<<") {
        refuse(key, std::string(what) +
                        " has a merge key or a key that is not a text, expected its keys written "
                        "out");
        return false;
      }
      if (find_entry(*node, key.text) != &node->entries[i]) {
        refuse(key, std::string(what) + " has the key " + key.text + " twice, expected it once");
        return false;
      }
    }
    return true;
  }

  bool check_layout() const {
    for (Node const* const node : target_.around) {
      if (!is_editable(node, "an object around the pod")) {
        return false;
      }
    }
    Node const* const metadata = find(*target_.holder, "metadata");
    bool is_good = is_editable(metadata, "metadata") &&
                   is_editable(target_.annotations(), "annotations") &&
                   is_editable(find(spec(), "containers"), "containers") &&
                   is_editable(engine_, "the engine's container");
    for (char const* const key : {"initContainers", "volumes"}) {
      is_good = is_good && is_editable(find(spec(), key), key);
    }
    for (char const* const key : {"command", "env", "volumeMounts", "lifecycle"}) {
      is_good = is_good && is_editable(find(*engine_, key), key);
    }
    return is_good;
  }

  bool check_names() const {
    std::size_t const before = ledger_.refusals.size();
    check_windows();
    for (std::string_view const key : {std::string_view("initContainers"), kContainers}) {
      Node const* const containers = find(spec(), key);
      if (containers == nullptr) {
        continue;
      }
      for (Node const& container : containers->items) {
        if (text_of(container, "name") == kInstaller) {
          refuse(container, "a container lastcall-install, expected no such name");
        }
        // Other init containers have ended when the sidecar starts.
        if (key == kContainers || text_of(container, "restartPolicy") == "Always") {
          check_ports(container);
        }
      }
    }
    if (Node const* const list = find(spec(), "volumes")) {
      for (Node const& volume : list->items) {
        if (text_of(volume, "name").starts_with(kVolumes)) {
          refuse(volume, "a volume " + std::string(text_of(volume, "name")) +
                             ", expected no name that begins with lastcall-");
        }
      }
    }
    check_mounts();
    check_variables();
    return ledger_.refusals.size() == before;
  }

  void check_windows() const {
    Node const* const os = find_path(spec(), "os.name");
    Node const* const selector = find(spec(), "nodeSelector");
    bool const is_windows =
        (os != nullptr && os->text == "windows") ||
        (selector != nullptr && text_of(*selector, "kubernetes.io/os") == "windows");
    if (is_windows) {
      refuse(spec(), "a pod for Windows, expected Linux");
    }
  }

  void check_ports(Node const& container) const {
    Node const* const ports = find(container, "ports");
    if (ports == nullptr) {
      return;
    }
    for (Node const& port : ports->items) {
      Node const* const number = find(port, "containerPort");
      std::string_view const protocol = text_of(port, "protocol");
      if (!protocol.empty() && protocol != "TCP") {
        continue;  // its ports are others
      }
      if (number != nullptr && number->text == std::to_string(kProbePort)) {
        refuse(*number, "port 7090 is the sidecar's, expected another one");
      }
    }
  }

  /// The place that a container runtime mounts at: absolute, without "//", "." and "..".
  static std::string place_of(std::string_view path) {
    std::string place = std::filesystem::path("/" + std::string(path)).lexically_normal().string();
    while (place.size() > 1 && place.ends_with('/')) {
      place.pop_back();
    }
    return place;
  }

  /// Whether a path is the folder or below it.
  static bool is_in(std::string_view path, std::string_view folder) {
    return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
  }

  /// Whether the folder is directly in the one of this path.
  static bool is_parent(std::string_view path, std::string_view folder) {
    return path == folder.substr(0, folder.rfind('/'));
  }

  /// The names of volumes in whose mounts nothing can be created, whatever a mount states.
  std::set<std::string_view> read_only_volumes() const {
    constexpr std::array<char const*, 5> kTypes{"configMap", "secret", "downwardAPI", "projected",
                                                "image"};
    std::set<std::string_view> names;
    if (Node const* const volumes = find(spec(), "volumes")) {
      for (Node const& volume : volumes->items) {
        if (std::any_of(kTypes.begin(), kTypes.end(),
                        [&](char const* type) { return find(volume, type) != nullptr; })) {
          names.insert(text_of(volume, "name"));
        }
      }
    }
    return names;
  }

  void check_mounts() const {
    Node const* const mounts = find(*engine_, "volumeMounts");
    if (mounts == nullptr) {
      return;
    }
    std::set<std::string_view> const read_only = read_only_volumes();
    for (Node const& mount : mounts->items) {
      std::string_view const path = text_of(mount, "mountPath");
      std::string const place = place_of(path);
      if (is_in(place, kShimFolder) || is_in(place, kSocketFolder)) {
        refuse(mount, "something is mounted at " + std::string(path) + ", expected nothing there");
      }
      std::string_view const volume = text_of(mount, "name");
      if ((is_parent(place, kShimFolder) || is_parent(place, kSocketFolder)) &&
          (is_true(find(mount, "readOnly")) || read_only.contains(volume))) {
        refuse(mount, "the volume " + std::string(volume) + " is mounted at " + std::string(path) +
                          " and is read-only, expected it to be writable or elsewhere: lastcall's "
                          "volumes are mounted below that folder");
      }
      if (volume.starts_with(kVolumes)) {
        refuse(mount,
               "the volume " + std::string(volume) +
                   " is mounted, expected no volume of lastcall's: the injection decides which "
                   "of them the engine gets");
      }
    }
  }

  void check_variables() const {
    for (std::string_view const name : {kGraceVariable, kSocketVariable}) {
      if (Node const* const variable = find_named(find(*engine_, "env"), name)) {
        refuse(*variable, std::string(name) + " is set, expected it to be left to the injection");
      }
    }
  }

  Ledger const& ledger_;
  Target const& target_;
  Node const* engine_;
};

/// The container that the pod is about if nobody has named the engine's; null if there is none.
Node const* main_container(Target const& target, Node const& containers) {
  std::string_view const usual = target.annotation(kDefaultContainerNote);
  Node const* const noted = usual.empty() ? nullptr : find_named(&containers, usual);
  if (noted != nullptr || containers.items.empty()) {
    return noted;
  }
  auto const found =
      std::find_if(containers.items.begin(), containers.items.end(), [](Node const& each) {
        return std::find(kMeshProxies.begin(), kMeshProxies.end(), text_of(each, "name")) ==
               kMeshProxies.end();
      });
  return found == containers.items.end() ? &containers.items.front() : &*found;
}

}  // namespace

Node const* find_engine(Ledger const& ledger, Options const& options) {
  Node const& containers = *find(*ledger.target.spec, "containers");
  std::string_view const noted = ledger.target.annotation(kContainerNote);
  std::string const wanted = options.container.value_or(std::string(noted));
  Node const* const found =
      wanted.empty() ? main_container(ledger.target, containers) : find_named(&containers, wanted);
  if (found == nullptr) {
    ledger.refuse(containers.begin,
                  containers.items.empty()
                      ? "no containers, expected the engine's"
                      : (options.container ? "no container " + wanted
                                           : std::string(kContainerNote) + " is " + wanted) +
                            ", expected the name of a container of the pod");
    return nullptr;
  }
  if (found->kind == Node::Kind::alias) {
    ledger.refuse(
        found->begin,
        "the engine's container is an alias, expected it written out: an addition would appear "
        "in the other place too");
    return nullptr;
  }
  if (text_of(*found, "name").empty()) {
    ledger.refuse(found->begin, "a container without a name, expected one");
    return nullptr;
  }
  return found;
}

bool can_be_edited(Ledger const& ledger, Node const& engine) {
  return Checks(ledger, engine).run();
}

}  // namespace lastcall::inject
