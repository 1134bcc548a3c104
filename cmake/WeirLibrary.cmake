# SPDX-License-Identifier: Apache-2.0
# core + transport + operators -> libweir.a and libweir.so, from one set of
# objects.

weir_glob(weir_sources core/*.c transport/*.c operators/*.c)
if(NOT WEIR_RDMA_FOUND)
  list(FILTER weir_sources EXCLUDE REGEX "^transport/verbs/")
endif()

# Loops over vectors gain from what -O3 adds; elsewhere it only adds code.
set(weir_kernels ${weir_sources})
list(FILTER weir_kernels INCLUDE REGEX
     "^(operators/expr/(kernel|cast|set)|operators/base/(arrow|hash)|core/partition/partition_hash)")
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set_source_files_properties(${weir_kernels} PROPERTIES COMPILE_OPTIONS -O3)
endif()

add_library(weir_objects OBJECT ${weir_sources})
set_target_properties(weir_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_link_libraries(weir_objects PRIVATE weir_flags PkgConfig::WEIR_URCU
                                           PkgConfig::WEIR_XXHASH
                                           PkgConfig::WEIR_JANSSON)

# What the library itself is linked to; dl and m for old C libraries.
set(weir_library_deps PkgConfig::WEIR_URCU PkgConfig::WEIR_XXHASH
                      PkgConfig::WEIR_JANSSON Threads::Threads ${CMAKE_DL_LIBS} m)
set(WEIR_PC_RDMA "") # for weir.pc
if(WEIR_RDMA_FOUND)
  target_compile_definitions(weir_flags INTERFACE WEIR_HAVE_VERBS)
  target_link_libraries(weir_objects PRIVATE PkgConfig::WEIR_RDMA)
  list(APPEND weir_library_deps PkgConfig::WEIR_RDMA)
  set(WEIR_PC_RDMA "-lrdmacm -libverbs ")
endif()

function(weir_library target type export_name)
  add_library(${target} ${type} $<TARGET_OBJECTS:weir_objects>)
  add_library(weir::${export_name} ALIAS ${target})
  set_target_properties(
    ${target}
    PROPERTIES OUTPUT_NAME weir
               EXPORT_NAME ${export_name}
               VERSION ${PROJECT_VERSION}
               SOVERSION 0
               LINKER_LANGUAGE C
               LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
               ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_include_directories(
    ${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PRIVATE ${weir_library_deps})
  if(WEIR_SANITIZE)
    target_link_options(${target} PRIVATE -fsanitize=${WEIR_SANITIZE})
  endif()
  if(WEIR_COVERAGE)
    target_link_options(${target} PRIVATE --coverage)
  endif()
endfunction()

weir_library(weir_static STATIC weir_static)
weir_library(weir_shared SHARED weir)
target_link_options(weir_shared PRIVATE -Wl,--as-needed)
if(NOT WEIR_SANITIZE)
  target_link_options(weir_shared PRIVATE -Wl,-z,defs)
endif()
