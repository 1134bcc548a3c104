# SPDX-License-Identifier: Apache-2.0
# Read by lib.sh into the configuration of the library alone: what looks for a
# package that only tests, tools or examples need is an error, whether the
# package is installed here or not.

function(deny what)
  message(FATAL_ERROR "the library alone looks for ${what}")
endfunction()

macro(find_package name)
  if(NOT "${name}" MATCHES "^(PkgConfig|Threads)$")
    deny("${name}")
  endif()
  _find_package(${name} ${ARGN})
endmacro()

# FindPkgConfig looks for the libraries of a package that it found.
macro(find_library name)
  if(NOT "${name}" MATCHES "^pkgcfg_lib_")
    deny("${name}")
  endif()
  _find_library(${name} ${ARGN})
endmacro()

function(find_path name)
  deny("${name}")
endfunction()
