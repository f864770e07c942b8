// A program of the driver's functions alone: what the device says, PTX that is linked, a launch with its arguments in one buffer.
#include <cuda.h>
#include <cstdio>
#include <cstring>
#include <initializer_list>
const char *CALLER = ".version 8.0\n.target sm_80\n.address_size 64\n"
  ".extern .func (.param .b32 r) twice (.param .b32 x);\n"
  ".visible .entry store (.param .u64 p, .param .u32 v) { .reg .b32 %v; .reg .b64 %p; ld.param.u64 %p, [p]; ld.param.u32 %v, [v]; "
  "{ .param .b32 x; .param .b32 r; st.param.b32 [x], %v; call (r), twice, (x); ld.param.b32 %v, [r]; } st.global.u32 [%p], %v; ret; }";
const char *CALLED = ".version 8.0\n.target sm_80\n.address_size 64\n"
  ".visible .func (.param .b32 r) twice (.param .b32 x) { .reg .b32 %v; ld.param.b32 %v, [x]; add.u32 %v, %v, %v; st.param.b32 [r], %v; ret; }";
int main() {
  int least = 1, greatest = 1, value = 0, bytes = 0;
  CUcontext context;
  CUdevice device;
  if (cuInit(0) || cuDeviceGet(&device, 0) || cuCtxCreate(&context, nullptr, 0, device)) return 1;
  cuCtxGetStreamPriorityRange(&least, &greatest);
  CUstream stream;
  if (cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -3) || cuStreamGetPriority(stream, &value)) return 2;
  cuDeviceGetAttribute(&bytes, CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, device);
  CUlinkState link;
  void *code;
  size_t size;
  if (cuLinkCreate(0, nullptr, nullptr, &link)) return 3;
  for (const char *text : {CALLER, CALLED})
    if (cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)text, strlen(text) + 1, "text", 0, nullptr, nullptr)) return 4;
  CUmodule module;
  CUfunction kernel, again;
  CUdeviceptr x;
  int found = 0;
  if (cuLinkComplete(link, &code, &size) || cuModuleLoadData(&module, code) || cuLinkDestroy(link)) return 5;
  if (cuModuleGetFunction(&kernel, module, "store") || cuModuleGetFunction(&again, module, "store") || kernel != again) return 6;
  if (cuMemAlloc(&x, 4)) return 7;
  struct { CUdeviceptr x; int value; } given = {x, 5};
  size = 12;
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &given, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  if (cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, extra) || cuMemcpyDtoH(&found, x, 4) || found != 10) return 8;
  size = 8;
  if (cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, extra) != CUDA_ERROR_INVALID_VALUE) return 9;
  size = 12;
  if (cuLaunchKernel(kernel, 1, 1, 1, 5000, 1, 1, 0, stream, nullptr, extra) != CUDA_ERROR_INVALID_VALUE) return 10;
  const char *name;
  if (cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &name) || strcmp(name, "CUDA_ERROR_OUT_OF_MEMORY")) return 40;
  FILE *file = fopen("twice.ptx", "w");
  fprintf(file, "%s", CALLED);
  fclose(file);
  if (cuModuleLoad(&module, "nowhere.ptx") != CUDA_ERROR_FILE_NOT_FOUND || cuModuleLoad(&module, "twice.ptx")) return 11;
  if (cuLinkCreate(0, nullptr, nullptr, &link) || cuLinkAddFile(link, CU_JIT_INPUT_PTX, "twice.ptx", 0, nullptr, nullptr)) return 12;
  if (cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)CALLER, strlen(CALLER) + 1, "text", 0, nullptr, nullptr)) return 13;
  if (cuLinkComplete(link, &code, &size) || cuModuleLoadData(&module, code)) return 14;
  CUdeviceptr rows;
  size_t pitch;
  int in[4][5], out[3][2] = {};
  for (int i = 0; i < 20; i++) in[i / 5][i % 5] = i;
  if (cuMemAllocPitch(&rows, &pitch, 5 * sizeof(int), 4, 4) || pitch < 20 || cuMemsetD2D32(rows, pitch, 7, 5, 4)) return 15;
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = in, copy.srcPitch = 20, copy.srcXInBytes = 4, copy.srcY = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE, copy.dstDevice = rows, copy.dstPitch = pitch, copy.dstXInBytes = 4, copy.dstY = 1;
  copy.WidthInBytes = 8, copy.Height = 2;
  if (cuMemcpy2D(&copy)) return 16;
  copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE, copy.srcDevice = rows, copy.srcPitch = pitch, copy.srcXInBytes = 8, copy.srcY = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST, copy.dstHost = out, copy.dstPitch = 8, copy.WidthInBytes = 8, copy.Height = 3;
  if (cuMemcpy2DAsync(&copy, stream) || out[0][0] != 7 || out[2][1] != 7) return 17;
  copy.srcXInBytes = 4;
  if (cuMemcpy2DAsync(&copy, stream) || out[0][0] != 6 || out[0][1] != 7 || out[1][0] != 11 || out[2][1] != 7) return 18;
  printf("%d %d %d %d\n", least, greatest, value, bytes);
}
