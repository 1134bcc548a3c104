# SPDX-License-Identifier: Apache-2.0
# weir_embed(<out> <file> ...): a C source in which every file is a string, with
# its path from bench/, in the order of the list (bench/lib/embedded.h).

function(weir_embed out)
  set(text "/* Made by cmake/WeirEmbed.cmake. */\n")
  string(APPEND text "#include \"bench/lib/embedded.h\"\n")
  set(rows "")
  foreach(file ${ARGN})
    string(REGEX REPLACE "^bench/" "" path ${file})
    string(MAKE_C_IDENTIFIER ${path} symbol)
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND text "static const char ${symbol}[] = {${bytes}0};\n")
    string(APPEND rows "{\"${path}\", ${symbol}},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  string(APPEND text "const struct wb_embedded_file wb_embedded_files[] = {\n"
                     "${rows}{0, 0}};\n")
  file(CONFIGURE OUTPUT ${out} CONTENT "${text}" @ONLY)
endfunction()
