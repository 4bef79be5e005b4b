#include "config/reference.hpp"

#include <string_view>

#include "config/keys.hpp"
#include "config/load.hpp"

namespace lastcall::config {
namespace {

constexpr std::string_view kIntroduction = R"(# Configuration

<!-- Generated from config/keys*.cpp by `ninja -C build/dev config_reference`. Do not edit. -->

The configuration is one YAML file, and every key in it is optional: an empty file means the
defaults below. `lastcall check` validates a file and prints every problem at once; `lastcall plan`
prints the shutdown timeline that results from it.

Values are looked up in this order, and the last one found applies:

1. the defaults,
2. the file of `--config`, else of `$LASTCALL_CONFIG`, else `/etc/lastcall/lastcall.yaml` if it
   exists,
3. the environment variables named below,
4. `--set a.b=value`, which may be repeated; they apply in their order, so that the last of
   two for one key applies. Lists and sections are written as YAML
   (`--set 'cleanup.paths=[/tmp/lora-*]'`, `--set 'log={level: debug, format: text}'`); any other
   value is taken literally, without quotes. An empty value or `null` unsets an optional key. A list
   replaces the list of the file.

The file is read strictly. Unknown and duplicate keys, quoted numbers, unquoted texts that look like
numbers or booleans, anchors, aliases, tags, a second document, and values out of range are errors,
each with its place. Durations are whole numbers with a unit: `500ms`, `60s`, `2m`, `1h`. Addresses
are `host:port`, with IPv6 in brackets.

A default in *italics* depends on other keys, the preset or the environment.

## Changing it while it runs

`lastcall reload`, or SIGHUP at `lastcall serve`, reads the same sources again. Keys marked **live**
change at once. Any other key that differs keeps its value and is reported with the reason: it needs
a restart of the supervisor, which the engine does not notice. A file with errors changes nothing:
the old configuration stays, and all errors are logged and printed. During a stop the configuration
is not read.

In a container whose PID 1 is the shim, which includes `lastcall run`, the shim forwards SIGHUP to
the engine, as it does with every signal except the stop signals. Use `lastcall reload` there.
)";

/// Escapes pipes, which would end a table cell.
std::string cell(std::string_view text) {
  std::string out;
  for (char const c : text) {
    out += c == '|' ? std::string("\\|") : std::string(1, c);
  }
  return out;
}

std::string choices(Choice const& choice) {
  std::string text;
  for (std::string_view const name : choice.names) {
    text += (text.empty() ? "`" : ", `") + std::string(name) + "`";
  }
  return text;
}

std::string type_cell(Key const& key) {
  if (Choice const* choice = std::get_if<Choice>(&key.slot)) {
    return choices(*choice);
  }
  std::string text(type_text(key));
  if (std::string const range = range_text(key); !range.empty()) {
    text += ", " + range;
  }
  return text;
}

std::string default_cell(Key const& key) {
  if (key.required) {
    return "required";
  }
  if (std::string const value = value_text(key); !value.empty()) {
    return "`" + value + "`";
  }
  return key.unset.empty() ? "" : "*" + std::string(key.unset) + "*";
}

std::string meaning_cell(Key const& key) {
  std::string text(key.doc);
  if (key.form != nullptr && key.form != &kAnyText && key.form != &kArgument) {
    text += " " + std::string("Expected: ") + std::string(key.form->expected) + ".";
  }
  if (!key.env.empty()) {
    text += " Variable: `" + std::string(key.env) + "`.";
  }
  if (key.live) {
    text += " **live**";
  }
  return text;
}

std::string row(std::string const& path, Key const& key) {
  return "| `" + path + "` | " + cell(type_cell(key)) + " | " + cell(default_cell(key)) + " | " +
         cell(meaning_cell(key)) + " |\n";
}

constexpr std::string_view kTableHead = "| key | type | default | meaning |\n|---|---|---|---|\n";

/// The tables of a list's elements.
std::string list_reference(std::string_view path, Items const& items) {
  Keys const keys = items.append();
  std::string text = "\n### " + std::string(path) + "[]\n\n" + std::string(kTableHead);
  std::string alternatives;
  for (Key const& key : keys) {
    OneOf const* one_of = std::get_if<OneOf>(&key.slot);
    if (one_of == nullptr) {
      text += row(std::string(key.path), key);
      continue;
    }
    alternatives += "\nExactly one of:\n\n";
    for (Alternative const& alternative : one_of->alternatives) {
      alternatives +=
          "- `" + std::string(alternative.name) + "`: " + std::string(alternative.doc) + "\n";
    }
    alternatives += "\n" + std::string(kTableHead);
    for (Alternative const& alternative : one_of->alternatives) {
      for (Key const& inner : alternative.select()) {
        alternatives += row(std::string(alternative.name) + "." + std::string(inner.path), inner);
      }
    }
  }
  return text + alternatives;
}

}  // namespace

std::string reference_markdown() {
  Config config;
  return reference_markdown(kIntroduction, keys_of(config));
}

std::string reference_markdown(std::string_view introduction, Keys const& keys) {
  std::string text(introduction);
  std::string lists;  // the current top-level key's, which follow its table
  for (Key const& key : keys) {
    bool const is_top_level = key.path.find('.') == std::string_view::npos;
    bool const is_section = std::holds_alternative<Section>(key.slot);
    if (is_top_level) {
      text += lists + "\n## " + std::string(key.path) + "\n\n" + std::string(key.doc) + "\n";
      text += is_section ? "\n" + std::string(kTableHead) : "";
      lists.clear();
    } else if (is_section) {
      text += "| `" + std::string(key.path) + "` | section | | " + cell(key.doc) + " |\n";
    } else {
      text += row(std::string(key.path), key);
    }
    if (Items const* items = std::get_if<Items>(&key.slot)) {
      lists += list_reference(key.path, *items);
    }
  }
  return text + lists;
}

}  // namespace lastcall::config
