# Compiler rules of the whole tree.

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  message(FATAL_ERROR
    "g++ ${CMAKE_CXX_COMPILER_VERSION} miscompiles C++20 coroutines without a warning. "
    "Use a preset (cmake --preset dev), which picks clang++-16, or g++ 13 and newer.")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # A precompiled header changes whenever it is made, though what it says does not.
  string(JOIN "," sloppiness pch_defines time_macros include_file_mtime include_file_ctime)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=${sloppiness}
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 "${CCACHE_PROGRAM}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  endif()
  set(CMAKE_C_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

# Linked by every target of ours: no warning is left, and none is let in.
add_library(lastcall_warnings INTERFACE)
target_compile_options(lastcall_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
  -Wnon-virtual-dtor -Wold-style-cast -Wswitch-enum -Werror)

# SANITIZE=address,undefined | thread | fuzzer; set by the presets.
set(LASTCALL_SANITIZE "" CACHE STRING "value of -fsanitize= for the whole tree")
if(LASTCALL_SANITIZE)
  add_compile_options(-fsanitize=${LASTCALL_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LASTCALL_SANITIZE})
endif()

# Presets for tests compile fast, not well. What the simulation runs a million times is optimised
# whatever the preset.
function(lastcall_optimise target)
  if(LASTCALL_SANITIZE)
    target_compile_options(${target} PRIVATE -O1)
  else()
    target_compile_options(${target} PRIVATE -O2)
  endif()
  if(LASTCALL_PRECOMPILE)  # its own, for its own flags
    target_precompile_headers(${target} PRIVATE ${LASTCALL_STANDARD_HEADERS})
  endif()
endfunction()

# For code that requests pass between system calls, where a small program is worth more than a fast
# one.
function(lastcall_keep_small target)
  lastcall_optimise_release(${target} -Os ${ARGN})
endfunction()

# For code that no request passes: it runs once a command, a start, a registration or a second.
function(lastcall_keep_smallest target)
  lastcall_optimise_release(${target} -Oz ${ARGN})
endfunction()

# It takes the whole target, or the sources of it that are named; outside a release such options
# would only keep them out of a unity build.
function(lastcall_optimise_release target level)
  if(NOT ARGN)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${level}>)
  elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS ${level})
  endif()
endfunction()

# Use of an empty optional, an index beyond an end: the library aborts, in every build.
add_compile_definitions(_GLIBCXX_ASSERTIONS)

# What ships is hardened; sanitizer builds bring their own checks.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT LASTCALL_SANITIZE)
  add_compile_options(-D_FORTIFY_SOURCE=2 -fstack-protector-strong
                      -ftrivial-auto-var-init=zero)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    # Clang 16 has no protection against a clash of stacks for arm64.
    add_compile_options(-fcf-protection=full -fstack-clash-protection)
  elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    add_compile_options(-mbranch-protection=standard)
  endif()
  add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,--as-needed -Wl,--gc-sections)
  add_compile_options(-ffunction-sections -fdata-sections)
endif()
