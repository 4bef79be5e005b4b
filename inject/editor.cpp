#include "inject/editor.hpp"

#include <algorithm>

#include "inject/extent.hpp"

namespace lastcall::inject {
namespace {

/// The end of the bytes that are removed with an entry, which begin at its key.
std::size_t end_of(Entry const& entry) {
  return entry.value.end;
}

std::size_t end_of(Node const& item) {
  return item.end;
}

std::size_t begin_of(Entry const& entry) {
  return entry.key.begin;
}

std::size_t begin_of(Node const& item) {
  return item.begin;
}

/// Removes runs of chosen parts from brackets, each with the comma that was added with it.
template <typename Part>
std::vector<std::pair<std::size_t, std::size_t>> cuts_in_brackets(
    std::vector<Part> const& parts, std::function<bool(Part const&)> const& chosen) {
  std::vector<std::pair<std::size_t, std::size_t>> cuts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!chosen(parts[i])) {
      continue;
    }
    std::size_t last = i;
    while (last + 1 < parts.size() && chosen(parts[last + 1])) {
      ++last;
    }
    if (last + 1 < parts.size()) {
      cuts.emplace_back(begin_of(parts[i]), begin_of(parts[last + 1]));
    } else {
      cuts.emplace_back(i > 0 ? end_of(parts[i - 1]) : begin_of(parts[i]), end_of(parts[last]));
    }
    i = last;
  }
  return cuts;
}

bool ends_in_block_scalar(Node const& node) {
  Node const* at = &node;
  while (!at->items.empty() || !at->entries.empty()) {
    at = at->items.empty() ? &at->entries.back().value : &at->items.back();
  }
  return at->is_block;
}

bool is_one_line(std::string_view text, Entry const& entry) {
  return entry.value.kind == Node::Kind::scalar && !entry.value.is_block &&
         entry.value.end != kNowhere &&
         line_end(text, entry.key.begin) == line_end(text, entry.value.end);
}

}  // namespace

void Editor::fail(std::size_t at, std::string what) {
  if (!trouble_) {
    trouble_ = Trouble{at, std::move(what)};
  }
}

std::string Editor::line_break(std::size_t at) const {
  std::size_t end = line_end(text_, at);
  if (end == text_.size() && line_begin(text_, at) > 0) {
    end = line_begin(text_, at) - 1;
  }
  return end > 0 && end < text_.size() && text_[end - 1] == '\r' ? "\r\n" : "\n";
}

void Editor::put_lines_before(std::size_t line, std::vector<std::string> const& lines) {
  std::string text;
  for (std::string const& each : lines) {
    text += each + line_break(line);
  }
  put(line, std::move(text));
}

void Editor::put_lines_behind(std::size_t at, std::vector<std::string> const& lines) {
  std::size_t const end = line_end(text_, at);
  if (end < text_.size()) {
    std::string text;
    for (std::string const& each : lines) {
      text += each + line_break(at);
    }
    put(end + 1, std::move(text));
    return;
  }
  std::string text;
  for (std::string const& each : lines) {
    text += line_break(at) + each;
  }
  put(end, std::move(text));
}

/// `first` is the first part, or kNowhere.
void Editor::put_first_in_brackets(Node const& node, std::size_t first, std::string const& text) {
  if (first == kNowhere) {
    put(content_of(text_, node) + 1, text);
  } else if (is_first_in_line(text_, first)) {
    put(first, text + "," + line_break(first) + std::string(first - line_begin(text_, first), ' '));
  } else {
    put(first, text + ", ");
  }
}

/// Inserts after the last part, which extends from `first` to `last`.
void Editor::put_last_in_brackets(std::size_t first, std::size_t last, std::string const& text) {
  std::string const between =
      is_first_in_line(text_, first)
          ? "," + line_break(first) + std::string(first - line_begin(text_, first), ' ')
          : ", ";
  put(last, between + text);
}

void Editor::add(Node const& map, std::vector<Member> const& members) {
  if (members.empty()) {
    return;
  }
  if (map.is_flow) {
    std::string text = to_json(Value::map(members));
    text = text.substr(1, text.size() - 2);
    if (map.end == kNowhere) {
      fail(map.begin, "its brackets");
    } else if (map.entries.empty()) {
      put_first_in_brackets(map, kNowhere, text);
    } else {
      put_last_in_brackets(map.entries.back().key.begin, map.entries.back().value.end, text);
    }
    return;
  }
  auto const column = [&](Entry const& entry) {
    return entry.key.begin - line_begin(text_, entry.key.begin);
  };
  std::vector<std::string> lines;
  for (Member const& member : members) {
    std::vector<std::string> const more = entry_lines(member, column(map.entries.front()));
    lines.insert(lines.end(), more.begin(), more.end());
  }
  auto const simple = std::find_if(map.entries.rbegin(), map.entries.rend(),
                                   [&](Entry const& each) { return is_one_line(text_, each); });
  std::size_t const first = map.entries.front().key.begin;
  if (simple != map.entries.rend()) {
    put_lines_behind(simple->value.end, lines);
  } else if (is_first_in_line(text_, first)) {
    put_lines_before(line_begin(text_, first), lines);
  } else {
    fail(first, "its layout");
  }
}

void Editor::prepend(Node const& list, std::vector<Value> const& values) {
  if (list.is_flow) {
    std::string text = to_json(Value::list(values));
    text = text.substr(1, text.size() - 2);
    if (list.end == kNowhere) {
      fail(list.begin, "its brackets");
    } else {
      put_first_in_brackets(list, list.items.empty() ? kNowhere : list.items.front().begin, text);
    }
    return;
  }
  std::size_t const dash = content_of(text_, list);
  if (dash >= text_.size() || text_[dash] != '-' || !is_first_in_line(text_, dash)) {
    fail(list.begin, "its layout");
    return;
  }
  std::size_t const line = line_begin(text_, dash);
  for (Value const& value : values) {
    put_lines_before(line, item_lines(value, dash - line));
  }
}

