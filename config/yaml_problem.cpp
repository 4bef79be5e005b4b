#include "config/yaml_problem.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "base/parse_number.hpp"
#include "base/utf8.hpp"
#include "config/utf8.hpp"

namespace lastcall::config {
namespace {

class Ignored : public YAML::EventHandler {
 public:
  void OnDocumentStart(YAML::Mark const& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(YAML::Mark const& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnAlias(YAML::Mark const& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnScalar(YAML::Mark const& /*mark*/, std::string const& /*tag*/, YAML::anchor_t /*anchor*/,
                std::string const& /*value*/) override {}
  void OnSequenceStart(YAML::Mark const& /*mark*/, std::string const& /*tag*/,
                       YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(YAML::Mark const& /*mark*/, std::string const& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {}
  void OnMapEnd() override {}
};

constexpr std::size_t kEscape = 6;  // "\ud83d"

std::optional<unsigned> escape_at(std::string_view text, std::size_t at) {
  return at + kEscape <= text.size() && text.substr(at, 2) == "\\u"
             ? parse_number<unsigned>(text.substr(at + 2, kEscape - 2), 16)
             : std::nullopt;
}

/// The code point that the escapes of two surrogates at this place stand for.
std::optional<unsigned> pair_at(std::string_view text, std::size_t at) {
  unsigned const high = escape_at(text, at).value_or(0);
  unsigned const low = escape_at(text, at + kEscape).value_or(0);
  if (high < 0xD800 || high > 0xDBFF || low < 0xDC00 || low > 0xDFFF) {
    return std::nullopt;
  }
  return 0x10000 + ((high - 0xD800) << 10U) + (low - 0xDC00);
}

/// The first pair that double quotes around it would make escapes.
std::size_t find_pair(std::string_view text, std::size_t from) {
  std::size_t at = text.find('\\', from);
  while (at != std::string_view::npos && !pair_at(text, at)) {
    at = text.find('\\', at + 2);
  }
  return at;
}

/// Joins the pairs in double quotes; nothing else is known to be a text in which they are escapes.
class Joining : public Ignored {
 public:
  explicit Joining(std::string& text)
      : text_(text), begin_(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0) {}

  void OnScalar(YAML::Mark const& mark, std::string const& /*tag*/, YAML::anchor_t /*anchor*/,
                std::string const& /*value*/) override {
    std::size_t const at = begin_ + static_cast<std::size_t>(std::max(mark.pos, 0));
    if (at < text_.size() && text_[at] == '"') {
      join(at, std::min(end_of_quoted(text_, at), text_.size()));
    }
  }

 private:
  void join(std::size_t quote, std::size_t end) {
    std::string const quoted = text_.substr(quote, end - quote);
    std::string made;
    std::size_t copied = 0;
    for (std::size_t at = find_pair(quoted, 0); at != std::string::npos;
         at = find_pair(quoted, copied)) {
      made.append(quoted, copied, at - copied);
      utf8::append(made, *pair_at(quoted, at));
      copied = at + 2 * kEscape;
    }
    made.append(quoted, copied);
    made.resize(quoted.size(), ' ');
    text_.replace(quote, made.size(), made);
  }

  std::string& text_;
  std::size_t begin_;  // yaml-cpp counts from the byte behind the mark
};

/// Whether YAML allows this text behind a quoted one: a mark of the syntax, a comment, or nothing.
/// If a quote of the same kind ends the line's text behind a mark, the mark is a part of that text,
/// and what seems to begin it has ended an open text before it: `":7090"` below an open quote.
bool may_follow_quotes(std::string_view rest, char quote) {
  rest = rest.substr(0, rest.find('\n'));
  std::size_t const at = rest.find_first_not_of(" \t\r");
  if (at == std::string_view::npos || (rest[at] == '#' && at > 0)) {
    return true;
  }
  bool const is_mark = std::string_view(",:]}").find(rest[at]) != std::string_view::npos;
  return is_mark && std::count(rest.begin(), rest.end(), quote) % 2 == 0;
}

}  // namespace

std::size_t end_of_quoted(std::string_view text, std::size_t quote) {
  char const mark = text[quote];
  std::size_t at = quote + 1;
  while (at < text.size()) {
    bool const is_escape = mark == '"' ? text[at] == '\\' : text.substr(at, 2) == "''";
    if (!is_escape && text[at] == mark) {
      return at + 1;
    }
    at += is_escape ? 2 : 1;
  }
  return std::string_view::npos;
}

std::string yaml_problem(YAML::Exception const& error) {
  // yaml-cpp's own text for this is "bad file", as for a file that it cannot open.
  bool const is_too_deep = dynamic_cast<YAML::DeepRecursion const*>(&error) != nullptr;
  return "not valid YAML: " +
         (is_too_deep ? std::string("too many lists or sections inside each other") : error.msg);
}

std::string open_quote_problem(std::string_view text, std::size_t quote, int first_line,
                               YAML::Exception const& error) {
  quote = std::min(text.find_first_of("\"'", quote), text.size());  // a tag may precede it
  if (quote == text.size() || error.mark.is_null()) {
    return "";
  }
  std::string_view const before = text.substr(0, end_of_quoted(text, quote));
  auto const begin = before.begin() + static_cast<std::ptrdiff_t>(quote);
  auto const breaks = std::count(begin, before.end(), '\n');
  int const last = static_cast<int>(std::count(before.begin(), begin, '\n') + breaks);
  if (breaks == 0 || error.mark.line != last ||
      may_follow_quotes(text.substr(before.size()), text[quote])) {
    return "";
  }
  return "not valid YAML: a quote that is closed only in line " +
         std::to_string(first_line + last) + ", where the rest of the line cannot follow it";
}

std::string with_joined_surrogates(std::string text) {
  std::size_t at = find_pair(text, 0);
  if (at == std::string::npos) {
    return text;
  }
  std::string readable = text;  // with letters instead of the pairs, to find the quotes
  for (; at != std::string::npos; at = find_pair(text, at + 2 * kEscape)) {
    readable.replace(at, 2 * kEscape, 2 * kEscape, 'a');
  }
  std::istringstream stream(readable);
  Joining joining(text);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(joining)) {
    }
  } catch (YAML::Exception const&) {
    return readable;  // which is refused in the same place
  }
  return text;
}

bool ends_in_quotes(std::string const& text) {
  // A document mark is refused only inside of quotes.
  std::istringstream stream(text + "\n...\n");
  YAML::Parser parser(stream);
  Ignored ignored;
  try {
    if (parser.HandleNextDocument(ignored)) {
      parser.HandleNextDocument(ignored);
    }
  } catch (YAML::Exception const&) {
    return true;
  }
  return false;
}

}  // namespace lastcall::config
