// The commands that wait until it is known what an earlier life of the supervisor has left.
//
// All that copies or destroys events is in the .cpp file: an inline function would have it compiled
// in every file that includes this. Owned by the core's thread.
#pragma once

#include <vector>

#include "core/event.hpp"
#include "core/mixer.hpp"

namespace lastcall::lifecycle {

class HeldCommands {
 public:
  HeldCommands();
  HeldCommands(HeldCommands const& other);
  HeldCommands& operator=(HeldCommands const&) = delete;
  ~HeldCommands();

  void add(Event const& command);
  bool empty() const { return commands_.empty(); }
  std::vector<Event> take();
  void fingerprint(Mixer& m) const;

 private:
  std::vector<Event> commands_;
};

}  // namespace lastcall::lifecycle
