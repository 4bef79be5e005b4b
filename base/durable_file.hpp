// Replaces small files so that a reader finds the old content or the new one, whole, even after a
// crash of the machine.
//
// Rule: a failure is a text such as "cannot write /d/1a.json: no space left on device"; an empty
// one is success. No thread rule; it blocks until the file system has written.
// Source: rename(2), fsync(2).
#pragma once

#include <string>
#include <string_view>

#include <sys/types.h>

namespace lastcall {

/// The texts of failures of a call on a file; `error` is an errno.
std::string file_failure(std::string const& action, std::string const& path, int error);

/// Writes `temporary`, in the same directory, and renames it to `path`. A `temporary` that is there
/// already was left behind by a crash, and is removed.
std::string replace_file(std::string const& path, std::string const& temporary,
                         std::string_view text, mode_t mode);

/// Makes sure that the names in the directory are on disk. Returns 0 or the error number. A
/// directory that cannot be flushed counts as flushed: EINVAL is from file systems that cannot do
/// it, and a directory that we may write to but not list cannot be opened for it. Readers see the
/// change without it; only a crash of the host could undo it.
int flush_directory(std::string const& directory);

}  // namespace lastcall
