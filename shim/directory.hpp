// Lists a directory without the heap: opendir(3) allocates 32 KiB for each directory.
//
// Rule: a name is valid until the next call. Source: getdents64(2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lastcall::shim {

class Directory {
 public:
  explicit Directory(char const* path) : fd_(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}
  ~Directory() {
    if (fd_ >= 0) {
      close(fd_);
    }
  }
  Directory(Directory const&) = delete;
  Directory& operator=(Directory const&) = delete;

  bool is_open() const { return fd_ >= 0; }
  int descriptor() const { return fd_; }

  /// Returns the next name, or null at the end.
  char const* next() {
    if (at_ >= filled_) {
      filled_ = syscall(SYS_getdents64, fd_, buffer_, sizeof buffer_);
      at_ = 0;
      if (filled_ <= 0) {
        return nullptr;
      }
    }
    char const* const entry = buffer_ + at_;
    std::uint16_t length = 0;
    std::memcpy(&length, entry + kLengthAt, sizeof length);
    at_ += length;
    return entry + kNameAt;
  }

 private:
  // struct linux_dirent64: u64 inode, i64 offset, u16 length, u8 type, name
  static constexpr std::size_t kLengthAt = 16;
  static constexpr std::size_t kNameAt = 19;

  int fd_;
  long filled_ = 0;
  long at_ = 0;
  alignas(8) char buffer_[8 * 1024];
};

}  // namespace lastcall::shim
