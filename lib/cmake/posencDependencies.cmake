# What posenc links, found in the same way when posenc is built and when another project links an installed one: exported
# targets carry names, never paths, so an installation can be moved to another folder or machine.
# The includer defines posenc_need(PACKAGE ...), and looks at posenc_missing afterwards.
set(posenc_missing)
posenc_need(Threads)
posenc_need(fmt)
posenc_need(xtensor)
posenc_need(nlohmann_json)
# HDF5's own archive where there is one: the shared library brings libcurl, GnuTLS and Kerberos along, whose loading costs a
# small table more than making it does. HL: dimension scales.
if(NOT DEFINED HDF5_USE_STATIC_LIBRARIES)
  set(HDF5_USE_STATIC_LIBRARIES ON)
endif()
posenc_need(HDF5 COMPONENTS C HL)
posenc_need(ZLIB)                  # deflated archive members, as streams

# A library without a CMake package of its own becomes the target posenc::dependency_NAME.
function(posenc_find_library name header)
  find_path(POSENC_${name}_INCLUDE_DIR ${header})
  find_library(POSENC_${name}_LIBRARY ${name})
  mark_as_advanced(POSENC_${name}_INCLUDE_DIR POSENC_${name}_LIBRARY)
  if(NOT POSENC_${name}_INCLUDE_DIR OR NOT POSENC_${name}_LIBRARY)
    list(APPEND posenc_missing "${name} (${header})")
    set(posenc_missing ${posenc_missing} PARENT_SCOPE)
  elseif(NOT TARGET posenc::dependency_${name})
    add_library(posenc::dependency_${name} INTERFACE IMPORTED)
    target_include_directories(posenc::dependency_${name} INTERFACE ${POSENC_${name}_INCLUDE_DIR})
    target_link_libraries(posenc::dependency_${name} INTERFACE ${POSENC_${name}_LIBRARY})
  endif()
endfunction()
posenc_find_library(gmp gmp.h)
posenc_find_library(mpfr mpfr.h)
posenc_find_library(mpfi mpfi.h)
posenc_find_library(deflate libdeflate.h)

# FindHDF5 puts its results in variables; one target hides how Debian's and other builds lay HDF5 out.
if(NOT TARGET posenc::dependency_hdf5)
  add_library(posenc::dependency_hdf5 INTERFACE IMPORTED)
  target_include_directories(posenc::dependency_hdf5 INTERFACE ${HDF5_INCLUDE_DIRS})
  target_link_libraries(posenc::dependency_hdf5 INTERFACE ${HDF5_C_HL_LIBRARIES} ${HDF5_C_LIBRARIES})
  # FindHDF5 names what any part of the archive could need; the linker takes what is used.
  target_link_options(posenc::dependency_hdf5 INTERFACE LINKER:--as-needed)
endif()
