# Everything comes from Debian 12 packages; `./dev` installs what is missing.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
# Headers only, 1.81: 1.74 (libboost-dev) lacks Process v2 and cancellation slots.
find_package(Boost 1.81 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
# Debian's cpp-httplib is compiled with OpenSSL, zlib and brotli: without the
# flags of its .pc file every struct has another layout than the library's.
pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)

# Asio is compiled once, in one translation unit, not in each that includes it.
add_library(lastcall_asio STATIC "${CMAKE_CURRENT_LIST_DIR}/asio.cpp")
target_link_libraries(lastcall_asio PUBLIC Boost::headers Threads::Threads)
target_compile_definitions(lastcall_asio PUBLIC
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED)
