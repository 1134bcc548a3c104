# SPDX-License-Identifier: Apache-2.0
# Glue to other people's engines. connectors/adbc: libadbc_driver_weir.so, which
# has libweir and libweir-scan in it and is loaded by ADBC's driver managers.

if(WEIR_SCAN_FOUND)
  weir_glob(weir_adbc_sources connectors/adbc/*.c)
  set(weir_adbc_exports ${PROJECT_SOURCE_DIR}/connectors/adbc/exports.map)
  # An archive, so that unit tests link what they test.
  add_library(weir_adbc STATIC ${weir_adbc_sources})
  set_target_properties(weir_adbc PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(weir_adbc SYSTEM PRIVATE ${weir_arrow_include})
  target_link_libraries(
    weir_adbc
    PRIVATE weir_flags
    PUBLIC weir_scan_static)
  add_library(weir_adbc_driver MODULE connectors/adbc/driver.c)
  set_target_properties(
    weir_adbc_driver
    PROPERTIES OUTPUT_NAME adbc_driver_weir
               LINKER_LANGUAGE C
               LINK_DEPENDS ${weir_adbc_exports}
               LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_include_directories(weir_adbc_driver SYSTEM
                             PRIVATE ${weir_arrow_include})
  target_link_libraries(weir_adbc_driver PRIVATE weir_flags weir_adbc)
  # Threads and released arrays outlive whoever has loaded it.
  target_link_options(weir_adbc_driver PRIVATE -Wl,-z,nodelete
                      -Wl,--version-script=${weir_adbc_exports})
  if(NOT WEIR_SANITIZE)
    target_link_options(weir_adbc_driver PRIVATE -Wl,-z,defs)
  endif()
  if(WEIR_COVERAGE)
    target_link_options(weir_adbc_driver PRIVATE --coverage)
  endif()
endif()

# connectors/spark: libweir_spark.so, which goes into the plug-in's jar. `make
# spark` asks for it. The machine's own headers of Java do for other processors,
# too.
option(WEIR_SPARK "Make libweir_spark.so; needs a JDK" OFF)
if(WEIR_SPARK)
  file(GLOB weir_jdks /usr/lib/jvm/*17*/include /usr/lib/jvm/*/include)
  find_path(
    WEIR_JNI_INCLUDE jni.h REQUIRED
    HINTS $ENV{JAVA_HOME}/include ${weir_jdks}
    NO_CMAKE_FIND_ROOT_PATH)
  weir_glob(weir_spark_sources connectors/spark/native/*.c)
  set(weir_spark_exports
      ${PROJECT_SOURCE_DIR}/connectors/spark/native/exports.map)
  add_library(weir_spark MODULE EXCLUDE_FROM_ALL ${weir_spark_sources})
  set_target_properties(
    weir_spark
    PROPERTIES LINK_DEPENDS ${weir_spark_exports}
               LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_include_directories(weir_spark SYSTEM PRIVATE
                             ${WEIR_JNI_INCLUDE} ${WEIR_JNI_INCLUDE}/linux)
  target_link_libraries(weir_spark PRIVATE weir_flags weir_static)
  target_link_options(weir_spark PRIVATE -Wl,-z,nodelete
                      -Wl,--version-script=${weir_spark_exports})
  if(NOT WEIR_SANITIZE)
    target_link_options(weir_spark PRIVATE -Wl,-z,defs)
  endif()
endif()
