// Removes from a pod's template what an injection has inserted.
#include <algorithm>
#include <functional>
#include <utility>

#include "inject/decisions.hpp"
#include "inject/injection.hpp"
#include "inject/pod_parts.hpp"

namespace lastcall::inject {
namespace {

using Chosen = std::function<bool(Node const&)>;

Chosen with_name(std::vector<std::string_view> names) {
  return [names = std::move(names)](Node const& item) {
    return std::find(names.begin(), names.end(), text_of(item, "name")) != names.end();
  };
}

bool is_our_volume(Node const& item) {
  return text_of(item, "name").starts_with(kVolumes);
}

class Removal {
 public:
  Removal(Ledger const& ledger, Record const& record)
      : ledger_(ledger), target_(ledger.target), record_(record) {}

  void run() {
    Node const* const containers = find(*target_.spec, "containers");
    Node const* const engine = find_named(containers, record_.container);
    if (engine == nullptr) {
      ledger_.refuse(containers->begin, "the annotation lastcall.dev/injected names container " +
                                            record_.container + ", expected it to be there");
      return;
    }
    take_out_of_engine(*engine);
    take_out_of_spec(*containers);
    take_out_notes();
  }

 private:
  bool made(std::string_view key) const { return record_.made.contains(key); }

  /// Removes the items that are ours. True if the caller has to remove the key, which was made for
  /// them.
  bool empty(Node const& map, char const* key, Chosen const& chosen) {
    Node const* const list = find(map, key);
    if (list == nullptr || list->kind != Node::Kind::list) {
      return false;
    }
    bool const all_ours = std::all_of(list->items.begin(), list->items.end(), chosen);
    auto const before = record_.was.find(key);
    if (all_ours && made(key)) {
      return true;
    }
    if (all_ours && before != record_.was.end()) {
      ledger_.editor.replace(*list, before->second);
    } else {
      ledger_.editor.remove_items(*list, chosen);
    }
    return false;
  }

  void remove(Node const& map, std::vector<std::string_view> const& keys) {
    ledger_.editor.remove_entries(map, [&](Entry const& entry) {
      return std::find(keys.begin(), keys.end(), entry.key.text) != keys.end();
    });
  }

  void take_out_of_engine(Node const& engine) {
    std::vector<std::string_view> keys;
    take_out_shim(engine);
    if (empty(engine, "env", with_name({kGraceVariable, kSocketVariable}))) {
      keys.emplace_back("env");
    }
    if (empty(engine, "volumeMounts", is_our_volume)) {
      keys.emplace_back("volumeMounts");
    }
    for (char const* const key : {"startupProbe", "livenessProbe"}) {
      if (made(key)) {
        keys.emplace_back(key);
      } else {
        empty_map(find(engine, key), key);
      }
    }
    if (take_out_hook(engine)) {
      keys.emplace_back("lifecycle");
    }
    remove(engine, keys);
  }

  /// Removes "/opt/lastcall/lastcall-shim", its options and "--".
  void take_out_shim(Node const& engine) {
    Node const* const command = find(engine, "command");
    if (command == nullptr || command->items.empty() || command->items.front().text != kShim) {
      return;
    }
    auto const dashes = std::find_if(command->items.begin(), command->items.end(),
                                     [](Node const& word) { return word.text == "--"; });
    if (dashes == command->items.end()) {
      ledger_.refuse(command->begin,
                     "no `--` after the shim, expected one before the engine's own command");
      return;
    }
    std::size_t const last = dashes->begin;
    ledger_.editor.remove_items(*command, [&](Node const& word) { return word.begin <= last; });
  }

  /// Makes a map of ours a null again, if it was one. True if it was.
  bool empty_map(Node const* map, char const* key) {
    auto const before = record_.was.find(key);
    if (map == nullptr || before == record_.was.end()) {
      return false;
    }
    if (before->second.empty()) {
      ledger_.editor.remove_entries(*map, [](Entry const& /*entry*/) { return true; });
    } else {
      ledger_.editor.replace(*map, before->second);
    }
    return true;
  }

  /// True if the caller has to remove the key.
  bool take_out_hook(Node const& engine) {
    Node const* const lifecycle = find(engine, "lifecycle");
    if (lifecycle == nullptr) {
      return false;
    }
    auto const before = record_.was.find("lifecycle");
    if (made("lifecycle")) {
      return true;
    }
    if (before != record_.was.end()) {
      ledger_.editor.replace(*lifecycle, before->second);
    } else if (empty_map(find(*lifecycle, "preStop"), "preStop")) {
      return false;
    } else if (made("preStop") || is_hook_of_ours(*lifecycle)) {
      remove(*lifecycle, {"preStop"});
    }
    return false;
  }

  static bool is_hook_of_ours(Node const& lifecycle) {
    Node const* const command = find_path(lifecycle, "preStop.exec.command");
    return command != nullptr && !command->items.empty() && command->items.front().text == kShim;
  }

  void take_out_of_spec(Node const& containers) {
    std::vector<std::string_view> keys;
    if (made(kGraceKey)) {
      keys.emplace_back(kGraceKey);
    } else if (auto const before = record_.was.find(kGraceKey); before != record_.was.end()) {
      Entry const* const grace = find_entry(*target_.spec, kGraceKey);
      if (grace != nullptr && before->second.empty()) {
        ledger_.editor.empty_in_line(*grace);
      } else if (grace != nullptr) {
        ledger_.editor.replace(grace->value, before->second);
      }
    }
    ledger_.editor.remove_items(containers, with_name({kSidecar}));
    if (empty(*target_.spec, "initContainers", with_name({kInstaller, kSidecar}))) {
      keys.emplace_back("initContainers");
    }
    if (empty(*target_.spec, "volumes", is_our_volume)) {
      keys.emplace_back("volumes");
    }
    std::vector<std::string_view> const secrets(record_.secrets.begin(), record_.secrets.end());
    if (!secrets.empty() && empty(*target_.spec, "imagePullSecrets", with_name(secrets))) {
      keys.emplace_back("imagePullSecrets");
    }
    remove(*target_.spec, keys);
  }

  std::vector<std::string_view> our_notes() const {
    std::vector<std::string_view> notes{kRecord};
    if (made("config")) {
      notes.push_back(kConfigNote);
    }
    return notes;
  }

  void take_out_notes() {
    Node const* const metadata = find(*target_.holder, "metadata");
    Node const* const notes = target_.annotations();
    std::vector<std::string_view> const ours = our_notes();
    bool const all_ours =
        std::all_of(notes->entries.begin(), notes->entries.end(), [&](Entry const& entry) {
          return std::find(ours.begin(), ours.end(), entry.key.text) != ours.end();
        });
    bool const alone = all_ours && metadata->entries.size() == 1;
    auto const metadata_was = record_.was.find("metadata");
    auto const annotations_was = record_.was.find("annotations");
    if (alone && made("metadata")) {
      remove(*target_.holder, {"metadata"});
    } else if (alone && metadata_was != record_.was.end()) {
      ledger_.editor.replace(*metadata, metadata_was->second);
    } else if (all_ours && made("annotations")) {
      remove(*metadata, {"annotations"});
    } else if (all_ours && annotations_was != record_.was.end()) {
      ledger_.editor.replace(*notes, annotations_was->second);
    } else {
      remove(*notes, ours);
    }
  }

  Ledger const& ledger_;
  Target const& target_;
  Record const& record_;
};

}  // namespace

void take_out(Ledger const& ledger, Record const& record) {
  Removal(ledger, record).run();
}

}  // namespace lastcall::inject
