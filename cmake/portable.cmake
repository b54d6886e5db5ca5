# What tools/package packs for several distributions at once. The libraries that these have under
# different names are linked in; the others, with OpenSSL, stay theirs to mend.
if(BERTH_PORTABLE)
  set(Boost_USE_STATIC_LIBS ON)
  find_library(SECP256K1 libsecp256k1.a REQUIRED)
  find_library(CRYPTOPP libcryptopp.a REQUIRED)
  # Debian has no archives of these two: their headers have all of them.
  foreach(library fmt::fmt fmt::fmt-header-only tomlplusplus::tomlplusplus)
    add_library(${library} INTERFACE IMPORTED)
  endforeach()
  target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)
  add_link_options(-Wl,--as-needed)
endif()
