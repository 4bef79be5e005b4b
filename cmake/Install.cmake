# What `cmake --install` puts where: programs, manuals, the schema for editors, completions.
#
# By component (`cmake --install BUILD --component NAME`): `lastcall`, `router`, `shim`, and `sdk`
# for what a program in C++ is built with. Each is whole without the others.
include(GNUInstallDirs)

install(TARGETS lastcall lastcall-doctor lastcall-kube RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
        COMPONENT lastcall)
# Where the launcher looks, from its own folder.
install(TARGETS lastcall_program RUNTIME
        DESTINATION "${CMAKE_INSTALL_BINDIR}/../libexec/lastcall" COMPONENT lastcall)
install(FILES "${PROJECT_BINARY_DIR}/supervisor/cli/kubectl-lastcall"
        DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT lastcall)
install(TARGETS lastcall-router RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT router)
install(TARGETS lastcall-shim RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT shim)
install(FILES docs/man/lastcall.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT lastcall)
install(FILES docs/man/lastcall-shim.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT shim)
install(FILES docs/man/lastcall-router.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1"
        COMPONENT router)
install(FILES docs/config.schema.json DESTINATION "${CMAKE_INSTALL_DATADIR}/lastcall"
        COMPONENT lastcall)
install(FILES docs/router-config.schema.json DESTINATION "${CMAKE_INSTALL_DATADIR}/lastcall"
        COMPONENT router)

# The program that is installed says what it completes.
function(lastcall_install_completion shell folder name)
  set(file "${CMAKE_CURRENT_BINARY_DIR}/completions/${name}")
  install(CODE "
    file(MAKE_DIRECTORY \"${CMAKE_CURRENT_BINARY_DIR}/completions\")
    execute_process(COMMAND \"$<TARGET_FILE:lastcall>\" completion ${shell}
                    OUTPUT_FILE \"${file}\" COMMAND_ERROR_IS_FATAL ANY)"
          COMPONENT lastcall)
  install(FILES "${file}" DESTINATION "${CMAKE_INSTALL_DATADIR}/${folder}" COMPONENT lastcall)
endfunction()

if(NOT CMAKE_CROSSCOMPILING)  # it does not run here
  lastcall_install_completion(bash bash-completion/completions lastcall)
  lastcall_install_completion(zsh zsh/site-functions _lastcall)
  lastcall_install_completion(fish fish/vendor_completions.d lastcall.fish)
endif()

install(FILES packaging/completions/lastcall-router.bash RENAME lastcall-router
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT router)
install(FILES packaging/completions/_lastcall-router
        DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" COMPONENT router)
install(FILES packaging/completions/lastcall-router.fish
        DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT router)

# `ninja man_pages` writes the manuals from docs/cli.md; a test fails when they are stale.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_custom_target(man_pages
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/docs/man/generate.py" VERBATIM)
endif()
