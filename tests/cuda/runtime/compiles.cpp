// Compiles a kernel for the device it finds, as machine code, loads that and launches it; by the driver's functions alone.
#include <cuda.h>
#include <nvrtc.h>

#include <cstdio>
#include <string>
#include <vector>

static const char source[] = R"(
extern "C" __global__ void twice(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}
)";

int main() {
  CUdevice device;
  CUcontext context;
  int major, minor;
  if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context)) return 1;
  cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  std::string target = "--gpu-architecture=sm_" + std::to_string(major) + std::to_string(minor);
  const char *options[] = {target.c_str(), "-lineinfo"};
  nvrtcProgram program;
  size_t size = 0;
  if (nvrtcCreateProgram(&program, source, "twice.cu", 0, nullptr, nullptr) || nvrtcCompileProgram(program, 2, options)) return 2;
  if (nvrtcGetCUBINSize(program, &size) || !size) return 3;
  std::vector<char> code(size);
  if (nvrtcGetCUBIN(program, code.data()) || nvrtcDestroyProgram(&program)) return 4;

  CUmodule module;
  CUfunction twice;
  if (cuModuleLoadData(&module, code.data()) || cuModuleGetFunction(&twice, module, "twice")) return 5;
  float x[100];
  int n = 100;
  for (int i = 0; i < n; ++i) x[i] = i;
  CUdeviceptr there;
  if (cuMemAlloc(&there, sizeof x) || cuMemcpyHtoD(there, x, sizeof x)) return 6;
  void *arguments[] = {&there, &n};
  if (cuLaunchKernel(twice, 1, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr) || cuMemcpyDtoH(x, there, sizeof x)) return 7;
  printf("%g\n", x[99]);
}
