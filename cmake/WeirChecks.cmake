# SPDX-License-Identifier: Apache-2.0
# Each check is a script that takes the root of a source tree and prints one
# line per violation; check.selftest plants violations and expects them found.

foreach(check includes headers atomics sizes api_docs probes spdx calls locale
              columns paths warnings format doxygen when_changed
              downloads selftest)
  weir_check(${check} 300 test/scripts/check_${check}.sh ${PROJECT_SOURCE_DIR})
endforeach()

weir_check(rooms 120 test/scripts/check_rooms.sh ${PROJECT_SOURCE_DIR}
           ${PROJECT_BINARY_DIR}/CMakeFiles/weir_objects.dir)

# Each library exports its own headers.
set(weir_libraries weir weir_plan)
if(WEIR_SCAN_FOUND)
  list(APPEND weir_libraries weir_scan)
endif()
foreach(library ${weir_libraries})
  weir_check(symbols.${library} 120 test/scripts/check_symbols.sh
             ${PROJECT_SOURCE_DIR} $<TARGET_FILE:${library}_shared>
             $<TARGET_FILE:${library}_static> ${${library}_header_files})
endforeach()

# Each library alone, where nothing is to be found but what it needs.
foreach(kind weir plan)
  weir_check(install_${kind} 600 test/install/lib.sh ${PROJECT_SOURCE_DIR}
             ${kind})
endforeach()
# One after the other: the compiler's cache has then seen what both compile.
set_tests_properties(check.install_plan PROPERTIES DEPENDS check.install_weir)

# The protocol's models, by spin: two minutes, once a day or when one changes.
# A search is exhaustive, so its answer would be the same.
weir_check(models 900 tools/when_changed.sh models test/model --
           test/model/run.sh)
set_tests_properties(check.models PROPERTIES WORKING_DIRECTORY
                                             ${PROJECT_SOURCE_DIR})

add_test(NAME install.consumer
         COMMAND ${PROJECT_SOURCE_DIR}/test/install/run.sh
                 ${PROJECT_BINARY_DIR})
weir_test_properties(install.consumer install 300)

# What others take out of the build's folder: crates, jars, driver managers.
if(WEIR_HARDEN AND NOT WEIR_SANITIZE AND NOT WEIR_COVERAGE
   AND CMAKE_BUILD_TYPE STREQUAL "Release")
  set(weir_packaged weir_tool)
  foreach(library ${weir_libraries})
    list(APPEND weir_packaged ${library}_static ${library}_shared)
  endforeach()
  if(TARGET weir_adbc_driver)
    list(APPEND weir_packaged weir_adbc_driver)
  endif()
  list(TRANSFORM weir_packaged REPLACE "(.+)" "$<TARGET_FILE:\\1>")
  add_test(NAME install.hardened
           COMMAND ${PROJECT_SOURCE_DIR}/test/install/hardened.sh
                   ${weir_packaged})
  weir_test_properties(install.hardened install 60)
endif()
