// Writes a plan into a pod's template.
#include <utility>

#include "inject/decisions.hpp"
#include "inject/injection.hpp"
#include "inject/pod_checks.hpp"
#include "inject/pod_parts.hpp"

namespace lastcall::inject {
namespace {

class Writing {
 public:
  Writing(Ledger const& ledger, Node const& engine, PodPlan const& plan)
      : ledger_(ledger), target_(ledger.target), engine_(engine), plan_(plan) {}

  /// Deeper edits are made first: two edits at one place are applied in the order they are made.
  void run() {
    edit_engine();
    edit_spec();
    edit_annotations();
  }

 private:
  Node const& spec() const { return *target_.spec; }

  void refuse(Node const& at, std::string text) const { ledger_.refuse(at.begin, std::move(text)); }

  /// Extends a list that may not exist yet. If the map lacks the key, it is added to `lacking`.
  void extend(Node const& map, char const* key, std::vector<Value> const& front,
              std::vector<Value> const& back, std::vector<Member>& lacking) {
    std::vector<Value> all = front;
    all.insert(all.end(), back.begin(), back.end());
    Entry const* const entry = find_entry(map, key);
    if (entry == nullptr) {
      record_.made.insert(key);
      lacking.push_back({key, Value::list(std::move(all))});
    } else if (entry->value.kind == Node::Kind::null) {
      fill(map, *entry, key, Value::list(std::move(all)));
    } else if (entry->value.kind != Node::Kind::list) {
      refuse(entry->value, std::string(key) + " is not a list, expected one");
    } else if (entry->value.items.empty()) {
      ledger_.editor.prepend(entry->value, all);
    } else {
      if (!front.empty()) {
        ledger_.editor.prepend(entry->value, front);
      }
      for (Value const& value : back) {
        ledger_.editor.append(entry->value, value);
      }
    }
  }

  /// Lines are added below "env:"; "env: null" and a value in brackets are replaced.
  void fill(Node const& map, Entry const& entry, char const* key, Value const& value) {
    bool const is_written = entry.value.end > entry.value.begin && entry.value.end != kNowhere;
    if (!is_written && !map.is_flow) {
      ledger_.editor.fill(entry, value);
    } else if (is_written) {
      record_.was[key] =
          ledger_.input.text.substr(entry.value.begin, entry.value.end - entry.value.begin);
      ledger_.editor.replace(entry.value, map.is_flow ? to_json(value) : to_flow(value));
    } else {
      refuse(entry.key, std::string(key) + " has no value, expected it to be left out");
    }
  }

  void edit_engine() {
    std::vector<Member> lacking;
    if (!plan_.is_prestop) {
      ledger_.editor.prepend(*find(engine_, "command"), shim_words(plan_));
    }
    extend(engine_, "env", {}, engine_env(plan_), lacking);
    extend(engine_, "volumeMounts", {}, engine_mounts(), lacking);
    if (plan_.is_prestop) {
      add_hook(lacking);
      add_probes(lacking);
    }
    ledger_.editor.add(engine_, lacking);
  }

  void add_hook(std::vector<Member>& lacking) {
    Member hook{"preStop", engine_hook()};
    Entry const* const lifecycle = find_entry(engine_, "lifecycle");
    if (lifecycle == nullptr) {
      record_.made.insert("lifecycle");
      lacking.push_back({"lifecycle", Value::map({std::move(hook)})});
    } else if (lifecycle->value.kind == Node::Kind::null) {
      fill(engine_, *lifecycle, "lifecycle", Value::map({std::move(hook)}));
    } else if (Entry const* const empty = find_entry(lifecycle->value, "preStop")) {
      fill_map(lifecycle->value, *empty, "preStop", hook.value);
    } else if (lifecycle->value.kind == Node::Kind::map) {
      record_.made.insert("preStop");
      ledger_.editor.add(lifecycle->value, {std::move(hook)});
    } else {
      refuse(lifecycle->value, "lifecycle is not a map, expected one");
    }
  }

  void add_probes(std::vector<Member>& lacking) {
    if (Node const* const own = find(engine_, "livenessProbe"); own != nullptr && !is_null(own)) {
      ledger_.note(own->begin,
                   "the container's own liveness probe decides when it is restarted; lastcall's "
                   "verdict is at /engine/livez of port 7090");
      return;
    }
    Node const* const startup = find(engine_, "startupProbe");
    if (startup == nullptr || is_null(startup)) {
      add_probe("startupProbe", engine_startup_probe(), lacking);
    }
    add_probe("livenessProbe", engine_liveness_probe(), lacking);
  }

  void add_probe(char const* key, Value probe, std::vector<Member>& lacking) {
    if (Entry const* const empty = find_entry(engine_, key)) {
      fill_map(engine_, *empty, key, probe);
    } else {
      record_.made.insert(key);
      lacking.push_back({key, std::move(probe)});
    }
  }

  /// The record has every key whose null became a map, so that none of the map's entries stays.
  void fill_map(Node const& map, Entry const& entry, char const* key, Value const& value) {
    record_.was[key] = "";
    fill(map, entry, key, value);
  }

