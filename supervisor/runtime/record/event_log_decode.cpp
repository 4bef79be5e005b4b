#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/report.hpp"
#include "core/shapes.hpp"
#include "supervisor/runtime/record/event_log.hpp"

namespace lastcall::runtime::event_log {
namespace {

using lifecycle::Shape;

using Json = nlohmann::ordered_json;
using lifecycle::vocabulary::find_word;

/// As on the wire: more would overflow where it is added to another.
constexpr std::int64_t kLongestMs = 1'000'000'000'000'000;

template <typename Enum>
std::optional<Enum> parse_word(std::string_view text) {
  namespace words = lifecycle::vocabulary;
  if constexpr (std::is_same_v<Enum, lifecycle::CheckVerdict>) {
    return find_word<Enum>(lifecycle::vocabulary::kCheckVerdicts, text);
  } else if constexpr (std::is_same_v<Enum, lifecycle::EngineState>) {
    return find_word<Enum>(words::kEngineStates, text);
  } else if constexpr (std::is_same_v<Enum, lifecycle::CancelMode>) {
    return find_word<Enum>(words::kCancelModes, text);
  } else if constexpr (std::is_same_v<Enum, lifecycle::CancelReason>) {
    return find_word<Enum>(words::kCancelReasons, text);
  } else if constexpr (std::is_same_v<Enum, lifecycle::Outcome>) {
    return find_word<Enum>(words::kOutcomes, text);
  } else if constexpr (std::is_same_v<Enum, lifecycle::CleanupItem>) {
    return find_word<Enum>(words::kCleanupItems, text);
  } else if constexpr (std::is_same_v<Enum, lifecycle::TokenOutcome>) {
    return find_word<Enum>(words::kTokenOutcomes, text);
  } else {
    static_assert(std::is_same_v<Enum, lifecycle::ItemOutcome>);
    return find_word<Enum>(words::kItemOutcomes, text);
  }
}

/// Fills a struct from an object; what is missing keeps its default.
class Reader {
 public:
  Reader(Json const& object, std::string& problem) : object_(object), problem_(problem) {}

  template <typename T>
  void operator()(std::string_view key, T& value) {
    auto const found = object_.find(key);
    if (found == object_.end() || found->is_null()) {
      return;
    }
    if (!take(*found, value) && problem_.empty()) {
      problem_ = std::string(key) + ": " + found->dump() + " is not of the expected kind";
    }
  }

 private:
  template <typename T>
  bool take(Json const& json, std::optional<T>& value) {
    return take(json, value.emplace());
  }
  static bool take(Json const& json, std::string& text) {
    if (json.is_string()) {
      text = json.get<std::string>();
    }
    return json.is_string();
  }
  static bool take(Json const& json, bool& flag) {
    if (json.is_boolean()) {
      flag = json.get<bool>();
    }
    return json.is_boolean();
  }
  template <std::integral Number>
  static bool take(Json const& json, Number& number) {
    bool const fits =
        json.is_number_unsigned()
            ? std::in_range<Number>(json.get<std::uint64_t>())
            : json.is_number_integer() && std::in_range<Number>(json.get<std::int64_t>());
    if (fits) {
      number = json.get<Number>();
    }
    return fits;
  }
  static bool take(Json const& json, lifecycle::Instant& at) {
    lifecycle::Duration since{};
    bool const is_good = take(json, since);
    at = lifecycle::Instant{since};
    return is_good;
  }
  static bool take(Json const& json, lifecycle::Duration& duration) {
    std::int64_t ms = 0;
    bool const is_good = take(json, ms) && ms >= 0 && ms <= kLongestMs;
    duration = lifecycle::Duration{is_good ? ms : 0};
    return is_good;
  }
  template <typename Element>
  static bool take(Json const& json, std::vector<Element>& elements) {
    for (Json const& item : json) {
      if (!take(item, elements.emplace_back())) {
        return false;
      }
    }
    return json.is_array();
  }
  template <typename T>
    requires requires { Shape<T>::kName; }
  bool take(Json const& json, T& part) {
    if (json.is_object()) {
      Reader nested(json, problem_);
      Shape<T>::visit(part, nested);
    }
    return json.is_object();
  }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  static bool take(Json const& json, Enum& value) {
    if (!json.is_string()) {
      return false;
    }
    auto const parsed = parse_word<Enum>(json.get<std::string>());
    value = parsed.value_or(value);
    return parsed.has_value();
  }

  Json const& object_;
  std::string& problem_;
};

template <std::size_t I = 0>
Decoded decode_as(std::string_view type, Json const& json) {
  if constexpr (I == std::variant_size_v<lifecycle::Event>) {
    return {std::nullopt, "type: '" + std::string(type) + "' is no event"};
  } else {
    using Type = std::variant_alternative_t<I, lifecycle::Event>;
    if (Shape<Type>::kName != type) {
      return decode_as<I + 1>(type, json);
    }
    Type value{};
    Decoded decoded;
    Reader reader(json, decoded.problem);
    Shape<Type>::visit(value, reader);
    if (decoded.problem.empty()) {
      decoded.event = std::move(value);
    }
    return decoded;
  }
}

}  // namespace

Decoded decode_event(std::string_view text) {
  Json const json = Json::parse(text, nullptr, false);
  if (!json.is_object()) {
    return {std::nullopt, "expected a JSON object"};
  }
  auto const type = json.find("type");
  if (type == json.end() || !type->is_string()) {
    return {std::nullopt, "type: expected the name of an event"};
  }
  return decode_as(type->get<std::string>(), json);
}

}  // namespace lastcall::runtime::event_log
