// A thread's reports to the core, which are calls of a Tracker: each is mailed as a function that
// makes the call on the core's thread.
//
// Rule: a report has copies of the texts that it names. The texts of a Refusal and the kinds of
// Watched are static.
//
// No thread rule. Source: docs/adr/0008-ingress-threads.md.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace lastcall::ingress {

class ReportReader;

namespace report {

struct Connections {
  std::size_t adopted = 0;  // number of clients that it ever adopted
  std::size_t clients = 0;
  std::size_t upstream = 0;
};

/// `seat` is the thread's.
using Report = std::function<void(ReportReader& reader, std::size_t seat)>;
using Batch = std::vector<Report>;

}  // namespace report
}  // namespace lastcall::ingress
