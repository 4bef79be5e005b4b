#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "config/keys.hpp"
#include "config/reference.hpp"

namespace lastcall::config {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kAddressPattern = "^(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9._-]+):[0-9]{1,5}$";
constexpr std::string_view kListenPattern = "^(\\[[0-9A-Fa-f:.]+\\]|[0-9.]+):[0-9]{1,5}$";

Json section(Keys const& keys, std::string_view prefix, std::string_view doc);

Json text_of(Key const& key) {
  Json json{{"type", "string"}};
  if (key.form != nullptr && !key.form->pattern.empty()) {
    json["pattern"] = key.form->pattern;
  }
  return json;
}

Json whole_number_of(Key const& key) {
  Json json{{"type", "integer"}};
  if (!key.allowed.empty()) {
    json["enum"] = std::vector<std::uint32_t>(key.allowed.begin(), key.allowed.end());
  } else if (key.range) {
    json["minimum"] = key.range->minimum;
    json["maximum"] = key.range->maximum;
  } else {
    json["minimum"] = 0;
  }
  return json;
}

Json number_of(Key const& key) {
  Json json{{"type", "number"}};
  if (key.range) {
    json["minimum"] = key.range->minimum;
    json["maximum"] = key.range->maximum;
  }
  return json;
}

Json list_of(Json element, Key const& key) {
  Json json{{"type", "array"}, {"items", std::move(element)}};
  if (key.required) {
    json["minItems"] = 1;
  }
  return json;
}

/// An optional key may also be written without a value.
Json nullable(Json json) {
  json["type"] = Json::array({json["type"], "null"});
  if (json.contains("enum")) {
    json["enum"].push_back(nullptr);
  }
  return json;
}

struct SchemaOf {
  Key const& key;

  Json operator()(Section const& /*section*/) const { return Json::object(); }
  Json operator()(OneOf const& /*one_of*/) const { return Json::object(); }
  template <class T>
  Json operator()(std::optional<T>* /*at*/) const {
    return nullable((*this)(static_cast<T*>(nullptr)));
  }
  Json operator()(bool* /*at*/) const { return {{"type", "boolean"}}; }
  Json operator()(std::string* /*at*/) const { return text_of(key); }
  Json operator()(Duration* /*at*/) const {
    return {{"type", "string"}, {"pattern", kDurationPattern}};
  }
  Json operator()(std::uint32_t* /*at*/) const { return whole_number_of(key); }
  Json operator()(std::uint64_t* /*at*/) const { return whole_number_of(key); }
  Json operator()(double* /*at*/) const { return number_of(key); }
  Json operator()(Address* /*at*/) const {
    return {{"type", "string"}, {"pattern", key.local ? kListenPattern : kAddressPattern}};
  }
  Json operator()(std::vector<std::string>* /*at*/) const { return list_of(text_of(key), key); }
  Json operator()(std::vector<std::uint32_t>* /*at*/) const {
    return list_of(whole_number_of(key), key);
  }
  Json operator()(FileMode const& /*mode*/) const {
    return {{"type", "string"}, {"pattern", "^0?[0-7]{3}$"}};
  }
  Json operator()(Uids const& /*uids*/) const {
    return {{"anyOf", Json::array({list_of(whole_number_of(key), key), {{"const", "any"}}})}};
  }
  Json operator()(Choice const& choice) const {
    return {{"enum", std::vector<std::string_view>(choice.names.begin(), choice.names.end())}};
  }
  Json operator()(Items const& items) const {
    Json json = list_of(section(items.append(), "", ""), key);
    return key.unset.empty() ? json : nullable(std::move(json));
  }
};

/// Adds the default as JSON, for types that have the JSON value, or its content, as their text.
void add_default(Json& json, Key const& key) {
  std::string const text = value_text(key);
  if (key.required || text.empty()) {
    return;
  }
  if (auto const* const texts = std::get_if<std::vector<std::string>*>(&key.slot)) {
    json["default"] = **texts;
    return;
  }
  // The YAML flow text of booleans, numbers, lists and quoted texts is already JSON.
  Json parsed = Json::parse(text, nullptr, false);
  json["default"] = parsed.is_discarded() ? Json(text) : std::move(parsed);
}

Json describe(Key const& key) {
  Json json{{"description", key.doc}};
  json.update(std::visit(SchemaOf{key}, key.slot));
  if (!std::holds_alternative<Items>(key.slot)) {
    add_default(json, key);
  }
  return json;
}

/// One schema for each alternative: its own key must be present, the others must not be.
void add_alternatives(Json& properties, Json& one_of, OneOf const& alternatives) {
  for (Alternative const& alternative : alternatives.alternatives) {
    Keys const keys = alternative.select();
    properties[std::string(alternative.name)] = section(keys, "", alternative.doc);
    one_of.push_back({{"required", Json::array({alternative.name})}});
  }
}

Json section(Keys const& keys, std::string_view prefix, std::string_view doc) {
  Json properties = Json::object();
  Json required = Json::array();
  Json one_of = Json::array();
  for (Key const& key : keys) {
    bool const is_here =
        key.path.starts_with(prefix) && key.path.find('.', prefix.size()) == std::string_view::npos;
    if (!is_here) {
      continue;
    }
    std::string const name(key.path.substr(prefix.size()));
    if (OneOf const* alternatives = std::get_if<OneOf>(&key.slot)) {
      add_alternatives(properties, one_of, *alternatives);
    } else if (std::holds_alternative<Section>(key.slot)) {
      properties[name] = section(keys, std::string(key.path) + ".", key.doc);
    } else {
      properties[name] = describe(key);
    }
    if (key.required) {
      required.push_back(name);
    }
  }
  Json json = Json::object();
  if (!doc.empty()) {
    json["description"] = doc;
  }
  bool const may_be_empty = required.empty() && one_of.empty();
  json["type"] = may_be_empty ? Json::array({"object", "null"}) : Json("object");
  json["additionalProperties"] = false;
  if (!required.empty()) {
    json["required"] = std::move(required);
  }
  if (!one_of.empty()) {
    json["oneOf"] = std::move(one_of);
  }
  json["properties"] = std::move(properties);
  return json;
}

}  // namespace

std::string reference_schema() {
  Config config;
  return reference_schema("lastcall configuration",
                          "Everything is optional; docs/config.md explains.", keys_of(config));
}

std::string reference_schema(std::string_view title, std::string_view doc, Keys const& keys) {
  Json json{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  json.update(section(keys, "", doc));
  return json.dump(2) + "\n";
}

}  // namespace lastcall::config
