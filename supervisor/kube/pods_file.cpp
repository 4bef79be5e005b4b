#include "supervisor/kube/pods_file.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/parse_number.hpp"
#include "config/document.hpp"
#include "config/text.hpp"

namespace lastcall::kube {
namespace {

using config::Entry;
using config::Node;

constexpr std::int64_t kLargestUser = 2'147'483'647;  // of Kubernetes; Linux has larger ones

class PodsReader {
 public:
  PodsReader(std::string const& version, config::Problems& problems)
      : version_(version), problems_(problems) {}

  void read(Node const& root, inject::PodDefaults& pods) {
    map(root, "",
        {{"image",
          [&](Node const& n, std::string const& k) { image(n, k, pods.image, pods.pull_policy); }},
         {"shimImage",
          [&](Node const& n, std::string const& k) {
            image(n, k, pods.shim_image, pods.shim_pull_policy);
          }},
         {"imagePullSecrets",
          [&](Node const& n, std::string const& k) { secrets(n, k, pods.pull_secrets); }},
         {"uid", [&](Node const& n, std::string const& k) { user(n, k, pods.user); }},
         {"gracePeriod", [&](Node const& n, std::string const& k) { grace(n, k, pods.grace); }},
         {"install",
          [&](Node const& n, std::string const& k) { section(n, k, pods.install, nullptr); }},
         {"sidecar",
          [&](Node const& n, std::string const& k) { section(n, k, pods.sidecar, &pods.env); }}});
  }

 private:
  using Take = std::function<void(Node const&, std::string const& key)>;
  struct Key {
    char const* name;
    Take take;
  };

  void complain(config::Place const& place, std::string const& key, std::string text) {
    problems_.push_back({place, key, std::move(text)});
  }

  /// `null` is the same as a missing key.
  void map(Node const& node, std::string const& path, std::vector<Key> const& keys) {
    if (node.kind == Node::Kind::null || node.kind == Node::Kind::invalid) {
      return;
    }
    if (node.kind != Node::Kind::map) {
      return complain(node.place, path, "not a map, expected keys and values");
    }
    std::string expected;
    for (Key const& key : keys) {
      expected += (expected.empty() ? "" : ", ") + std::string(key.name);
    }
    for (Entry const& entry : node.entries) {
      std::string const name = path.empty() ? entry.key : path + "." + entry.key;
      auto const found = std::find_if(keys.begin(), keys.end(),
                                      [&](Key const& key) { return key.name == entry.key; });
      if (found == keys.end()) {
        complain(entry.place, name, "unknown key, expected " + expected);
      } else {
        found->take(entry.value, name);
      }
    }
  }

  /// False after a complaint. A null is an empty text.
  bool scalar(Node const& node, std::string const& key, std::string& to) {
    if (node.kind != Node::Kind::scalar && node.kind != Node::Kind::null) {
      complain(node.place, key, "not a text, expected one");
      return false;
    }
    to = node.text;
    return true;
  }

  Take text(std::string& to) {
    return [this, &to](Node const& node, std::string const& key) { scalar(node, key, to); };
  }

  void image(Node const& node, std::string const& key, std::string& name, std::string& policy) {
    std::string repository;
    std::string tag;
    std::string digest;
    map(node, key,
        {{"repository", text(repository)},
         {"tag", text(tag)},
         {"digest", text(digest)},
         {"pullPolicy", text(policy)}});
    if (repository.empty()) {
      return complain(node.place, key + ".repository", "is missing, expected an image's name");
    }
    if (digest.empty()) {
      name = repository + ":" + (tag.empty() ? version_ : tag);
    } else {
      name = repository + "@" + digest;
    }
    if (!policy.empty() && policy != "Always" && policy != "IfNotPresent" && policy != "Never") {
      complain(node.place, key + ".pullPolicy",
               policy + " is not a policy, expected Always, IfNotPresent or Never");
    }
  }

  void secrets(Node const& node, std::string const& key, std::vector<std::string>& to) {
    if (node.kind == Node::Kind::null) {
      return;
    }
    if (node.kind != Node::Kind::list) {
      return complain(node.place, key, "not a list, expected Secrets with name");
    }
    for (Node const& item : node.items) {
      std::string name;
      map(item, key, {{"name", text(name)}});
      if (name.empty()) {
        complain(item.place, key, "a Secret without a name, expected name");
      }
      to.push_back(std::move(name));
    }
  }

  void user(Node const& node, std::string const& key, std::int64_t& to) {
    std::string word;
    if (!scalar(node, key, word)) {
      return;
    }
    auto const number = parse_number<std::int64_t>(word);
    if (!number || node.style == Node::Style::quoted || *number < 1 || *number > kLargestUser) {
      return complain(node.place, key,
                      "'" + word + "' is not a user, expected a whole number from 1 on");
    }
    to = *number;
  }

  void grace(Node const& node, std::string const& key, std::string& to) {
    if (scalar(node, key, to) && !config::parse_duration(to).value) {
      complain(node.place, key, "'" + to + "' is not a duration, expected one such as 60s or 2m");
    }
  }

  void section(Node const& node, std::string const& key, inject::Resources& resources,
               inject::Pairs* env) {
    std::vector<Key> keys{{"resources", [&](Node const& inner, std::string const& name) {
                             map(inner, name,
                                 {{"requests", quantities(resources.requests)},
                                  {"limits", quantities(resources.limits)}});
                           }}};
    if (env != nullptr) {
      keys.push_back({"env", [this, env](Node const& inner, std::string const& name) {
                        variables(inner, name, *env);
                      }});
    }
    map(node, key, keys);
  }

  Take quantities(inject::Pairs& to) {
    return [this, &to](Node const& node, std::string const& key) {
      to.clear();
      if (node.kind == Node::Kind::null) {
        return;
      }
      if (node.kind != Node::Kind::map) {
        return complain(node.place, key, "not a map, expected names and quantities");
      }
      for (Entry const& entry : node.entries) {
        std::string amount;
        if (scalar(entry.value, key + "." + entry.key, amount)) {
          to.emplace_back(entry.key, std::move(amount));
        }
      }
    };
  }

  void variables(Node const& node, std::string const& key, inject::Pairs& to) {
    if (node.kind == Node::Kind::null) {
      return;
    }
    if (node.kind != Node::Kind::list) {
      return complain(node.place, key, "not a list, expected variables with name and value");
    }
    for (Node const& item : node.items) {
      std::pair<std::string, std::string> variable;
      map(item, key, {{"name", text(variable.first)}, {"value", text(variable.second)}});
      if (variable.first.empty()) {
        complain(item.place, key, "a variable without a name, expected name and value");
      }
      to.push_back(std::move(variable));
    }
  }

  std::string const& version_;
  config::Problems& problems_;
};

}  // namespace

config::Problems read_pods_file(std::string_view text, std::string const& source,
                                std::string const& version, inject::PodDefaults& pods) {
  config::Problems problems;
  Node const root = config::parse_document(text, source, problems);
  PodsReader(version, problems).read(root, pods);
  sort_by_place(problems);
  return problems;
}

}  // namespace lastcall::kube
