# Cross-compiling for arm64 on x86-64: clang has every target built in, and the libraries are those
# of a Debian 12 for arm64 that packaging/release/arm64_root.sh unpacks into a folder.
#
#   cmake --preset release --toolchain cmake/aarch64.cmake -DLASTCALL_ARM64_ROOT=FOLDER
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LASTCALL_ARM64_ROOT)

set(CMAKE_C_COMPILER clang-16)
set(CMAKE_CXX_COMPILER clang++-16)
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_SYSROOT "${LASTCALL_ARM64_ROOT}")
# The default linker of this machine is not one for arm64.
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -fuse-ld=lld")
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${LASTCALL_ARM64_ROOT}")
set(usr "${LASTCALL_ARM64_ROOT}/usr")
set(ENV{PKG_CONFIG_LIBDIR} "${usr}/lib/aarch64-linux-gnu/pkgconfig:${usr}/share/pkgconfig")
