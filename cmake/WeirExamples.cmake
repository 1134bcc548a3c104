# SPDX-License-Identifier: Apache-2.0
# One program per file, against the shared library as a stranger would have
# it: public headers only. Each is run as a test.

weir_glob(weir_example_sources examples/*.c)
foreach(source ${weir_example_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(example_${name} ${source})
  set_target_properties(
    example_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY
                                                   ${PROJECT_BINARY_DIR}/examples)
  target_link_libraries(example_${name} PRIVATE weir_flags weir_shared)
  add_test(NAME example.${name} COMMAND example_${name})
  set_tests_properties(example.${name} PROPERTIES LABELS example TIMEOUT 120
                                                  SKIP_RETURN_CODE 77)
endforeach()
