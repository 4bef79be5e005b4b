// A directory of one test, removed with everything in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace lastcall::runtime {

class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string name = "/tmp/lastcall-test-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(ScratchDirectory const&) = delete;
  ScratchDirectory& operator=(ScratchDirectory const&) = delete;

  std::string operator/(std::string const& name) const { return path_ + "/" + name; }
  std::string write(std::string const& name, std::string const& text) const {
    std::filesystem::create_directories(std::filesystem::path(*this / name).parent_path());
    std::ofstream(*this / name) << text;
    return *this / name;
  }
  std::string read(std::string const& name) const {
    std::ifstream file(*this / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool has(std::string const& name) const {
    return std::filesystem::exists(std::filesystem::symlink_status(*this / name));
  }

 private:
  std::string path_;
};

}  // namespace lastcall::runtime
