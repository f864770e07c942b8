/* NVRTC, for programs that load what it has compiled: machine code cannot be executed, so the PTX of the same compilation stands for it,
 * which the functions that load a module take as well. Part of the stand-in runtime, for programs that are linked with NVRTC, and a
 * library of its own, for those that load NVRTC after it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stddef.h>

static int ptx_in_place_of_machine_code(const char *asked, void *program, void *result) {
  int (*ask)(void *, void *) = dlsym(RTLD_NEXT, asked);
  if (!ask) ask = dlsym(RTLD_DEFAULT, asked);
  return ask ? ask(program, result) : 11; /* NVRTC_ERROR_INTERNAL_ERROR */
}

#define API __attribute__((visibility("default")))
API int nvrtcGetCUBINSize(void *program, size_t *size) { return ptx_in_place_of_machine_code("nvrtcGetPTXSize", program, size); }
API int nvrtcGetCUBIN(void *program, char *code) { return ptx_in_place_of_machine_code("nvrtcGetPTX", program, code); }
