# add_module(name ABOUT "..." DEPENDS ... LIBRARIES ...)
#
# One folder of a wing of src/ is one namespace and one static library. DEPENDS names the modules whose
# headers it may include; the test `layers` holds every file of the folder to that list.
# LIBRARIES names the outside libraries it links. ABOUT says in one line what lives there; with
# DEPENDS it is what docs/modules.md is made of (tools/modules).
#
# A folder too large for one module has rooms: add_module(host_agent/job …) is its folder job, a module
# like any other, whose library is host_agent_job. The rooms of a folder share its namespace.
set_property(GLOBAL PROPERTY BERTH_LAYERS "")

function(add_module name)
  cmake_parse_arguments(PARSE_ARGV 1 MODULE "" "ABOUT" "DEPENDS;LIBRARIES")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  string(REPLACE "/" "_" library ${name})
  string(REPLACE "/" "_" libraries "${MODULE_DEPENDS}")
  add_library(${library} STATIC ${sources})
  target_include_directories(${library} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${library} PUBLIC ${libraries} ${MODULE_LIBRARIES} fmt::fmt)
  if("api" IN_LIST MODULE_DEPENDS)
    target_precompile_headers(${library} REUSE_FROM precompiled_routes)
  else()
    target_precompile_headers(${library} REUSE_FROM precompiled)
  endif()
  string(REPLACE ";" " " depends "${MODULE_DEPENDS}")
  get_filename_component(wing ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  set_property(GLOBAL APPEND PROPERTY BERTH_LAYERS "${wing}/${name}: ${depends}")
endfunction()

# add_tests(folder [SHARDS n] [FIRST] LIBRARIES ... LABELS ... [RACING ...])
#
# tests/<folder>/*.cpp becomes the program test_<folder>, which runs as one ctest entry, or as n at
# the same time, each with its share of the cases. A process per case would start and end hundreds of
# times, and with AddressSanitizer the search for leaks at every end takes seconds. Each entry writes
# its cases to reports/<entry>.xml, where ./test counts them. FIRST is for those that wait long for
# others: they begin before the rest, so that nothing has to wait for them at the end.
#
# Folder and labels are joined to one label (`db-concurrent-database`); `ctest -L database` takes a
# pattern and finds it. With ThreadSanitizer there are only the programs labelled `concurrent`, and
# in them only the files that race threads: those that start threads or wait for them, and those
# that RACING names (without _test.cpp) because what they test has threads of its own.
function(add_tests folder)
  cmake_parse_arguments(TESTS "FIRST" "SHARDS" "LIBRARIES;LABELS;RACING" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  if(BERTH_SANITIZE MATCHES "thread")
    leave_racing(sources ${TESTS_RACING})
    if(NOT concurrent IN_LIST TESTS_LABELS OR NOT sources MATCHES "_test\\.cpp")
      return()
    endif()
  endif()
  add_executable(test_${folder} ${sources})
  target_include_directories(test_${folder} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(test_${folder} PRIVATE ${TESTS_LIBRARIES} GTest::gtest_main)
  if("support" IN_LIST TESTS_LIBRARIES)
    target_precompile_headers(test_${folder} REUSE_FROM precompiled_support)
  else()
    target_precompile_headers(test_${folder} REUSE_FROM precompiled_tests)
  endif()
  list(PREPEND TESTS_LABELS ${folder})
  list(JOIN TESTS_LABELS "-" label)
  if(NOT TESTS_SHARDS)
    set(TESTS_SHARDS 1)
  endif()
  foreach(shard RANGE 1 ${TESTS_SHARDS})
    set(name test_${folder})
    if(TESTS_SHARDS GREATER 1)
      string(APPEND name ".${shard}")
    endif()
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name} COMMAND test_${folder})
    set_tests_properties(${name} PROPERTIES TIMEOUT 1200 LABELS ${label} ENVIRONMENT
      "GTEST_TOTAL_SHARDS=${TESTS_SHARDS};GTEST_SHARD_INDEX=${index};\
GTEST_OUTPUT=xml:${PROJECT_BINARY_DIR}/reports/${name}.xml")
    if(TESTS_FIRST)
      set_tests_properties(${name} PROPERTIES COST 1000)
    endif()
  endforeach()
endfunction()

# leave_racing(list name...): takes out of the list the test files in which no threads race.
function(leave_racing list)
  set(racing)
  foreach(source ${${list}})
    get_filename_component(file ${source} NAME)
    string(REGEX REPLACE "_test\\.cpp$" "" name ${file})
    file(STRINGS ${source} threads LIMIT_COUNT 1
         REGEX "std::(thread|jthread|async)|support/eventually\\.hpp")
    if(name STREQUAL file OR threads OR name IN_LIST ARGN)
      list(APPEND racing ${source})
    endif()
  endforeach()
  set(${list} ${racing} PARENT_SCOPE)
endfunction()