  void edit_spec() {
    std::vector<Member> lacking;
    edit_grace(lacking);
    std::vector<Value> last;
    if (plan_.is_native) {
      last.push_back(sidecar(plan_));
    } else {
      ledger_.editor.prepend(*find(spec(), "containers"), {sidecar(plan_)});
    }
    extend(spec(), "initContainers", {installer(plan_)}, last, lacking);
    extend(spec(), "volumes", {}, volumes(plan_), lacking);
    record_.secrets = lacking_secrets(plan_, find(spec(), "imagePullSecrets"));
    if (!record_.secrets.empty()) {
      extend(spec(), "imagePullSecrets", {}, pull_secrets(record_.secrets), lacking);
    }
    ledger_.editor.add(spec(), lacking);
  }

  void edit_grace(std::vector<Member>& lacking) {
    Entry const* const own = find_entry(spec(), kGraceKey);
    Value const grace = Value::number(plan_.pod_grace);
    if (own == nullptr) {
      record_.made.insert(kGraceKey);
      lacking.push_back({kGraceKey, grace});
    } else if (own->value.text != grace.text) {
      Node const& value = own->value;
      if (is_null(&value) && value.end == value.begin && value.anchor == 0) {
        record_.was[kGraceKey] = "";  // a template whose variable is not set leaves such a line
        ledger_.editor.fill_in_line(*own, grace.text);
        return;
      }
      if (value.end == kNowhere || value.end <= value.begin || value.anchor != 0) {
        refuse(own->key, std::string(kGraceKey) + " cannot be raised there, expected a number");
        return;
      }
      record_.was[kGraceKey] = ledger_.input.text.substr(value.begin, value.end - value.begin);
      ledger_.editor.replace(value, grace.text);
    }
  }

  void edit_annotations() {
    record_.container = text_of(engine_, "name");
    record_.path = target_.is_template ? "" : target_.path;
    std::vector<Member> notes;
    if (!plan_.config.empty() && target_.annotation(kConfigNote).empty()) {
      record_.made.insert("config");
      notes.push_back({std::string(kConfigNote), plan_.config});
    }
    Entry const* const metadata = find_entry(*target_.holder, "metadata");
    bool const has_metadata = metadata != nullptr && metadata->value.kind == Node::Kind::map;
    Entry const* const annotations =
        has_metadata ? find_entry(metadata->value, "annotations") : nullptr;
    bool const has_annotations =
        annotations != nullptr && annotations->value.kind == Node::Kind::map;
    if (!has_annotations && annotations == nullptr) {
      record_.made.insert("annotations");
    }
    if (metadata == nullptr) {
      record_.made.insert("metadata");
    }
    write_annotations(metadata, annotations, std::move(notes));
  }

  void write_annotations(Entry const* metadata, Entry const* annotations,
                         std::vector<Member> notes) {
    auto const with_record = [&] {
      std::vector<Member> all = notes;
      all.push_back({std::string(kRecord), to_text(record_)});
      return all;
    };
    if (annotations != nullptr && annotations->value.kind == Node::Kind::map) {
      ledger_.editor.add(annotations->value, with_record());
    } else if (annotations != nullptr) {
      remember_null(*annotations, "annotations");
      fill(metadata->value, *annotations, "annotations", Value::map(with_record()));
    } else if (metadata == nullptr) {
      ledger_.editor.add(*target_.holder, {{"metadata", wrapped(with_record())}});
    } else if (metadata->value.kind == Node::Kind::map) {
      ledger_.editor.add(metadata->value, {{"annotations", Value::map(with_record())}});
    } else {
      remember_null(*metadata, "metadata");
      fill(*target_.holder, *metadata, "metadata", wrapped(with_record()));
    }
  }

  static Value wrapped(std::vector<Member> notes) {
    return Value::map({{"annotations", Value::map(std::move(notes))}});
  }

  /// The record may be part of what replaces a written null, so it has to know of it beforehand.
  void remember_null(Entry const& entry, char const* key) {
    if (entry.value.end != kNowhere && entry.value.end > entry.value.begin) {
      record_.was[key] =
          ledger_.input.text.substr(entry.value.begin, entry.value.end - entry.value.begin);
    }
  }

  Ledger const& ledger_;
  Target const& target_;
  Node const& engine_;
  PodPlan const& plan_;
  Record record_;
};

}  // namespace

void Ledger::refuse(std::size_t at, std::string text) const {
  refusals.push_back({lines.place_at(at, input.name), target.label(), std::move(text)});
}

void Ledger::note(std::size_t at, std::string text) const {
  notes.push_back({lines.place_at(at, input.name), target.label(), std::move(text)});
}

std::vector<Target> recorded_targets(Stream const& stream) {
  return annotated_targets(stream, kRecord, [](std::string_view note) {
    std::optional<Record> const record = parse_record(note);
    return record ? record->path : std::string();
  });
}

std::optional<Record> record_of(Target const& target) {
  return parse_record(target.annotation(kRecord));
}

bool has_sidecar(Target const& target) {
  return find_named(find(*target.spec, "initContainers"), kSidecar) != nullptr ||
         find_named(find(*target.spec, "containers"), kSidecar) != nullptr;
}

void put_in(Ledger const& ledger, Options const& options) {
  Node const* const engine = find_engine(ledger, options);
  if (engine == nullptr || !can_be_edited(ledger, *engine)) {
    return;
  }
  std::size_t const before = ledger.refusals.size();
  PodPlan const plan = decide(ledger, options, *engine);
  if (ledger.refusals.size() == before) {
    Writing(ledger, *engine, plan).run();
  }
}

}  // namespace lastcall::inject
