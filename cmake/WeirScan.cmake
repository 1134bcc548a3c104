# SPDX-License-Identifier: Apache-2.0
# libweir-scan, columnar results on top of regions: services/scan, and nanoarrow
# as tools/arrow.sh fetches it.

set(WEIR_ARROW_DIR ${PROJECT_SOURCE_DIR}/build/arrow
    CACHE PATH "Where tools/arrow.sh has put nanoarrow and adbc.h")
set(WEIR_DUCKDB_DIR ${PROJECT_SOURCE_DIR}/build/libduckdb
    CACHE PATH "Where tools/duckdb.sh has put libduckdb.so")
if(WEIR_SANITIZE MATCHES "thread")
  # DuckDB's threads meet in code that knows nothing of the sanitizer.
  set(WEIR_DUCKDB_DIR /nonexistent)
endif()
# Looked for by glob, so that the next build sees what was fetched since.
file(GLOB weir_arrow_name CONFIGURE_DEPENDS ${WEIR_ARROW_DIR}/name)
file(GLOB weir_duckdb_library CONFIGURE_DEPENDS
     ${WEIR_DUCKDB_DIR}/libduckdb.so)
set(WEIR_SCAN_FOUND OFF)
if(WEIR_SCAN AND weir_arrow_name)
  set(WEIR_SCAN_FOUND ON)
elseif(WEIR_SCAN)
  message(STATUS "no libweir-scan: run `make setup-scan`")
endif()
# Drivers are those of this machine.
set(WEIR_DUCKDB_FOUND OFF)
if(WEIR_SCAN_FOUND AND weir_duckdb_library AND NOT CMAKE_CROSSCOMPILING)
  set(WEIR_DUCKDB_FOUND ON)
endif()

# Drivers are C++. Behind libc, jemalloc's new takes from jemalloc and its
# delete gives to libc; so in programs that carry it libstdc++ goes before it.
if(WEIR_SCAN_FOUND AND WEIR_JEMALLOC_BEHIND_LIBC)
  list(PREPEND WEIR_JEMALLOC_BEHIND_LIBC
       -Wl,--push-state,--no-as-needed -lstdc++ -Wl,--pop-state)
endif()

if(WEIR_SCAN_FOUND)
  set(weir_arrow_include ${WEIR_ARROW_DIR}/include)
  # Others' sources: without our warnings, and with what they may rely on.
  set(weir_nanoarrow_sources "")
  foreach(name array schema utils array_stream)
    list(APPEND weir_nanoarrow_sources
         ${weir_arrow_include}/nanoarrow/common/${name}.c)
  endforeach()
  add_library(weir_nanoarrow OBJECT ${weir_nanoarrow_sources})
  set_target_properties(weir_nanoarrow PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(weir_nanoarrow SYSTEM
                             PUBLIC ${weir_arrow_include})
  target_link_libraries(weir_nanoarrow PRIVATE weir_harden)
  if(WEIR_SANITIZE)
    target_compile_options(weir_nanoarrow PRIVATE -fsanitize=${WEIR_SANITIZE}
                                                  -fno-omit-frame-pointer)
  endif()

  # What writes Arrow files, for the weir command alone.
  if(EXISTS ${weir_arrow_include}/nanoarrow/ipc/writer.c)
    set(weir_ipc_sources "")
    foreach(name codecs decoder encoder reader writer)
      list(APPEND weir_ipc_sources
           ${weir_arrow_include}/nanoarrow/ipc/${name}.c)
    endforeach()
    foreach(name builder emitter refmap verifier)
      list(APPEND weir_ipc_sources
           ${weir_arrow_include}/flatcc/runtime/${name}.c)
    endforeach()
    add_library(weir_nanoarrow_ipc STATIC EXCLUDE_FROM_ALL ${weir_ipc_sources})
    target_include_directories(weir_nanoarrow_ipc SYSTEM
                               PUBLIC ${weir_arrow_include})
    target_link_libraries(weir_nanoarrow_ipc PRIVATE weir_harden)
  endif()

  weir_glob(weir_scan_sources services/scan/*.c)
  set(weir_scan_deps Threads::Threads ${CMAKE_DL_LIBS})
  weir_compile(weir_scan_objects "${weir_scan_deps}" ${weir_scan_sources})
  target_include_directories(weir_scan_objects SYSTEM
                             PRIVATE ${weir_arrow_include})
  weir_library(weir_scan_static STATIC weir-scan weir_scan_objects
               ${weir_scan_deps})
  weir_library(weir_scan_shared SHARED weir-scan weir_scan_objects
               ${weir_scan_deps})
  foreach(kind static shared)
    target_sources(weir_scan_${kind}
                   PRIVATE $<TARGET_OBJECTS:weir_nanoarrow>)
    target_link_libraries(weir_scan_${kind} PUBLIC weir_${kind})
  endforeach()
endif()
