# SPDX-License-Identifier: Apache-2.0
# weir_embed(<out> <file> ...): a C source in which every file is a string,
# wb_embedded_<name>, with '_' for whatever is no letter or digit.

function(weir_embed out)
  set(text "/* Made by cmake/WeirEmbed.cmake. */\n")
  string(APPEND text "#include \"bench/lib/embedded.h\"\n")
  foreach(file ${ARGN})
    get_filename_component(name ${file} NAME)
    string(MAKE_C_IDENTIFIER ${name} symbol)
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND text "const char wb_embedded_${symbol}[] = {${bytes}0};\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  file(CONFIGURE OUTPUT ${out} CONTENT "${text}" @ONLY)
endfunction()
