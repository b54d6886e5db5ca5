# add_module(name DEPENDS ... LIBRARIES ...)
#
# One folder under src/ is one namespace and one static library. DEPENDS names the modules whose
# headers it may include; the test `layers` holds every file of the folder to that list.
# LIBRARIES names the outside libraries it links.
set_property(GLOBAL PROPERTY BERTH_LAYERS "")

function(add_module name)
  cmake_parse_arguments(MODULE "" "" "DEPENDS;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${MODULE_DEPENDS} ${MODULE_LIBRARIES} fmt::fmt)
  target_precompile_headers(${name} REUSE_FROM precompiled)
  string(REPLACE ";" " " depends "${MODULE_DEPENDS}")
  set_property(GLOBAL APPEND PROPERTY BERTH_LAYERS "${name}: ${depends}")
endfunction()

# add_tests(folder LIBRARIES ... LABELS ...)
#
# tests/<folder>/*.cpp becomes the program test_<folder>, one ctest entry per case. Folder and
# labels are joined to one label (`db-concurrent-database`), because gtest_discover_tests loses all
# but the first of a list; `ctest -L database` takes a pattern and finds it.
#
# TOGETHER makes the whole program one entry, where the cases share something that is slow to start.
#
# With AddressSanitizer the whole program is one entry, test_<folder>: its search for leaks at exit
# takes four seconds on arm64, too long for every case. With ThreadSanitizer there are only the
# programs labelled `concurrent`.
function(add_tests folder)
  cmake_parse_arguments(TESTS "TOGETHER" "" "LIBRARIES;LABELS" ${ARGN})
  if(BERTH_SANITIZE MATCHES "thread" AND NOT concurrent IN_LIST TESTS_LABELS)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  add_executable(test_${folder} ${sources})
  target_include_directories(test_${folder} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(test_${folder} PRIVATE ${TESTS_LIBRARIES} GTest::gtest_main)
  target_precompile_headers(test_${folder} REUSE_FROM precompiled_tests)
  list(PREPEND TESTS_LABELS ${folder})
  list(JOIN TESTS_LABELS "-" label)
  if(BERTH_SANITIZE MATCHES "address" OR TESTS_TOGETHER)
    add_test(NAME test_${folder} COMMAND test_${folder})
    set_tests_properties(test_${folder} PROPERTIES TIMEOUT 1200 LABELS ${label})
  else()
    gtest_discover_tests(test_${folder} DISCOVERY_TIMEOUT 60
                         PROPERTIES TIMEOUT 300 LABELS ${label})
  endif()
endfunction()
