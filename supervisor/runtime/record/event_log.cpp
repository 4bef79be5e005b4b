// Writes the records; event_log_decode.cpp reads them.
#include "supervisor/runtime/record/event_log.hpp"

#include <concepts>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/json_writer.hpp"
#include "core/shapes.hpp"

namespace lastcall::runtime::event_log {
namespace {

using lifecycle::Duration;
using lifecycle::Instant;
using lifecycle::Shape;
using lifecycle::Shaped;

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  template <typename T>
  void operator()(std::string_view key, std::optional<T> const& value) {
    if (value) {
      (*this)(key, *value);
    }
  }
  template <typename T>
  void operator()(std::string_view key, T const& value) {
    begin(key);
    put(value);
  }

  template <typename T>
  void object(T const& value, std::string_view type) {
    out_ += '{';
    first_ = true;
    if (!type.empty()) {
      (*this)("type", type);
    }
    Shape<T>::visit(value, *this);
    out_ += '}';
    first_ = false;
  }

 private:
  void begin(std::string_view key) {
    if (!first_) {
      out_ += ',';
    }
    first_ = false;
    out_ += '"';
    out_ += key;
    out_ += "\":";
  }
  void put(std::string_view text) { json::append_string(out_, text); }
  void put(bool flag) { out_ += flag ? "true" : "false"; }
  void put(std::integral auto number) { out_ += std::to_string(number); }
  void put(Instant at) { out_ += std::to_string(lifecycle::to_ms(at)); }
  void put(Duration d) { out_ += std::to_string(lifecycle::to_ms(d)); }
  template <typename Element>
  void put(std::vector<Element> const& elements) {
    char separator = '[';
    for (Element const& element : elements) {
      out_ += separator;
      put(element);
      separator = ',';
    }
    out_ += separator == '[' ? "[]" : "]";
  }
  void put(Shaped auto const& part) { object(part, {}); }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  void put(Enum value) {
    put(lifecycle::name(value));
  }

  std::string& out_;
  bool first_ = true;
};

void append(std::string& out, auto const& variant) {
  std::visit(
      [&out](auto const& value) {
        using Type = std::remove_cvref_t<decltype(value)>;
        Writer(out).object(value, Shape<Type>::kName);
      },
      variant);
}

}  // namespace

std::string_view name(lifecycle::Event const& event) {
  return std::visit(
      []<typename E>(E const& /*event*/) -> std::string_view { return Shape<E>::kName; }, event);
}

std::string encode(lifecycle::Event const& event) {
  std::string out;
  append(out, event);
  return out;
}

std::string encode(lifecycle::Action const& action) {
  std::string out;
  append(out, action);
  return out;
}

std::string encode(std::span<lifecycle::Action const> actions) {
  std::string out = "[";
  for (lifecycle::Action const& action : actions) {
    if (out.size() > 1) {
      out += ',';
    }
    append(out, action);
  }
  out += ']';
  return out;
}

std::string encode(lifecycle::Settings const& settings) {
  std::string out;
  Writer(out).object(settings, {});
  return out;
}

}  // namespace lastcall::runtime::event_log
