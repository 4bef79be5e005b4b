#include "probes/checks/engine_answers.hpp"

#include <algorithm>
#include <cstddef>

#include <nlohmann/json.hpp>

#include "base/json_member.hpp"

namespace lastcall::probes {
namespace {

using Json = nlohmann::ordered_json;
using json::member;

/// Small limits, because the answers are parsed on the loop.
constexpr json::Limits kModest{.depth = 16, .members = 128};
constexpr std::size_t kQuoted = 512;

Json parsed(std::string_view text) {
  return json::parsed<Json>(text, kModest);
}

/// The first element of a list; null if there is none.
Json const& first_of(Json const& list) {
  static Json const kNothing;
  return list.is_array() && !list.empty() ? list.front() : kNothing;
}

}  // namespace

ListedModel first_model(std::string_view list) {
  Json const answer = parsed(list);
  Json const& first = first_of(member(answer, "data"));
  Json const& id = member(first, "id");
  return {.id = id.is_string() ? std::optional(json::text(id)) : std::nullopt,
          .owner = json::text(member(first, "owned_by"))};
}

std::optional<bool> is_true(std::string_view answer, std::string const& name) {
  Json const whole = parsed(answer);
  Json const& stated = member(whole, name.c_str());
  return stated.is_boolean() ? std::optional(stated.get<bool>()) : std::nullopt;
}

std::optional<std::uint64_t> load_in(std::string_view answer) {
  Json const json = parsed(answer);
  Json const& load = member(json, "server_load");
  return load.is_number() && load.get<double>() >= 0 ? std::optional(whole(load.get<double>()))
                                                     : std::nullopt;
}

std::string why_no_token(std::string_view answer) {
  Json const whole = parsed(answer);
  Json const& choices = member(whole, "choices");
  if (!choices.is_array() || choices.empty()) {
    return "an answer without a choice";
  }
  Json const& choice = choices.front();
  Json const& reason = member(choice, "finish_reason");
  if (reason != "length" && reason != "stop") {
    return "a choice that did not end by itself";
  }
  Json const& counted = member(member(whole, "usage"), "completion_tokens");
  if (counted.is_number()) {
    return counted.get<double>() >= 1 ? "" : "an answer without a token";
  }
  Json const& message = member(choice, "message");
  Json const& text = message.is_null() ? member(choice, "text") : member(message, "content");
  return text.is_string() && !text.get_ref<std::string const&>().empty()
             ? ""
             : "an answer without a token";
}

std::uint64_t whole(double figure) {
  constexpr double kMost = 1e15;
  double const bounded = std::min(figure, kMost);
  auto const count = static_cast<std::uint64_t>(bounded);
  return count + (static_cast<double>(count) < bounded ? 1 : 0);
}

std::string quoted_body(std::string_view body) {
  std::string text(body.substr(0, kQuoted));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, ' ');
  auto const last = text.find_last_not_of(' ');
  return last == std::string::npos ? std::string{} : text.substr(0, last + 1);
}

}  // namespace lastcall::probes
