// The messages that the supervisor reads.
#include "ipc/codec.hpp"
#include "ipc/decode_line.hpp"

namespace lastcall::ipc {

ToSupervisorLine decode_to_supervisor(std::string_view line) {
  return decode_line<ToSupervisor>(line, kToSupervisorOps);
}

}  // namespace lastcall::ipc
