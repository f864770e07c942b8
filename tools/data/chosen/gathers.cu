// Words of a table at random, each place by the word before: one or four at a time.
typedef unsigned u32;
#define K extern "C" __global__ void
template <int C> __device__ __forceinline__ void run(const u32 *x, u32 *y, u32 mask, int n) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v[C];
    for (int k = 0; k < C; k++) v[k] = (t * C + k) * 2654435761u;
#pragma unroll 1
    for (int i = 0; i < n; i++)
#pragma unroll
        for (int k = 0; k < C; k++) v[k] = __ldg(x + ((v[k] >> 7) & mask)) + v[k] * 1664525u;
    u32 s = 0; for (int k = 0; k < C; k++) s ^= v[k];
    y[t] = s;
}
K g_one(const u32 *x, u32 *y, u32 mask, int n) { run<1>(x, y, mask, n); }
K g_four(const u32 *x, u32 *y, u32 mask, int n) { run<4>(x, y, mask, n); }
