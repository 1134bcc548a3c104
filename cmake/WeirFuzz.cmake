# SPDX-License-Identifier: Apache-2.0
# test/fuzz/<name>_fuzz.c: one program per target, with its corpus in
# test/fuzz/corpus/<name>.
#
# WEIR_FUZZ (preset fuzz; needs clang): libFuzzer drives them; `make fuzz` runs
# them. Otherwise they replay their corpus, as a test, but for a thread
# sanitizer: none has a second thread.
if(WEIR_SANITIZE MATCHES "thread")
  return()
endif()

weir_glob(weir_fuzz_sources test/fuzz/*_fuzz.c)
if(NOT WEIR_SCAN_FOUND)
  list(FILTER weir_fuzz_sources EXCLUDE REGEX "/scan[a-z_]*_fuzz\\.c$")
endif()

# What targets share with the tests; none of it needs Criterion.
set(weir_fuzz_support test/support/lab.c test/support/nest.c
                      test/support/plan.c
                      test/support/rogue.c
                      test/support/rogue_ring.c test/support/rogue_sim.c
                      test/support/rogue_tcp.c test/support/rows.c
                      test/support/wares.c
                      test/support/wire.c)
add_library(weir_fuzz_support STATIC ${weir_fuzz_support})
target_link_libraries(weir_fuzz_support PRIVATE weir_flags weir_chbench
                                                weir_plan_static)

add_custom_target(fuzz)
foreach(source ${weir_fuzz_sources})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name ${name})
  set(target fuzz_${name})
  add_executable(${target} ${source})
  set_target_properties(
    ${target} PROPERTIES OUTPUT_NAME fuzz.${name} RUNTIME_OUTPUT_DIRECTORY
                                                  ${PROJECT_BINARY_DIR}/test)
  target_link_libraries(${target} PRIVATE weir_flags weir_fuzz_support
                                          weir_chbench weir_plan_static)
  if(name MATCHES "^scan")
    target_link_libraries(${target} PRIVATE weir_scan_static)
    target_include_directories(${target} SYSTEM PRIVATE ${weir_arrow_include})
  endif()
  add_dependencies(fuzz ${target})
  if(WEIR_FUZZ)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${target} PRIVATE test/fuzz/replay.c)
    add_test(NAME fuzz.${name}
             COMMAND ${target} ${PROJECT_SOURCE_DIR}/test/fuzz/corpus/${name})
    weir_test_properties(fuzz.${name} unit 120)
    add_dependencies(weir_checked ${target})
  endif()
endforeach()
