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
    last_quote = scalar.is_quoted ? scalar.begin : last_quote;
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
  std::optional<std::size_t> last_quote;  // the start of the last quoted scalar

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

/// yaml-cpp does not take a carriage return for a line end, and reports a misleading problem.
std::string hint_at_unseen(std::string_view text, Chunk chunk) {
  std::optional<config::BadByte> const unseen =
      config::find_unseen(text.substr(chunk.begin, chunk.end - chunk.begin));
  return unseen
             ? " (line " + std::to_string(place_at(text, chunk.begin, "").line + unseen->line - 1) +
                   " has " + unseen->problem + ")"
             : "";
}

void refuse(Stream& stream, config::Place place, std::string problem) {
  stream.problems.push_back({std::move(place), "", std::move(problem)});
}

/// `added` is added to the end of the text.
void read_document(std::string_view text, Chunk chunk, std::string const& source, Stream& stream,
                   std::string_view added = "") {
  TreeBuilder builder(chunk.begin);
  std::string const whole = config::with_joined_surrogates(
      std::string(text.substr(chunk.begin, chunk.end - chunk.begin)).append(added));
  try {
    std::istringstream in{whole};
    YAML::Parser parser(in);
    if (!parser.HandleNextDocument(builder)) {
      return;  // there are only comments
    }
    if (parser.HandleNextDocument(builder)) {
      refuse(stream, place_at(text, builder.begins.back(), source),
             "not valid YAML: more than one value, expected '---' between them");
      return;
    }
  } catch (YAML::Exception const& error) {
    if (error.msg == YAML::ErrorMsg::EOF_IN_SCALAR && !whole.ends_with('\n')) {
      read_document(text, chunk, source, stream, "\n");  // which shows where the quote begins
      return;
    }
    std::string open_quote =
        builder.last_quote
            ? config::open_quote_problem(whole, *builder.last_quote - chunk.begin,
                                         place_at(text, chunk.begin, source).line, error)
            : "";
    if (!open_quote.empty()) {
      refuse(stream, place_at(text, *builder.last_quote, source), std::move(open_quote));
      return;
    }
    std::size_t const at = static_cast<std::size_t>(std::max(error.mark.pos, 0));
    refuse(stream, place_at(text, chunk.begin + at, source),
           config::yaml_problem(error) + hint_at_unseen(text, chunk));
    return;
  }
  bool const has_end_mark = chunk.content_end != chunk.end;
  if (builder.last_quote && !has_end_mark && config::ends_in_quotes(whole)) {
    refuse(stream, place_at(text, *builder.last_quote, source),
           "not valid YAML: a quote that is not closed, expected its end");
    return;
  }
  set_extents(builder.document.root, text, builder.begins, chunk.content_end);
  stream.documents.push_back(std::move(builder.document));
}

/// The first byte order mark at the beginning of a line inside of a document, where it would be a
/// part of a key that looks right. Inside of a text it may be what somebody wants.
std::optional<std::size_t> find_misplaced_mark(std::string_view text) {
  std::string const found = "\n" + std::string(config::kByteOrderMark);
  for (std::size_t at = text.find(found); at != kNowhere; at = text.find(found, at + 1)) {
    std::string_view const before = text.substr(line_begin(text, at), at - line_begin(text, at));
    if (!is_mark(before, "---") && !is_mark(before, "...")) {
      return at + 1;
    }
  }
  return std::nullopt;
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
  if (std::optional<std::size_t> const at = find_misplaced_mark(text)) {
    refuse(stream, place_at(text, *at, source),
           "a byte order mark (U+FEFF), expected it only at the start");
    return stream;
  }
  // The byte order mark is not part of the first document; yaml-cpp counts from the byte after it.
  std::size_t const begin =
      text.starts_with(config::kByteOrderMark) ? config::kByteOrderMark.size() : 0;
  for (Chunk chunk : chunks_of(text.substr(begin))) {
    read_document(text, {chunk.begin + begin, chunk.end + begin, chunk.content_end + begin}, source,
                  stream);
  }
  return stream;
}

}  // namespace lastcall::inject
