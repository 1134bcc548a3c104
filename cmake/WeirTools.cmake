# SPDX-License-Identifier: Apache-2.0
# The `weir` command: what starts the processes of a cluster, what subcommands
# share, the benchmark kit and its subcommands, the other subcommands. Then
# micro benchmarks and opponents that are programs of their own.

weir_glob(weir_bench_sources bench/*.c)
set(weir_micro_sources ${weir_bench_sources})
set(weir_mpi_sources ${weir_bench_sources})
list(FILTER weir_micro_sources INCLUDE REGEX "^bench/micro/.*_bench\\.c$")
set(weir_mpi_programs "^bench/opponents/.*_mpi[^/]*\\.c$")
list(FILTER weir_mpi_sources INCLUDE REGEX ${weir_mpi_programs})
if(NOT WEIR_RDMA_FOUND)
  list(FILTER weir_micro_sources EXCLUDE REGEX "verbs")
endif()
list(FILTER weir_bench_sources EXCLUDE REGEX "^bench/micro/")
list(FILTER weir_bench_sources EXCLUDE REGEX ${weir_mpi_programs})
# What uses libweir-scan.
if(NOT WEIR_SCAN_FOUND)
  list(FILTER weir_bench_sources EXCLUDE REGEX "^bench/scan/")
endif()

weir_glob(weir_launch_sources launch/*.c)
weir_glob(weir_cli_sources cli/*.c)
weir_glob(weir_cmd_sources tools/*.c)
set(weir_main_source tools/weir.c)
list(REMOVE_ITEM weir_cmd_sources ${weir_main_source})
if(NOT WEIR_SCAN_FOUND)
  list(FILTER weir_cli_sources EXCLUDE REGEX "^cli/scan/")
  list(FILTER weir_cmd_sources EXCLUDE REGEX "^tools/scan/")
endif()

set_source_files_properties(
  cli/scan/duckdb.c
  PROPERTIES COMPILE_DEFINITIONS
             "WEIR_DUCKDB_BUILD=\"${WEIR_DUCKDB_DIR}/libduckdb.so\"")

# Kit and subcommands are archives, so that unit tests link what they test
# and leave out the command's main().
set(weir_kit_libraries "")
function(weir_kit target)
  add_library(${target} STATIC ${ARGN})
  target_link_libraries(
    ${target}
    PRIVATE weir_flags
    PUBLIC weir_chbench weir_plan_static PkgConfig::WEIR_JANSSON)
  if(WEIR_SCAN_FOUND)
    target_compile_definitions(${target} PRIVATE WEIR_HAS_SCAN)
    target_link_libraries(${target} PUBLIC weir_scan_static)
  endif()
endfunction()
if(weir_launch_sources)
  weir_kit(weir_launch ${weir_launch_sources})
  list(PREPEND weir_kit_libraries weir_launch)
endif()
if(weir_cli_sources)
  weir_kit(weir_cli ${weir_cli_sources})
  target_link_libraries(weir_cli PUBLIC weir_launch)
  list(PREPEND weir_kit_libraries weir_cli)
endif()
if(weir_bench_sources)
  set(weir_embedded ${PROJECT_BINARY_DIR}/embedded.c)
  file(
    GLOB_RECURSE weir_embedded_plans
    RELATIVE ${PROJECT_SOURCE_DIR}
    CONFIGURE_DEPENDS bench/plans/*.json bench/plans/*.sql)
  weir_embed(${weir_embedded} ${weir_embedded_plans}
             bench/opponents/duckdb_query.py bench/opponents/scan.py
             bench/scan/lineitem.sql)
  weir_kit(weir_bench ${weir_bench_sources} ${weir_embedded})
  target_link_libraries(weir_bench PUBLIC weir_cli)
  list(PREPEND weir_kit_libraries weir_bench)
endif()
# How scans are added up, for opponents in Python; beside the `weir` command.
if(WEIR_SCAN_FOUND AND NOT WEIR_SANITIZE)
  add_library(weir_scan_sum MODULE bench/scan/sum.c)
  set_target_properties(
    weir_scan_sum PROPERTIES PREFIX "lib" C_VISIBILITY_PRESET default
                             LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_include_directories(weir_scan_sum
                             PRIVATE ${PROJECT_SOURCE_DIR}
                                     ${PROJECT_SOURCE_DIR}/include)
endif()
if(weir_cmd_sources)
  weir_kit(weir_cmd ${weir_cmd_sources})
  if(TARGET weir_nanoarrow_ipc) # writes Arrow files
    target_compile_definitions(weir_cmd PRIVATE WEIR_HAS_IPC)
    target_link_libraries(weir_cmd PUBLIC weir_nanoarrow_ipc)
  endif()
  list(PREPEND weir_kit_libraries weir_cmd)
  target_link_libraries(weir_cmd PUBLIC weir_cli)
endif()

if(EXISTS ${PROJECT_SOURCE_DIR}/${weir_main_source})
  add_executable(weir_tool ${weir_main_source})
  set_target_properties(
    weir_tool PROPERTIES OUTPUT_NAME weir RUNTIME_OUTPUT_DIRECTORY
                                          ${PROJECT_BINARY_DIR})
  target_compile_definitions(
    weir_tool PRIVATE WEIR_VERSION="${PROJECT_VERSION}"
                      $<$<BOOL:${WEIR_SCAN_FOUND}>:WEIR_HAS_SCAN>)
  target_link_libraries(
    weir_tool PRIVATE weir_flags ${weir_kit_libraries} weir_plan_static
                      ${WEIR_JEMALLOC_BEHIND_LIBC})
endif()

# `cmake --build DIR --target bench-micro` builds them alone.
add_custom_target(bench-micro)
foreach(source ${weir_micro_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  if(NOT WEIR_MICRO)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                           ${PROJECT_BINARY_DIR}/bench)
  target_link_libraries(${name} PRIVATE weir_flags ${weir_kit_libraries}
                                        weir_plan_static)
  if(name MATCHES "verbs")
    target_link_libraries(${name} PRIVATE PkgConfig::WEIR_RDMA)
  endif()
  add_dependencies(bench-micro ${name})
endforeach()

# Beside the `weir` command, where `weir bench` looks for them.
if(WEIR_MPI AND MPI_C_FOUND)
  foreach(source ${weir_mpi_sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                             ${PROJECT_BINARY_DIR})
    target_include_directories(${name} SYSTEM PRIVATE ${MPI_C_INCLUDE_DIRS})
    target_link_libraries(
      ${name} PRIVATE weir_flags MPI::MPI_C ${weir_kit_libraries}
                      weir_plan_static)
  endforeach()
endif()
