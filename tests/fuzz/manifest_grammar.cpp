#include "tests/fuzz/manifest_grammar.hpp"

#include <algorithm>
#include <string_view>

namespace lastcall::fuzz {
namespace {

using Entries = std::vector<std::pair<std::string, Thing>>;

Thing text(std::string_view value) {
  return {Thing::Kind::text, std::string(value)};
}

Thing word(std::string_view value) {
  return {Thing::Kind::word, std::string(value)};
}

Thing list(std::vector<Thing> items) {
  return {Thing::Kind::list, "", std::move(items)};
}

Thing map(Entries entries) {
  return {Thing::Kind::map, "", {}, std::move(entries)};
}

Thing nothing() {
  return {Thing::Kind::nothing, ""};
}

// --- what there is -------------------------------------------------------------------------------

constexpr std::string_view kTexts[] = {"--model",      "Qwen/Qwen3-0.6B",
                                       "a b",          "",
                                       "true",         "8000",
                                       "#no",          "key: value",
                                       "- x",          "it's \"so\"",
                                       "\u00e9\u20ac", "{a, b}",
                                       "[x]",          "*star",
                                       "&and",         "null",
                                       "one\ntwo\n",   "# line\nx\n",
                                       "tail",         "%d",
                                       "@at",          "x: |\n  y\n",
                                       "a\n\nb\n",     "--- not\n",
                                       "...",          "back\\slash",
                                       "a,b",          "?"};

std::vector<Thing> words(Choices& choose, std::size_t least) {
  std::vector<Thing> made;
  for (std::size_t i = least + choose.below(4); i > 0; --i) {
    made.push_back(text(choose.of(kTexts)));
  }
  return made;
}

/// The part is sometimes missing, sometimes empty, and sometimes has something of the user's.
void add_list(Choices& choose, Entries& to, char const* key, Thing const& item) {
  switch (choose.below(5)) {
    case 0:
    case 1:
      return;
    case 2:
      to.emplace_back(key, choose.one_in(2) ? list({}) : nothing());
      return;
    default:
      to.emplace_back(key, list({item}));
  }
}

Thing engine(Choices& choose) {
  Entries parts{{"name", text("engine")}, {"image", text("vllm/vllm-openai:v0.10.0")}};
  if (!choose.one_in(3)) {
    parts.emplace_back("command", list(words(choose, 1)));
  }
  if (choose.one_in(2)) {
    parts.emplace_back("args", list(words(choose, 0)));
  }
  add_list(choose, parts, "env", map({{"name", text("HOME")}, {"value", text(choose.of(kTexts))}}));
  add_list(choose, parts, "volumeMounts",
           map({{"name", text("cache")}, {"mountPath", text("/cache")}}));
  if (choose.one_in(3)) {
    parts.emplace_back("ports", list({map({{"containerPort", word("8000")}})}));
  }
  if (choose.one_in(3)) {
    Thing const hook = map({{"exec", map({{"command", list({text("true")})}})}});
    parts.emplace_back("lifecycle", choose.one_in(2) ? map({{"postStart", hook}}) : nothing());
  }
  if (choose.one_in(3)) {
    parts.emplace_back("livenessProbe", map({{"tcpSocket", map({{"port", word("8000")}})}}));
  }
  std::rotate(parts.begin(),
              parts.begin() + static_cast<std::ptrdiff_t>(choose.below(parts.size())), parts.end());
  return map(std::move(parts));
}

Thing spec(Choices& choose) {
  std::vector<Thing> containers{engine(choose)};
  if (choose.one_in(3)) {
    containers.push_back(map({{"name", text("other")}, {"args", list(words(choose, 0))}}));
  }
  Entries parts{{"containers", list(std::move(containers))}};
  if (choose.one_in(2)) {
    parts.emplace_back("terminationGracePeriodSeconds",
                       choose.one_in(2) ? word("600") : word("30"));
  }
  if (choose.one_in(3)) {
    parts.emplace_back("restartPolicy", text("Always"));
  }
  add_list(choose, parts, "initContainers",
           map({{"name", text("fetch")}, {"command", list(words(choose, 1))}}));
  add_list(choose, parts, "volumes", map({{"name", text("cache")}, {"emptyDir", map({})}}));
  std::rotate(parts.begin(),
              parts.begin() + static_cast<std::ptrdiff_t>(choose.below(parts.size())), parts.end());
  return map(std::move(parts));
}

Thing metadata(Choices& choose) {
  Entries parts;
  if (choose.one_in(2)) {
    parts.emplace_back("labels", map({{"app", text("engine")}}));
  }
  if (choose.one_in(2)) {
    parts.emplace_back("annotations",
                       choose.one_in(2) ? map({{"a/b", text(choose.of(kTexts))}}) : nothing());
  }
  if (choose.one_in(4)) {
    parts.emplace_back("creationTimestamp", word("null"));
  }
  return map(std::move(parts));
}

Thing pod_template(Choices& choose) {
  Entries parts{{"spec", spec(choose)}};
  if (!choose.one_in(3)) {
    parts.emplace_back("metadata", choose.one_in(5) ? nothing() : metadata(choose));
  }
  if (choose.one_in(2)) {
    std::reverse(parts.begin(), parts.end());
  }
  return map(std::move(parts));
}

Thing workload(Choices& choose) {
  Thing const name = map({{"name", text("engine")}});
  switch (choose.below(4)) {
    case 1: {
      Thing pod = pod_template(choose);
      pod.entries.emplace_back("kind", text("Pod"));
      return pod;
    }
    case 2:
      return map({{"apiVersion", text("batch/v1")},
                  {"kind", text("CronJob")},
                  {"metadata", name},
                  {"spec", map({{"jobTemplate",
                                 map({{"spec", map({{"template", pod_template(choose)}})}})}})}});
    default:
      return map({{"apiVersion", text("apps/v1")},
                  {"kind", text("Deployment")},
                  {"metadata", name},
                  {"spec", map({{"replicas", word("2")}, {"template", pod_template(choose)}})}});
  }
}

Thing bystander(Choices& choose) {
  return map({{"kind", text("ConfigMap")},
              {"data", map({{"a", text(choose.of(kTexts))}, {"b", text(choose.of(kTexts))}})}});
}

// --- how it is laid out --------------------------------------------------------------------------

class Layout {
 public:
  explicit Layout(Choices& choose)
      : choose_(choose),
        line_end_(choose.one_in(5) ? "\r\n" : "\n"),
        width_(1 + choose.below(5)),
        is_json_(choose.one_in(5)),
        comments_(choose.one_in(2)),
        lists_stay_(choose.one_in(2)) {}

