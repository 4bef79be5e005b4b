#include "probes/listener/listener.hpp"

#include <algorithm>

#include "base/address_text.hpp"
#include "base/ascii.hpp"
#include "probes/listener/http_server.hpp"

namespace lastcall::probes {

bool Request::has_query(std::string_view name) const {
  return std::any_of(query.begin(), query.end(),
                     [name](auto const& entry) { return entry.first == name; });
}

std::string_view Request::header(std::string_view name) const {
  auto const found = std::find_if(headers.begin(), headers.end(), [name](auto const& entry) {
    return ascii::same(entry.first, name);
  });
  return found == headers.end() ? std::string_view{} : std::string_view{found->second};
}

HttpListener::HttpListener(ListenerSettings settings, Handler handler)
    : server_(std::make_unique<Server>(std::move(settings), std::move(handler))) {}
HttpListener::~HttpListener() = default;

std::optional<std::string> HttpListener::start() {
  return server_->open();
}
void HttpListener::stop(std::chrono::milliseconds linger) {
  server_->close(linger);
}
std::uint16_t HttpListener::port() const {
  return server_->port();
}
std::string HttpListener::address() const {
  return address_text(server_->host(), server_->port());
}

}  // namespace lastcall::probes
