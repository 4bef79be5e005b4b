# lld links the tests of a sanitizer's build in a fraction of the time, and folds functions that
# compile to the same bytes, of which templates make many. The shim, added before this file, keeps
# the default linker, which lays a small static program out in fewer pages.
option(LASTCALL_PACK_RELOCATIONS "a tenth of the bytes, but glibc 2.36 has to load it" ON)
include(CheckLinkerFlag)
check_linker_flag(CXX "-fuse-ld=lld" LASTCALL_HAS_LLD)
if(LASTCALL_HAS_LLD)
  add_link_options(-fuse-ld=lld)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT LASTCALL_SANITIZE)
    add_link_options(-Wl,--icf=safe -Wl,-O2)  # merges a text with the tail of another
    # Optimised as one program, each is a tenth smaller: the linker knows what nothing outside uses.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      set(LASTCALL_LTO ON)
      add_compile_options(-flto)
      add_link_options(-flto)
    endif()
    if(LASTCALL_PACK_RELOCATIONS)
      add_link_options(-Wl,-z,pack-relative-relocs)
    endif()
    # What a cancel and a request run lies together, in a third of the pages (bench/hot_functions.py
    # makes the list); a name that is out of date is left where it is.
    add_link_options(-Wl,--symbol-ordering-file=${PROJECT_SOURCE_DIR}/cmake/hot_functions.order
                     -Wl,--no-warn-symbol-ordering)
  endif()
endif()
# The tests of such a build start programs by the thousand. A million relocations, most of them of
# what the sanitizers know about globals and places in the source, are a third of each start.
if(LASTCALL_SANITIZE MATCHES "address")
  add_link_options(-no-pie)
endif()

# For libraries that others link: their objects hold machine code, which every linker reads, and
# not LLVM's bitcode.
function(lastcall_machine_code)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE $<$<BOOL:${LASTCALL_LTO}>:-fno-lto>)
  endforeach()
endfunction()
