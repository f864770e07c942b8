// Short launches of one mechanism each, for tools/data/short: what users' first tests are like, from one warp to a few waves.
#include <cuda_fp16.h>
typedef unsigned u32; typedef unsigned long long u64;
#define K extern "C" __global__ void
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
__constant__ float table[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
K e_nothing(u32 n) {}
K e_store(u32 *y) { y[AT] = AT; }
K e_store4(uint4 *y) { y[AT] = make_uint4(AT, 1, 2, 3); }
K e_copy1(const u32 *x, u32 *y) { y[AT] = x[AT]; }
K e_copy4(const uint4 *x, uint4 *y) { y[AT] = x[AT]; }
K e_axpy(const float *x, float *y, float a, int n) { int i = AT; if (i < n) y[i] += a * x[i]; }
K e_add(const float *__restrict__ x, const float *__restrict__ y, float *__restrict__ z, int n) { int i = AT; if (i < n) z[i] = x[i] + y[i]; }
K e_add4(const float4 *__restrict__ x, const float4 *__restrict__ y, float4 *__restrict__ z) { float4 a = x[AT], b = y[AT]; a.x += b.x, a.y += b.y, a.z += b.z, a.w += b.w; z[AT] = a; }
K e_pick(const u32 *__restrict__ p, const u32 *__restrict__ x, u32 *__restrict__ y) { y[AT] = x[p[AT]]; }
K e_chase4(const u32 *__restrict__ p, u32 *__restrict__ y) { u32 i = AT; for (int k = 0; k < 4; k++) i = p[i]; y[AT] = i; }
K e_sum_block(const float *__restrict__ x, float *__restrict__ y) {
    extern __shared__ float s[]; int t = threadIdx.x; s[t] = x[AT]; __syncthreads();
    for (int k = blockDim.x / 2; k; k /= 2) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
    if (!t) y[blockIdx.x] = s[0];
}
K e_sum_warp(const float *__restrict__ x, float *__restrict__ y) {
    float v = x[AT];
    #pragma unroll
    for (int k = 16; k; k /= 2) v += __shfl_xor_sync(~0u, v, k);
    if (!(threadIdx.x & 31)) y[AT / 32] = v;
}
K e_sum_atomic(const float *__restrict__ x, float *y) {
    float v = x[AT];
    #pragma unroll
    for (int k = 16; k; k /= 2) v += __shfl_xor_sync(~0u, v, k);
    if (!(threadIdx.x & 31)) atomicAdd(y, v);
}
K e_stencil(const float *__restrict__ x, float *__restrict__ y, int w) { int i = AT + w; y[i] = 0.2f * (x[i] + x[i - 1] + x[i + 1] + x[i - w] + x[i + w]); }
K e_softmax(const float *__restrict__ x, float *__restrict__ y) {
    __shared__ float s[32], q[32]; int t = threadIdx.x, w = t / 32; float v = x[AT], m = v;
    #pragma unroll
    for (int k = 16; k; k /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
    if (!(t & 31)) s[w] = m;
    __syncthreads();
    for (int k = 0; k < blockDim.x / 32; k++) m = fmaxf(m, s[k]);
    v = __expf(v - m); float a = v;
    #pragma unroll
    for (int k = 16; k; k /= 2) a += __shfl_xor_sync(~0u, a, k);
    if (!(t & 31)) q[w] = a;
    __syncthreads(); a = 0;
    for (int k = 0; k < blockDim.x / 32; k++) a += q[k];
    y[AT] = v / a;
}
K e_turn(const float *__restrict__ x, float *__restrict__ y, int w) {
    __shared__ float s[32][33]; int r = threadIdx.x / 32, c = threadIdx.x & 31, n = blockDim.x / 32, b = blockIdx.x * 1024;
    for (int k = r; k < 32; k += n) s[k][c] = x[b + k * 32 + c];
    __syncthreads();
    for (int k = r; k < 32; k += n) y[b + k * 32 + c] = s[c][k];
}
K e_gemv(const float4 *__restrict__ a, const float4 *__restrict__ x, float *__restrict__ y) {
    int r = AT / 32, l = threadIdx.x & 31; float s = 0;
    #pragma unroll
    for (int k = 0; k < 2; k++) { float4 p = a[(r * 2 + k) * 32 + l], q = x[k * 32 + l]; s += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w; }
    #pragma unroll
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    if (!l) y[r] = s;
}
K e_math(const float *__restrict__ x, float *__restrict__ y) { float v = x[AT]; v = expf(v) + 1; v = sqrtf(v) / (v + 1); y[AT] = logf(v + 2); }
K e_loop(const float *__restrict__ x, float *__restrict__ y, int n) {
    float v = x[AT], s = 0;
    #pragma unroll 1
    for (int k = 0; k < n; k++) s = s * v + 0.5f;
    y[AT] = s;
}
K e_code(const float *__restrict__ x, float *__restrict__ y, float a) {
    float v = x[AT], w = v + 1;
    #pragma unroll
    for (int k = 0; k < 400; k++) v = v * w + a, w = w * a + v;
    y[AT] = v + w;
}
K e_tile(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int k) {
    __shared__ float s[16][17], t[16][17]; int i = threadIdx.x / 16, j = threadIdx.x % 16, r = blockIdx.x * 16; float v = 0;
    for (int m = 0; m < k; m += 16) { s[i][j] = a[(r + i) * k + m + j]; t[i][j] = b[(m + i) * 16 + j]; __syncthreads();
        #pragma unroll
        for (int q = 0; q < 16; q++) v += s[i][q] * t[q][j];
        __syncthreads(); }
    c[(r + i) * 16 + j] = v;
}
K e_bins(const u32 *__restrict__ x, u32 *y) {
    __shared__ u32 s[256]; for (int k = threadIdx.x; k < 256; k += blockDim.x) s[k] = 0;
    __syncthreads(); atomicAdd(&s[x[AT] & 255], 1); __syncthreads();
    for (int k = threadIdx.x; k < 256; k += blockDim.x) atomicAdd(&y[k], s[k]);
}
K e_loads8(const float *__restrict__ x, float *__restrict__ y) {
    u32 n = gridDim.x * blockDim.x; float s = 0;
    #pragma unroll
    for (int k = 0; k < 8; k++) s += x[AT + k * n];
    y[AT] = s;
}
K e_doubles(const double *__restrict__ x, double *__restrict__ y) { double v = x[AT]; y[AT] = v * v + 3 * v + 1; }
K e_params(const float *a, const float *b, const float *c, const float *d, const float *e, const float *f, const float *g, float *y, int n, float u, float v) { int i = AT; if (i < n) y[i] = u * (a[i] + b[i] + c[i]) + v * (d[i] + e[i] + f[i] * g[i]); }
K e_const(const float *__restrict__ x, float *__restrict__ y) {
    float v = x[AT], s = 0;
    #pragma unroll
    for (int k = 0; k < 16; k++) s = s * v + table[k];
    y[AT] = s;
}
K e_divide(const u32 *__restrict__ x, u32 *__restrict__ y, u32 w) { u32 i = AT; y[i] = x[i / w] + i % w; }
K e_scan(const u32 *__restrict__ x, u32 *__restrict__ y) {
    __shared__ u32 s[32]; u32 t = threadIdx.x, l = t & 31, v = x[AT];
    #pragma unroll
    for (int k = 1; k < 32; k *= 2) { u32 o = __shfl_up_sync(~0u, v, k); if (l >= k) v += o; }
    if (l == 31) s[t / 32] = v;
    __syncthreads();
    for (u32 k = 0; k < t / 32; k++) v += s[k];
    y[AT] = v;
}
K e_words4(const u32 *__restrict__ x, u32 *__restrict__ y) {
    u32 v = x[AT];
    #pragma unroll
    for (int k = 0; k < 4; k++) { v = v * v + 77; v = v * 13 + k; asm volatile("" : "+r"(v)); y[AT * 4 + k] = v; asm volatile("" ::: "memory"); }
}
K e_shuffle4(const u32 *__restrict__ x, u32 *__restrict__ y) {
    u32 v = x[AT];
    #pragma unroll
    for (int k = 0; k < 4; k++) { asm volatile("st.global.u32 [%0],%1;" ::"l"(y + AT * 4 + k), "r"(__shfl_sync(~0u, v, v >> k)) : "memory"); }
}
K e_halves(const __half2 *__restrict__ x, __half2 *__restrict__ y, int n) { int i = AT; if (i < n) y[i] = __hfma2(x[i], x[i], x[i]); }
K e_bytes(const unsigned char *__restrict__ x, unsigned char *__restrict__ y, int n) { int i = AT; if (i < n) y[i] = 255 - x[i]; }
K e_stride(const float *__restrict__ x, float *__restrict__ y, int n) { for (int i = AT; i < n; i += gridDim.x * blockDim.x) y[i] = 2 * x[i] + 1; }
