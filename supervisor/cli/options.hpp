// Options that several subcommands share.
#pragma once

#include <cstdint>

namespace lastcall::cli {

enum class Output : std::uint8_t { text, json };

}  // namespace lastcall::cli
