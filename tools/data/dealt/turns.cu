typedef unsigned u32;
#define K extern "C" __global__ void
__device__ __forceinline__ u32 now() { u32 c; asm volatile("mov.u32 %0, %%clock;" : "=r"(c) :: "memory"); return c; }
__device__ __forceinline__ void note(u32 *out, u32 a, u32 b, u32 c) {
    u32 sm; asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (sm % 6 == 0 && threadIdx.x % 32 == 0) { u32 w = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; out[w * 4] = sm + 1, out[w * 4 + 1] = a, out[w * 4 + 2] = b, out[w * 4 + 3] = c; }
}
// LOADS loads of a word, a store of one or none.
template <int LOADS, int STORES, class T> __device__ void go(const T *x, T *y, u32 *out) {
    u32 a = now(), n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x; T v[4];
    for (int k = 0; k < LOADS; k++) v[k] = x[i + (size_t)k * n];
    float s = 0; for (int k = 0; k < LOADS; k++) s += *(float *)&v[k];
    asm volatile("" :: "f"(s) : "memory");
    u32 m = __float_as_uint(s); asm volatile("add.u32 %0, %0, 1;" : "+r"(m) :: "memory");
    u32 b = now() + (m == 12345u);
    for (int k = 0; k < STORES; k++) { T u; *(float *)&u = s; y[i + (size_t)k * n] = u; }
    u32 c = now();
    note(out, a, b, c);
}
#define G(L, S) K w_##L##_##S(const float *x, float *y, u32 *out) { go<L, S, float>(x, y, out); } K q_##L##_##S(const float4 *x, float4 *y, u32 *out) { go<L, S, float4>(x, y, out); }
G(1, 1) G(2, 1) G(0, 1) G(1, 0)
