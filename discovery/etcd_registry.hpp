// A registry in etcd v3, in Dynamo's layout: one key an endpoint, all under one lease.
//
// Invariants:
//  1. While registered the lease is kept alive every third of its life, and the keys are looked at.
//     A lease that could not be kept alive for its whole life, and a key or a lease that is gone,
//     are lost: registered again by the set.
//  2. Deregistering ends the keeping alive first: a key that cannot be deleted then goes by itself.
//  3. disconnect() revokes the lease; it is skipped where nothing was ever asked of etcd.
//
// Thread rule: as for every Registry. Source: specification, 'Discovery'; etcd_session.hpp.
#pragma once

#include <memory>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "discovery/etcd_session.hpp"
#include "discovery/instance.hpp"
#include "discovery/registry.hpp"

namespace lastcall::discovery {

std::unique_ptr<Registry> make_etcd_registry(boost::asio::any_io_executor executor,
                                             EtcdSettings settings,
                                             std::vector<Instance> instances);

}  // namespace lastcall::discovery
