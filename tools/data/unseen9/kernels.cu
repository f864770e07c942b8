// Kernels of kinds that no other set has, to judge by.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <mma.h>
typedef unsigned u32; typedef unsigned char u8; typedef unsigned long long u64;
#define K extern "C" __global__ void
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
#define LANE (threadIdx.x & 31)
// Mean of 5x5 by shared memory, a tile of 32x8 with its rim.
K box_blur(const float *__restrict__ x, float *__restrict__ y, int n) {
    __shared__ float s[12][36]; int t = threadIdx.y * 32 + threadIdx.x, bx = blockIdx.x * 32, by = blockIdx.y * 8;
    for (int k = t; k < 12 * 36; k += 256) { int r = k / 36, c = k % 36; s[r][c] = x[min(max(by + r - 2, 0), n - 1) * n + min(max(bx + c - 2, 0), n - 1)]; }
    __syncthreads(); float a = 0;
    #pragma unroll
    for (int r = 0; r < 5; r++)
        #pragma unroll
        for (int c = 0; c < 5; c++) a += s[threadIdx.y + r][threadIdx.x + c];
    y[(by + threadIdx.y) * n + bx + threadIdx.x] = a * 0.04f;
}
K yuv_rgb(const u8 *__restrict__ p, uchar3 *__restrict__ o, int n) {
    int i = AT; float y = p[i] - 16.f, u = p[i + n] - 128.f, v = p[i + 2 * n] - 128.f;
    o[i] = make_uchar3(min(max(1.164f * y + 1.596f * v, 0.f), 255.f), min(max(1.164f * y - 0.392f * u - 0.813f * v, 0.f), 255.f), min(max(1.164f * y + 2.017f * u, 0.f), 255.f));
}
// Cosine transform of blocks of 8x8: a row a thread, then a column.
K dct8x8(const float *__restrict__ x, float *__restrict__ y, const float *__restrict__ w) {
    __shared__ float s[16][8][9], c[64]; int b = threadIdx.x / 8, r = threadIdx.x % 8; float v[8];
    if (threadIdx.x < 64) c[threadIdx.x] = w[threadIdx.x];
    const float *p = x + (blockIdx.x * 16 + b) * 64;
    #pragma unroll
    for (int k = 0; k < 8; k++) v[k] = p[r * 8 + k];
    __syncthreads();
    #pragma unroll
    for (int f = 0; f < 8; f++) { float a = 0;
        #pragma unroll
        for (int k = 0; k < 8; k++) a += v[k] * c[f * 8 + k];
        s[b][r][f] = a; }
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 8; k++) v[k] = s[b][k][r];
    #pragma unroll
    for (int f = 0; f < 8; f++) { float a = 0;
        #pragma unroll
        for (int k = 0; k < 8; k++) a += v[k] * c[f * 8 + k];
        y[(blockIdx.x * 16 + b) * 64 + f * 8 + r] = a; }
}
// Haar wavelet of rows of 2 * blockDim words, all levels.
K haar(const float *__restrict__ x, float *__restrict__ y) {
    extern __shared__ float s[]; int t = threadIdx.x, n = blockDim.x * 2, b = blockIdx.x * n; s[t] = x[b + t], s[t + blockDim.x] = x[b + t + blockDim.x]; __syncthreads();
    for (int h = n / 2; h; h /= 2) { float a = 0, d = 0; if (t < h) a = (s[2 * t] + s[2 * t + 1]) * 0.7071f, d = (s[2 * t] - s[2 * t + 1]) * 0.7071f; __syncthreads(); if (t < h) s[t] = a, y[b + h + t] = d; __syncthreads(); }
    if (!t) y[b] = s[0];
}
K biquad(const float *__restrict__ x, float *__restrict__ y, int n, int rows, float b0, float b1, float b2, float a1, float a2) {
    int r = AT; float z1 = 0, z2 = 0;
    for (int k = 0; k < n; k++) { float v = x[k * rows + r], o = b0 * v + z1; z1 = b1 * v - a1 * o + z2, z2 = b2 * v - a2 * o; y[k * rows + r] = o; }
}
// Reed-Solomon parity in GF(256) by log tables in shared memory: 8 parities of 32 bytes of columns.
K rs_encode(const u8 *__restrict__ d, const u8 *__restrict__ tables, u8 *__restrict__ o, int n) {
    __shared__ u8 lg[256], ex[512]; for (int k = threadIdx.x; k < 512; k += blockDim.x) { ex[k] = tables[256 + k]; if (k < 256) lg[k] = tables[k]; }
    __syncthreads(); int i = AT; u8 p[4] = {0, 0, 0, 0};
    for (int k = 0; k < 16; k++) { u32 v = d[k * n + i];
        #pragma unroll
        for (int j = 0; j < 4; j++) if (v) p[j] ^= ex[lg[v] + (k * (j + 1)) % 255]; }
    #pragma unroll
    for (int j = 0; j < 4; j++) o[j * n + i] = p[j];
}
__device__ __forceinline__ u32 rot(u32 v, int k) { return __funnelshift_l(v, v, k); }
#define QR(a, b, c, d) a += b, d = rot(d ^ a, 16), c += d, b = rot(b ^ c, 12), a += b, d = rot(d ^ a, 8), c += d, b = rot(b ^ c, 7)
K chacha20(const u32 *__restrict__ key, uint4 *__restrict__ o, int rounds) {
    u32 s[16], x[16]; s[0] = 0x61707865, s[1] = 0x3320646e, s[2] = 0x79622d32, s[3] = 0x6b206574;
    #pragma unroll
    for (int k = 0; k < 8; k++) s[4 + k] = key[k];
    s[12] = AT, s[13] = 1, s[14] = 2, s[15] = 3;
    #pragma unroll
    for (int k = 0; k < 16; k++) x[k] = s[k];
    #pragma unroll 1
    for (int r = 0; r < rounds; r += 2) { QR(x[0], x[4], x[8], x[12]); QR(x[1], x[5], x[9], x[13]); QR(x[2], x[6], x[10], x[14]); QR(x[3], x[7], x[11], x[15]);
        QR(x[0], x[5], x[10], x[15]); QR(x[1], x[6], x[11], x[12]); QR(x[2], x[7], x[8], x[13]); QR(x[3], x[4], x[9], x[14]); }
    #pragma unroll
    for (int k = 0; k < 4; k++) o[AT * 4 + k] = make_uint4(x[4 * k] + s[4 * k], x[4 * k + 1] + s[4 * k + 1], x[4 * k + 2] + s[4 * k + 2], x[4 * k + 3] + s[4 * k + 3]);
}
K bloom_query(const u32 *__restrict__ bits, const u32 *__restrict__ x, u32 *__restrict__ o, u32 mask) {
    u32 h = x[AT], hit = 1;
    #pragma unroll
    for (int k = 0; k < 6; k++) { h ^= h >> 16, h *= 0x85ebca6b, h ^= h >> 13, h *= 0xc2b2ae35; u32 b = h & mask; hit &= bits[b / 32] >> (b & 31); }
    u32 m = __ballot_sync(~0u, hit & 1); if (!LANE) o[AT / 32] = m;
}
// Sieve: a CTA has 4096 odd numbers, a thread a prime after the other.
K sieve(const u32 *__restrict__ primes, u32 *__restrict__ o, int count) {
    __shared__ u32 s[128]; if (threadIdx.x < 128) s[threadIdx.x] = ~0u; __syncthreads(); u32 base = blockIdx.x * 4096;
    for (int k = threadIdx.x; k < count; k += blockDim.x) { u32 p = primes[k]; for (u32 j = (p - base % p) % p; j < 4096; j += p) atomicAnd(&s[j / 32], ~(1u << (j & 31))); }
    __syncthreads(); if (threadIdx.x < 128) o[blockIdx.x * 128 + threadIdx.x] = s[threadIdx.x];
}
K floyd_step(float *__restrict__ d, int n, int k) { int i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 32 + threadIdx.x; float v = d[i * n + k] + d[k * n + j]; if (v < d[i * n + j]) d[i * n + j] = v; }
// Knapsack: a CTA one problem, weights up to its capacity of blockDim.
K knapsack(const int *__restrict__ w, const int *__restrict__ v, int *__restrict__ o, int items) {
    extern __shared__ int t[]; int c = threadIdx.x, n = blockDim.x; t[c] = 0; __syncthreads();
    for (int k = 0; k < items; k++) { int a = w[blockIdx.x * items + k] + 1, b = v[blockIdx.x * items + k], *p = t + (k & 1) * n, *q = t + (~k & 1) * n; q[c] = c >= a ? max(p[c], p[c - a] + b) : p[c]; __syncthreads(); }
    o[blockIdx.x * n + c] = t[(items & 1) * n + c];
}
// Normalise groups of channels: a CTA a group of 2048 words.
K group_norm(const float4 *__restrict__ x, const float *__restrict__ g, const float *__restrict__ b, float4 *__restrict__ y) {
    __shared__ float s[16]; int t = threadIdx.x; float4 a = x[blockIdx.x * 512 + t], c = x[blockIdx.x * 512 + 256 + t]; float u = a.x + a.y + a.z + a.w + c.x + c.y + c.z + c.w, q = a.x * a.x + a.y * a.y + a.z * a.z + a.w * a.w + c.x * c.x + c.y * c.y + c.z * c.z + c.w * c.w;
    for (int k = 16; k; k /= 2) u += __shfl_xor_sync(~0u, u, k), q += __shfl_xor_sync(~0u, q, k);
    if (!LANE) s[t / 32] = u, s[8 + t / 32] = q;
    __syncthreads(); u = q = 0;
    for (int k = 0; k < 8; k++) u += s[k], q += s[8 + k];
    u /= 2048, q = rsqrtf(q / 2048 - u * u + 1e-5f); float w = g[blockIdx.x % 64] * q, z = b[blockIdx.x % 64] - u * w;
    y[blockIdx.x * 512 + t] = make_float4(a.x * w + z, a.y * w + z, a.z * w + z, a.w * w + z), y[blockIdx.x * 512 + 256 + t] = make_float4(c.x * w + z, c.y * w + z, c.z * w + z, c.w * w + z);
}
K batch_norm_relu(const __half2 *__restrict__ x, const __half2 *__restrict__ s, const __half2 *__restrict__ b, __half2 *__restrict__ y, int c) { int i = AT; y[i] = __hmax2(__hfma2(x[i], s[i % c], b[i % c]), __float2half2_rn(0)); }
K pixel_shuffle(const float *__restrict__ x, float *__restrict__ y, int w, int h, int c) { int i = AT, X = i % (2 * w), Y = i / (2 * w) % (2 * h), C = i / (4 * w * h); y[i] = x[((C * 4 + (Y & 1) * 2 + (X & 1)) * h + Y / 2) * w + X / 2]; }
K cosine_rows(const float4 *__restrict__ a, const float4 *__restrict__ b, float *__restrict__ o) {
    int r = AT / 32; float d = 0, p = 0, q = 0;
    #pragma unroll
    for (int k = 0; k < 2; k++) { float4 u = a[(r * 2 + k) * 32 + LANE], v = b[(r * 2 + k) * 32 + LANE]; d += u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w, p += u.x * u.x + u.y * u.y + u.z * u.z + u.w * u.w, q += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w; }
    for (int k = 16; k; k /= 2) d += __shfl_xor_sync(~0u, d, k), p += __shfl_xor_sync(~0u, p, k), q += __shfl_xor_sync(~0u, q, k);
    if (!LANE) o[r] = d / sqrtf(p * q + 1e-8f);
}
// Lennard-Jones forces from lists of 24 neighbours.
K lj_force(const float4 *__restrict__ p, const u32 *__restrict__ list, float4 *__restrict__ f, int n, u32 mask, int turns) {
    int i = AT; float4 a = p[i], s = make_float4(0, 0, 0, 0);
    for (int k = 0; k < turns; k++) { float4 b = p[list[k * n + i] & mask]; float x = a.x - b.x, y = a.y - b.y, z = a.z - b.z, r = x * x + y * y + z * z + 0.1f; if (r < 2) { float v = 1 / r, w = v * v * v, g = v * w * (2 * w - 1); s.x += g * x, s.y += g * y, s.z += g * z; } }
    f[i] = s;
}
K fdtd_step(const float *__restrict__ hx, const float *__restrict__ hy, float *__restrict__ e, const float *__restrict__ c, int n) { int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, i = (y + 1) * n + x + 1; e[i] += c[i] * (hy[i] - hy[i - 1] - hx[i] + hx[i - n]); }
K ising(signed char *__restrict__ s, const float *__restrict__ r, int n, int odd, float beta) {
    int y = blockIdx.y * 4 + threadIdx.y, x = 2 * (blockIdx.x * 64 + threadIdx.x) + ((y + odd) & 1); int d = s[y * n + x] * (s[y * n + (x + 1) % n] + s[y * n + (x + n - 1) % n] + s[(y + 1) % n * n + x] + s[(y + n - 1) % n * n + x]);
    if (d <= 0 || r[(y * n + x) / 2] < __expf(-2 * beta * d)) s[y * n + x] = -s[y * n + x];
}
// e4m3 with a scale for each 128 values: a warp a block.
K fp8_blocks(const float4 *__restrict__ x, u32 *__restrict__ q, float *__restrict__ s) {
    int b = AT / 32; float4 v = x[AT]; float m = fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
    for (int k = 16; k; k /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
    float k = m > 0 ? 448 / m : 1; __nv_fp8x4_e4m3 e(make_float4(v.x * k, v.y * k, v.z * k, v.w * k)); q[AT] = e.__x; if (!LANE) s[b] = m / 448;
}
// 64 x 64 tile of bf16 products with bias and relu, K in steps of 32, 4 warps.
K bias_relu_gemm(const __nv_bfloat16 *__restrict__ a, const __nv_bfloat16 *__restrict__ b, const float *__restrict__ bias, float *__restrict__ c, int n, int k) {
    using namespace nvcuda::wmma; __shared__ __align__(32) __nv_bfloat16 sa[64][48], sb[32][80]; int t = threadIdx.x, w = t / 32, r0 = blockIdx.y * 64, c0 = blockIdx.x * 64;
    fragment<accumulator, 16, 16, 16, float> f[4];
    for (int j = 0; j < 4; j++) fill_fragment(f[j], 0.f);
    for (int m = 0; m < k; m += 32) {
        for (int j = t; j < 256; j += 128) { *(uint4 *)&sa[j / 4][j % 4 * 8] = *(const uint4 *)&a[(r0 + j / 4) * k + m + j % 4 * 8]; *(uint4 *)&sb[j / 8][j % 8 * 8] = *(const uint4 *)&b[(m + j / 8) * n + c0 + j % 8 * 8]; }
        __syncthreads();
        for (int q = 0; q < 2; q++) { fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> x; load_matrix_sync(x, &sa[w * 16][q * 16], 48);
            for (int j = 0; j < 4; j++) { fragment<matrix_b, 16, 16, 16, __nv_bfloat16, row_major> y; load_matrix_sync(y, &sb[q * 16][j * 16], 80); mma_sync(f[j], x, y, f[j]); } }
        __syncthreads();
    }
    __shared__ float o[64][68];
    for (int j = 0; j < 4; j++) store_matrix_sync(&o[w * 16][j * 16], f[j], 68, mem_row_major);
    __syncthreads();
    for (int j = t; j < 4096; j += 128) c[(r0 + j / 64) * n + c0 + j % 64] = fmaxf(o[j / 64][j % 64] + bias[c0 + j % 64], 0.f);
}
// Parts of attention by the logarithms of their sums: a CTA of 128 a row, so many parts.
K combine_parts(const float *__restrict__ o, const float *__restrict__ l, float *__restrict__ y, int parts) {
    int r = blockIdx.x, t = threadIdx.x; float m = -1e30f, s = 0, a = 0;
    for (int k = 0; k < parts; k++) m = fmaxf(m, l[r * parts + k]);
    for (int k = 0; k < parts; k++) { float e = __expf(l[r * parts + k] - m); s += e, a += e * o[(r * parts + k) * 128 + t]; }
    y[r * 128 + t] = a / s;
}
K embed_grad(const int *__restrict__ id, const float *__restrict__ g, float *d, int w) { int r = blockIdx.x; for (int c = threadIdx.x; c < w; c += blockDim.x) atomicAdd(&d[id[r] * w + c], g[r * w + c]); }
K argmin_segments(const float *__restrict__ x, int *__restrict__ o, int n) {
    int r = AT / 32; float b = 1e30f; int at = 0;
    for (int k = LANE; k < n; k += 32) { float v = x[r * n + k]; if (v < b) b = v, at = k; }
    for (int k = 16; k; k /= 2) { float v = __shfl_xor_sync(~0u, b, k); int j = __shfl_xor_sync(~0u, at, k); if (v < b || (v == b && j < at)) b = v, at = j; }
    if (!LANE) o[r] = at;
}
// Turn columns of 16x16 matrices to triangles by Givens rotations, a half warp each.
K givens(float *__restrict__ a) {
    int l = threadIdx.x & 15; float *p = a + AT / 16 * 256, v[16];
    #pragma unroll
    for (int r = 0; r < 16; r++) v[r] = p[r * 16 + l];
    #pragma unroll
    for (int c = 0; c < 4; c++)
        #pragma unroll
        for (int r = 15; r > c; r--) { float x = __shfl_sync(~0u, v[r - 1], c, 16), y = __shfl_sync(~0u, v[r], c, 16), h = rsqrtf(x * x + y * y + 1e-20f), co = x * h, si = y * h, u = v[r - 1]; v[r - 1] = co * u + si * v[r], v[r] = co * v[r] - si * u; }
    #pragma unroll
    for (int r = 0; r < 16; r++) p[r * 16 + l] = v[r];
}
// Rows of a summed-area table: a warp a row of 512.
K summed_rows(const float *__restrict__ x, float *__restrict__ y, int n) {
    int r = AT / 32; float c = 0;
    for (int k = LANE; k < n; k += 32) { float v = x[r * n + k]; for (int j = 1; j < 32; j *= 2) { float o = __shfl_up_sync(~0u, v, j); if (LANE >= j) v += o; } v += c; y[r * n + k] = v; c = __shfl_sync(~0u, v, 31); }
}
// LoRA of few rows: y += (x A) B with a rank of 8, x in shared memory.
K cummax_rows(const int *__restrict__ x, int *__restrict__ y, int n) {
    __shared__ int s[8]; int t = threadIdx.x, top = -2147483647;
    for (int b = 0; b < n; b += 256) { int v = x[blockIdx.x * n + b + t]; for (int j = 1; j < 32; j *= 2) { int o = __shfl_up_sync(~0u, v, j); if (LANE >= j) v = max(v, o); } if (LANE == 31) s[t / 32] = v; __syncthreads(); int m = top; for (int k = 0; k < t / 32; k++) m = max(m, s[k]); for (int k = 0; k < 8; k++) top = max(top, s[k]); y[blockIdx.x * n + b + t] = max(v, m); __syncthreads(); }
}
