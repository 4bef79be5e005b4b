#include "inject/function_config.hpp"

#include <algorithm>
#include <utility>

namespace lastcall::inject {
namespace {

class Reader {
 public:
  Reader(Input const& input, Options& options) : input_(input), options_(options) {}

  config::Problems take(Node const& spec) {
    for (Entry const& entry : spec.entries) {
      read(entry);
    }
    return std::move(problems_);
  }

 private:
  void refuse(Node const& at, std::string const& key, std::string text) {
    problems_.push_back({place_at(input_.text, at.begin, input_.name), "functionConfig.spec." + key,
                         std::move(text)});
  }

  std::string word(Entry const& entry) {
    if (entry.value.kind != Node::Kind::scalar) {
      refuse(entry.value, entry.key.text, "expected a text");
      return {};
    }
    return entry.value.text;
  }

  std::vector<std::string> list(Entry const& entry) {
    std::vector<std::string> words;
    for (Node const& item : entry.value.items) {
      words.push_back(item.text);
    }
    if (entry.value.kind != Node::Kind::list) {
      refuse(entry.value, entry.key.text, "expected a list of texts");
    }
    return words;
  }

  void read(Entry const& entry) {
    std::string const& key = entry.key.text;
    if (key == "container") {
      options_.container = word(entry);
    } else if (key == "image") {
      options_.pod.image = word(entry);
    } else if (key == "shimImage") {
      options_.pod.shim_image = word(entry);
    } else if (key == "config") {
      options_.config = word(entry);
    } else if (key == "set") {
      options_.overrides = list(entry);
    } else if (key == "only") {
      options_.only = list(entry);
    } else if (key == "template") {
      read_templates(entry);
    } else if (key == "mode" || key == "requireShim") {
      read_choice(entry);
    } else {
      refuse(entry.key, key,
             "unknown key, expected container, only, template, mode, image, shimImage, "
             "requireShim, set or config");
    }
  }

  void read_templates(Entry const& entry) {
    for (std::string const& text : list(entry)) {
      if (std::optional<TemplatePath> path = parse_template(text)) {
        options_.templates.push_back(std::move(*path));
      } else {
        refuse(entry.value, entry.key.text, "expected KIND=PATH, such as ServingRuntime=spec");
      }
    }
  }

  void read_choice(Entry const& entry) {
    std::string const value = word(entry);
    bool const is_mode = entry.key.text == "mode";
    std::string_view const yes = is_mode ? "native" : "true";
    std::string_view const no = is_mode ? "plain" : "false";
    if (value != yes && value != no) {
      refuse(entry.value, entry.key.text,
             "expected " + std::string(yes) + " or " + std::string(no));
    } else if (is_mode) {
      options_.is_native = value == yes;
    } else {
      options_.requires_shim = value == yes;
    }
  }

  Input const& input_;
  Options& options_;
  config::Problems problems_;
};

}  // namespace

config::Problems read_function_config(Input const& input, Options& options) {
  if (input.text.find("ResourceList") == std::string::npos) {
    return {};
  }
  Stream const stream = parse_stream(input.text, input.name);
  if (stream.documents.empty() || text_of(stream.documents[0].root, "kind") != "ResourceList") {
    return {};
  }
  Node const* const spec = find_path(stream.documents[0].root, "functionConfig.spec");
  return spec == nullptr ? config::Problems() : Reader(input, options).take(*spec);
}

std::optional<TemplatePath> parse_template(std::string_view text) {
  std::size_t const equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos || equals + 1 == text.size() ||
      text.find("..") != std::string_view::npos || text.find_first_of(" ,:") != text.npos) {
    return std::nullopt;
  }
  return TemplatePath{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

}  // namespace lastcall::inject
