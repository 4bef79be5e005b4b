// Finds out which TLS file cannot be used, for libraries that only report that one of them cannot.
//
// Reads the files. No thread rule.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace lastcall::discovery {

/// "FILE: No such file or directory" for the first file that cannot be read; if all can be read,
/// "FILE and FILE: " and `otherwise`. Empty names are skipped.
std::string why_unusable(std::initializer_list<std::string> files, std::string_view otherwise);

}  // namespace lastcall::discovery
