// A registry in etcd v3, in Dynamo's layout: one key for the instance, under a lease.
//
// Invariants:
//  1. While registered, the lease is kept alive and the key is checked every third of the lease's
//     time to live. If the lease could not be kept alive for its whole time to live, or the key or
//     the lease is gone, the entry is lost, and the set registers it again.
//  2. Deregistering first ends the keep-alives, so that a key that cannot be deleted expires with
//     the lease.
//  3. disconnect() revokes the lease, unless etcd was never asked for anything.
//
// Thread rule: as for every Registry. Source: specification, 'Discovery'; etcd_session.hpp.
#pragma once

#include <memory>

#include <boost/asio/any_io_executor.hpp>

#include "discovery/etcd_session.hpp"
#include "discovery/instance.hpp"
#include "discovery/registry.hpp"

namespace lastcall::discovery {

std::unique_ptr<Registry> make_etcd_registry(boost::asio::any_io_executor executor,
                                             EtcdSettings settings, Instance const& instance);

}  // namespace lastcall::discovery
