// The data that a registry publishes: one instance of one endpoint of this pod.
//
// Rules:
//  1. The instance id is a pure function of pod and endpoint, so a restarted supervisor finds the
//     entries of its earlier life under the same names.
//  2. It has 53 bits, so that a double holds it exactly: JavaScript and JSON readers do not round
//     it.
//
// Pure values, no thread rule. Source: Dynamo's instance keys; FNV-1a as its authors publish it,
// folded by xor as they advise for widths other than 32 and 64.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lastcall::discovery {

struct Instance {
  std::string dynamo_namespace;
  std::string component;
  std::string endpoint;
  std::uint64_t id = 0;
  std::string advertise;  // the URL for routers
  std::string model;
  std::string pod_uid;  // or host_identity()
};

/// 53-bit id of `endpoint` in the pod: FNV-1a (64 bit) over pod_uid, a zero byte and endpoint,
/// then the upper 11 bits xored into the lower 53. Never 0.
std::uint64_t instance_id(std::string_view pod_uid, std::string_view endpoint);

/// Lower-case hexadecimal without padding, as in Dynamo's keys.
std::string instance_hex(std::uint64_t id);

/// Replaces the pod's uid if there is none: made of host name and PID namespace, which a restarted
/// supervisor keeps and a neighbouring container does not share.
std::string host_identity();

}  // namespace lastcall::discovery
