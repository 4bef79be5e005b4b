#include "relay/connection_options.hpp"

#include <algorithm>

#include "relay/http_text.hpp"

namespace lastcall::relay {
namespace {

/// Compares the lengths first, so that most names are distinguished without a look at their bytes.
bool is_before(std::string_view a, std::string_view b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

}  // namespace

ConnectionOptions::Name ConnectionOptions::lowered(std::string_view name) {
  Name made;
  made.size = name.size();
  std::transform(name.begin(), name.end(), made.text.begin(), http_text::lower);
  return made;
}

bool ConnectionOptions::add(std::string_view list) {
  while (!list.empty()) {
    std::string_view const element = http_text::next_element(list);
    if (element.size() > kLongest || !all_.push_back(lowered(element))) {
      return false;
    }
  }
  return true;
}

void ConnectionOptions::sort() {
  std::sort(all_.begin(), all_.end(),
            [](Name const& a, Name const& b) { return is_before(a.view(), b.view()); });
}

bool ConnectionOptions::has(std::string_view name) const {
  if (all_.empty() || name.size() > kLongest) {
    return false;
  }
  Name const wanted = lowered(name);
  auto const found = std::lower_bound(
      all_.begin(), all_.end(), wanted.view(),
      [](Name const& each, std::string_view what) { return is_before(each.view(), what); });
  return found != all_.end() && found->view() == wanted.view();
}

}  // namespace lastcall::relay
