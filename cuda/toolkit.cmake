# Release architectures, as far as this nvcc knows them: code for each, and PTX of the newest for cards to come.
# -DCMAKE_CUDA_ARCHITECTURES=90 builds for one card alone.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE known OUTPUT_STRIP_TRAILING_WHITESPACE)
  foreach(arch 75 80 86 89 90 100 120)
    if("${known}" MATCHES "compute_${arch}(\n|$)")
      list(APPEND architectures ${arch})
    endif()
  endforeach()
  list(POP_BACK architectures newest)
  list(TRANSFORM architectures APPEND -real)
  list(APPEND architectures ${newest}) # code and PTX
  set(CMAKE_CUDA_ARCHITECTURES ${architectures})
endif()

enable_language(CUDA CXX)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -lineinfo -DNDEBUG")
get_filename_component(cuda_folder ${CMAKE_CUDA_COMPILER} DIRECTORY)
get_filename_component(cuda_folder ${cuda_folder} DIRECTORY)
string(REPLACE "-real" "" code "${CMAKE_CUDA_ARCHITECTURES}")
string(REPLACE ";" " " code "${code}")
message(STATUS "building with CUDA ${CMAKE_CUDA_COMPILER_VERSION} for ${code}")
