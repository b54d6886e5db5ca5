set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_LIBRARY_ARCHITECTURE x86_64-linux-gnu)
get_filename_component(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/cross/amd64/root ABSOLUTE)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
