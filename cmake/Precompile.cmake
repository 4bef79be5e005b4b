# Precompiled headers: most of a build's time goes into reading the headers of the standard library,
# Asio and nlohmann-json once a file. What ships (the release preset) is compiled without them, and
# clang-tidy reads each file without them too, so that no source leans on an include it lacks.
option(LASTCALL_PRECOMPILE "precompile the headers of other people's libraries" OFF)

set(LASTCALL_STANDARD_HEADERS
  <algorithm> <array> <charconv> <chrono> <cstdint> <cstring> <deque> <functional> <map> <memory>
  <optional> <set> <span> <sstream> <string> <string_view> <system_error> <unordered_map> <utility>
  <variant> <vector>)
set(LASTCALL_NETWORK_HEADERS
  <boost/asio/any_io_executor.hpp> <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp>
  <boost/asio/local/stream_protocol.hpp> <boost/asio/post.hpp> <boost/asio/steady_timer.hpp>
  <nlohmann/json.hpp>)

# One set of headers is compiled once, by an empty library, for all targets with the same flags.
function(lastcall_precompiled_headers name)
  cmake_parse_arguments(arg "" "SOURCE" "HEADERS;LIBRARIES" ${ARGN})
  if(NOT LASTCALL_PRECOMPILE)
    return()
  endif()
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp" CONTENT "")
  add_library(${name} OBJECT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  target_link_libraries(${name} PRIVATE lastcall_warnings ${arg_LIBRARIES})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

function(lastcall_precompile name)  # TARGET...
  if(LASTCALL_PRECOMPILE)
    foreach(target ${ARGN})
      target_precompile_headers(${target} REUSE_FROM ${name})
    endforeach()
  endif()
endfunction()
