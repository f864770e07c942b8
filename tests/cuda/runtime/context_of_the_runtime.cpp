// The runtime's first function that needs a context makes one current for the driver's functions.
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdio>
int main() {
  CUdevice device = -1;
  CUcontext context = nullptr;
  CUdeviceptr memory;
  int count = 0;
  if (cuInit(0) || cudaGetDeviceCount(&count) || count != 1) return 1;
  if (cuCtxGetDevice(&device) != CUDA_ERROR_INVALID_CONTEXT || cuCtxGetCurrent(&context) || context) return 2;
  if (cudaFree(nullptr) || cuCtxGetDevice(&device) || device != 0 || cuCtxGetCurrent(&context) || !context) return 3;
  if (cuMemAlloc(&memory, 16) || cudaFree((void *)memory)) return 4;
  puts("done");
}
