#include "config/document.hpp"

#include <algorithm>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "config/utf8.hpp"
#include "config/yaml_problem.hpp"

namespace lastcall::config {
namespace {

/// Builds the tree from yaml-cpp's events. The library expands nothing: an alias is an event here,
/// and becomes an invalid node.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(Place base, Problems& problems) : base_(std::move(base)), problems_(problems) {}

  Node take() { return std::move(root_); }

  void OnDocumentStart(YAML::Mark const& mark) override {
    ++documents_;
    if (documents_ == 2) {
      problems_.push_back({place_of(mark), "", "a second document, expected one per file"});
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(YAML::Mark const& mark, YAML::anchor_t anchor) override {
    complete(leaf(Node::Kind::null, mark, "", anchor));
  }
  void OnAlias(YAML::Mark const& mark, YAML::anchor_t /*anchor*/) override {
    refuse(mark, "an alias, expected the value itself");
    complete(leaf(Node::Kind::invalid, mark, "", 0));
  }
  void OnScalar(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor,
                std::string const& value) override {
    Node node = leaf(Node::Kind::scalar, mark, tag, anchor);
    if (tag == "!") {
      last_quote_ = Problem{node.place, path(), "a quote that is not closed"};
      last_quote_at_ = static_cast<std::size_t>(std::max(mark.pos, 0));
    }
    node.style = tag == "!" ? Node::Style::quoted : Node::Style::plain;
    node.text = value;
    if (is_explicit(tag)) {
      node.kind = Node::Kind::invalid;
    }
    complete(std::move(node));
  }
  void OnSequenceStart(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(leaf(Node::Kind::list, mark, tag, anchor));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(leaf(Node::Kind::map, mark, tag, anchor));
  }
  void OnMapEnd() override { close(); }

  /// The problem of the last quoted scalar, if its quote is not closed.
  std::optional<Problem> const& last_quote() const { return last_quote_; }
  std::size_t last_quote_at() const { return last_quote_at_; }

  Place place_of(YAML::Mark const& mark) const {
    if (base_.line == 0) {
      return base_;
    }
    return {base_.source, mark.line + 1, mark.column + 1};
  }

 private:
  /// A list or map that is still open.
  struct Frame {
    Node node;
    std::optional<Entry> key;  // in a map: the key that waits for its value
    bool drop_value = false;   // the key was refused, and its value with it
    std::unordered_map<std::string, int> lines_of_keys;
  };

  /// yaml-cpp gives plain scalars the tag "?" and quoted ones "!".
  static bool is_explicit(std::string const& tag) {
    return !tag.empty() && tag != "?" && tag != "!";
  }

  Node leaf(Node::Kind kind, YAML::Mark const& mark, std::string const& tag,
            YAML::anchor_t anchor) {
    Node node;
    node.kind = kind;
    node.place = place_of(mark);
    if (anchor != 0) {
      refuse(mark, "an anchor, expected none: aliases are not supported");
    }
    if (is_explicit(tag)) {
      refuse(mark, "a tag, expected none: the type of a value follows from its key");
    }
    return node;
  }

  void refuse(YAML::Mark const& mark, std::string text) {
    problems_.push_back({place_of(mark), path(), std::move(text)});
  }

  std::string path() const {
    std::string text;
    for (Frame const& frame : frames_) {
      if (frame.node.kind == Node::Kind::list) {
        text += "[" + std::to_string(frame.node.items.size()) + "]";
      } else if (frame.key) {
        text += (text.empty() ? "" : ".") + frame.key->key;
      }
    }
    return text;
  }

  void open(Node node) {
    Frame frame;
    frame.node = std::move(node);
    frames_.push_back(std::move(frame));
  }

  void close() {
    Node node = std::move(frames_.back().node);
    frames_.pop_back();
    complete(std::move(node));
  }

  void complete(Node node) {
    if (documents_ > 1) {
      return;
    }
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.kind == Node::Kind::list) {
      frame.node.items.push_back(std::move(node));
    } else if (!frame.key) {
      accept_key(frame, std::move(node));
    } else {
      if (!frame.drop_value) {
        // yaml-cpp places a missing value where the next node begins, possibly lines below.
        if (node.kind == Node::Kind::null && node.place.line != frame.key->place.line) {
          node.place = frame.key->place;
        }
        frame.key->value = std::move(node);
        frame.node.entries.push_back(std::move(*frame.key));
      }
      frame.key.reset();
    }
  }

  void accept_key(Frame& frame, Node node) {
    Entry entry;
    entry.key = std::move(node.text);
    entry.place = node.place;
    std::string const key = entry.key;
    frame.key = std::move(entry);
    frame.drop_value = true;
    if (node.kind != Node::Kind::scalar) {
      frame.key->key = "?";
      problems_.push_back({node.place, path(), "not a text, expected a key"});
      return;
    }
    if (key == "<<") {
      problems_.push_back({node.place, path(), "a merge key, expected the keys themselves"});
      return;
    }
    auto const [first, is_new] = frame.lines_of_keys.emplace(key, node.place.line);
    if (!is_new) {
      problems_.push_back({node.place, path(),
                           node.place.line > 0
                               ? "duplicate key, first in line " + std::to_string(first->second)
                               : "duplicate key"});
      return;
    }
    frame.drop_value = false;
  }

  Place base_;
  Problems& problems_;
  std::vector<Frame> frames_;
  Node root_;
  std::optional<Problem> last_quote_;
  std::size_t last_quote_at_ = 0;
  int documents_ = 0;
};

/// yaml-cpp takes a tab as part of the preceding text and reports a misleading problem.
std::string tab_hint(std::string_view text, int last_line) {
  int line = 1;
  for (std::size_t at = 0; at < text.size() && line <= last_line; ++line) {
    std::size_t const indent_end = std::min(text.find_first_not_of(" \t", at), text.size());
    if (text.substr(at, indent_end - at).find('\t') != std::string_view::npos) {
      return " (line " + std::to_string(line) + " is indented with a tab, expected spaces)";
    }
    at = std::min(text.find('\n', at), text.size() - 1) + 1;
  }
  return "";
}

Node parse(std::string_view text, Place const& base, Problems& problems) {
  std::size_t const known = problems.size();
  Node invalid;
  invalid.kind = Node::Kind::invalid;
  invalid.place = base;
  TreeBuilder builder(base, problems);
  try {
    std::istringstream stream{with_joined_surrogates(std::string(text))};
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(builder)) {
      parser.HandleNextDocument(builder);
    }
    if (builder.last_quote() && ends_in_quotes(stream.str())) {
      problems.push_back(*builder.last_quote());
      return invalid;
    }
  } catch (YAML::Exception const& error) {
    if (error.msg == YAML::ErrorMsg::EOF_IN_SCALAR && !text.ends_with('\n')) {
      // With a line break at its end, yaml-cpp reports where the quote begins.
      problems.resize(known);
      return parse(std::string(text) + "\n", base, problems);
    }
    std::string open_quote =
        builder.last_quote() ? open_quote_problem(text, builder.last_quote_at(), 1, error) : "";
    if (!open_quote.empty()) {
      problems.push_back({builder.last_quote()->place, "", std::move(open_quote)});
      return invalid;
    }
    problems.push_back({builder.place_of(error.mark), "",
                        yaml_problem(error) + tab_hint(text, error.mark.line + 1)});
    return invalid;
  }
  return builder.take();
}

}  // namespace

Node parse_document(std::string_view text, std::string const& source, Problems& problems) {
  Node invalid;
  invalid.kind = Node::Kind::invalid;
  invalid.place = {source, 1, 1};
  if (text.size() > kMaximumSize) {
    problems.push_back({{source, 0, 0}, "", "larger than 1 MiB, expected a configuration"});
    return invalid;
  }
  if (std::optional<BadByte> bad = find_bad_byte(text)) {
    problems.push_back({{source, bad->line, bad->column}, "", std::move(bad->problem)});
    return invalid;
  }
  if (std::optional<BadByte> unseen = find_unseen(text)) {
    problems.push_back({{source, unseen->line, unseen->column}, "", std::move(unseen->problem)});
    return invalid;
  }
  Node root = parse(text, {source, 1, 1}, problems);
  if (root.place.line == 0) {
    root.place = {source, 1, 1};
  }
  return root;
}

Node parse_value(std::string_view text, Place const& place, Problems& problems) {
  return parse(text, place, problems);
}

}  // namespace lastcall::config
