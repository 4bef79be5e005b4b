// The requests to etcd's JSON gateway, and the meaning of its answers.
//
// Rules:
//  1. Keys and values travel in base64; 64-bit numbers are written as texts and read as texts or
//     numbers; zero and false are left out of answers.
//  2. An answer that does not read as expected is nothing, never a guess.
//  3. A key is ours when its value names our pod. Anything else under it is left alone.
//
// Pure, no thread rule. Source: etcd's gRPC gateway, /v3; Dynamo's layout of keys and values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "discovery/instance.hpp"

namespace lastcall::discovery::etcd {

/// v1/instances/NAMESPACE/COMPONENT/ENDPOINT/HEX.
std::string instance_key(Instance const& instance);
std::string instance_value(Instance const& instance);
/// The pod that a value names; empty where it names none.
std::string owner_of(std::string_view value);

std::string authenticate_body(std::string_view user, std::string_view password);
/// A lease with an id of our choice, so that a restarted supervisor knows it.
std::string grant_body(std::uint64_t lease, std::int64_t ttl_seconds);
std::string lease_body(std::uint64_t lease);
std::string range_body(std::string_view key);
/// Puts if the key was last changed at `revision` (0: if there is none), else reads it.
std::string put_body(std::string_view key, std::string_view value, std::uint64_t lease,
                     std::int64_t revision);
/// Deletes under the same condition, else reads.
std::string delete_body(std::string_view key, std::int64_t revision);

/// The request was done. If not, something else than etcd answers at that address.
bool is_answer(std::string_view body);

struct Failure {
  int code = 0;  // of gRPC; 0 where the answer has none
  std::string message;
  bool is_etcds = false;  // not of a proxy, or of another service at that address
};
Failure parse_failure(int http_status, std::string_view body);

std::optional<std::string> parse_token(std::string_view body);
/// Seconds; 0: there is no such lease any more.
std::optional<std::int64_t> parse_kept_alive(std::string_view body);

struct KeyState {
  bool exists = false;
  std::int64_t revision = 0;  // of its last change
  std::uint64_t lease = 0;
  std::string value;
};
std::optional<KeyState> parse_range(std::string_view body);

struct Transaction {
  bool succeeded = false;
  std::int64_t revision = 0;  // of the store, so of what was written
  KeyState found;             // where it did not succeed
};
std::optional<Transaction> parse_transaction(std::string_view body);

}  // namespace lastcall::discovery::etcd
