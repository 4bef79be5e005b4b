// Splits a stream at its document marks and lets yaml-cpp read each document.
#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "config/utf8.hpp"
#include "config/yaml_problem.hpp"
#include "inject/extent.hpp"
#include "inject/node.hpp"

namespace lastcall::inject {
namespace {

struct Chunk {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t content_end = 0;  // before a "..." mark
};

bool is_mark(std::string_view line, std::string_view mark) {
  return line.starts_with(mark) &&
         (line.size() == mark.size() || line.find_first_of(" \t\r\n") == mark.size());
}

/// Whether the line may come before a document: it is blank, a comment or a directive.
bool is_prologue(std::string_view line) {
  std::size_t const first = line.find_first_not_of(" \t\r\n");
  return first == kNowhere || line[first] == '#' || line[0] == '%';
}

/// Document marks are at the beginning of a line, where no scalar may contain them.
std::vector<Chunk> chunks_of(std::string_view text) {
  std::vector<Chunk> chunks;
  Chunk chunk;
  bool has_content = false;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const next = next_line(text, at);
    std::string_view const line = text.substr(at, next - at);
    if (is_mark(line, "---") && has_content) {
      chunks.push_back({chunk.begin, at, at});
      chunk.begin = at;
    }
    has_content = has_content || !is_prologue(line);
    if (is_mark(line, "...")) {
      chunks.push_back({chunk.begin, next, at});
      chunk.begin = next;
      has_content = false;
    }
    at = next;
  }
  chunks.push_back({chunk.begin, text.size(), text.size()});
  return chunks;
}

/// Builds the tree of one document from yaml-cpp's events, with the start of each node.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::size_t base) : base_(base) {}

  void OnDocumentStart(YAML::Mark const& /*mark*/) override { ++documents; }
  void OnDocumentEnd() override {}
  void OnNull(YAML::Mark const& mark, YAML::anchor_t anchor) override {
    complete(node(Node::Kind::null, mark, anchor));
  }
  void OnAlias(YAML::Mark const& mark, YAML::anchor_t anchor) override {
    document.aliased.push_back(anchor);
    complete(node(Node::Kind::alias, mark, anchor));
  }
  void OnScalar(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor,
                std::string const& value) override {
    Node scalar = node(Node::Kind::scalar, mark, anchor);
    scalar.is_quoted = tag == "!";
    scalar.text = value;
    complete(std::move(scalar));
  }
  void OnSequenceStart(YAML::Mark const& mark, std::string const& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(Node::Kind::list, mark, anchor, style);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(YAML::Mark const& mark, std::string const& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(Node::Kind::map, mark, anchor, style);
  }
  void OnMapEnd() override { close(); }

  int documents = 0;
  Document document;
  std::vector<std::size_t> begins;

 private:
  struct Frame {
    Node node;
    std::optional<Node> key;
  };

  Node node(Node::Kind kind, YAML::Mark const& mark, YAML::anchor_t anchor) {
    Node made;
    made.kind = kind;
    made.begin = base_ + static_cast<std::size_t>(std::max(mark.pos, 0));
    made.anchor = anchor;
    begins.push_back(made.begin);
    return made;
  }

  void open(Node::Kind kind, YAML::Mark const& mark, YAML::anchor_t anchor,
            YAML::EmitterStyle::value style) {
    Node made = node(kind, mark, anchor);
    made.is_flow = style == YAML::EmitterStyle::Flow;
    frames_.push_back({std::move(made), std::nullopt});
  }

  void close() {
    Node made = std::move(frames_.back().node);
    frames_.pop_back();
    complete(std::move(made));
  }

  void complete(Node made) {
    if (frames_.empty()) {
      document.root = std::move(made);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.kind == Node::Kind::list) {
      frame.node.items.push_back(std::move(made));
    } else if (!frame.key) {
      frame.key = std::move(made);
    } else {
      frame.node.entries.push_back({std::move(*frame.key), std::move(made)});
      frame.key.reset();
    }
  }

  std::size_t base_;
  std::vector<Frame> frames_;
};

void read_document(std::string_view text, Chunk chunk, std::string const& source, Stream& stream) {
  TreeBuilder builder(chunk.begin);
  try {
    std::istringstream in{std::string(text.substr(chunk.begin, chunk.end - chunk.begin))};
    YAML::Parser parser(in);
    if (!parser.HandleNextDocument(builder)) {
      return;  // there are only comments
    }
    if (parser.HandleNextDocument(builder)) {
      stream.problems.push_back({place_at(text, builder.begins.back(), source), "",
                                 "not valid YAML: more than one value, expected '---' between "
                                 "them"});
      return;
    }
  } catch (YAML::Exception const& error) {
    std::size_t const at = static_cast<std::size_t>(std::max(error.mark.pos, 0));
    stream.problems.push_back(
        {place_at(text, chunk.begin + at, source), "", config::yaml_problem(error)});
    return;
  }
  set_extents(builder.document.root, text, builder.begins, chunk.content_end);
  stream.documents.push_back(std::move(builder.document));
}

}  // namespace

Stream parse_stream(std::string_view text, std::string const& source) {
  Stream stream;
  if (text.size() > kMaximumSize) {
    stream.problems.push_back({{source, 0, 0}, "", "larger than 32 MiB, expected manifests"});
    return stream;
  }
  if (std::optional<config::BadByte> bad = config::find_bad_byte(text)) {
    stream.problems.push_back({{source, bad->line, bad->column}, "", std::move(bad->problem)});
    return stream;
  }
  // The byte order mark is not part of the first document; yaml-cpp counts from the byte after it.
  std::size_t const begin = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  for (Chunk chunk : chunks_of(text.substr(begin))) {
    read_document(text, {chunk.begin + begin, chunk.end + begin, chunk.content_end + begin}, source,
                  stream);
  }
  return stream;
}

}  // namespace lastcall::inject