  std::string document(Thing const& thing) {
    std::string out;
    if (is_json_) {
      out = flow(thing, choose_.one_in(2) ? 0 : kOneLine);
      out += line_end_;
    } else {
      comment(out, 0);
      block(thing, 0, out);
    }
    return out;
  }

  std::string const& line_end() const { return line_end_; }
  /// A text that ends in a block scalar would have another value without its last line end.
  bool has_literals() const { return has_literals_; }

 private:
  static constexpr std::size_t kOneLine = 999;

  void comment(std::string& out, std::size_t indent) {
    if (comments_ && choose_.one_in(6)) {
      out += std::string(indent, ' ') + "# a: comment - [x" + line_end_;
    }
    if (comments_ && choose_.one_in(9)) {
      out += line_end_;
    }
  }

  std::string trail() { return comments_ && choose_.one_in(6) ? " # trailing" : ""; }

  static bool is_plain(std::string_view value) {
    auto const is_safe = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '/' || c == '-';
    };
    return value.size() > 1 && std::all_of(value.begin(), value.end(), is_safe) &&
           value != "true" && value != "null" && !value.starts_with("-");
  }

  static std::string in_double(std::string_view value) {
    std::string out = "\"";
    for (char const c : value) {
      out += c == '\n' ? "\\n" : c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    }
    return out + '"';
  }

  static std::string in_single(std::string_view value) {
    std::string out = "'";
    for (char const c : value) {
      out += c == '\'' ? "''" : std::string(1, c);
    }
    return out + "'";
  }

  std::string scalar(Thing const& thing) {
    if (thing.kind == Thing::Kind::word) {
      return thing.text;
    }
    if (thing.kind == Thing::Kind::nothing) {
      return "null";
    }
    if (!is_json_ && is_plain(thing.text) && !choose_.one_in(3)) {
      return thing.text;
    }
    bool const may_be_single = thing.text.find('\n') == std::string::npos && !is_json_;
    return may_be_single && choose_.one_in(2) ? in_single(thing.text) : in_double(thing.text);
  }

  std::string key(std::string const& name) {
    return is_json_ || choose_.one_in(12) ? in_double(name) : name;
  }

