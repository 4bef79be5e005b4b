// Lines that are derived from the protocol's grammar, with at most one thing wrong in each. The
// order of keys, white space, escapes, unknown keys, and earlier members of the same name are all
// chosen. Checked:
//  1. a line that keeps to the grammar is read, in the other order and spelling too, and contains
//     afterwards what it was derived from;
//  2. a line with one bad field is a bad_field that names the field, keeps the seq, and lets the
//     peer stay;
//  3. what the supervisor can send to a shim, the shim reads, and reads the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "ipc/codec.hpp"
#include "shim/messages.hpp"
#include "shim/signal_names.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/ipc_grammar.hpp"
#include "tests/fuzz/work.hpp"

namespace {

using namespace lastcall;
using fuzz::Choices;
using fuzz::Key;
using fuzz::Row;
using Json = nlohmann::json;
using Is = Key::Is;
using Members = std::vector<std::pair<std::string, Json>>;

constexpr std::string_view kSignals[] = {"TERM", "INT", "KILL", "USR1", "SIGHUP", "SIGQUIT"};
constexpr std::string_view kPieces[] = {
    "a",      "Qwen/Qwen3-0.6B", "\"",         "\\", "\n",    "\x01", "/",
    "\u00e9", "\u20ac",          "\U0001f600", "{}", "req-7", "\x7f"};

/// The fault of a line, if it has one.
struct Spoiled {
  bool wanted = false;
  std::string name;  // of the field, with the object around it
};

std::string text(Choices& choose, std::uint64_t least, std::uint64_t most) {
  std::string made;
  most = most == 0 ? 2000 : most;
  for (std::size_t i = choose.below(6); i > 0; --i) {
    made += choose.of(kPieces);
  }
  if (choose.one_in(16)) {
    made.append(most, 'x');
  }
  while (made.size() > most) {  // whole characters only
    auto const last =
        std::find_if(made.rbegin(), made.rend(), [](char c) { return (c & 0xc0) != 0x80; });
    made.erase(last.base() - 1, made.end());
  }
  return made.size() < least ? "i" : made;
}

Json good_value(Choices& choose, Key const& key);

Json object_of(Choices& choose, std::span<Key const> keys) {
  Json object = Json::object();
  for (Key const& key : keys) {
    if (key.required || choose.below(2) == 0) {
      object[std::string(key.name)] = good_value(choose, key);
    }
  }
  return object;
}

Json good_value(Choices& choose, Key const& key) {
  switch (key.is) {
    case Is::id:
      return text(choose, 1, key.most);
    case Is::text:
      return text(choose, 0, key.most);
    case Is::ids: {
      Json list = Json::array();
      for (std::size_t i = choose.below(4) + 1; i > 0; --i) {
        list.push_back(text(choose, 1, key.most));
      }
      return list;
    }
    case Is::boolean:
      return choose.below(2) == 1;
    case Is::change:
      if (choose.one_in(4)) {
        return nullptr;
      }
      [[fallthrough]];
    case Is::number:
      return key.least + choose.number(key.most - key.least);
    case Is::word:
    case Is::fixed:
      return choose.of(key.words);
    case Is::newer:
      return choose.one_in(4) ? "quite_new" : choose.of(key.words);
    case Is::signal:
      return choose.of(kSignals);
    case Is::share:
      return choose.one_in(4) ? Json() : Json(double(choose.below(65)) / 64);
    case Is::object:
      return object_of(choose, key.inner);
    case Is::any:
      return Json{{"phase", "draining"}, {"n", choose.number(1000)}};
    case Is::report:
      return Json{{"cause", text(choose, 0, 64)}}.dump();
  }
  return nullptr;
}

/// A text that is no value of this field, whichever field it is.
Json bad_value(Choices& choose, Key const& key, std::string& name) {
  std::size_t const how = choose.below(4);
  switch (key.is) {
    case Is::id:
    case Is::text:
    case Is::report:
      if (how == 0 && key.most > 0) {
        return std::string(key.most + 1, 'y');
      }
      return how < 2 ? Json(17) : how == 2 ? Json::array({"a"}) : Json(true);
    case Is::ids:
      return how == 0   ? Json::array({std::string(key.most + 1, 'y')})
             : how == 1 ? Json::array({1})
             : how == 2 ? Json("a")
                        : Json::array({""});
    case Is::boolean:
      return how == 0 ? Json(1) : how == 1 ? Json("true") : Json::object();
    case Is::number:
    case Is::change:
      if (how == 0 && key.least > 0) {
        return key.least - 1;
      }
      return how < 2 ? Json(key.most + 1) : how == 2 ? Json("1") : Json(-1);
    case Is::word:
      return how == 0 ? Json(1) : how == 1 ? Json("") : Json("no such word");
    case Is::fixed:
    case Is::newer:
      return how < 2 ? Json(1) : Json::array();
    case Is::signal:
      return how == 0 ? Json(15) : how == 1 ? Json("") : Json("no signal at all");
    case Is::share:
      return how == 0 ? Json(1.5) : how == 1 ? Json("0.5") : Json(-0.5);
    case Is::any:
      return how < 2 ? Json(1) : Json("{}");
    case Is::object: {
      if (how < 2) {
        return how == 0 ? Json(1) : Json::array();
      }
      Json object = object_of(choose, key.inner);
      Key const& inner = choose.of(key.inner);
      std::string deeper;
      object[std::string(inner.name)] = bad_value(choose, inner, deeper);
      name += "." + std::string(inner.name);
      return object;
    }
  }
  return nullptr;
}

Members derive(Choices& choose, Row const& row, Spoiled& spoiled) {
  Members members{{"op", row.op}};
  bool const is_answer = row.op == "error";
  if (!is_answer && choose.one_in(2)) {
    members.emplace_back("seq", choose.number(1'000'000));
  }
  std::size_t const bad =
      spoiled.wanted && !row.keys.empty() ? choose.below(row.keys.size()) : row.keys.size();
  for (Key const& key : row.keys) {
    bool const is_bad = &key == row.keys.data() + bad;
    if (is_bad) {
      spoiled.name = key.name;
      if (key.required && choose.one_in(4)) {
        continue;  // missing
      }
      members.emplace_back(key.name, bad_value(choose, key, spoiled.name));
    } else if (!key.required && choose.one_in(8)) {
      members.emplace_back(key.name, nullptr);  // as if it were not there
    } else if (key.required || choose.below(3) != 0) {
      members.emplace_back(key.name, good_value(choose, key));
    }
  }
  return members;
}

/// One JSON value, spelled in a way that the encoder does not use.
void spell(Choices& choose, Json const& value, std::string& out) {
  if (!value.is_string() || choose.below(3) != 0) {
    out += value.dump();
    return;
  }
  out += '"';
  for (char const c : value.get_ref<std::string const&>()) {
    char escaped[8];
    bool const is_plain = static_cast<unsigned char>(c) >= 0x80;
    if (is_plain || (c >= ' ' && c != '"' && c != '\\' && choose.below(2) == 0)) {
      out += c;
    } else {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
    }
  }
  out += '"';
}

std::string write(Choices& choose, Members members) {
  for (std::size_t i = members.size(); i > 1; --i) {
    std::swap(members[i - 1], members[choose.below(i)]);
  }
  if (choose.one_in(3)) {
    members.insert(members.begin(), {choose.of(members).first, Json::array({1, "earlier"})});
  }
  if (choose.one_in(3)) {
    members.emplace_back("x-later", Json{{"deep", {1, nullptr, "}"}}});
  }
  constexpr std::string_view kSpaces[] = {"", " ", "\t", " \r "};
  std::string line = "{";
  for (auto const& [name, value] : members) {
    line.append(line.size() == 1 ? "" : ",").append(choose.of(kSpaces));
    spell(choose, name, line);
    line.append(choose.of(kSpaces)).append(":").append(choose.of(kSpaces));
    spell(choose, value, line);
  }
  return line.append(choose.of(kSpaces)).append("}");
}

[[noreturn]] void fail(std::string_view what, std::string_view line, std::string_view more = {}) {
  std::fprintf(stderr, "%.*s: %.*s (%.*s)\n", int(what.size()), what.data(), int(line.size()),
               line.data(), int(more.size()), more.data());
  std::abort();
}

/// The encoder may leave a field out again if its value is the one that is assumed without it.
void check_meaning(Members const& members, std::string_view line, std::string const& again) {
  Json const said = Json::parse(again);
  for (auto const& [name, value] : members) {
    auto const found = said.find(name);
    Json expected = value;
    if (name == "name" && value.is_string() && value.get<std::string>().starts_with("SIG")) {
      expected = value.get<std::string>().substr(3);
    }
    bool const is_same = found == said.end() || value.is_null() || *found == expected ||
                         value == "quite_new" || value.is_object();
    if (!is_same) {
      fail("means something else", line, again);
    }
  }
}

template <typename Decoded>
void check(Decoded const& decoded, Members const& members, std::string_view line,
           Spoiled const& spoiled) {
  auto const* const problem = std::get_if<ipc::DecodeError>(&decoded);
  if (spoiled.name.empty()) {
    if (problem != nullptr) {
      fail("is refused", line, problem->message);
    }
    auto const& incoming = std::get<0>(decoded);
    std::string again;
    if (!encode(incoming.message, incoming.seq, again)) {
      fail("cannot be written again", line);
    }
    return check_meaning(members, line, again);
  }
  if (problem == nullptr) {
    fail("is taken in spite of", line, spoiled.name);
  }
  bool const is_version = spoiled.name == "version" && problem->code == ipc::ErrorCode::version;
  if (!is_version && (problem->code != ipc::ErrorCode::bad_field || problem->close ||
                      problem->message.find(spoiled.name) == std::string::npos)) {
    fail("does not name " + spoiled.name, line, problem->message);
  }
  std::optional<std::uint64_t> seq;
  for (auto const& [name, value] : members) {
    seq = name == "seq" ? std::optional(value.get<std::uint64_t>()) : seq;
  }
  if (problem->seq != seq) {
    fail("has another seq", line);
  }
}

/// Returns `null` if the member is not there.
Json member(Members const& members, std::string_view name) {
  for (auto const& [key, value] : members) {
    if (key == name) {
      return value;
    }
  }
  return nullptr;
}

void check_shim(Members const& members, std::string_view line) {
  shim::Decoded const decoded = shim::decode(line);
  shim::Order const& order = decoded.order;
  if (decoded.problem != shim::ErrorCode::none) {
    fail("is refused by the shim", line, decoded.detail);
  }
  auto const is = [&](std::string_view name, auto const& value) {
    Json const wanted = member(members, name);
    if (wanted.is_null() ? value.has_value() : !value || Json(*value) != wanted) {
      fail("means something else to the shim", line, name);
    }
  };
  auto const ms = [](auto const& value) {
    return value ? std::optional(
                       std::chrono::duration_cast<std::chrono::milliseconds>(*value).count())
                 : std::nullopt;
  };
  is("seq", order.seq);
  std::string const op = member(members, "op");
  if (op == "welcome") {
    is("grace_ms", ms(order.grace));
    is("rest_grace_ms", ms(order.rest_grace));
  } else if (op == "phase" || op == "will") {
    is("deadline_at_ms",
       order.deadline ? std::optional(lastcall::to_ms(*order.deadline)) : std::nullopt);
  }
  if (op == "exit" || op == "will") {
    is("code", order.exit_code);
  }
  if (op == "engine.signal") {
    std::string const name = member(members, "name");
    if (shim::signal_from_text(name) != order.signal ||
        order.whole_tree != (member(members, "scope") == "all")) {
      fail("means something else to the shim", line, "name or scope");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  Choices choose(data, size);
  for (int lines = 0; lines < 16 && !choose.empty(); ++lines) {
    bool const to_supervisor = choose.below(2) == 0;
    Row const& row = to_supervisor ? choose.of(fuzz::to_supervisor_rows())
                                   : choose.of(fuzz::from_supervisor_rows());
    Spoiled spoiled{.wanted = choose.one_in(3), .name = {}};
    Members const members = derive(choose, row, spoiled);
    std::string const line = write(choose, members);
    fuzz::BoundedWork const work(line.size(), {.a_byte = 500, .besides = 20'000});
    if (to_supervisor) {
      check(ipc::decode_to_supervisor(line), members, line, spoiled);
    } else {
      check(ipc::decode_from_supervisor(line), members, line, spoiled);
      if (row.for_shim && spoiled.name.empty()) {
        check_shim(members, line);
      }
    }
  }
  return 0;
}
