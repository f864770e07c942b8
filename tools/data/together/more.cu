// Rows that CTAs of an SM share or not, read at once by all; atomics whose results are asked for, one after the other; fences and barriers of clusters by so many warps; reciprocal roots in f64.
typedef unsigned u32; typedef unsigned long long u64;
#define K extern "C" __global__ void
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
template <int R> __device__ __forceinline__ void rows(const float *x, float *y, int w, int apart, int from) {
  int r = AT % w, k = AT / w; const float *p = x + (size_t)k * from * w + r; float s = 0;
  _Pragma("unroll") for (int j = 0; j < R; j++) s += p[(size_t)j * apart * w];
  y[AT] = s;
}
#define ROWS(R) K rows_##R(const float *__restrict__ x, float *__restrict__ y, int w, int apart, int from) { rows<R>(x, y, w, apart, from); }
ROWS(1) ROWS(2) ROWS(4) ROWS(8) ROWS(17)
#define LOOP(NAME, PRE, DO) K NAME(char *x, u32 *out, u32 *t, int step, int n) { \
  char *p = x + (threadIdx.x & 31) * 4 + (threadIdx.x >> 5) * step + blockIdx.x * 8 * step; u32 v = 0; PRE; u32 b = clock(); \
  _Pragma("unroll 1") for (int i = 0; i < n; i++) { DO } \
  u32 e = clock(); out[AT] = v; t[AT] = e - b; }
LOOP(a_f32, , asm volatile("atom.global.add.f32 %0, [%1], 0f3f800000;" : "=r"(v) : "l"(p + (v == 1)) : "memory");)
LOOP(a_u32, , asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(v) : "l"(p + (v == 0x87654321)) : "memory");)
LOOP(a_h2, , asm volatile("atom.global.add.noftz.f16x2 %0, [%1], %2;" : "=r"(v) : "l"(p + (v == 1)), "r"(i) : "memory");)
LOOP(a_h2any, , asm volatile("{.reg .b32 d; atom.add.noftz.f16x2 d, [%0], %1;}" ::"l"(p), "r"(i) : "memory");)
LOOP(a_rh2, , asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(p), "r"(i) : "memory");)
LOOP(f_gpu, , asm volatile("fence.acq_rel.gpu;" ::: "memory");)
LOOP(f_cta, , asm volatile("fence.acq_rel.cta;" ::: "memory");)
LOOP(f_acq, , asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");)
LOOP(d_rsqrt, double d = threadIdx.x + 2., asm volatile("rsqrt.approx.f64 %0, %0;" : "+d"(d)); v = d > 5.;)
LOOP(d_rcp, double d = threadIdx.x + 2., asm volatile("rcp.rn.f64 %0, %0;" : "+d"(d)); v = d > 5.;)
LOOP(d_sqrt, double d = threadIdx.x + 2., asm volatile("sqrt.rn.f64 %0, %0;" : "+d"(d)); v = d > 5.;)
LOOP(d_fma, double d = threadIdx.x + 2., asm volatile("fma.rn.f64 %0, %0, 0d3FE0000000000000, 0d3FF0000000000000;" : "+d"(d)); v = d > 5.;)
#define CLUSTER(NAME, DO) extern "C" __global__ __cluster_dims__(2, 1, 1) void NAME(char *x, u32 *out, u32 *t, int step, int n) { u32 b = clock(); _Pragma("unroll 1") for (int i = 0; i < n; i++) { DO } u32 e = clock(); out[AT] = 0; t[AT] = e - b; }
CLUSTER(c_plain, asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");)
CLUSTER(c_relaxed, asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");)
CLUSTER(c_released, asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory"); asm volatile("bar.sync 0;" ::: "memory");)
