// The messages that a client reads.
#include "ipc/codec.hpp"
#include "ipc/decode_line.hpp"

namespace lastcall::ipc {

FromSupervisorLine decode_from_supervisor(std::string_view line) {
  return decode_line<FromSupervisor>(line, kFromSupervisorOps);
}

}  // namespace lastcall::ipc
