// One word a thread is loaded, stored or both, with the cache operators and waits that the names say: loads of CTAs that come while others store and end.
typedef unsigned u32;
#define K extern "C" __global__ void
#define AT u32 i = blockIdx.x * blockDim.x + threadIdx.x
__device__ __forceinline__ void rest(u32 cycles) { u32 t = clock(); while ((u32)clock() - t < cycles); }
K late_read(const float *__restrict__ x, float *__restrict__ y) { AT; float v = x[i]; if (v == 1.2345f) y[i] = v; }
K late_scale(const float *__restrict__ x, float *__restrict__ y) { AT; y[i] = 2 * x[i]; }
K late_scale_cg(const float *__restrict__ x, float *__restrict__ y) { AT; __stcg(y + i, 2 * __ldcg(x + i)); }
K late_load_cg(const float *__restrict__ x, float *__restrict__ y) { AT; y[i] = 2 * __ldcg(x + i); }
K late_store_cg(const float *__restrict__ x, float *__restrict__ y) { AT; __stcg(y + i, 2 * x[i]); }
K late_nc(const float *x, float *y) { AT; y[i] = 2 * x[i]; }
K late_store_rest(const float *__restrict__ x, float *__restrict__ y) { AT; float v = x[i]; y[i] = 2 * v; rest(1500); }
K late_rest_store(const float *__restrict__ x, float *__restrict__ y) { AT; float v = x[i]; if (v == 1.2345f) rest(10); else rest(1500); y[i] = 2 * v; }
K late_read_rest(const float *__restrict__ x, float *__restrict__ y) { AT; float v = x[i]; if (v != 1.2345f) rest(1500); else y[i] = v; }
K late_write(const float *__restrict__ x, float *__restrict__ y) { AT; y[i] = i; }
K late_write_rest(const float *__restrict__ x, float *__restrict__ y) { AT; y[i] = i; rest(1500); }
K late_same(const float *__restrict__ x, float *__restrict__ y) { AT; float v = x[threadIdx.x & 31]; if (v == 1.2345f) y[i] = v; }
K late_same_store(const float *__restrict__ x, float *__restrict__ y) { AT; y[i] = x[threadIdx.x & 31]; }
K late_same_place(const float *__restrict__ x, float *__restrict__ y) { AT; float v = x[i]; y[(blockIdx.x % 132) * 1024 + threadIdx.x] = 2 * v; }
// Half of the CTAs, those with odd numbers in their 132, load; the others store.
K late_apart(const float *__restrict__ x, float *__restrict__ y) { AT; if (blockIdx.x / 132 & 1) { float v = x[i]; if (v == 1.2345f) y[i] = v; } else y[i] = i; }
