// Gives a fuzz target each file of a folder once, in a build without libFuzzer: what was found
// wrong before stays found.
//
//   fuzz_NAME FOLDER    exits with 1 where the folder holds nothing; a defect ends the process
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  int inputs = 0;
  for (auto const& entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream in(entry.path(), std::ios::binary);
    std::vector<char> const text{std::istreambuf_iterator<char>(in), {}};
    std::vector<std::uint8_t> const data(text.begin(), text.end());
    LLVMFuzzerTestOneInput(data.data(), data.size());
    ++inputs;
  }
  std::printf("%d inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
