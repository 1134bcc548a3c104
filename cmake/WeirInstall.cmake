# SPDX-License-Identifier: Apache-2.0
# Headers, libraries, pkg-config files and one CMake package, in components:
# weir (libweir), weir_plan (libweir-plan), weir_scan (libweir-scan), weir_tool
# (the command), weir_adbc (the ADBC driver). Static libraries have export sets
# of their own: whoever links a shared one needs no development files of what it
# is made with.

include(CMakePackageConfigHelpers)

set(weir_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weir)

# Paths relative to the file itself, so that an installed tree can be moved.
file(RELATIVE_PATH WEIR_PC_PREFIX
     ${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig
     ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" WEIR_PC_PREFIX "${WEIR_PC_PREFIX}")

# weir_install(<target prefix> <file name> <export set> <packages>...): both
# kinds of a library, its headers and its pkg-config file. Packages: of which
# what a static link needs may lie where the linker does not look by itself.
function(weir_install target name set)
  install(TARGETS ${target}_shared EXPORT ${set}Targets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                  COMPONENT ${target} NAMELINK_COMPONENT ${target})
  install(TARGETS ${target}_static EXPORT ${set}StaticTargets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${target})
  foreach(kind ${set}Targets ${set}StaticTargets)
    install(EXPORT ${kind} NAMESPACE weir:: DESTINATION ${weir_cmake_dir}
            COMPONENT ${target})
  endforeach()
  install(FILES ${${target}_header_files}
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weir COMPONENT ${target})
  set(WEIR_PC_DIRS "")
  foreach(package ${ARGN})
    foreach(dir ${WEIR_${package}_LIBRARY_DIRS})
      string(APPEND WEIR_PC_DIRS "-L${dir} ")
    endforeach()
  endforeach()
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${target})
endfunction()

weir_install(weir weir weir URCU XXHASH RDMA)
if(WEIR_PLAN)
  weir_install(weir_plan weir-plan weirPlan JANSSON)
endif()
if(WEIR_SCAN_FOUND)
  weir_install(weir_scan weir-scan weirScan)
endif()
if(TARGET weir_adbc_driver)
  install(TARGETS weir_adbc_driver LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                                           COMPONENT weir_adbc)
endif()
if(TARGET weir_tool)
  install(TARGETS weir_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
                                    COMPONENT weir_tool)
endif()

configure_package_config_file(
  cmake/weirConfig.cmake.in ${PROJECT_BINARY_DIR}/weirConfig.cmake
  INSTALL_DESTINATION ${weir_cmake_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/weirConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weirConfig.cmake
              ${PROJECT_BINARY_DIR}/weirConfigVersion.cmake
        DESTINATION ${weir_cmake_dir} COMPONENT weir)
