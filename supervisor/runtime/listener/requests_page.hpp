// The list of the requests in flight for operators, in pages, as JSON text.
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

/// Finds what the clients of relayed requests have.
using AskDeliveries = std::function<void(std::vector<std::string> ids, ingress::ReportDeliveries)>;
/// Absent if `after` is not a cursor.
using ReportPage = std::function<void(std::optional<std::string>)>;

/// A page of the requests in flight, in the order of peer and id, given in this call or soon.
/// `after` is an earlier page's `next`, an opaque word for its reader.
void report_requests(StatusSources const& sources, lifecycle::Instant now, std::string const& after,
                     std::size_t limit, AskDeliveries const& ask, ReportPage report);

}  // namespace lastcall::runtime
