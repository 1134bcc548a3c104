# SPDX-License-Identifier: Apache-2.0
# libweir, the middleware: core and transports. libweir-plan, the executor on
# top of it, which knows only its public headers: operators. Each is an archive
# and a shared library, from one set of objects.

# Which public headers are whose.
set(weir_plan_header_files include/weir/plan.h include/weir/run.h
                           include/weir/table.h)
weir_glob(weir_header_files include/*.h)
weir_glob(weir_scan_header_files include/weir/scan*.h)
list(REMOVE_ITEM weir_header_files ${weir_plan_header_files}
     ${weir_scan_header_files})

weir_glob(weir_sources core/*.c transport/*.c)
weir_glob(weir_plan_sources operators/*.c)
if(NOT WEIR_RDMA_FOUND)
  list(FILTER weir_sources EXCLUDE REGEX "^transport/verbs/")
endif()

# Loops over vectors gain from what -O3 adds; elsewhere it only adds code.
set(weir_kernels ${weir_sources} ${weir_plan_sources})
set(kernels "operators/expr/(kernel|cast|set)|operators/base/(arrow|hash)")
string(APPEND kernels "|core/partition/partition_hash")
list(FILTER weir_kernels INCLUDE REGEX "^(${kernels})")
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set_source_files_properties(${weir_kernels} PROPERTIES COMPILE_OPTIONS -O3)
endif()

# What each is linked to itself; dl and m for old C libraries.
set(weir_deps PkgConfig::WEIR_URCU PkgConfig::WEIR_XXHASH
              PkgConfig::WEIR_CRYPTO Threads::Threads ${CMAKE_DL_LIBS} m)
set(weir_plan_deps PkgConfig::WEIR_JANSSON Threads::Threads m)
set(WEIR_PC_RDMA "") # for weir.pc
if(WEIR_RDMA_FOUND)
  target_compile_definitions(weir_flags INTERFACE WEIR_HAVE_VERBS)
  list(APPEND weir_deps PkgConfig::WEIR_RDMA)
  set(WEIR_PC_RDMA "-lrdmacm -libverbs ")
endif()

# weir_library(<target> <STATIC|SHARED> <name of the file> <objects> <deps>...)
function(weir_library target type name objects)
  string(REPLACE "-" "_" export_name ${name})
  if(type STREQUAL "STATIC")
    string(APPEND export_name "_static")
  endif()
  # libweir needs none of the others; they find it beside them. Of two places
  # that differ, one for the build, CMake pads the shorter with empty ones.
  set(rpath "")
  if(NOT name STREQUAL "weir")
    set(rpath $ORIGIN)
  endif()
  add_library(${target} ${type} $<TARGET_OBJECTS:${objects}>)
  add_library(weir::${export_name} ALIAS ${target})
  set_target_properties(
    ${target}
    PROPERTIES OUTPUT_NAME ${name}
               EXPORT_NAME ${export_name}
               VERSION ${PROJECT_VERSION}
               SOVERSION 0
               LINKER_LANGUAGE C
               INSTALL_RPATH "${rpath}"
               BUILD_WITH_INSTALL_RPATH ON
               LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
               ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_include_directories(
    ${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PRIVATE ${ARGN})
  if(type STREQUAL "SHARED")
    target_link_libraries(${target} PRIVATE weir_harden)
    target_link_options(${target} PRIVATE -Wl,--as-needed)
    if(NOT WEIR_SANITIZE)
      target_link_options(${target} PRIVATE -Wl,-z,defs)
    endif()
  endif()
  if(WEIR_SANITIZE)
    target_link_options(${target} PRIVATE -fsanitize=${WEIR_SANITIZE})
  endif()
  if(WEIR_COVERAGE)
    target_link_options(${target} PRIVATE --coverage)
  endif()
endfunction()

# weir_compile(<target> <dependencies> <source>...)
function(weir_compile target deps)
  add_library(${target} OBJECT ${ARGN})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${target} PRIVATE weir_flags ${deps})
endfunction()

weir_compile(weir_objects "${weir_deps}" ${weir_sources})
weir_library(weir_static STATIC weir weir_objects ${weir_deps})
weir_library(weir_shared SHARED weir weir_objects ${weir_deps})

if(WEIR_PLAN)
  weir_compile(weir_plan_objects "${weir_plan_deps}" ${weir_plan_sources})
  weir_library(weir_plan_static STATIC weir-plan weir_plan_objects
               ${weir_plan_deps})
  weir_library(weir_plan_shared SHARED weir-plan weir_plan_objects
               ${weir_plan_deps})
  target_link_libraries(weir_plan_static PUBLIC weir_static)
  target_link_libraries(weir_plan_shared PUBLIC weir_shared)
elseif(WEIR_TESTS OR WEIR_TOOLS OR WEIR_FUZZ)
  message(FATAL_ERROR "WEIR_TESTS, WEIR_TOOLS and WEIR_FUZZ need WEIR_PLAN")
endif()
