#include "inject/selection.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/words.hpp"

namespace lastcall::inject {
namespace {

constexpr std::string_view kMark = "lastcall.dev/inject";

class Selector {
 public:
  Selector(std::vector<Input> const& inputs, Options const& options)
      : inputs_(inputs), options_(options) {}

  /// `hidden` has the workloads with containers that cannot be seen.
  Selection take(std::vector<Choice> all, std::vector<Choice> hidden,
                 std::vector<Stream> const& streams) {
    for (TemplatePath const& given : options_.templates) {
      refuse_dead_end(given, all, streams);
    }
    for (std::vector<Choice>* const choices : {&all, &hidden}) {
      std::erase_if(*choices,
                    [](Choice const& each) { return each.target.mark(kMark) == "false"; });
    }
    bool const are_marked = std::any_of(all.begin(), all.end(), is_marked) ||
                            std::any_of(hidden.begin(), hidden.end(), is_marked);
    bool const are_named = !options_.only.empty();
    refuse_missing(all, hidden);
    for (Choice const& each : all) {
      bool const is_meant = are_named ? is_named(each) : !are_marked || is_marked(each);
      if (is_meant && has_container(each, are_named || are_marked)) {
        selection_.chosen.push_back(each);
      }
    }
    bool const may_be_meant = !options_.container || selection_.chosen.empty();
    for (Choice const& each : hidden) {
      if (are_named ? is_named(each) : are_marked ? is_marked(each) : may_be_meant) {
        refuse_hidden(each);
      }
    }
    if (options_.container && selection_.chosen.empty() && selection_.refusals.empty() &&
        !all.empty()) {
      selection_.refusals.push_back(
          {{"--container " + *options_.container, 0, 0},
           "",
           "no workload has such a container, expected one of " + containers_of(all)});
    }
    if (!are_named && !are_marked && selection_.chosen.size() > 1) {
      refuse_ambiguous();
    }
    return std::move(selection_);
  }

 private:
  static bool is_marked(Choice const& each) { return each.target.mark(kMark) == "true"; }

  bool is_named(Choice const& each) const {
    return std::find(options_.only.begin(), options_.only.end(), each.target.label()) !=
           options_.only.end();
  }

  void refuse_hidden(Choice const& each) {
    Input const& input = inputs_[each.input];
    selection_.refusals.push_back(
        {place_at(input.text, each.target.spec->begin, input.name), each.target.label(),
         "an alias or a merge key hides its containers, expected them written out"});
  }

  void refuse_missing(std::vector<Choice> const& all, std::vector<Choice> const& hidden) {
    for (std::string const& name : options_.only) {
      auto const has_name = [&](Choice const& each) { return each.target.label() == name; };
      if (std::none_of(all.begin(), all.end(), has_name) &&
          std::none_of(hidden.begin(), hidden.end(), has_name)) {
        selection_.refusals.push_back(
            {{"--only " + name, 0, 0},
             "",
             "no such workload, expected KIND/NAME of " +
                 (all.empty() ? std::string("an object with a pod template") : labels(all))});
      }
    }
  }

  /// Refuses a path at which no object of its kind has a pod: nothing would be injected there.
  void refuse_dead_end(TemplatePath const& given, std::vector<Choice> const& all,
                       std::vector<Stream> const& streams) {
    if (std::any_of(all.begin(), all.end(), [&](Choice const& each) {
          return each.target.kind == given.kind && each.target.path == given.path;
        })) {
      return;
    }
    for (std::size_t i = 0; i < streams.size(); ++i) {
      std::vector<Node const*> const objects = objects_of(streams[i], given.kind);
      if (!objects.empty()) {
        selection_.refusals.push_back(
            {place_at(inputs_[i].text, objects.front()->begin, inputs_[i].name), "",
             "no pod at " + given.path + " of this " + given.kind +
                 ", expected --template with the path to a pod's template or to its spec, which "
                 "has `containers`"});
        return;
      }
    }
  }

  /// Without `container` every workload qualifies, whatever its containers are called.
  bool has_container(Choice const& each, bool is_chosen) {
    if (!options_.container) {
      return true;
    }
    Node const* const containers = find(*each.target.spec, "containers");
    if (find_named(containers, *options_.container) != nullptr) {
      return true;
    }
    if (is_chosen) {
      Input const& input = inputs_[each.input];
      selection_.refusals.push_back({place_at(input.text, containers->begin, input.name),
                                     each.target.label(),
                                     "no container " + *options_.container +
                                         ", expected --container with one of its containers"});
    }
    return false;
  }

  void refuse_ambiguous() {
    Choice const& second = selection_.chosen[1];
    Input const& input = inputs_[second.input];
    selection_.refusals.push_back(
        {place_at(input.text, second.target.object->begin, input.name), "",
         std::to_string(selection_.chosen.size()) + " workloads (" + labels(selection_.chosen) +
             "), expected --only KIND/NAME, --container NAME, or the annotation " +
             std::string(kMark) + ": \"true\" on those that run an engine"});
  }

  static std::string containers_of(std::vector<Choice> const& choices) {
    std::string text;
    for (Choice const& choice : choices) {
      for (Node const& container : find(*choice.target.spec, "containers")->items) {
        text += (text.empty() ? "" : ", ") + std::string(text_of(container, "name"));
      }
    }
    return text;
  }

  static std::string labels(std::vector<Choice> const& choices) {
    constexpr std::size_t kMost = 8;
    auto const shown = std::span(choices).first(std::min(choices.size(), kMost));
    return joined(shown, ", ", [](Choice const& choice) { return choice.target.label(); }) +
           (choices.size() > kMost ? ", ..." : "");
  }

  std::vector<Input> const& inputs_;
  Options const& options_;
  Selection selection_;
};

}  // namespace

Selection select(std::vector<Input> const& inputs, std::vector<Stream> const& streams,
                 Options const& options) {
  std::vector<Choice> all;
  std::vector<Choice> hidden;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    Targets targets = targets_of(streams[i], options.templates);
    for (Target& target : targets.found) {
      all.push_back({i, std::move(target)});
    }
    for (Target& target : targets.hidden) {
      hidden.push_back({i, std::move(target)});
    }
  }
  return Selector(inputs, options).take(std::move(all), std::move(hidden), streams);
}

}  // namespace lastcall::inject
