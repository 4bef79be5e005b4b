#include "inject/extent.hpp"

#include <algorithm>

#include "config/utf8.hpp"
#include "config/yaml_problem.hpp"

namespace lastcall::inject {
namespace {

constexpr std::string_view kFlowIndicators = ",[]{}";

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

bool is_space(char c) {
  return is_blank(c) || c == '\n' || c == '\r';
}

/// True at the end of the text, too.
bool space_at(std::string_view text, std::size_t at) {
  return at >= text.size() || is_space(text[at]);
}

bool is_flow_indicator(char c) {
  return kFlowIndicators.find(c) != kNowhere;
}

/// The end of a word such as an anchor, which a space or an indicator ends: "*a" in "[*a, *b]".
std::size_t end_of_word(std::string_view text, std::size_t at) {
  while (at < text.size() && !is_space(text[at]) && !is_flow_indicator(text[at])) {
    ++at;
  }
  return at;
}

std::size_t end_of_tag(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) == "!<") {
    return std::min(text.find('>', at), text.size() - 1) + 1;
  }
  return end_of_word(text, at);
}

/// Whether only dashes and question marks stand between `at` and the node that begins at `bound`.
bool leads_to(std::string_view text, std::size_t at, std::size_t bound) {
  while (at < bound && (text[at] == '-' || text[at] == '?') && space_at(text, at + 1)) {
    at = skip_space(text, at + 1);
  }
  return at >= bound;
}

bool ends_plain(std::string_view text, std::size_t at, bool in_flow) {
  char const c = text[at];
  if (c == ':') {
    return space_at(text, at + 1) || (in_flow && is_flow_indicator(text[at + 1]));
  }
  return c == '#' ? at > 0 && is_space(text[at - 1]) : in_flow && is_flow_indicator(c);
}

/// A plain scalar may continue on further lines, up to a comment or the next node.
std::size_t end_of_plain(std::string_view text, std::size_t at, std::size_t bound, bool in_flow) {
  std::size_t last = at;
  while (at < bound && at < text.size()) {
    if (text[at] == '\n') {
      while (at < text.size() && is_space(text[at])) {
        ++at;
      }
      if (at >= bound || at >= text.size() || text[at] == '#' || leads_to(text, at, bound)) {
        break;
      }
      continue;
    }
    if (ends_plain(text, at, in_flow)) {
      break;
    }
    last = is_space(text[at]) ? last : at + 1;
    ++at;
  }
  return last;
}

std::size_t indent_at(std::string_view text, std::size_t line) {
  return std::min(text.find_first_not_of(' ', line), text.size()) - line;
}

/// A block scalar consists of lines that are blank or indented at least as far as its first one.
class BlockScalar {
 public:
  BlockScalar(std::string_view text, std::size_t at, std::size_t bound, std::size_t least)
      : text_(text), bound_(bound), least_(least), header_(at) {
    std::size_t const content = std::min(text.find_first_of(" \t\r\n", at), text.size());
    std::string_view const indicators = text.substr(at + 1, content - at - 1);
    keeps_ = indicators.find('+') != kNowhere;
    std::size_t const digit = indicators.find_first_of("123456789");
    if (digit != kNowhere) {
      indent_ = least_ - 1 + static_cast<std::size_t>(indicators[digit] - '0');
      has_indent_ = true;
    }
  }

  std::size_t end() {
    std::size_t end = line_end(text_, header_);
    for (std::size_t line = next_line(text_, header_); line < text_.size() && line < bound_;
         line = next_line(text_, line)) {
      std::size_t const stop = line_end(text_, line);
      std::size_t const first = line + indent_at(text_, line);
      bool const is_blank_line = first >= stop || text_.substr(first, stop - first) == "\r";
      if (is_blank_line) {
        end = keeps_ ? stop : end;
        continue;
      }
      if (!belongs(first - line)) {
        break;
      }
      end = stop;
    }
    return end > header_ && text_[end - 1] == '\r' ? end - 1 : end;
  }

 private:
  bool belongs(std::size_t indent) {
    if (!has_indent_) {
      indent_ = std::max(indent, least_);
      has_indent_ = true;
    }
    return indent >= indent_;
  }

  std::string_view text_;
  std::size_t bound_;
  std::size_t least_;  // one more than the column of the node that holds it
  std::size_t header_;
  std::size_t indent_ = 0;
  bool has_indent_ = false;
  bool keeps_ = false;
};

/// Walks through the tree in the order of the text.
class Extents {
 public:
  Extents(std::string_view text, std::vector<std::size_t> const& begins, std::size_t limit)
      : text_(text.substr(0, limit)), begins_(begins), limit_(limit) {}

  struct Holder {
    bool is_flow = false;
    std::size_t least_indent = 0;  // for a block scalar in it
    std::size_t before = 0;        // where the previous node ended
  };

  void visit(Node& node, Holder const& holder) {
    std::size_t const own = next_++;
    switch (node.kind) {
      case Node::Kind::null:
        node.end = end_of_null(node, own, holder);
        break;
      case Node::Kind::alias:
        node.end = end_of_word(text_, node.begin);
        break;
      case Node::Kind::scalar:
        node.end = end_of_scalar(node, own, holder);
        break;
      case Node::Kind::list:
        visit_list(node);
        break;
      case Node::Kind::map:
        visit_map(node);
        break;
    }
  }

