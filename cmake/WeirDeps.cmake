# SPDX-License-Identifier: Apache-2.0
# Libraries of others, all of them packages of Debian 12 (tools/setup.sh lists
# and installs them). What stands under no if() is what libweir needs, and under
# WEIR_PLAN what libweir-plan does; test/install holds them to that. The library
# loads jemalloc at run time and does not link it; our own programs carry it
# behind libc, so that it is there to be loaded (core/ring/arena.c) and never
# serves malloc.

find_package(PkgConfig REQUIRED)

# weir_need(<variable> <Debian package> <pkg-config name>...)
macro(weir_need var package)
  pkg_check_modules(${var} IMPORTED_TARGET ${ARGN})
  if(NOT ${var}_FOUND)
    message(FATAL_ERROR "${ARGN} not found: install ${package}, "
                        "or run `make setup`")
  endif()
endmacro()

weir_need(WEIR_URCU liburcu-dev liburcu-bp liburcu-cds)
weir_need(WEIR_XXHASH libxxhash-dev libxxhash)
weir_need(WEIR_CRYPTO libssl-dev libssl>=3.0 libcrypto>=3.0)
if(WEIR_PLAN)
  weir_need(WEIR_JANSSON libjansson-dev jansson)
endif()

# Looked for, not needed: without rdma-core there is no transport "verbs".
if(WEIR_VERBS)
  pkg_check_modules(WEIR_RDMA IMPORTED_TARGET libibverbs librdmacm)
  if(NOT WEIR_RDMA_FOUND)
    message(STATUS "no verbs transport: install libibverbs-dev and "
                   "librdmacm-dev, or run `tools/setup.sh verbs`")
  endif()
endif()

if(WEIR_TESTS)
  # The judge of our own CSV reader; it comes without a pkg-config file.
  find_library(WEIR_CSV_LIBRARY csv)
  find_path(WEIR_CSV_INCLUDE csv.h)
  if(NOT WEIR_CSV_LIBRARY OR NOT WEIR_CSV_INCLUDE)
    message(FATAL_ERROR "libcsv not found: install libcsv-dev, "
                        "or run `make setup`")
  endif()
endif()

if(WEIR_TESTS)
  weir_need(WEIR_CRITERION libcriterion-dev criterion)
  weir_need(WEIR_SQLITE libsqlite3-dev sqlite3)
endif()

if(WEIR_TOOLS AND WEIR_MPI)
  find_package(MPI QUIET COMPONENTS C)
endif()

if(WEIR_TOOLS OR WEIR_TESTS)
  find_library(WEIR_JEMALLOC_LIBRARY NAMES libjemalloc.so.2 jemalloc)
endif()
set(WEIR_JEMALLOC_BEHIND_LIBC "")
if(WEIR_JEMALLOC_LIBRARY AND NOT WEIR_SANITIZE)
  set(WEIR_JEMALLOC_BEHIND_LIBC -Wl,--push-state,--no-as-needed -lc
                                ${WEIR_JEMALLOC_LIBRARY} -Wl,--pop-state)
endif()