  std::string flow(Thing const& thing, std::size_t indent) {
    if (thing.kind != Thing::Kind::list && thing.kind != Thing::Kind::map) {
      return scalar(thing);
    }
    bool const is_list = thing.kind == Thing::Kind::list;
    bool const lines = indent < kOneLine && !(thing.items.empty() && thing.entries.empty());
    std::size_t const deeper = lines ? indent + width_ : kOneLine;
    std::string const gap = lines ? line_end_ + std::string(deeper, ' ') : " ";
    std::string out = is_list ? "[" : "{";
    bool is_first = true;
    auto const next = [&] {
      out += is_first ? (lines ? gap : choose_.one_in(6) ? " " : "") : "," + gap;
      is_first = false;
    };
    for (Thing const& item : thing.items) {
      next();
      out += flow(item, deeper);
    }
    for (auto const& [name, value] : thing.entries) {
      next();
      out += key(name) + ": " + flow(value, deeper);
    }
    if (lines) {
      out += line_end_ + std::string(indent, ' ');
    } else if (is_first && choose_.one_in(6)) {
      out += ' ';
    }
    return out + (is_list ? "]" : "}");
  }

  /// Writes "|" and the lines. Returns false if the first line begins with a space, or the text
  /// does not end a line.
  bool can_be_literal(std::string const& value) const {
    return value.size() > 2 && value.ends_with('\n') && value[value.size() - 2] != '\n' &&
           value[0] != '\n' && value[0] != ' ';
  }

  void literal(std::string const& value, std::size_t indent, std::string& out) {
    std::size_t const deeper = indent + width_;
    has_literals_ = true;
    out += choose_.one_in(4) ? "|" + std::to_string(width_) : "|";
    out += choose_.one_in(6) ? "+" : "";
    out += line_end_;
    for (std::size_t at = 0; at < value.size();) {
      std::size_t const end = value.find('\n', at);
      std::string const line = value.substr(at, end - at);
      out += line.empty() ? line_end_ : std::string(deeper, ' ') + line + line_end_;
      at = end + 1;
    }
  }

  /// Writes what follows "key:" or "-", with the line's end.
  void value(Thing const& thing, std::size_t indent, std::string& out) {
    bool const is_collection = thing.kind == Thing::Kind::list || thing.kind == Thing::Kind::map;
    bool const is_empty = thing.items.empty() && thing.entries.empty();
    if (thing.kind == Thing::Kind::nothing && choose_.one_in(2)) {
      out += trail() + line_end_;
    } else if (!is_collection && can_be_literal(thing.text) && choose_.one_in(2)) {
      out += ' ';
      literal(thing.text, indent, out);
    } else if (!is_collection || is_empty || choose_.one_in(6)) {
      std::size_t const inner = choose_.one_in(3) ? indent + width_ : kOneLine;
      out += (choose_.one_in(8) ? "  " : " ") + flow(thing, inner) + trail() + line_end_;
    } else {
      out += trail() + line_end_;
      bool const stays = thing.kind == Thing::Kind::list && lists_stay_;
      block(thing, stays ? indent : indent + width_, out);
    }
  }

  void block(Thing const& thing, std::size_t indent, std::string& out, bool is_in_line = false) {
    for (auto const& [name, part] : thing.entries) {
      if (!is_in_line) {
        comment(out, indent);
        out += std::string(indent, ' ');
      }
      is_in_line = false;
      out += key(name) + ":";
      value(part, indent, out);
    }
    for (Thing const& item : thing.items) {
      comment(out, indent);
      std::size_t const gap = 1 + (choose_.one_in(6) ? choose_.below(3) : 0);
      out += std::string(indent, ' ') + "-";
      if (item.kind == Thing::Kind::map && !item.entries.empty() && !choose_.one_in(6)) {
        out += std::string(gap, ' ');
        block(item, indent + 1 + gap, out, true);
      } else {
        value(item, indent, out);
      }
    }
  }

  Choices& choose_;
  std::string line_end_;
  std::size_t width_;
  bool is_json_;
  bool comments_;
  bool lists_stay_;
  bool has_literals_ = false;
};

}  // namespace

std::string derive_manifests(Choices& choose) {
  std::string out = choose.one_in(9) ? "\xef\xbb\xbf" : "";
  std::size_t const documents = 1 + choose.below(3);
  std::size_t const engine_at = choose.below(documents);
  std::string line_end;
  bool may_end_early = true;
  for (std::size_t i = 0; i < documents; ++i) {
    Layout layout(choose);
    line_end = layout.line_end();
    if (i > 0 || choose.one_in(2)) {
      out += "---" + std::string(choose.one_in(5) ? " # Source: x.yaml" : "") + line_end;
    }
    Thing object = i == engine_at ? workload(choose) : bystander(choose);
    if (choose.one_in(5)) {
      object = map({{"kind", text("List")}, {"items", list({std::move(object)})}});
    }
    out += layout.document(object);
    may_end_early = !layout.has_literals();
    if (choose.one_in(9)) {
      out += "..." + line_end;
    }
  }
  if (may_end_early && choose.one_in(4) && out.ends_with(line_end)) {
    out.resize(out.size() - line_end.size());
  }
  return out;
}

}  // namespace lastcall::fuzz
