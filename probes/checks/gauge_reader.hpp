// Reads an engine's own gauges: how many requests are in it, and how many tokens it has generated.
//
// Invariants:
//  1. One reading at a time; `done` is called exactly once, later, from the loop. If cancel() comes
//     first, `done` is never called.
//  2. A reading has either all figures or the reason why there are none. An answer other than 200
//     proves nothing.
//  3. The text is read in pieces, at most TextAttempt::kMostText of it: memory does not grow with
//     what an engine sends.
//  4. The load counter covers one process only: it is read only if the gauges are those of a single
//     process, too, which their process start time shows.
//
// Thread rule: everything on the loop's thread. Source: the model server protocol's gauges.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "probes/checks/check.hpp"

namespace lastcall::probes {

struct GaugeSettings {
  std::string url;
  std::string running;
  std::string waiting;           // empty: the engine has no such gauge
  std::string tokens;            // empty: it has no such counter
  std::string kv_usage = {};     // empty: it has no such gauge
  std::string load_url = {};     // empty: it has no load counter
  std::string rank_label = {};   // the rank's label in `running`, `tokens`; empty: one rank
  bool running_is_load = false;  // `running` counts from acceptance, so it is the load counter, too
};

struct GaugeReading {
  std::optional<std::uint64_t> in_flight;  // running + waiting
  std::optional<std::uint64_t> tokens;
  std::optional<std::uint64_t> load;   // the load counter, if it counts all requests
  std::optional<double> kv_usage;      // for the rank with the most free space, 0 to 1
  std::optional<std::uint64_t> cache;  // the same in millionths, summed over the ranks
  std::vector<std::string> ranks;      // the values of rank_label
  std::string problem;                 // why in_flight is unset; empty if it is set
};

class GaugeReader {
 public:
  using Done = std::function<void(GaugeReading const&)>;

  GaugeReader(boost::asio::any_io_executor executor, GaugeSettings settings);
  ~GaugeReader();

  /// Why the settings cannot be used; empty if they can.
  std::string const& problem() const { return problem_; }
  void read(Duration timeout, Done done);
  void cancel();

 private:
  struct State;
  void read_load(GaugeReading reading, Duration timeout, Done done);

  std::shared_ptr<State> state_;
  std::unique_ptr<Check> check_;
  std::unique_ptr<Check> load_check_;  // empty: there is no load counter
  std::string problem_;
};

}  // namespace lastcall::probes
