# Writes OUTPUT, a C++ file with the text of INPUT: the status page is part of the program, without
# its indentation.
file(READ "${INPUT}" page)
string(REGEX REPLACE "\n +" "\n" page "${page}")
file(WRITE "${OUTPUT}" "#include \"probes/listener/status_page.hpp\"

namespace lastcall::probes {

std::string_view status_html() {
  return R\"lastcall(${page})lastcall\";
}

}  // namespace lastcall::probes
")
