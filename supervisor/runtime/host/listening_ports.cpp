#include "supervisor/runtime/host/listening_ports.hpp"

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>

#include "base/parse_number.hpp"

namespace lastcall::runtime {
namespace {

constexpr std::string_view kListen = "0A";
constexpr std::size_t kPortDigits = 4;

std::string_view next_word(std::string_view& row) {
  std::size_t const begin = row.find_first_not_of(' ');
  if (begin == std::string_view::npos) {
    row = {};
    return {};
  }
  std::size_t const end = row.find(' ', begin);
  std::string_view const word = row.substr(begin, end - begin);
  row = end == std::string_view::npos ? std::string_view{} : row.substr(end);
  return word;
}

}  // namespace

std::set<std::uint16_t> listening_ports_in(std::string_view text) {
  std::set<std::uint16_t> ports;
  while (!text.empty()) {
    std::size_t const end = text.find('\n');
    std::string_view row = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    next_word(row);  // its number
    std::string_view const local = next_word(row);
    next_word(row);  // the other end's address
    if (next_word(row) != kListen || local.size() <= kPortDigits) {
      continue;
    }
    std::string_view const digits = local.substr(local.size() - kPortDigits);
    if (auto const port = parse_number<std::uint16_t>(digits, 16)) {
      ports.insert(*port);
    }
  }
  return ports;
}

std::set<std::uint16_t> listening_ports() {
  std::set<std::uint16_t> ports;
  for (char const* const path : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream file(path);
    std::string const text{std::istreambuf_iterator<char>(file), {}};
    ports.merge(listening_ports_in(text));
  }
  return ports;
}

}  // namespace lastcall::runtime
