#include "router/continuation/text_gate.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace lastcall::router::continuation {
namespace {

struct Found {
  std::size_t begin = std::string_view::npos;
  std::size_t end = 0;
};

Found first_of(std::span<std::string const> stops, std::string_view text) {
  Found first;
  for (std::string const& stop : stops) {
    std::size_t const at = text.find(stop);
    if (at < first.begin) {
      first = {at, at + stop.size()};
    }
  }
  return first;
}

/// The size of the white space that is the last character of `text`; 0 if that is none.
std::size_t last_space(std::string_view text) {
  constexpr std::string_view kOneByte = " \t\n\v\f\r\x1C\x1D\x1E\x1F";
  constexpr std::array<std::string_view, 6> kOthers{"\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80",
                                                    "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"};
  constexpr std::string_view kGeneral = "\xE2\x80";  // and a third byte
  constexpr std::string_view kThird = "\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8A\xA8\xA9";
  if (text.empty()) {
    return 0;
  }
  if (static_cast<unsigned char>(text.back()) < 0x80) {
    return kOneByte.find(text.back()) != kOneByte.npos ? 1 : 0;
  }
  for (std::string_view const space : kOthers) {
    if (text.ends_with(space)) {
      return space.size();
    }
  }
  bool const is_general = text.substr(0, text.size() - 1).ends_with(kGeneral);
  return is_general && kThird.find(text.back()) != kThird.npos ? kGeneral.size() + 1 : 0;
}

/// The size of the longest suffix of `text` that is the start of a stop string.
std::size_t begun(std::span<std::string const> stops, std::string_view text) {
  std::size_t longest = 0;
  for (std::string_view const stop : stops) {
    for (std::size_t size = std::min(stop.size() - 1, text.size()); size > longest; --size) {
      if (text.ends_with(stop.substr(0, size))) {
        longest = size;
      }
    }
  }
  return longest;
}

/// The number of bytes at the end of `text` that may still be cut off.
std::size_t size_to_hold(std::string_view text, TextGate::Rules const& rules) {
  std::size_t const stop = rules.keeps_stop ? 0 : begun(rules.stops, text);
  std::size_t const space =
      rules.holds_space ? space_at_end(text.substr(0, text.size() - stop)) : 0;
  // If white space is dropped later, the start of a stop string before it is at the end again.
  text.remove_suffix(stop + space);
  std::size_t const ahead = space > 0 && !rules.keeps_stop ? begun(rules.stops, text) : 0;
  return stop + space + ahead;
}

}  // namespace

std::size_t space_at_end(std::string_view text) {
  std::string_view rest = text;
  while (std::size_t const size = last_space(rest)) {
    rest.remove_suffix(size);
  }
  return text.size() - rest.size();
}

TextGate::Out TextGate::pass(std::string_view text, Rules const& rules) {
  if (rules.are_open()) {
    return {std::string(text), false};
  }
  std::string whole = std::exchange(held_, {});
  whole.append(text);
  if (rules.stops.empty()) {
    held_.assign(whole, whole.size() - space_at_end(whole));
    whole.resize(whole.size() - held_.size());
    return {std::move(whole), false};
  }
  std::string searched = seen_ ? *seen_ : std::string();
  std::size_t const seen = searched.size();
  searched.append(whole);
  if (Found const found = first_of(rules.stops, searched); found.begin != searched.npos) {
    std::size_t const end = rules.keeps_stop ? found.end : found.begin;
    whole.resize(end - std::min(end, seen));
    return {std::move(whole), true};
  }
  std::size_t const hold = size_to_hold(whole, rules);
  held_ = whole.substr(whole.size() - hold);
  whole.resize(whole.size() - hold);
  if (rules.keeps_stop) {
    std::string const out = searched.substr(0, seen) + whole;
    std::size_t const open = begun(rules.stops, out);
    seen_ = open > 0 ? std::make_unique<std::string>(out.substr(out.size() - open)) : nullptr;
  }
  return {std::move(whole), false};
}

std::string TextGate::flush() {
  return std::exchange(held_, {});
}

std::size_t TextGate::drop_space() {
  std::size_t const space = space_at_end(held_);
  held_.resize(held_.size() - space);
  return space;
}

}  // namespace lastcall::router::continuation
