// Writes the generated reference: `config_docs markdown` or `config_docs schema`, to stdout.
#include <iostream>
#include <string_view>

#include "config/reference.hpp"

int main(int argc, char** argv) {
  std::string_view const what = argc == 2 ? argv[1] : "";
  if (what == "markdown") {
    std::cout << lastcall::config::reference_markdown();
  } else if (what == "schema") {
    std::cout << lastcall::config::reference_schema();
  } else {
    std::cerr << "usage: config_docs markdown|schema\n";
    return 2;
  }
  return 0;
}
