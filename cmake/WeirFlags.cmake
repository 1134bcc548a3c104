# SPDX-License-Identifier: Apache-2.0
# weir_flags: how every file of this project is compiled. Nothing of it
# reaches a program that uses the library.

find_package(Threads REQUIRED)

add_library(weir_flags INTERFACE)
target_compile_features(weir_flags INTERFACE c_std_11)
target_include_directories(weir_flags INTERFACE ${PROJECT_SOURCE_DIR}/include
                                                ${PROJECT_SOURCE_DIR})
target_compile_definitions(weir_flags INTERFACE _GNU_SOURCE)
target_compile_options(
  weir_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion
                       $<$<BOOL:${WEIR_WERROR}>:-Werror>)
target_link_libraries(weir_flags INTERFACE Threads::Threads weir_harden)

# Instrumentation hides ranges of values from gcc, which then warns of
# conversions and initialisations that are in order; other builds check them.
if(WEIR_SANITIZE)
  target_compile_options(
    weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer -Wno-conversion
                         -Wno-sign-conversion
                         $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE})
endif()
# Calls of memcpy() and its like are seen by the thread sanitizer, code that gcc
# puts in their place is not; and threads meet in more ways (preempt.h).
if(WEIR_SANITIZE STREQUAL "thread")
  target_compile_definitions(weir_flags INTERFACE WEIR_PREEMPT)
  target_compile_options(
    weir_flags INTERFACE -fno-builtin-memcpy -fno-builtin-memset
                         -fno-builtin-memmove)
endif()
if(WEIR_COVERAGE) # atomic: counts that threads write at a time went below zero
  target_compile_options(weir_flags INTERFACE --coverage
                                              -fprofile-update=atomic)
  target_link_options(weir_flags INTERFACE --coverage)
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# weir_glob(<out> <pattern>...): sources below the project, sorted. A file that
# is added or removed is noticed by the next build.
macro(weir_glob out)
  file(GLOB_RECURSE ${out} CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
       ${ARGN})
endmacro()
