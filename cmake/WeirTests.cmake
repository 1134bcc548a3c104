# SPDX-License-Identifier: Apache-2.0
# unit         test/unit/<folder>/*_test.c: one Criterion program per folder
# conformance  test/conformance/*_test.c: one per transport, with the suite
# integration  test/integration/*.c and *.sh: real processes
# install      test/install: a program that uses the installed library
# check        test/scripts: rules of the house, on the sources; what packages
#              and models are worth. ctest runs them with -C check only.
# vm           those of conformance and integration that need an RDMA device;
#              ctest runs them with -C vm only, in the guest of test/vm
#
# test/sanitizer: runner and self-test of the sanitizer builds

weir_glob(weir_support_sources test/support/*.c)
weir_glob(weir_unit_sources test/unit/*_test.c)
weir_glob(weir_conformance_sources test/conformance/*.c)
file(GLOB weir_integration_sources CONFIGURE_DEPENDS
     RELATIVE ${PROJECT_SOURCE_DIR} test/integration/*.c test/integration/*.sh)

# Sources whose name has "verbs" in it need the transport; those that run need a
# device as well.
if(NOT WEIR_RDMA_FOUND)
  foreach(list support unit conformance integration)
    list(FILTER weir_${list}_sources EXCLUDE REGEX "verbs")
  endforeach()
endif()

if(NOT WEIR_SCAN_FOUND)
  list(FILTER weir_unit_sources EXCLUDE REGEX
       "^test/unit/(services|bench|tools)/scan/|^test/unit/args/scan_test")
  list(FILTER weir_unit_sources EXCLUDE REGEX "^test/unit/connectors/adbc/")
  list(FILTER weir_conformance_sources EXCLUDE REGEX "/scan_")
  list(FILTER weir_integration_sources EXCLUDE REGEX "/cli_(links|serve_plan)")
endif()
if(NOT WEIR_DUCKDB_FOUND) # `make test-duckdb` fetches it
  list(FILTER weir_integration_sources EXCLUDE REGEX "/cli_(bench_)?scan\\.sh")
endif()

# Those that read files of the tree or run programs of the build. Other objects
# are the same wherever the tree lies, which a compiler cache makes use of.
set(weir_places "WEIR_BUILD_DIR=\"${PROJECT_BINARY_DIR}\""
                "WEIR_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
set_source_files_properties(
  test/integration/oracle.c
  test/integration/oracle_chbench.c
  test/integration/run_kill.c
  test/integration/run_memory.c
  test/unit/operators/expr_doc_test.c
  test/unit/operators/plan_doc_test.c
  PROPERTIES COMPILE_DEFINITIONS "${weir_places}")

set(weir_test_libraries weir_chbench weir_plan_static ${WEIR_CSV_LIBRARY}
                        ${WEIR_JEMALLOC_BEHIND_LIBC})
if(WEIR_TOOLS)
  list(PREPEND weir_test_libraries ${weir_kit_libraries})
endif()
if(weir_support_sources)
  # An archive: a test takes only the helpers that it calls.
  add_library(weir_test_support STATIC ${weir_support_sources})
  target_link_libraries(
    weir_test_support
    PRIVATE weir_flags weir_chbench weir_plan_static PkgConfig::WEIR_CRITERION
            PkgConfig::WEIR_SQLITE ${WEIR_CSV_LIBRARY})
  set(weir_support_library weir_test_support)
endif()

# Instrumented and emulated programs are slower by up to ten times, and run by a
# runner of our own: Criterion's does not start under ThreadSanitizer or qemu,
# and takes a test that leaks for a good one.
set(weir_slowness 1)
set(weir_jobs -j2)
set(weir_runner "")
if(CMAKE_CROSSCOMPILING)
  set(weir_jobs -j1)
endif()
if(WEIR_SANITIZE OR CMAKE_CROSSCOMPILING)
  set(weir_slowness 4)
  set(weir_runner test/sanitizer/runner.c)
endif()
if(WEIR_SANITIZE MATCHES "thread")
  set(weir_slowness 8)
endif()
string(
  JOIN ";" weir_test_environment
  "UBSAN_OPTIONS=print_stacktrace=1"
  "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1"
  "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:atexit_sleep_ms=100")

# What takes long there and finds what something else finds. Sanitizers: cases
# of api run over shm with addresses and over tcp with threads, and those of
# region, spi and strangers over both; spi_tls and region_tls have TLS; what
# runs in the simulator, and most of unit.bench, has one thread. `make test-all`
# runs it, by ctest -C long.
set(weir_long "^$")
if(WEIR_SANITIZE)
  set(weir_long "(api|region)_(auto|sim)$|api_tls|chbench")
endif()
if(WEIR_SANITIZE MATCHES "thread")
  string(APPEND weir_long "|offence|refused|operators|\\.sim$|_sim$|bench$"
                          "|api_shm|scan_(client|serve)_tcp")
elseif(WEIR_SANITIZE)
  string(APPEND weir_long "|api_tcp")
elseif(CMAKE_CROSSCOMPILING) # what is the same C on any processor
  set(weir_long "_sim$|auto|chbench|offence|scan|seed|sockets|strangers|storm"
                "operators|refused|identity|tls|api_tcp|bench|tools|launch"
                "args")
  list(JOIN weir_long "|" weir_long)
endif()

# What builds with sanitizers and for other processors run, and so all that they
# need to build; and what they run besides with -C long.
add_custom_target(weir_checked)
add_custom_target(weir_checked_long)

function(weir_test_properties name label timeout)
  math(EXPR seconds "${timeout} * ${weir_slowness}")
  set_tests_properties(
    ${name}
    PROPERTIES LABELS ${label}
               TIMEOUT ${seconds}
               SKIP_RETURN_CODE 77
               ENVIRONMENT "${weir_test_environment}")
  # What takes longest begins first, so that it is not alone at the end.
  if(name MATCHES "api_|memory_plan|models|offence|operators|region_sim|storm"
     OR name MATCHES "bench_report|check.install_weir|warnings")
    set_tests_properties(${name} PROPERTIES COST 10)
  endif()
endfunction()

# weir_check(<name> <timeout> <script> <argument>...): a test of `make check`.
function(weir_check name timeout script)
  add_test(NAME check.${name} COMMAND ${PROJECT_SOURCE_DIR}/${script} ${ARGN}
           CONFIGURATIONS check)
  weir_test_properties(check.${name} check ${timeout})
endfunction()

# weir_criterion(<test> <label> <timeout> SOURCES ... LIBRARIES ...)
function(weir_criterion test label timeout)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "SOURCES;LIBRARIES")
  string(REPLACE "." "_" target test_${test})
  add_executable(${target} ${arg_SOURCES} ${weir_runner})
  set_target_properties(
    ${target} PROPERTIES OUTPUT_NAME ${test} RUNTIME_OUTPUT_DIRECTORY
                                             ${PROJECT_BINARY_DIR}/test)
  target_compile_definitions(
    ${target} PRIVATE $<$<BOOL:${CMAKE_CROSSCOMPILING}>:WEIR_EMULATED>)
  target_link_libraries(
    ${target} PRIVATE weir_flags ${weir_support_library} ${arg_LIBRARIES}
                      PkgConfig::WEIR_CRITERION ${CMAKE_DL_LIBS} m)
  if(NOT label STREQUAL "unit" AND test MATCHES "verbs")
    add_test(NAME ${test} COMMAND ${target} ${weir_jobs} CONFIGURATIONS vm)
    weir_test_properties(${test} vm 600)
    return()
  endif()
  set(when "")
  set(checked weir_checked)
  if(test MATCHES "${weir_long}")
    set(when CONFIGURATIONS long)
    set(checked weir_checked_long)
  endif()
  add_test(NAME ${test} COMMAND ${target} ${weir_jobs} ${when})
  weir_test_properties(${test} ${label} ${timeout})
  if(label MATCHES "unit|conformance")
    add_dependencies(${checked} ${target})
  endif()
endfunction()

if(WEIR_SANITIZE)
  weir_criterion(unit.sanitizer unit 120 SOURCES
                 test/sanitizer/planted_test.c)
  # An overflow or a race; with addresses also a leak and a use after free.
  set(n 1)
  if(WEIR_SANITIZE MATCHES "address")
    set(n 3)
  endif()
  set_tests_properties(
    unit.sanitizer PROPERTIES PASS_REGULAR_EXPRESSION
                              "Tested: ${n} . Failing: ${n} ")
endif()

# The simulator's harness is tested against stand-ins of the public functions,
# so this program is linked without core/.
set(weir_harness_test test/unit/transport/sim_harness_test.c)
if(weir_harness_test IN_LIST weir_unit_sources)
  list(REMOVE_ITEM weir_unit_sources ${weir_harness_test})
  set(weir_harness_sources ${weir_sources})
  list(FILTER weir_harness_sources INCLUDE REGEX "^(core/base|transport/sim)/")
  weir_criterion(unit.sim_harness unit 120 SOURCES ${weir_harness_test}
                 ${weir_harness_sources} LIBRARIES PkgConfig::WEIR_URCU)
endif()

# Drivers are those of this machine.
set(weir_drivers "")
if(EXISTS ${WEIR_ARROW_DIR}/libadbc_driver_sqlite.so
   AND NOT CMAKE_CROSSCOMPILING)
  list(APPEND weir_drivers
       "WEIR_ADBC_SQLITE=\"${WEIR_ARROW_DIR}/libadbc_driver_sqlite.so\"")
endif()
if(WEIR_DUCKDB_FOUND)
  list(APPEND weir_drivers
       "WEIR_DUCKDB=\"${WEIR_DUCKDB_DIR}/libduckdb.so\"")
endif()
set_source_files_properties(
  test/unit/services/scan/engines_test.c test/unit/tools/scan/out_test.c
  PROPERTIES COMPILE_DEFINITIONS "${weir_drivers}")

set(weir_unit_folders "")
foreach(source ${weir_unit_sources})
  get_filename_component(folder ${source} DIRECTORY)
  list(APPEND weir_unit_folders ${folder})
endforeach()
list(REMOVE_DUPLICATES weir_unit_folders)
if(WEIR_SANITIZE MATCHES "thread") # but not where nothing starts one
  list(FILTER weir_unit_folders EXCLUDE REGEX
       "unit/(operators|chbench|core/(format|partition))$")
endif()
foreach(folder ${weir_unit_folders})
  set(sources ${weir_unit_sources})
  list(FILTER sources INCLUDE REGEX "^${folder}/[^/]*$")
  string(REGEX REPLACE "^test/unit/?" "" name ${folder})
  string(REPLACE "/" "." name "${name}")
  if(name STREQUAL "")
    set(name top)
  endif()
  set(libraries ${weir_test_libraries})
  if(name STREQUAL "connectors.adbc")
    list(APPEND sources test/unit/services/scan/engines_test.c)
    list(PREPEND libraries weir_adbc)
  endif()
  weir_criterion(unit.${name} unit 300 SOURCES ${sources}
                 LIBRARIES ${libraries})
  if(WEIR_SCAN_FOUND AND name MATCHES
     "^(services.scan|connectors.adbc|tools.scan|args)$")
    string(REPLACE "." "_" target test_unit_${name})
    target_link_libraries(${target} PRIVATE weir_scan_static)
    target_include_directories(${target} SYSTEM PRIVATE ${weir_arrow_include})
  endif()
endforeach()

set(weir_suite_sources ${weir_conformance_sources})
list(FILTER weir_suite_sources EXCLUDE REGEX "_test\\.c$")
list(FILTER weir_conformance_sources INCLUDE REGEX "_test\\.c$")
if(NOT WEIR_TOOLS) # its transport is the bench's
  list(FILTER weir_conformance_sources EXCLUDE REGEX "sockets")
endif()

# The suites, compiled once for all transports.
add_library(weir_suites STATIC ${weir_suite_sources})
target_compile_definitions(
  weir_suites PRIVATE $<$<BOOL:${CMAKE_CROSSCOMPILING}>:WEIR_EMULATED>)
target_link_libraries(
  weir_suites PRIVATE weir_flags ${weir_support_library} ${weir_kit_libraries}
                      weir_plan_static PkgConfig::WEIR_CRITERION)
if(WEIR_SCAN_FOUND)
  target_sources(weir_suites PRIVATE test/unit/services/scan/make_test.c)
  target_link_libraries(weir_suites PRIVATE weir_scan_static)
  target_include_directories(weir_suites SYSTEM PRIVATE ${weir_arrow_include})
endif()

foreach(source ${weir_conformance_sources})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "_test$" "" name ${name})
  weir_criterion(
    conformance.${name} conformance 120 SOURCES ${source}
    LIBRARIES weir_suites ${weir_kit_libraries} weir_plan_static)
  if(name STREQUAL "refused") # the functions of the same names after __wrap_
    foreach(call malloc calloc realloc aligned_alloc strdup free)
      target_link_options(test_conformance_refused PRIVATE -Wl,--wrap=${call})
    endforeach()
  endif()
  if(name MATCHES "^scan_")
    target_include_directories(test_conformance_${name} SYSTEM
                               PRIVATE ${weir_arrow_include})
  endif()
endforeach()

foreach(source ${weir_integration_sources})
  get_filename_component(name ${source} NAME_WE)
  if(source MATCHES "\\.c$")
    weir_criterion(integration.${name} integration 300 SOURCES ${source}
                   LIBRARIES ${weir_test_libraries})
  elseif(name STREQUAL "bench_report") # draws with what `make check` installs
    weir_check(bench_report 300 ${source} ${PROJECT_BINARY_DIR})
  else()
    add_test(NAME integration.${name}
             COMMAND ${PROJECT_SOURCE_DIR}/${source} ${PROJECT_BINARY_DIR})
    weir_test_properties(integration.${name} integration 300)
  endif()
endforeach()

# Simulated clusters under faults: the same seeds every time. Those that have
# never run are for .ci/run and `make soak`.
if(TARGET weir_tool)
  set(seeds 1500)
  if(WEIR_SANITIZE)
    set(seeds 150)
  endif()
  set(only "")
  if("conformance.weir_sim" MATCHES "${weir_long}" AND WEIR_SANITIZE)
    set(only CONFIGURATIONS long)
  endif()
  add_test(NAME conformance.weir_sim
           COMMAND weir_tool sim --seeds 1..${seeds} ${only})
  weir_test_properties(conformance.weir_sim conformance 240)
  add_dependencies(weir_checked weir_tool)
endif()

# Processes that live long, and real faults; `make soak` has more rounds.
if(TARGET weir_launch)
  file(GLOB weir_soak_sources CONFIGURE_DEPENDS test/soak/*.c)
  add_executable(test_soak ${weir_soak_sources})
  set_target_properties(
    test_soak PROPERTIES OUTPUT_NAME soak RUNTIME_OUTPUT_DIRECTORY
                                          ${PROJECT_BINARY_DIR}/test)
  target_link_libraries(test_soak PRIVATE weir_flags ${weir_support_library}
                                          ${weir_test_libraries})
  foreach(transport shm tcp)
    set(rounds 20)
    if(transport STREQUAL "tcp") # a cut takes 3 s, and there are two kinds
      set(rounds 10)
    endif()
    add_test(NAME integration.soak_${transport}
             COMMAND test_soak --transport ${transport} --rounds ${rounds}
                     --seed 2)
    weir_test_properties(integration.soak_${transport} integration 120)
  endforeach()
endif()

# What test/vm runs on several machines at a time.
if(WEIR_RDMA_FOUND)
  add_executable(test_vm_member test/vm/member.c)
  set_target_properties(
    test_vm_member PROPERTIES OUTPUT_NAME vm.member RUNTIME_OUTPUT_DIRECTORY
                                          ${PROJECT_BINARY_DIR}/test)
  target_link_libraries(
    test_vm_member PRIVATE weir_flags ${weir_support_library}
                           ${weir_test_libraries})
endif()

# Sources and packaging are the same in every build: one build looks at them.
if(NOT WEIR_SANITIZE AND NOT WEIR_COVERAGE)
  include(cmake/WeirChecks.cmake)
endif()
