// Writes the generated reference to stdout: `router_docs markdown` or `router_docs schema`.
#include <iostream>
#include <string_view>

#include "router/reference.hpp"

int main(int argc, char** argv) {
  std::string_view const what = argc == 2 ? argv[1] : "";
  if (what == "markdown") {
    std::cout << lastcall::router::reference_markdown();
  } else if (what == "schema") {
    std::cout << lastcall::router::reference_schema();
  } else {
    std::cerr << "usage: router_docs markdown|schema\n";
    return 2;
  }
  return 0;
}
