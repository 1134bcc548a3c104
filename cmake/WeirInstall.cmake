# SPDX-License-Identifier: Apache-2.0
# Headers, both libraries, the command, weir.pc and the CMake package. The
# static library has an export set of its own: whoever links the shared one
# needs none of liburcu's development files.

include(CMakePackageConfigHelpers)

set(weir_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weir)

install(DIRECTORY include/weir DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(TARGETS weir_shared EXPORT weirTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS weir_static EXPORT weirStaticTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET weir_tool)
  install(TARGETS weir_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

foreach(set weirTargets weirStaticTargets)
  install(EXPORT ${set} NAMESPACE weir:: DESTINATION ${weir_cmake_dir})
endforeach()
configure_package_config_file(
  cmake/weirConfig.cmake.in ${PROJECT_BINARY_DIR}/weirConfig.cmake
  INSTALL_DESTINATION ${weir_cmake_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/weirConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weirConfig.cmake
              ${PROJECT_BINARY_DIR}/weirConfigVersion.cmake
        DESTINATION ${weir_cmake_dir})

# Paths relative to the file itself, so that an installed tree can be moved.
file(RELATIVE_PATH WEIR_PC_PREFIX
     ${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig
     ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" WEIR_PC_PREFIX "${WEIR_PC_PREFIX}")
# What a static link needs may lie where the linker does not look by itself.
set(WEIR_PC_DIRS "")
foreach(package URCU XXHASH JANSSON RDMA)
  foreach(dir ${WEIR_${package}_LIBRARY_DIRS})
    string(APPEND WEIR_PC_DIRS "-L${dir} ")
  endforeach()
endforeach()
configure_file(cmake/weir.pc.in ${PROJECT_BINARY_DIR}/weir.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/weir.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
