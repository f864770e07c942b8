// Addresses that are reserved and mapped, boxes that are copied, a driver that is opened at run time: functions of the driver alone.
#include <cuda.h>
#include <dlfcn.h>
#include <cstdio>
#define EACH(f) f(cuInit) f(cuCtxCreate_v4) f(cuDeviceGetAttribute) f(cuModuleLoadData) f(cuModuleGetFunction) f(cuLaunchKernel) \
  f(cuMemGetAllocationGranularity) f(cuMemAddressReserve) f(cuMemAddressFree) f(cuMemCreate) f(cuMemRelease) f(cuMemMap) f(cuMemUnmap) \
  f(cuMemSetAccess) f(cuMemGetAccess) f(cuMemRetainAllocationHandle) f(cuMemGetAllocationPropertiesFromHandle) f(cuMemcpyDtoH_v2) \
  f(cuMemcpyHtoD_v2) f(cuMemcpy3D_v2) f(cuMemAlloc_v2) f(cuStreamCreate) f(cuStreamGetId) f(cuArray3DCreate_v2) f(cuGetErrorName) \
  f(cuMemGetAddressRange_v2) f(cuMemsetD32_v2)
#define DECLARE(f) static decltype(&f) p_##f;
EACH(DECLARE)
// One thread each writes its number.
const char *NUMBER = ".version 8.0\n.target sm_80\n.address_size 64\n"
  ".visible .entry number (.param .u64 p) { .reg .b32 %v, %c; .reg .b64 %p, %o; ld.param.u64 %p, [p]; mov.u32 %v, %ctaid.x; "
  "mov.u32 %c, %tid.x; mad.lo.u32 %v, %v, 256, %c; mul.wide.u32 %o, %v, 4; add.u64 %p, %p, %o; st.global.u32 [%p], %v; ret; }";
