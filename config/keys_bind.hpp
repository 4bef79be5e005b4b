// Binds rows of the key table to members. Internal to the files that write rows.
#pragma once

#include <chrono>
#include <string_view>
#include <type_traits>
#include <utility>

#include "config/keys.hpp"
#include "config/text.hpp"

namespace lastcall::config {

constexpr Range within(Duration minimum, Duration maximum) {
  return {minimum.count(), maximum.count()};
}

template <class Enum>
Choice choice(Enum& at, std::span<std::string_view const> names) {
  return {names, [&at] { return static_cast<std::size_t>(at); },
          [&at](std::size_t index) { at = static_cast<Enum>(index); }};
}

template <class Element>
Items items(std::vector<Element>& list) {
  return {[&list] { return list.size(); }, [&list](std::size_t i) { return keys_of(list[i]); },
          [&list] { return keys_of(list.emplace_back()); }, [&list] { list.clear(); },
          [] { return true; }};
}

template <class Element>
Items items(std::optional<std::vector<Element>>& list) {
  return {[&list] { return list ? list->size() : 0; },
          [&list](std::size_t i) { return keys_of((*list)[i]); },
          [&list] {
            if (!list) {
              list.emplace();
            }
            return keys_of(list->emplace_back());
          },
          [&list] { list.emplace(); }, [&list] { return list.has_value(); }};
}

/// The rows of a client's TLS, for an owner of these three members.
template <class Owner>
void add_client_tls_keys(Keys& keys, Owner& owner) {
  keys.insert(keys.end(), {{.path = "ca_file",
                            .slot = &owner.ca_file,
                            .doc = "File with the certificate authority of the server.",
                            .form = &kAbsolutePath,
                            .unset = "the system's authorities"},
                           {.path = "cert_file",
                            .slot = &owner.cert_file,
                            .doc = "File with the client's certificate; needs `key_file`.",
                            .form = &kAbsolutePath,
                            .unset = "no certificate is presented"},
                           {.path = "key_file",
                            .slot = &owner.key_file,
                            .doc = "File with the key of the client's certificate.",
                            .form = &kAbsolutePath,
                            .unset = "no certificate is presented"}});
}

/// The row of etcd's servers.
template <class Owner>
Key etcd_endpoints_key(Owner& owner) {
  return {.path = "endpoints",
          .slot = &owner.endpoints,
          .doc = "URLs of the servers, which are tried in turn.",
          .form = &kHttpUrl};
}

/// The rows of a client of etcd: its user, and its TLS.
template <class Owner>
void add_etcd_client_keys(Keys& keys, Owner& owner, std::string_view password_variables) {
  keys.insert(keys.end(), {{.path = "username",
                            .slot = &owner.username,
                            .doc = "User to authenticate as.",
                            .form = &kAnyText,
                            .unset = "no authentication"},
                           {.path = "password_file",
                            .slot = &owner.password_file,
                            .doc = "File whose first line is the user's password.",
                            .form = &kAbsolutePath,
                            .unset = password_variables}});
  add_client_tls_keys(keys, owner);
}

/// The section of the log.
void add_log_keys(Keys& keys, Log& log);

/// The alternative of `variant` that holds a T; `rows` binds T's keys.
template <class T, class Variant, class Rows>
Alternative alternative(Variant& variant, std::string_view name, std::string_view doc, Rows rows) {
  return {name, doc, [&variant, rows] {
            if (!std::holds_alternative<T>(variant)) {
              variant.template emplace<T>();
            }
            return rows(std::get<T>(variant));
          }};
}

}  // namespace lastcall::config
