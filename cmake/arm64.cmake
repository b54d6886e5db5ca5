set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
get_filename_component(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/cross/arm64/root ABSOLUTE)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
