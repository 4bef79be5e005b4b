// The list of the requests in flight for operators: pages of JSON text.
//
// Thread rule: the loop's thread. Source: docs/ipc.md, 'requests'.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "ingress/delivered.hpp"
#include "supervisor/runtime/listener/status.hpp"

namespace lastcall::runtime {

/// Finds out what the clients of relayed requests have received.
using AskDeliveries = std::function<void(std::vector<std::string> ids, ingress::ReportDeliveries)>;
/// Receives the page; absent if `after` is not a cursor.
using ReportPage = std::function<void(std::optional<std::string>)>;

/// Reports a page of the requests in flight, in the order of peer and id, in this call or soon.
/// `after` is the `next` of an earlier page, which is opaque to its reader.
void report_requests(StatusSources const& sources, lifecycle::Instant now, std::string const& after,
                     std::size_t limit, AskDeliveries const& ask, ReportPage report);

}  // namespace lastcall::runtime
