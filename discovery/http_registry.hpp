// A registry that is a service with an HTTP API of its own: changes are posted to it.
//
// Invariants:
//  1. A 2xx status confirms; when deregistering, 404 and 410 do, too: an instance that is not there
//     has left.
//  2. A request may be repeated after a lost answer: the service must tolerate that.
//
// Thread rule: as for every Registry. Source: specification, 'Discovery'.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "discovery/http_client.hpp"
#include "discovery/instance.hpp"
#include "discovery/registry.hpp"

namespace lastcall::discovery {

struct HttpRegistrySettings {
  HttpServer register_at;  // includes the whole path
  HttpServer deregister_at;
  std::string body;  // http_message.hpp; empty: everything
  std::vector<std::pair<std::string, std::string>> headers;
  std::string token_file;  // empty: no token
  Duration timeout{2'000};
  HttpTls tls;
};

std::unique_ptr<Registry> make_http_registry(boost::asio::any_io_executor executor,
                                             HttpRegistrySettings settings, Instance instance);

}  // namespace lastcall::discovery
