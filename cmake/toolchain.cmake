# Compiler settings that hold for every target: warnings, sanitizers, ccache, mold and the shared
# precompiled headers. Warnings are errors in what ./test builds (CMakePresets.json); whoever only wants
# to run it is not stopped by a warning of another compiler.

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
                    -Wold-style-cast -Wsuggest-override)
# Plain char is signed on some machines and unsigned on others; ids, addresses and hashes are compared
# by their bytes. It is unsigned everywhere.
add_compile_options(-funsigned-char)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wduplicated-cond -Wlogical-op -Wuseless-cast -Winvalid-pch
                      -fpch-preprocess)
  # The compiler looks for what it no longer needs when it has half a gigabyte, not a quarter of it.
  add_compile_options(--param=ggc-min-heapsize=262144)
  # The standard library and Boost trip these when they are inlined at -O2.
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    add_compile_options(-Wno-stringop-overread)
  endif()
endif()

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Without it a precompiled header made again is another one to ccache.
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()

# Lines are for debuggers, profilers and the sanitizers' reports; without them building takes a
# fourteenth less.
if(BERTH_SANITIZE OR NOT CMAKE_UNITY_BUILD)
  add_compile_options(-g1)
endif()

if(CMAKE_UNITY_BUILD)
  # What is said about names of one file may be meant for another; the dev build looks at each alone.
  add_compile_options(-Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()

if(BERTH_SANITIZE)
  add_compile_options(-fsanitize=${BERTH_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BERTH_SANITIZE})
  if(BERTH_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
    # A null or an object too small is AddressSanitizer's to find, and at every access the compiler
    # would write the question once more: a third of the time that building takes. So would that
    # whether a pointer wraps around, which ends outside of its object and is found there. No memory is
    # read as a type with a stricter alignment, and no class is cast to one that it may not be.
    add_compile_options(-fno-sanitize=null,object-size,alignment,vptr,pointer-overflow)
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Instrumented code is long, and copies of it take longer to compile than they save in tests.
    add_compile_options("SHELL:-mllvm -inline-threshold=5")
    if(BERTH_SANITIZE MATCHES "address")
      # Nobody asks for it where tests run (detect_stack_use_after_return), so that each function need not.
      add_compile_options(-fsanitize-address-use-after-return=never)
    endif()
  endif()
  if(BERTH_SANITIZE MATCHES "thread")
    # Asio uses fences that TSan does not model. And with its instrumentation GCC 12 sees overflows
    # in the standard library's strings that are not there; the other builds keep that warning.
    add_compile_options(-Wno-tsan -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # The sloppiness is what ccache needs to cache compilations that use a precompiled header. What a file
  # includes it takes from the compiler's own list: to preprocess the file first takes clang a second, as
  # it reads all that the precompiled header spares it.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
endif()

find_program(MOLD mold)
if(MOLD AND NOT CMAKE_CROSSCOMPILING) # a cross compiler does not look for it where it is
  add_link_options(-fuse-ld=mold)
endif()
