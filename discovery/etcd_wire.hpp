// The requests to etcd's JSON gateway, and the meaning of its answers.
//
// Rules:
//  1. Keys and values travel in base64; 64-bit numbers are written as texts and read as texts or
//     numbers; zero and false are left out of answers.
//  2. An answer in an unexpected form yields nothing; it is never guessed at.
//  3. A key is ours if its value names our pod. A key with any other value is left alone.
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
/// The pod that a value names; empty if it names none.
std::string owner_of(std::string_view value);

std::string authenticate_body(std::string_view user, std::string_view password);
/// Requests a lease with an id of our choice, so that a restarted supervisor knows it.
std::string grant_body(std::uint64_t lease, std::int64_t ttl_seconds);
std::string lease_body(std::uint64_t lease);
std::string range_body(std::string_view key);
/// Writes the key if it was last changed at `revision` (0: if it does not exist), otherwise reads
/// it.
std::string put_body(std::string_view key, std::string_view value, std::uint64_t lease,
                     std::int64_t revision);
/// Deletes the key under the same condition, otherwise reads it.
std::string delete_body(std::string_view key, std::int64_t revision);

/// Whether this is etcd's answer to a request that succeeded.
bool is_answer(std::string_view body);

struct Failure {
  int code = 0;  // gRPC's; 0 if the answer has none
  std::string message;
  bool is_etcds = false;  // it is not from a proxy or another service at that address
};
Failure parse_failure(int http_status, std::string_view body);

std::optional<std::string> parse_token(std::string_view body);
/// The lease's remaining seconds; 0 if it does not exist any more.
std::optional<std::int64_t> parse_kept_alive(std::string_view body);

struct KeyState {
  bool exists = false;
  std::int64_t revision = 0;  // its last change's
  std::uint64_t lease = 0;
  std::string value;
};
std::optional<KeyState> parse_range(std::string_view body);

struct Transaction {
  bool succeeded = false;
  std::int64_t revision = 0;  // the store's, and so the revision of what was written
  KeyState found;             // set if it did not succeed
};
std::optional<Transaction> parse_transaction(std::string_view body);

}  // namespace lastcall::discovery::etcd
