#include "config/decode.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "base/overloaded.hpp"
#include "base/words.hpp"
#include "config/decode_values.hpp"
#include "config/keys.hpp"
#include "config/suggest.hpp"

namespace lastcall::config {
namespace {

std::string joined(std::string_view parent, std::string_view name) {
  return parent.empty() ? std::string(name) : std::string(parent) + "." + std::string(name);
}

constexpr std::size_t kMostSuggestions = 100;

/// Decodes one section of the document with the rows that may appear in it. `path` is the section's
/// name in problems, `prefix` the beginning of its rows' paths.
class SectionDecoder {
 public:
  SectionDecoder(Keys const& keys, std::string path, std::string prefix, Problems& problems,
                 Places& places)
      : keys_(keys),
        path_(std::move(path)),
        prefix_(std::move(prefix)),
        problems_(problems),
        places_(places) {}

  void decode(Node const& node) {
    if (node.kind == Node::Kind::invalid) {
      return;
    }
    if (node.kind != Node::Kind::map && node.kind != Node::Kind::null) {
      complain(node.place, path_, describe(node) + ", expected a section of keys");
      return;
    }
    for (Entry const& entry : node.entries) {
      decode_entry(entry);
    }
    check_required(node.place);
    check_one_of(node.place);
  }

 private:
  void decode_entry(Entry const& entry) {
    std::string const row_path = prefix_ + entry.key;
    std::string const full_path = joined(path_, entry.key);
    for (Key const& key : keys_) {
      if (OneOf const* one_of = std::get_if<OneOf>(&key.slot)) {
        if (decode_alternative(*one_of, entry, full_path)) {
          return;
        }
      } else if (key.path == row_path) {
        seen_.insert(key.path);
        places_.insert_or_assign(full_path, entry.value.place);
        decode_value(key, entry, full_path);
        return;
      }
    }
    // A suggestion compares the key with all others: a file of keys would take seconds.
    bool const few = problems_.size() < kMostSuggestions;
    complain(entry.place, full_path, "unknown key" + (few ? ", " + known_keys(entry.key) : ""));
  }

  bool decode_alternative(OneOf const& one_of, Entry const& entry, std::string const& full_path) {
    auto const found = std::find_if(one_of.alternatives.begin(), one_of.alternatives.end(),
                                    [&](Alternative const& a) { return a.name == entry.key; });
    if (found == one_of.alternatives.end()) {
      return false;
    }
    if (!alternative_.empty()) {
      complain(entry.place, full_path,
               "a second kind, expected only one: " + alternative_ + " is there already");
      return true;
    }
    alternative_ = entry.key;
    places_.insert_or_assign(full_path, entry.value.place);
    Keys const keys = found->select();
    SectionDecoder(keys, full_path, "", problems_, places_).decode(entry.value);
    return true;
  }

  void decode_value(Key const& key, Entry const& entry, std::string const& full_path) {
    Node const& node = entry.value;
    if (node.kind == Node::Kind::invalid) {
      return;
    }
    std::visit(
        Overloaded{
            [&](Section const& section) {
              // The file's value of `enabled` holds even if a flag sets another key of the section.
              bool const is_written = places_.contains(full_path + ".enabled");
              if (section.enables != nullptr && node.kind == Node::Kind::map && !is_written) {
                *section.enables = true;
              }
              SectionDecoder(keys_, full_path, std::string(key.path) + ".", problems_, places_)
                  .decode(node);
            },
            [&](Items const& items) { decode_items(items, key, node, full_path); },
            [](OneOf const&) {},
            [&](Choice const& choice) { report(read(node, key, choice), key, node, full_path); },
            [&](FileMode const& mode) { report(read(node, key, mode), key, node, full_path); },
            [&](Uids const& uids) { decode_uids(*uids.at, key, node, full_path); },
            [&](auto* out) { decode_into(*out, key, node, full_path); }},
        key.slot);
  }

  void decode_uids(AllowedUids& out, Key const& key, Node const& node,
                   std::string const& full_path) {
    bool const is_any = node.kind == Node::Kind::scalar && node.text == "any";
    if (!is_any) {
      decode_into(out.listed, key, node, full_path);
    }
    out.any = is_any;
  }

  template <class T>
  void decode_into(T& out, Key const& key, Node const& node, std::string const& full_path) {
    report(read(node, key, out), key, node, full_path);
  }

  template <class T>
  void decode_into(std::optional<T>& out, Key const& key, Node const& node,
                   std::string const& full_path) {
    if (node.kind == Node::Kind::null) {
      out.reset();
      return;
    }
    T value{};
    decode_into(value, key, node, full_path);
    out = std::move(value);
  }

