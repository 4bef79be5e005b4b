// Why files for TLS cannot be used, where a library only reports that something cannot be.
//
// Reads the files. No thread rule.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace lastcall::discovery {

/// "FILE: No such file or directory" for the first that cannot be read; where each can,
/// "FILE and FILE: " and `otherwise`. Empty names are passed over.
std::string why_unusable(std::initializer_list<std::string> files, std::string_view otherwise);

}  // namespace lastcall::discovery
