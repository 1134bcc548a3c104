# SPDX-License-Identifier: Apache-2.0
# One program per file, against the shared libraries as a stranger would have
# them: public headers only, and libweir alone but for *_plan.c and scan.c. Each
# is run as a test.

weir_glob(weir_example_sources examples/*.c)
if(NOT WEIR_PLAN)
  list(FILTER weir_example_sources EXCLUDE REGEX "_plan\\.c$")
endif()
if(NOT WEIR_SCAN_FOUND)
  list(FILTER weir_example_sources EXCLUDE REGEX "/scan\\.c$")
endif()
foreach(source ${weir_example_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(example_${name} ${source})
  set_target_properties(
    example_${name}
    PROPERTIES OUTPUT_NAME ${name}
               RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
  set(library weir_shared)
  if(name MATCHES "_plan$")
    set(library weir_plan_shared)
  elseif(name STREQUAL "scan")
    set(library weir_scan_shared weir_shared)
  endif()
  target_link_libraries(example_${name} PRIVATE weir_flags ${library})
  add_test(NAME example.${name} COMMAND example_${name})
  set_tests_properties(example.${name} PROPERTIES LABELS example TIMEOUT 120
                                                  SKIP_RETURN_CODE 77)
endforeach()