  template <class T>
  void decode_into(std::vector<T>& out, Key const& key, Node const& node,
                   std::string const& full_path) {
    if (node.kind != Node::Kind::list) {
      complain(node.place, full_path, describe(node) + ", expected " + expectation(key));
      return;
    }
    if (node.items.empty() && key.required) {
      complain(node.place, full_path, "an empty list, expected " + expectation(key));
    }
    out.clear();
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      Node const& item = node.items[i];
      if (item.kind == Node::Kind::invalid) {
        continue;
      }
      T value{};
      std::string const path = full_path + "[" + std::to_string(i) + "]";
      places_.insert_or_assign(path, item.place);
      if (Complaint const complaint = read(item, key, value)) {
        complain(item.place, path, *complaint + ", expected " + element_expectation(key));
      }
      out.push_back(std::move(value));
    }
  }

  void decode_items(Items const& items, Key const& key, Node const& node,
                    std::string const& full_path) {
    if (node.kind == Node::Kind::null && !key.unset.empty()) {
      return;
    }
    if (node.kind != Node::Kind::list) {
      complain(node.place, full_path, describe(node) + ", expected " + expectation(key));
      return;
    }
    items.clear();
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      Keys const keys = items.append();
      std::string const path = full_path + "[" + std::to_string(i) + "]";
      places_.insert_or_assign(path, node.items[i].place);
      SectionDecoder(keys, path, "", problems_, places_).decode(node.items[i]);
    }
  }

  void check_required(Place const& place) {
    for (Key const& key : keys_) {
      if (key.required && key.path.starts_with(prefix_) && !seen_.contains(key.path)) {
        complain(place, joined(path_, key.path.substr(prefix_.size())),
                 "missing, expected " + expectation(key));
      }
    }
  }

  void check_one_of(Place const& place) {
    for (Key const& key : keys_) {
      OneOf const* one_of = std::get_if<OneOf>(&key.slot);
      if (one_of != nullptr && alternative_.empty()) {
        complain(place, path_, "no kind, expected one of " + names_of(*one_of));
      }
    }
  }

  static std::string names_of(OneOf const& one_of) {
    return lastcall::joined(one_of.alternatives, ", ", &Alternative::name);
  }

  /// The text after "unknown key": the most similar key of this section, else the key of the same
  /// name in another one, else all keys of this section.
  std::string known_keys(std::string_view wrong) const {
    std::vector<std::string_view> here;
    std::vector<std::string_view> elsewhere;
    for (Key const& key : keys_) {
      if (OneOf const* one_of = std::get_if<OneOf>(&key.slot)) {
        for (Alternative const& alternative : one_of->alternatives) {
          here.push_back(alternative.name);
        }
        continue;
      }
      bool const is_here = key.path.starts_with(prefix_) &&
                           key.path.find('.', prefix_.size()) == std::string_view::npos;
      if (is_here) {
        here.push_back(key.path.substr(prefix_.size()));
      } else if (key.path.substr(key.path.rfind('.') + 1) == wrong) {
        elsewhere.push_back(key.path);
      }
    }
    if (std::optional<std::string_view> const near = nearest(wrong, here)) {
      return "did you mean '" + std::string(*near) + "'?";
    }
    if (!elsewhere.empty()) {
      return "did you mean '" + std::string(elsewhere.front()) + "'?";
    }
    return here.empty() ? "expected none here" : "expected one of " + lastcall::joined(here, ", ");
  }

  void report(Complaint const& complaint, Key const& key, Node const& node,
              std::string const& full_path) {
    if (complaint) {
      complain(node.place, full_path, *complaint + ", expected " + expectation(key));
    }
  }

  void complain(Place const& place, std::string key, std::string text) {
    problems_.push_back({place, std::move(key), std::move(text)});
  }

  Keys const& keys_;
  std::string path_;
  std::string prefix_;
  Problems& problems_;
  Places& places_;
  std::set<std::string_view> seen_;
  std::string alternative_;
};

}  // namespace

Place nearest_place(Places const& places, std::string_view key) {
  while (true) {
    if (auto const found = places.find(key); found != places.end()) {
      return found->second;
    }
    std::size_t const cut = key.find_last_of(".[");
    if (cut == std::string_view::npos) {
      return {};
    }
    key = key.substr(0, cut);
  }
}

void decode(Node const& root, Config& config, Problems& problems, Places& places) {
  decode(root, keys_of(config), problems, places);
}

void decode(Node const& root, Keys const& keys, Problems& problems, Places& places) {
  SectionDecoder(keys, "", "", problems, places).decode(root);
}

}  // namespace lastcall::config
