# SPDX-License-Identifier: Apache-2.0
# Each check is a script that takes the root of a source tree and prints one
# line per violation; check.selftest plants violations and expects them found.

set(weir_scripts ${PROJECT_SOURCE_DIR}/test/scripts)

foreach(check includes headers atomics sizes api_docs probes spdx calls
              columns paths warnings format doxygen when_changed
              selftest)
  add_test(NAME check.${check}
           COMMAND ${weir_scripts}/check_${check}.sh ${PROJECT_SOURCE_DIR})
  weir_test_properties(check.${check} check 120)
endforeach()

add_test(NAME check.rooms
         COMMAND ${weir_scripts}/check_rooms.sh ${PROJECT_SOURCE_DIR}
                 ${PROJECT_BINARY_DIR}/CMakeFiles/weir_objects.dir)
weir_test_properties(check.rooms check 120)

# Each library exports its own headers.
set(weir_libraries weir weir_plan)
if(WEIR_SCAN_FOUND)
  list(APPEND weir_libraries weir_scan)
endif()
foreach(library ${weir_libraries})
  add_test(NAME check.symbols.${library}
           COMMAND ${weir_scripts}/check_symbols.sh ${PROJECT_SOURCE_DIR}
                   $<TARGET_FILE:${library}_shared>
                   $<TARGET_FILE:${library}_static> ${${library}_header_files})
  weir_test_properties(check.symbols.${library} check 120)
endforeach()

add_test(NAME install.consumer
         COMMAND ${PROJECT_SOURCE_DIR}/test/install/run.sh
                 ${PROJECT_BINARY_DIR})
weir_test_properties(install.consumer install 300)

foreach(kind weir plan)
  add_test(NAME install.${kind}
           COMMAND ${PROJECT_SOURCE_DIR}/test/install/lib.sh
                   ${PROJECT_SOURCE_DIR} ${kind})
  weir_test_properties(install.${kind} install 600)
endforeach()

# The protocol's models, checked with spin: a minute or two, so `make check` has
# them (ctest -C model) and `make test` has not.
add_test(NAME model.spin COMMAND ${PROJECT_SOURCE_DIR}/test/model/run.sh
         CONFIGURATIONS model)
weir_test_properties(model.spin model 900)