int main() {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) return 1;
#define FIND(f) if (!(p_##f = (decltype(&f))dlsym(driver, #f))) return puts(#f), 2;
  EACH(FIND)
  CUcontext context;
  CUmodule module;
  CUfunction number;
  int has = 0;
  if (p_cuInit(0) || p_cuCtxCreate_v4(&context, nullptr, 0, 0) || p_cuModuleLoadData(&module, NUMBER)) return 3;
  if (p_cuModuleGetFunction(&number, module, "number")) return 4;
  p_cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0);
  CUmemAllocationProp wanted = {}, found;
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED, wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  size_t piece = 0, size;
  if (!has || p_cuMemGetAllocationGranularity(&piece, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM) || piece != 2 << 20) return 5;
  CUdeviceptr at, other, start;
  CUmemGenericAllocationHandle first, second, same;
  if (p_cuMemAddressReserve(&at, 4 * piece, 0, 0, 0) || p_cuMemAddressReserve(&other, 5, 0, 0, 0) != CUDA_ERROR_INVALID_VALUE) return 6;
  if (p_cuMemCreate(&first, piece, &wanted, 0) || p_cuMemCreate(&second, piece, &wanted, 0)) return 7;
  if (p_cuMemCreate(&same, piece + 512, &wanted, 0) != CUDA_ERROR_INVALID_VALUE) return 8;
  if (p_cuMemMap(at, piece, 0, first, 0) || p_cuMemMap(at + piece, piece, 0, second, 0)) return 9;
  if (p_cuMemMap(at + piece, piece, 0, second, 0) != CUDA_ERROR_INVALID_VALUE) return 10; // it is taken
  int value = 0, ends[2] = {};
  if (p_cuMemcpyDtoH_v2(&value, at, 4) == CUDA_SUCCESS) return 11; // nobody may reach it yet
  CUmemAccessDesc access = {wanted.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  if (p_cuMemSetAccess(at, 3 * piece, &access, 1) != CUDA_ERROR_INVALID_VALUE || p_cuMemSetAccess(at, 2 * piece, &access, 1)) return 12;
  unsigned long long flags = 0;
  if (p_cuMemGetAccess(&flags, &wanted.location, at + piece) || flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return 13;
  void *arguments[] = {&at};
  if (p_cuLaunchKernel(number, 2 * piece / 1024, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr)) return 14;
  if (p_cuMemcpyDtoH_v2(ends, at + piece - 4, 8) || ends[0] != piece / 4 - 1 || ends[1] != piece / 4) return 15; // over the border
  if (p_cuMemRetainAllocationHandle(&same, (void *)(at + piece + 100)) || same != second || p_cuMemRelease(same)) return 16;
  if (p_cuMemGetAllocationPropertiesFromHandle(&found, second) || found.location.type != wanted.location.type) return 17;
  if (p_cuMemUnmap(at + piece, piece) || p_cuMemcpyDtoH_v2(ends, at + piece - 4, 8) == CUDA_SUCCESS) return 18;
  if (p_cuMemMap(at + 3 * piece, piece, 0, second, 0) || p_cuMemSetAccess(at + 3 * piece, piece, &access, 1)) return 19;
  if (p_cuMemcpyDtoH_v2(&value, at + 3 * piece + 8, 4) || value != piece / 4 + 2) return 20; // its memory has moved with it
  if (p_cuMemGetAddressRange_v2(&start, &size, at + 4 * piece - 1) || start != at + 3 * piece || size != piece) return 21;
  if (p_cuMemRelease(second) || p_cuMemAddressFree(at, 4 * piece) != CUDA_ERROR_INVALID_VALUE) return 22; // something is mapped
  // A box of 2 planes of 2 rows of 8 bytes, of 3 rows of 16 bytes each.
  unsigned char in[2][3][16], out[2][2][8] = {};
  for (int i = 0; i < 96; i++) in[i / 48][i / 16 % 3][i % 16] = i;
  CUDA_MEMCPY3D box = {};
  box.srcMemoryType = CU_MEMORYTYPE_HOST, box.srcHost = in, box.srcPitch = 16, box.srcHeight = 3, box.srcXInBytes = 4, box.srcY = 1;
  box.dstMemoryType = CU_MEMORYTYPE_DEVICE, box.dstDevice = at, box.dstPitch = 512, box.dstHeight = 5, box.dstZ = 1;
  box.WidthInBytes = 8, box.Height = 2, box.Depth = 2;
  if (p_cuMemcpy3D_v2(&box)) return 23;
  CUDA_MEMCPY3D back = {};
  back.srcMemoryType = CU_MEMORYTYPE_DEVICE, back.srcDevice = at, back.srcPitch = 512, back.srcHeight = 5, back.srcZ = 1;
  back.dstMemoryType = CU_MEMORYTYPE_HOST, back.dstHost = out, back.WidthInBytes = 8, back.Height = 2, back.Depth = 2;
  if (p_cuMemcpy3D_v2(&back) || out[0][0][0] != 20 || out[0][1][7] != 43 || out[1][1][0] != 84) return 24;
  CUstream streams[2];
  unsigned long long ids[2];
  for (int i = 0; i < 2; i++)
    if (p_cuStreamCreate(&streams[i], 0) || p_cuStreamGetId(streams[i], &ids[i])) return 25;
  if (ids[0] == ids[1]) return 26;
  CUarray array;
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
  if (p_cuArray3DCreate_v2(&array, &shape) != CUDA_ERROR_NOT_SUPPORTED) return 27;
  // Memory of the host's, which both reach; memory at two places at a time, which is said not to be there.
  CUmemGenericAllocationHandle hosts;
  CUmemAllocationProp near = wanted;
  near.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  CUmemAccessDesc both[] = {access, {near.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
  if (p_cuMemCreate(&hosts, piece, &near, 0) || p_cuMemMap(at + piece, piece, 0, hosts, 0)) return 30;
  if (p_cuMemSetAccess(at + piece, piece, both, 2)) return 31;
  unsigned *shared = (unsigned *)(at + piece);
  shared[piece / 4 - 1] = 77;
  CUdeviceptr there = at + piece;
  void *hosts_own[] = {&there};
  if (p_cuLaunchKernel(number, 2, 1, 1, 256, 1, 1, 0, nullptr, hosts_own, nullptr)) return 32;
  if (shared[511] != 511 || shared[512] != 0 || shared[piece / 4 - 1] != 77) return 33;
  if (p_cuMemcpyDtoH_v2(&value, at + 2 * piece - 4, 4) || value != 77) return 34;
  if (p_cuMemMap(at + 2 * piece, piece, 0, hosts, 0) != CUDA_ERROR_NOT_SUPPORTED) return 35;
  if (p_cuMemUnmap(at + piece, piece) || p_cuMemMap(at + 2 * piece, piece, 0, hosts, 0)) return 36;
  if (p_cuMemSetAccess(at + 2 * piece, piece, both + 1, 1) || shared[piece / 2 - 1] != 77) return 37;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  if (p_cuMemSetAccess(at, piece, &access, 1)) return 28;
  puts("done");
  CUresult error = p_cuLaunchKernel(number, 1, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr);
  if (error != CUDA_ERROR_ILLEGAL_ADDRESS) return 29; // it may only read
  return 0;
}