 private:
  std::size_t bound(std::size_t own) const {
    return own + 1 < begins_.size() ? begins_[own + 1] : limit_;
  }

  /// The indentation that a block scalar in the holder has at least. Flow style has no block
  /// scalars, and its whole text may be on one line, which must not be searched again for each
  /// node.
  std::size_t least_indent(bool is_flow, std::size_t at) const {
    return is_flow ? 0 : at - line_begin(text_, at) + 1;
  }

  /// yaml-cpp reports a missing node at the place where the next node begins.
  std::size_t end_of_null(Node& node, std::size_t own, Holder const& holder) {
    bool const is_written =
        node.begin < bound(own) && node.begin < text_.size() &&
        (text_[node.begin] == 'n' || text_[node.begin] == 'N' || text_[node.begin] == '~');
    if (is_written) {
      return end_of_plain(text_, node.begin, bound(own), holder.is_flow);
    }
    std::size_t const mark = skip_space(text_, holder.before);
    bool const has_mark = mark < text_.size() && (text_[mark] == ':' || text_[mark] == '-');
    node.begin = has_mark ? mark + 1 : holder.before;
    return has_mark ? node.begin : kNowhere;
  }

  std::size_t end_of_scalar(Node& node, std::size_t own, Holder const& holder) {
    std::size_t const at = content_of(text_, node);
    if (at >= text_.size()) {
      return kNowhere;
    }
    char const first = text_[at];
    if (first == '"' || first == '\'') {
      return config::end_of_quoted(text_, at);
    }
    if (!holder.is_flow && (first == '|' || first == '>')) {
      node.is_block = true;
      return BlockScalar(text_, at, bound(own), holder.least_indent).end();
    }
    std::size_t const end = end_of_plain(text_, at, bound(own), holder.is_flow);
    return end > at ? end : kNowhere;
  }

  std::size_t behind_bracket(std::size_t at, char bracket) const {
    for (;;) {
      at = skip_space(text_, at);
      if (at >= text_.size()) {
        return kNowhere;
      }
      if (text_[at] == bracket) {
        return at + 1;
      }
      if (text_[at] != ',' && text_[at] != ':') {
        return kNowhere;
      }
      ++at;
    }
  }

  void visit_list(Node& list) {
    std::size_t const at = content_of(text_, list);
    bool const has_bracket = at < text_.size() && text_[at] == '[';
    std::size_t last = has_bracket ? at + 1 : at;
    for (Node& item : list.items) {
      if (last != kNowhere) {
        visit(item, {list.is_flow, least_indent(list.is_flow, at), last});
        last = item.end;
      } else {
        visit(item, {list.is_flow, 0, 0});
      }
    }
    if (list.is_flow) {
      last = has_bracket && last != kNowhere ? behind_bracket(last, ']') : kNowhere;
    }
    list.end = last;
  }

  void visit_map(Node& map) {
    std::size_t const at = content_of(text_, map);
    bool const has_brace = at < text_.size() && text_[at] == '{';
    std::size_t last = has_brace ? at + 1 : at;
    bool is_known = true;
    for (Entry& entry : map.entries) {
      std::size_t const least = least_indent(map.is_flow, std::min(entry.key.begin, text_.size()));
      visit(entry.key, {map.is_flow, 0, is_known ? last : 0});
      is_known = is_known && entry.key.end != kNowhere;
      visit(entry.value, {map.is_flow, least, is_known ? entry.key.end : 0});
      is_known = is_known && entry.value.end != kNowhere;
      last = entry.value.end;
    }
    if (map.is_flow && is_known) {
      last = has_brace ? behind_bracket(last, '}') : kNowhere;
    }
    map.end = is_known ? last : kNowhere;
  }

  std::string_view text_;
  std::vector<std::size_t> const& begins_;
  std::size_t limit_;
  std::size_t next_ = 0;
};

}  // namespace

void set_extents(Node& root, std::string_view text, std::vector<std::size_t> const& begins,
                 std::size_t limit) {
  Extents(text, begins, limit).visit(root, {});
}

std::size_t content_of(std::string_view text, Node const& node) {
  std::size_t at = node.begin;
  while (at < text.size() && (text[at] == '&' || text[at] == '!')) {
    at = skip_space(text, text[at] == '&' ? end_of_word(text, at) : end_of_tag(text, at));
  }
  return at;
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    if (text[at] == '#' && (at == 0 || is_space(text[at - 1]))) {
      at = line_end(text, at);
    } else if (is_space(text[at])) {
      ++at;
    } else {
      break;
    }
  }
  return at;
}

std::size_t line_begin(std::string_view text, std::size_t at) {
  std::size_t const before = at == 0 ? kNowhere : text.rfind('\n', at - 1);
  // A byte order mark is not part of the first line.
  std::size_t const first =
      text.starts_with(config::kByteOrderMark) ? config::kByteOrderMark.size() : 0;
  return before == kNowhere ? std::min(first, at) : before + 1;
}

std::size_t line_end(std::string_view text, std::size_t at) {
  return std::min(text.find('\n', at), text.size());
}

std::size_t next_line(std::string_view text, std::size_t at) {
  return std::min(line_end(text, at) + 1, text.size());
}

bool is_first_in_line(std::string_view text, std::size_t at) {
  std::size_t const line = line_begin(text, at);
  return text.find_first_not_of(' ', line) == at || line == at;
}

}  // namespace lastcall::inject
