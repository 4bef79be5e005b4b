#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/shapes.hpp"
#include "supervisor/runtime/record/event_log.hpp"

namespace lastcall::runtime::event_log {
namespace {

using lifecycle::Shape;

using Json = nlohmann::ordered_json;

/// The same limit as in the protocol: a larger value would overflow when it is added to another.
constexpr std::int64_t kLongestMs = 1'000'000'000'000'000;

/// A key whose value is of the wrong kind.
struct Misfit {
  std::string key;
  std::string found;
};

/// Fills a struct from an object; missing values keep their defaults.
class Reader {
 public:
  Reader(Json const& object, std::optional<Misfit>& misfit) : object_(object), misfit_(misfit) {}

  template <typename T>
  void operator()(std::string_view key, T& value) {
    auto const found = object_.find(key);
    if (found == object_.end() || found->is_null()) {
      return;
    }
    if (!take(*found, value) && !misfit_) {
      misfit_ = {.key = std::string(key), .found = found->dump()};
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
  bool take(Json const& json, std::vector<Element>& elements) {
    elements.clear();
    for (Json const& item : json) {
      if (!take(item, elements.emplace_back())) {
        return false;
      }
    }
    return json.is_array();
  }
  template <lifecycle::Shaped T>
  bool take(Json const& json, T& part) {
    if (json.is_object()) {
      Reader nested(json, misfit_);
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
    auto const parsed = lifecycle::parse_word<Enum>(json.get<std::string>());
    value = parsed.value_or(value);
    return parsed.has_value();
  }

  Json const& object_;
  std::optional<Misfit>& misfit_;
};

template <std::size_t I = 0>
Decoded decode_as(std::string_view type, Json const& json) {
  if constexpr (I == std::variant_size_v<lifecycle::Event>) {
    return {std::nullopt, "type: '" + std::string(type) + "' is not an event"};
  } else {
    using Type = std::variant_alternative_t<I, lifecycle::Event>;
    if (Shape<Type>::kName != type) {
      return decode_as<I + 1>(type, json);
    }
    Type value{};
    std::optional<Misfit> misfit;
    Reader reader(json, misfit);
    Shape<Type>::visit(value, reader);
    if (misfit) {
      return {std::nullopt, misfit->key + ": " + misfit->found + " is not of the expected kind"};
    }
    return {std::move(value), {}};
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

DecodedSettings decode_settings(std::string_view text) {
  Json const json = Json::parse(text, nullptr, false);
  if (!json.is_object()) {
    return {std::nullopt, "expected a JSON object"};
  }
  lifecycle::Settings settings;
  std::optional<Misfit> misfit;
  Reader reader(json, misfit);
  Shape<lifecycle::Settings>::visit(settings, reader);
  if (misfit) {
    return {std::nullopt, misfit->key + ": not a value of that setting"};
  }
  return {std::move(settings), {}};
}

}  // namespace lastcall::runtime::event_log