void Editor::append(Node const& list, Value const& value) {
  if (list.items.empty()) {
    prepend(list, {value});
    return;
  }
  Node const& last = list.items.back();
  if (list.end == kNowhere || last.end == kNowhere) {
    fail(list.begin, "its layout");
  } else if (list.is_flow) {
    put_last_in_brackets(last.begin, last.end, to_json(value));
  } else {
    std::size_t const dash = content_of(text_, list);
    if (line_end(text_, last.end) == text_.size() && ends_in_block_scalar(last)) {
      fail(last.end, "a block scalar that ends without a line end would get one");
      return;
    }
    put_lines_behind(last.end, item_lines(value, dash - line_begin(text_, dash)));
  }
}

void Editor::replace(Node const& scalar, std::string raw) {
  if (scalar.end == kNowhere) {
    fail(scalar.begin, "its layout");
    return;
  }
  edits_.push_back({scalar.begin, scalar.end - scalar.begin, std::move(raw)});
}

void Editor::fill_in_line(Entry const& entry, std::string const& number) {
  if (entry.value.end == kNowhere) {
    fail(entry.key.begin, "its layout");
    return;
  }
  put(entry.value.end, " " + number);
}

void Editor::empty_in_line(Entry const& entry) {
  if (entry.value.end == kNowhere || entry.value.begin == 0) {
    fail(entry.key.begin, "its layout");
    return;
  }
  bool const has_space = text_[entry.value.begin - 1] == ' ';
  cut(entry.value.begin - (has_space ? 1 : 0), entry.value.end);
}

void Editor::fill(Entry const& entry, Value const& value) {
  std::size_t const line = line_begin(text_, entry.key.begin);
  if (entry.value.end == kNowhere || line_begin(text_, entry.value.end) != line) {
    fail(entry.key.begin, "its layout");
    return;
  }
  std::vector<std::string> lines =
      entry_lines({"key", value}, entry.key.begin - line, Layout::in_lines);
  lines.erase(lines.begin());
  put_lines_behind(entry.key.begin, lines);
}

/// Removes the lines from the byte `first` to the byte `last`, with their line ends.
void Editor::cut_lines(std::size_t first, std::size_t last) {
  std::size_t const from = line_begin(text_, first);
  lines_.push_back({from, next_line(text_, last) - from, {}});
}

/// If a text has no line end at its end, removing its last lines removes the line end before them.
std::vector<Edit> Editor::edits() const {
  std::vector<Edit> lines = lines_;
  std::sort(lines.begin(), lines.end(),
            [](Edit const& one, Edit const& other) { return one.at < other.at; });
  // Makes one cut that begins at the line end before them and ends at the end of the text.
  std::size_t end = text_.ends_with('\n') ? kNowhere : text_.size();
  std::size_t first = lines.size();
  while (first > 0 && lines[first - 1].at + lines[first - 1].removed == end) {
    --first;
    end = lines[first].at;
  }
  if (first < lines.size() && end > 0) {
    std::size_t const line_end = end > 1 && text_[end - 2] == '\r' ? 2 : 1;
    lines.resize(first);
    lines.push_back({end - line_end, text_.size() - end + line_end, {}});
  }
  std::vector<Edit> all = edits_;
  all.insert(all.end(), lines.begin(), lines.end());
  std::stable_sort(all.begin(), all.end(),
                   [](Edit const& one, Edit const& other) { return one.at < other.at; });
  return all;
}

void Editor::remove_entries(Node const& map, std::function<bool(Entry const&)> const& chosen) {
  if (map.is_flow) {
    for (auto const& [from, to] : cuts_in_brackets<Entry>(map.entries, chosen)) {
      cut(from, to);
    }
    return;
  }
  for (std::size_t i = 0; i < map.entries.size(); ++i) {
    Entry const& entry = map.entries[i];
    if (!chosen(entry)) {
      continue;
    }
    if (entry.value.end == kNowhere) {
      fail(entry.key.begin, "its layout");
    } else if (is_first_in_line(text_, entry.key.begin)) {
      cut_lines(entry.key.begin, entry.value.end);
    } else if (i + 1 < map.entries.size()) {
      cut(entry.key.begin, map.entries[i + 1].key.begin);
    } else {
      fail(entry.key.begin, "its layout");
    }
  }
}

void Editor::remove_items(Node const& list, std::function<bool(Node const&)> const& chosen) {
  if (list.is_flow) {
    for (auto const& [from, to] : cuts_in_brackets<Node>(list.items, chosen)) {
      cut(from, to);
    }
    return;
  }
  for (Node const& item : list.items) {
    if (!chosen(item)) {
      continue;
    }
    std::size_t const dash = text_.find_first_not_of(' ', line_begin(text_, item.begin));
    if (item.end == kNowhere || dash >= item.begin || text_[dash] != '-') {
      fail(item.begin, "its layout");
    } else {
      cut_lines(dash, item.end);
    }
  }
}

std::string edited(std::string_view text, std::vector<Edit> const& edits) {
  std::string out;
  std::size_t at = 0;
  for (Edit const& edit : edits) {
    out += text.substr(at, std::max(edit.at, at) - at);
    out += edit.text;
    at = std::max(at, edit.at + edit.removed);
  }
  return out += text.substr(std::min(at, text.size()));
}

}  // namespace lastcall::inject
