#include "router/continuation/json_edits.hpp"

#include <algorithm>
#include <utility>

#include "base/json_writer.hpp"

namespace lastcall::router::continuation {

std::string_view written(json::Value const& value) {
  if (value.kind != json::Kind::string) {
    return value.text;
  }
  return {value.text.data() - 1, value.text.size() + 2};
}

std::string_view written(json::Member const& member) {
  std::string_view const value = written(member.value);
  char const* const begin = member.key.data() - 1;
  return {begin, static_cast<std::size_t>(value.data() + value.size() - begin)};
}

json::Value const* find(std::vector<json::Member> const& members, std::string_view name) {
  auto const found = std::find_if(members.rbegin(), members.rend(),
                                  [name](json::Member const& m) { return m.key == name; });
  return found == members.rend() ? nullptr : &found->value;
}

json::Value const* find_value(std::vector<json::Member> const& members, std::string_view name) {
  json::Value const* const value = find(members, name);
  return value != nullptr && value->kind != json::Kind::null ? value : nullptr;
}

void JsonEdits::begin(std::string_view text) {
  constexpr std::size_t kUsual = 64;
  constexpr std::size_t kUsualBytes = 4096;
  text_ = text;
  are_sorted_ = true;
  edits_.clear();
  added_.clear();
  if (edits_.capacity() > kUsual || added_.capacity() > kUsualBytes) {
    std::vector<Edit>().swap(edits_);
    std::string().swap(added_);
  }
}

void JsonEdits::put(std::size_t begin, std::size_t end, std::size_t added) {
  are_sorted_ = are_sorted_ && (edits_.empty() || edits_.back().begin <= begin);
  edits_.push_back({begin, end, added, added_.size()});
}

void JsonEdits::replace(std::string_view part, std::string_view with) {
  std::size_t const begin = offset(part.data());
  std::size_t const added = added_.size();
  added_.append(with);
  put(begin, begin + part.size(), added);
}

void JsonEdits::replace_by_string(std::string_view part, std::string_view text) {
  std::size_t const begin = offset(part.data());
  std::size_t const added = added_.size();
  json::append_string(added_, text);
  put(begin, begin + part.size(), added);
}

void JsonEdits::remove_member(std::vector<json::Member> const& members, std::size_t i,
                              bool one_stays) {
  std::string_view const own = written(members[i]);
  std::size_t begin = offset(own.data());
  std::size_t end = begin + own.size();
  if (one_stays) {  // together with the text between it and the member before
    std::string_view const before = written(members[i - 1]);
    begin = offset(before.data()) + before.size();
  } else if (i + 1 < members.size()) {
    end = offset(written(members[i + 1]).data());
  }
  put(begin, end, added_.size());
}

void JsonEdits::add(std::string_view object, bool is_empty, std::string_view name,
                    std::string_view value) {
  std::size_t const at = offset(object.data()) + object.rfind('}');
  std::size_t const added = added_.size();
  added_.append(is_empty ? "" : ",");
  json::append_string(added_, name);
  added_.append(":").append(value);
  put(at, at, added);
}

void JsonEdits::append_to(std::string& out) {
  if (!std::exchange(are_sorted_, true)) {
    std::stable_sort(edits_.begin(), edits_.end(),
                     [](Edit const& one, Edit const& other) { return one.begin < other.begin; });
  }
  std::size_t at = 0;
  for (Edit const& edit : edits_) {
    out.append(text_.substr(at, edit.begin - at));
    out.append(added_, edit.added_begin, edit.added_end - edit.added_begin);
    at = edit.end;
  }
  out.append(text_.substr(at));
}

std::string JsonEdits::text() {
  std::string out;
  // A body may be large, and growing would take three times its size.
  out.reserve(text_.size() + added_.size());
  append_to(out);
  return out;
}

}  // namespace lastcall::router::continuation
