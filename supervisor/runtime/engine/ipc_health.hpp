// The `ipc` check: it sends one question to every SDK, and combines their answers into one.
//
// Rules:
//  1. One `dead` makes the check fail. Otherwise every peer that was asked must answer, and one
//     `busy` makes the result busy.
//  2. A peer that disconnects without an answer is not waited for; if no other peer answers,
//     nothing is proven. A peer that sends nothing causes the check's timeout.
//  3. An unrequested `dead` counts as a failed check of its own.
//
// Thread rule: the loop's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "ipc/server.hpp"
#include "probes/checks/check.hpp"

namespace lastcall::runtime {

class IpcHealth {
 public:
  /// Sends `health.check` to all SDK peers and returns which ones.
  using AskAll = std::function<std::vector<ipc::PeerId>()>;

  explicit IpcHealth(AskAll ask_all) : ask_all_(std::move(ask_all)) {}
  /// The check, for the runner, which outlives this; `index` is its place there.
  std::unique_ptr<probes::Check> make_check(boost::asio::any_io_executor executor,
                                            std::size_t index);
  /// Absent if no check was made.
  std::optional<std::size_t> index() const { return index_; }

  /// Returns true if the answer belongs to no question, so that the caller handles it.
  bool answered(ipc::PeerId peer, ipc::Health const& health);
  void left(ipc::PeerId peer);
  bool last_was_busy() const { return is_busy_; }

 private:
  std::string ask();
  void settle_if_complete();

  AskAll ask_all_;
  probes::AskedCheck* check_ = nullptr;  // the runner owns it
  std::optional<std::size_t> index_;
  std::set<ipc::PeerId> awaited_;
  std::string busy_detail_;
  bool is_busy_ = false;
  bool any_answered_ = false;
};

}  // namespace lastcall::runtime
