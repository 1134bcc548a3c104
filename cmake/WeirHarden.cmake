# SPDX-License-Identifier: Apache-2.0
# weir_harden: what makes faults harder to use, in all that is compiled and
# linked here. Nothing of it reaches a program that uses the library: archives
# need of libc what every glibc has.
#
#   compiled   stack protector; FORTIFY, where the compiler optimises and nobody
#              has chosen a level (CMAKE_C_FLAGS, the distribution); CET, where
#              the compiler has it
#   linked     full RELRO
#
# test/install/hardened.sh looks at what comes of it. Sanitizers and counts see
# more, and other code.

option(WEIR_HARDEN "Stack protector, FORTIFY, CET, full RELRO" ON)

add_library(weir_harden INTERFACE)
if(WEIR_HARDEN AND NOT WEIR_SANITIZE AND NOT WEIR_COVERAGE)
  include(CheckCCompilerFlag)
  include(CheckCSourceCompiles)
  foreach(flag stack-protector-strong cf-protection)
    check_c_compiler_flag(-f${flag} WEIR_HAS_${flag})
    if(WEIR_HAS_${flag})
      target_compile_options(weir_harden INTERFACE -f${flag})
    endif()
  endforeach()
  set(CMAKE_REQUIRED_FLAGS -O2)
  check_c_source_compiles(
    "#ifdef _FORTIFY_SOURCE
     #error chosen
     #endif
     int main(void) { return 0; }"
    WEIR_FORTIFY_IS_FREE)
  unset(CMAKE_REQUIRED_FLAGS)
  if(WEIR_FORTIFY_IS_FREE)
    target_compile_definitions(
      weir_harden
      INTERFACE
        $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:_FORTIFY_SOURCE=2>)
  endif()
  target_link_options(weir_harden INTERFACE -Wl,-z,relro,-z,now)
endif()
