#include "inject/inject.hpp"

#include <algorithm>
#include <utility>

#include "inject/injection.hpp"
#include "inject/selection.hpp"

namespace lastcall::inject {
namespace {

constexpr char const* kUnknownLayout =
    "its layout is not one that can be edited safely, expected one that a formatter writes "
    "(`kubectl "
    "create --dry-run=client -o yaml -f -`)";

/// Whether everything that was there before is still there, in its order. Only graces and nulls are
/// replaced on purpose.
bool extends(Node const& before, Node const& now) {
  if (before.kind == Node::Kind::null) {
    return true;
  }
  if (before.kind != now.kind) {
    return false;
  }
  if (before.kind == Node::Kind::list) {
    auto at = now.items.begin();
    for (Node const& item : before.items) {
      at = std::find_if(at, now.items.end(), [&](Node const& each) { return extends(item, each); });
      if (at == now.items.end()) {
        return false;
      }
      ++at;
    }
    return true;
  }
  auto at = now.entries.begin();
  for (Entry const& entry : before.entries) {
    at = std::find_if(at, now.entries.end(), [&](Entry const& each) {
      bool const is_grace = entry.key.text == "terminationGracePeriodSeconds";
      return same(entry.key, each.key) && (is_grace || extends(entry.value, each.value));
    });
    if (at == now.entries.end()) {
      return false;
    }
    ++at;
  }
  return before.kind == Node::Kind::map || same(before, now);
}

/// One pass over all inputs, with the edits of each.
class Pass {
 public:
  explicit Pass(std::vector<Input> const& inputs) : inputs_(inputs) {
    for (Input const& input : inputs) {
      streams.push_back(parse_stream(input.text, input.name));
      editors_.emplace_back(input.text);
      lines_.emplace_back(input.text);
      outcome.refusals.insert(outcome.refusals.end(), streams.back().problems.begin(),
                              streams.back().problems.end());
    }
  }

  Ledger ledger(std::size_t input, Target const& target) {
    return {inputs_[input],  lines_[input],    target,
            editors_[input], outcome.refusals, outcome.notes};
  }

  void refuse_trouble(std::size_t input, Target const& target) {
    if (auto const& trouble = editors_[input].trouble()) {
      ledger(input, target).refuse(trouble->at, trouble->what + ": " + kUnknownLayout);
    }
  }

  void finish() {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      outcome.texts.push_back(edited(inputs_[i].text, editors_[i].edits()));
    }
  }

  std::vector<Stream> streams;
  Outcome outcome;

 private:
  std::vector<Input> const& inputs_;
  std::vector<Editor> editors_;
  std::vector<LineIndex> lines_;
};

using Meant = std::function<bool(std::size_t input, Target const&)>;

/// The inputs without our injections that `is_meant` selects.
Outcome stripped(std::vector<Input> const& inputs, Meant const& is_meant) {
  Pass pass(inputs);
  for (std::size_t i = 0; pass.outcome.refusals.empty() && i < inputs.size(); ++i) {
    for (Target const& target : recorded_targets(pass.streams[i])) {
      std::optional<Record> const record = record_of(target);
      if (record && is_meant(i, target)) {
        take_out(pass.ledger(i, target), *record);
        pass.refuse_trouble(i, target);
        pass.outcome.changed.push_back(target.label());
      }
    }
  }
  pass.finish();
  return std::move(pass.outcome);
}

Outcome stripped(std::vector<Input> const& inputs) {
  return stripped(inputs, [](std::size_t, Target const&) { return true; });
}

std::vector<Input> with_texts(std::vector<Input> inputs, std::vector<std::string> const& texts) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].text = texts[i];
  }
  return inputs;
}

/// Reads the output again, and refuses it if it is not as required.
void prove(std::vector<Input> const& before, Outcome& outcome) {
  std::vector<Input> const after = with_texts(before, outcome.texts);
  bool const is_undone = stripped(after).texts == stripped(before).texts;
  for (std::size_t i = 0; i < before.size(); ++i) {
    Stream const old = parse_stream(before[i].text, before[i].name);
    Stream const now = parse_stream(after[i].text, after[i].name);
    bool is_good =
        is_undone && now.problems.empty() && old.documents.size() == now.documents.size();
    for (std::size_t k = 0; is_good && k < old.documents.size(); ++k) {
      is_good = extends(old.documents[k].root, now.documents[k].root);
    }
    if (!is_good) {
      outcome.refusals.push_back({{before[i].name, 1, 1}, "", kUnknownLayout});
    }
  }
}

/// The inputs with the selected workloads as they were before an earlier injection.
Outcome prepared(std::vector<Input> const& inputs, Options const& options) {
  Pass pass(inputs);
  if (!pass.outcome.refusals.empty()) {
    return std::move(pass.outcome);
  }
  Selection const selection = select(inputs, pass.streams, options);
  if (!selection.refusals.empty()) {
    return {.texts = {}, .refusals = selection.refusals, .notes = {}, .changed = {}};
  }
  return stripped(inputs, [&](std::size_t input, Target const& target) {
    return std::any_of(selection.chosen.begin(), selection.chosen.end(), [&](Choice const& each) {
      return each.input == input && each.target.spec->begin == target.spec->begin;
    });
  });
}

}  // namespace

Outcome inject(std::vector<Input> const& inputs, Options const& options) {
  Outcome base = prepared(inputs, options);
  if (!base.refusals.empty()) {
    return base;
  }
  std::vector<Input> const clean = with_texts(inputs, base.texts);
  Pass pass(clean);
  Selection const selection = select(clean, pass.streams, options);
  for (Choice const& choice : selection.chosen) {
    Ledger const ledger = pass.ledger(choice.input, choice.target);
    if (has_sidecar(choice.target)) {
      ledger.note(choice.target.spec->begin,
                  "already has lastcall, but not from `lastcall inject`: left as it is");
      continue;
    }
    put_in(ledger, options);
    pass.refuse_trouble(choice.input, choice.target);
    pass.outcome.changed.push_back(choice.target.label());
  }
  pass.finish();
  if (pass.outcome.refusals.empty()) {
    prove(clean, pass.outcome);
  }
  return std::move(pass.outcome);
}

Outcome uninject(std::vector<Input> const& inputs, Options const& options) {
  return stripped(inputs, [&](std::size_t, Target const& target) {
    return options.only.empty() || std::find(options.only.begin(), options.only.end(),
                                             target.label()) != options.only.end();
  });
}

}  // namespace lastcall::inject
