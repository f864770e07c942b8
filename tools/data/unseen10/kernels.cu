// Kernels of kinds that people write every day, in shapes that no other set has, to judge by.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
typedef unsigned u32; typedef unsigned char u8; typedef unsigned short u16; typedef unsigned long long u64;
#define K extern "C" __global__ void
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
#define LANE (threadIdx.x & 31)
#define ALL 0xffffffffu
__device__ __forceinline__ float warp_sum(float v) {
    #pragma unroll
    for (int k = 16; k; k /= 2) v += __shfl_xor_sync(ALL, v, k);
    return v;
}
__device__ __forceinline__ float warp_max(float v) {
    #pragma unroll
    for (int k = 16; k; k /= 2) v = fmaxf(v, __shfl_xor_sync(ALL, v, k));
    return v;
}
// Softmax of rows of 1024 halves with a scale and a mask of bytes, a warp a row, in registers.
K masked_softmax(const uint4 *__restrict__ x, const uint2 *__restrict__ mask, uint4 *__restrict__ y, float scale) {
    int r = AT / 32; float v[32], m = -1e30f, s = 0;
    #pragma unroll
    for (int k = 0; k < 4; k++) {
        uint4 a = x[(r * 4 + k) * 32 + LANE]; uint2 b = mask[(r * 4 + k) * 32 + LANE]; const __half *h = (const __half *)&a; const u8 *c = (const u8 *)&b;
        #pragma unroll
        for (int j = 0; j < 8; j++) v[k * 8 + j] = (c[j] & 3) ? __half2float(h[j]) * scale : -1e4f, m = fmaxf(m, v[k * 8 + j]);
    }
    m = warp_max(m);
    #pragma unroll
    for (int k = 0; k < 32; k++) v[k] = exp2f((v[k] - m) * 1.4427f), s += v[k];
    s = 1 / warp_sum(s);
    #pragma unroll
    for (int k = 0; k < 4; k++) {
        uint4 a; __half2 *h = (__half2 *)&a;
        #pragma unroll
        for (int j = 0; j < 4; j++) h[j] = __floats2half2_rn(v[k * 8 + 2 * j] * s, v[k * 8 + 2 * j + 1] * s);
        y[(r * 4 + k) * 32 + LANE] = a;
    }
}
// Layer norm, forward: a CTA of 192 threads a row of 768, mean and deviation kept.
K layer_norm(const float4 *__restrict__ x, const float4 *__restrict__ g, const float4 *__restrict__ b, float4 *__restrict__ y, float2 *__restrict__ stats) {
    __shared__ float s[8]; int t = threadIdx.x; float4 v = x[AT]; float a = warp_sum(v.x + v.y + v.z + v.w);
    if (!LANE) s[t / 32] = a;
    __syncthreads(); float m = 0;
    #pragma unroll
    for (int k = 0; k < 6; k++) m += s[k];
    m /= 768; v.x -= m, v.y -= m, v.z -= m, v.w -= m; a = warp_sum(v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w); __syncthreads();
    if (!LANE) s[t / 32] = a;
    __syncthreads(); float q = 0;
    #pragma unroll
    for (int k = 0; k < 6; k++) q += s[k];
    q = rsqrtf(q / 768 + 1e-5f); float4 w = g[t], z = b[t]; y[AT] = make_float4(v.x * q * w.x + z.x, v.y * q * w.y + z.y, v.z * q * w.z + z.z, v.w * q * w.w + z.w);
    if (!t) stats[blockIdx.x] = make_float2(m, q);
}
// Gradients of its weights: a CTA 32 columns of `rows` rows by 8 warps, then one atomic a column.
K norm_weights(const float *__restrict__ dy, const float *__restrict__ x, const float2 *__restrict__ stats, float *dg, float *db, int rows, int n) {
    __shared__ float s[8][33], q[8][33]; int w = threadIdx.x / 32, c = blockIdx.x * 32 + LANE; float a = 0, b = 0;
    for (int r = blockIdx.y * rows + w; r < (blockIdx.y + 1) * rows; r += 8) { float d = dy[r * n + c]; float2 k = stats[r]; a += d * (x[r * n + c] - k.x) * k.y, b += d; }
    s[w][LANE] = a, q[w][LANE] = b; __syncthreads();
    if (w == 0) { a = b = 0; for (int k = 0; k < 8; k++) a += s[k][LANE], b += q[k][LANE]; atomicAdd(&dg[c], a), atomicAdd(&db[c], b); }
}
// Transpose of halves by tiles of 64x64, two a thread.
K transpose_half(const __half2 *__restrict__ x, __half2 *__restrict__ y, int n) {
    __shared__ __half s[64][66]; int c = threadIdx.x & 31, r = threadIdx.x / 32;
    for (int k = r; k < 64; k += 8) *(__half2 *)&s[k][2 * c] = x[((blockIdx.y * 64 + k) * n + blockIdx.x * 64) / 2 + c];
    __syncthreads();
    for (int k = r; k < 64; k += 8) y[((blockIdx.x * 64 + k) * n + blockIdx.y * 64) / 2 + c] = __halves2half2(s[2 * c][k], s[2 * c + 1][k]);
}
// Counts of pixels by brightness: bins of each warp in shared memory, then atomics on 64 words.
K hist_warps(const uchar4 *__restrict__ p, u32 *h, int each) {
    __shared__ u32 s[8][65]; int t = threadIdx.x; for (int k = t; k < 8 * 65; k += 256) (&s[0][0])[k] = 0;
    __syncthreads();
    for (int k = 0; k < each; k++) { uchar4 v = p[(blockIdx.x * each + k) * 256 + t]; atomicAdd(&s[t / 32][(v.x * 77 + v.y * 151 + v.z * 28) >> 10], 1u); }
    __syncthreads();
    if (t < 64) { u32 a = 0; for (int k = 0; k < 8; k++) a += s[k][t]; atomicAdd(&h[t], a); }
}
// Heat in space, planes marched through with a tile in shared memory and the column in registers.
K heat3d(const float *__restrict__ x, float *__restrict__ y, int n, int planes) {
    __shared__ float s[10][34]; int i = threadIdx.x, j = threadIdx.y, X = blockIdx.x * 32 + i + 1, Y = blockIdx.y * 8 + j + 1, at = Y * n + X, area = n * n;
    float below = x[at], here = x[at + area], above;
    for (int k = 1; k <= planes; k++) {
        at += area; above = x[at + area]; __syncthreads(); s[j + 1][i + 1] = here;
        if (i == 0) s[j + 1][0] = x[at - 1];
        if (i == 31) s[j + 1][33] = x[at + 1];
        if (j == 0) s[0][i + 1] = x[at - n];
        if (j == 7) s[9][i + 1] = x[at + n];
        __syncthreads();
        y[at] = 0.4f * here + 0.1f * (below + above + s[j + 1][i] + s[j + 1][i + 2] + s[j][i + 1] + s[j + 2][i + 1]); below = here, here = above;
    }
}
// Scan of 2048 numbers a CTA, up and down a tree in padded shared memory.
K tree_scan(const int *__restrict__ x, int *__restrict__ y, int *__restrict__ sums) {
    __shared__ int s[2048 + 64]; int t = threadIdx.x, b = blockIdx.x * 2048, d = 1;
    #define PAD(i) ((i) + ((i) >> 5))
    s[PAD(t)] = x[b + t], s[PAD(t + 1024)] = x[b + t + 1024];
    for (int h = 1024; h; h /= 2) { __syncthreads(); if (t < h) { int i = d * (2 * t + 1) - 1, j = d * (2 * t + 2) - 1; s[PAD(j)] += s[PAD(i)]; } d *= 2; }
    if (!t) sums[blockIdx.x] = s[PAD(2047)], s[PAD(2047)] = 0;
    for (int h = 1; h < 2048; h *= 2) { d /= 2; __syncthreads(); if (t < h) { int i = d * (2 * t + 1) - 1, j = d * (2 * t + 2) - 1, v = s[PAD(i)]; s[PAD(i)] = s[PAD(j)], s[PAD(j)] += v; } }
    __syncthreads(); y[b + t] = s[PAD(t)], y[b + t + 1024] = s[PAD(t + 1024)];
}
// Rows of 64 halves are added to the rows that an index names, two at a time.
K scatter_half2(const int *__restrict__ id, const __half2 *__restrict__ x, __half2 *y, int mask) { int i = AT; atomicAdd(&y[(id[i / 32] & mask) * 32 + LANE], x[i]); }
// Rows are gathered by an index and weighted: 4 rows a warp's row.
K gather_mix(const int *__restrict__ id, const float *__restrict__ w, const float4 *__restrict__ x, float4 *__restrict__ y, int mask) {
    int r = AT / 32; float4 s = make_float4(0, 0, 0, 0);
    #pragma unroll
    for (int k = 0; k < 4; k++) { float c = w[r * 4 + k]; float4 v = x[(id[r * 4 + k] & mask) * 32 + LANE]; s.x += c * v.x, s.y += c * v.y, s.z += c * v.z, s.w += c * v.w; }
    y[r * 32 + LANE] = s;
}
// Fourier transform of 1024 points by radix 4 in shared memory, a CTA of 256 threads.
K fft1024(const float2 *__restrict__ x, float2 *__restrict__ y) {
    __shared__ float2 s[1024]; int t = threadIdx.x; float2 v[4];
    #pragma unroll
    for (int k = 0; k < 4; k++) v[k] = x[blockIdx.x * 1024 + k * 256 + t];
    #pragma unroll
    for (int p = 1; p < 1024; p *= 4) {
        int k = t & (p - 1); float a = -6.2831853f * k / (4 * p);
        #pragma unroll
        for (int j = 1; j < 4; j++) { float c, d; __sincosf(a * j, &d, &c); v[j] = make_float2(v[j].x * c - v[j].y * d, v[j].x * d + v[j].y * c); }
        float2 e = make_float2(v[0].x + v[2].x, v[0].y + v[2].y), f = make_float2(v[0].x - v[2].x, v[0].y - v[2].y), g = make_float2(v[1].x + v[3].x, v[1].y + v[3].y), h = make_float2(v[1].y - v[3].y, v[3].x - v[1].x);
        int j = (t - k) * 4 + k; __syncthreads();
        s[j] = make_float2(e.x + g.x, e.y + g.y), s[j + p] = make_float2(f.x + h.x, f.y + h.y), s[j + 2 * p] = make_float2(e.x - g.x, e.y - g.y), s[j + 3 * p] = make_float2(f.x - h.x, f.y - h.y);
        __syncthreads();
        #pragma unroll
        for (int q = 0; q < 4; q++) v[q] = s[q * 256 + t];
    }
    #pragma unroll
    for (int k = 0; k < 4; k++) y[blockIdx.x * 1024 + k * 256 + t] = v[k];
}
// A pass of a radix sort by 4 bits: ranks by match within warps, digits of the CTA's 1024 keys put in order in shared memory.
K radix_pass(const u32 *__restrict__ x, u32 *__restrict__ y, u32 *__restrict__ counts, int shift) {
    __shared__ u32 c[16][9], o[16], s[1024]; int t = threadIdx.x, w = t / 32; u32 key[4], at[4];
    for (int k = t; k < 144; k += 256) (&c[0][0])[k] = 0;
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 4; k++) {
        key[k] = x[blockIdx.x * 1024 + w * 128 + k * 32 + LANE]; u32 d = key[k] >> shift & 15, m = __match_any_sync(ALL, d), b = c[d][w]; at[k] = b + __popc(m & ((1u << LANE) - 1)); __syncwarp();
        if (at[k] == b) c[d][w] = b + __popc(m);
        __syncwarp();
    }
    __syncthreads();
    if (t < 16) { u32 a = 0; for (int k = 0; k < 8; k++) { u32 v = c[t][k]; c[t][k] = a, a += v; } counts[blockIdx.x * 16 + t] = a; u32 v = a; for (int k = 1; k < 16; k *= 2) { u32 q = __shfl_up_sync(0xffff, a, k, 16); if (t >= k) a += q; } o[t] = a - v; }
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 4; k++) { u32 d = key[k] >> shift & 15; s[o[d] + c[d][w] + at[k]] = key[k]; }
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 4; k++) y[blockIdx.x * 1024 + k * 256 + t] = s[k * 256 + t];
}
// Pairs sorted by odd-even merging in shared memory, 512 a CTA.
K merge_network(const u64 *__restrict__ x, u64 *__restrict__ y) {
    __shared__ u64 s[512]; int t = threadIdx.x; s[t] = x[blockIdx.x * 512 + t], s[t + 256] = x[blockIdx.x * 512 + 256 + t];
    for (int p = 1; p < 512; p *= 2) for (int k = p; k; k /= 2) {
        __syncthreads(); int i = 2 * t - (t & (k - 1)), j = i + k;
        if (p == k) i = (t / k) * 2 * k + t % k, j = i + k; else { i = (t / k) * 2 * k + k + t % k, j = i + k; if (j >= 512 || i / (2 * p) != j / (2 * p)) continue; }
        u64 a = s[i], b = s[j]; if (a > b) s[i] = b, s[j] = a; }
    __syncthreads(); y[blockIdx.x * 512 + t] = s[t], y[blockIdx.x * 512 + 256 + t] = s[t + 256];
}
__device__ __forceinline__ u32 place(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void copy16(u32 to, const void *from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory"); }
// Products of bytes by mma.m16n8k32: 64 x 64 tiles, K in steps of 64 by cp.async in three stages, 4 warps of 32 x 32; scaled by rows and columns.
K int8_gemm(const signed char *__restrict__ A, const signed char *__restrict__ B, const float *__restrict__ sa, const float *__restrict__ sb, float *__restrict__ C, int n, int k) {
    __shared__ __align__(16) u8 s[3][2][64 * 80]; int t = threadIdx.x, w = t / 32, r0 = blockIdx.y * 64, c0 = blockIdx.x * 64, acc[2][4][4] = {}, steps = k / 64;
    auto fetch = [&](int j) { if (j < steps) { for (int q = t; q < 256; q += 128) { copy16(place(&s[j % 3][0][q / 4 * 80 + q % 4 * 16]), A + (r0 + q / 4) * k + j * 64 + q % 4 * 16); copy16(place(&s[j % 3][1][q / 4 * 80 + q % 4 * 16]), B + (c0 + q / 4) * k + j * 64 + q % 4 * 16); } } asm volatile("cp.async.commit_group;" ::: "memory"); };
    fetch(0), fetch(1);
    for (int j = 0; j < steps; j++) {
        asm volatile("cp.async.wait_group 1;" ::: "memory"); __syncthreads(); fetch(j + 2); const u8 *a = s[j % 3][0], *b = s[j % 3][1];
        #pragma unroll
        for (int q = 0; q < 2; q++) {
            u32 x[2][4], y[4][2];
            #pragma unroll
            for (int m = 0; m < 2; m++) asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(x[m][0]), "=r"(x[m][1]), "=r"(x[m][2]), "=r"(x[m][3]) : "r"(place(a + ((w / 2) * 32 + m * 16 + (LANE & 15)) * 80 + q * 32 + LANE / 16 * 16)));
            #pragma unroll
            for (int m = 0; m < 4; m++) asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(y[m][0]), "=r"(y[m][1]) : "r"(place(b + ((w % 2) * 32 + m * 8 + (LANE & 7)) * 80 + q * 32 + (LANE & 8) * 2)));
            #pragma unroll
            for (int m = 0; m < 2; m++)
                #pragma unroll
                for (int p = 0; p < 4; p++) asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+r"(acc[m][p][0]), "+r"(acc[m][p][1]), "+r"(acc[m][p][2]), "+r"(acc[m][p][3]) : "r"(x[m][0]), "r"(x[m][1]), "r"(x[m][2]), "r"(x[m][3]), "r"(y[p][0]), "r"(y[p][1]));
        }
        __syncthreads();
    }
    #pragma unroll
    for (int m = 0; m < 2; m++)
        #pragma unroll
        for (int p = 0; p < 4; p++)
            #pragma unroll
            for (int h = 0; h < 2; h++) { int r = r0 + (w / 2) * 32 + m * 16 + LANE / 4 + 8 * h, c = c0 + (w % 2) * 32 + p * 8 + LANE % 4 * 2; float v = sa[r]; *(float2 *)&C[r * n + c] = make_float2(acc[m][p][2 * h] * v * sb[c], acc[m][p][2 * h + 1] * v * sb[c + 1]); }
}
// Products of halves by mma.m16n8k16: 128 x 64 tiles, K in steps of 32 by cp.async in four stages, 8 warps of 32 x 32.
K stages_gemm(const __half *__restrict__ A, const __half *__restrict__ B, __half *__restrict__ C, int n, int k) {
    extern __shared__ __align__(16) __half room[]; int t = threadIdx.x, w = t / 32, r0 = blockIdx.y * 128, c0 = blockIdx.x * 64, steps = k / 32; float acc[2][4][4] = {};
    const int SIZE = 192 * 40;
    auto fetch = [&](int j) { if (j < steps) { __half *s = room + (j & 3) * SIZE; for (int q = t; q < 768; q += 256) { int r = q / 4, c = q % 4 * 8; copy16(place(s + r * 40 + c), (r < 128 ? A + (r0 + r) * k : B + (c0 + r - 128) * k) + j * 32 + c); } } asm volatile("cp.async.commit_group;" ::: "memory"); };
    fetch(0), fetch(1), fetch(2);
    for (int j = 0; j < steps; j++) {
        asm volatile("cp.async.wait_group 2;" ::: "memory"); __syncthreads(); fetch(j + 3); const __half *a = room + (j & 3) * SIZE, *b = a + 128 * 40;
        #pragma unroll
        for (int q = 0; q < 2; q++) {
            u32 x[2][4], y[2][4];
            #pragma unroll
            for (int m = 0; m < 2; m++) asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(x[m][0]), "=r"(x[m][1]), "=r"(x[m][2]), "=r"(x[m][3]) : "r"(place(a + ((w / 2) * 32 + m * 16 + (LANE & 15)) * 40 + q * 16 + LANE / 16 * 8)));
            #pragma unroll
            for (int m = 0; m < 2; m++) asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(y[m][0]), "=r"(y[m][1]), "=r"(y[m][2]), "=r"(y[m][3]) : "r"(place(b + ((w % 2) * 32 + m * 16 + (LANE & 7) + (LANE / 16) * 8) * 40 + q * 16 + (LANE & 8))));
            #pragma unroll
            for (int m = 0; m < 2; m++)
                #pragma unroll
                for (int p = 0; p < 4; p++) asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(acc[m][p][0]), "+f"(acc[m][p][1]), "+f"(acc[m][p][2]), "+f"(acc[m][p][3]) : "r"(x[m][0]), "r"(x[m][1]), "r"(x[m][2]), "r"(x[m][3]), "r"(y[p / 2][p % 2 * 2]), "r"(y[p / 2][p % 2 * 2 + 1]));
        }
    }
    #pragma unroll
    for (int m = 0; m < 2; m++)
        #pragma unroll
        for (int p = 0; p < 4; p++)
            #pragma unroll
            for (int h = 0; h < 2; h++) { int r = r0 + (w / 2) * 32 + m * 16 + LANE / 4 + 8 * h, c = c0 + (w % 2) * 32 + p * 8 + LANE % 4 * 2; *(__half2 *)&C[r * n + c] = __floats2half2_rn(acc[m][p][2 * h], acc[m][p][2 * h + 1]); }
}
// Decoding: one query of 64 halves a head, a CTA of 4 warps a head; each warp takes every fourth key, a key by 8 lanes.
K decode_head(const __half *__restrict__ Q, const __half *__restrict__ Kc, const __half *__restrict__ V, float *__restrict__ O, int keys) {
    __shared__ float sm[4], sl[4], so[4][64]; int h = blockIdx.x, w = threadIdx.x / 32, g = LANE / 8, l = LANE & 7; uint4 qa = *(const uint4 *)&Q[h * 64 + l * 8]; float q[8], o[8] = {}, m = -1e30f, s = 0;
    #pragma unroll
    for (int k = 0; k < 8; k++) q[k] = __half2float(((const __half *)&qa)[k]) * 0.125f;
    for (int k = w * 4 + g; k < keys; k += 16) {
        uint4 a = *(const uint4 *)&Kc[(h * keys + k) * 64 + l * 8], b = *(const uint4 *)&V[(h * keys + k) * 64 + l * 8]; float d = 0;
        #pragma unroll
        for (int j = 0; j < 8; j++) d += q[j] * __half2float(((const __half *)&a)[j]);
        d += __shfl_xor_sync(ALL, d, 1), d += __shfl_xor_sync(ALL, d, 2), d += __shfl_xor_sync(ALL, d, 4);
        float n = fmaxf(m, d), c = __expf(m - n), e = __expf(d - n); m = n, s = s * c + e;
        #pragma unroll
        for (int j = 0; j < 8; j++) o[j] = o[j] * c + e * __half2float(((const __half *)&b)[j]);
    }
    #pragma unroll
    for (int x = 8; x < 32; x *= 2) {
        float om = __shfl_xor_sync(ALL, m, x), n = fmaxf(m, om), c = __expf(m - n), e = __expf(om - n); s = s * c + __shfl_xor_sync(ALL, s, x) * e;
        #pragma unroll
        for (int j = 0; j < 8; j++) o[j] = o[j] * c + __shfl_xor_sync(ALL, o[j], x) * e;
        m = n;
    }
    if (!LANE) sm[w] = m, sl[w] = s;
    if (g == 0)
        #pragma unroll
        for (int j = 0; j < 8; j++) so[w][l * 8 + j] = o[j];
    __syncthreads();
    if (threadIdx.x < 64) { float n = fmaxf(fmaxf(sm[0], sm[1]), fmaxf(sm[2], sm[3])), a = 0, b = 0; for (int k = 0; k < 4; k++) { float c = __expf(sm[k] - n); a += c * so[k][threadIdx.x], b += c * sl[k]; } O[h * 64 + threadIdx.x] = a / b; }
}
// Largest value of groups by atomics on the bits of floats; each thread its own group.
K group_max(const float *__restrict__ x, const u32 *__restrict__ g, int *m, u32 mask) { int i = AT; atomicMax(&m[g[i] & mask], __float_as_int(fabsf(x[i]))); }
// What passes a threshold is appended to a list: one atomic a warp.
K append(const float *__restrict__ x, u32 *__restrict__ list, u32 *count, float least, int n) {
    for (int i = AT; i < n; i += gridDim.x * blockDim.x) { bool is = x[i] > least; u32 m = __ballot_sync(ALL, is), b = 0; if (!LANE) b = atomicAdd(count, __popc(m)); b = __shfl_sync(ALL, b, 0); if (is) list[b + __popc(m & ((1u << LANE) - 1))] = i; }
}
// Sums of products by compare and swap of doubles' bits, few words.
K cas_scale(double *p, const double *__restrict__ x, int mask) { int i = AT; u64 *q = (u64 *)&p[i & mask], old = *q, seen; do { seen = old; old = atomicCAS(q, seen, __double_as_longlong(__longlong_as_double(seen) + x[i])); } while (old != seen); }
// Squares of a row of 4096 summed over a cluster of four: each CTA stores its sum to the others' memory.
K __cluster_dims__(4) cluster_norm(const float4 *__restrict__ x, float4 *__restrict__ y) {
    __shared__ float s[8], all[4]; cg::cluster_group c = cg::this_cluster(); int t = threadIdx.x; float4 v = x[AT]; c.sync(); float a = warp_sum(v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w);
    if (!LANE) s[t / 32] = a;
    __syncthreads();
    if (t < 4) { a = 0; for (int k = 0; k < 8; k++) a += s[k]; *c.map_shared_rank(&all[c.block_rank()], t) = a; }
    c.sync(); a = rsqrtf((all[0] + all[1] + all[2] + all[3]) / 4096 + 1e-6f); y[AT] = make_float4(v.x * a, v.y * a, v.z * a, v.w * a);
}
// A tile of columns is handed to the next CTA of a cluster of two, turn after turn, by plain stores to its memory.
K __cluster_dims__(2) pass_tiles(const float4 *__restrict__ x, float4 *__restrict__ y, int turns) {
    __shared__ float4 s[2][256]; cg::cluster_group c = cg::this_cluster(); int t = threadIdx.x; float4 v = x[AT]; float4 *far = c.map_shared_rank(&s[0][0], c.block_rank() ^ 1); c.sync();
    for (int k = 0; k < turns; k++) { far[(k & 1) * 256 + (t * 5 & 255)] = v; c.sync(); float4 o = s[k & 1][t]; v.x += o.y, v.y += o.z, v.z += o.w, v.w += o.x; }
    y[AT] = v;
}
// Lorenz' system by Runge and Kutta in doubles.
K lorenz64(double *__restrict__ p, int n, int steps, double h) {
    int i = AT; double x = p[i], y = p[i + n], z = p[i + 2 * n];
    #define DX(x, y) (10 * ((y) - (x)))
    #define DY(x, y, z) ((x) * (28 - (z)) - (y))
    #define DZ(x, y, z) ((x) * (y) - 8.0 / 3 * (z))
    for (int k = 0; k < steps; k++) {
        double a = DX(x, y), b = DY(x, y, z), c = DZ(x, y, z), u = x + h / 2 * a, v = y + h / 2 * b, w = z + h / 2 * c, d = DX(u, v), e = DY(u, v, w), f = DZ(u, v, w);
        u = x + h * d, v = y + h * e, w = z + h * f; x += h / 2 * (d + DX(u, v) * 0.5 + a * 0.5), y += h / 2 * (e + DY(u, v, w) * 0.5 + b * 0.5), z += h / 2 * (f + DZ(u, v, w) * 0.5 + c * 0.5); }
    p[i] = x, p[i + n] = y, p[i + 2 * n] = z;
}
// Products of doubles by tiles of 32 x 32 in shared memory, 2 x 2 a thread.
K dgemm_tiles(const double *__restrict__ A, const double *__restrict__ B, double *__restrict__ C, int n) {
    __shared__ double a[32][17], b[16][33]; int i = threadIdx.x / 16, j = threadIdx.x % 16, r0 = blockIdx.y * 32, c0 = blockIdx.x * 32; double c[2][2] = {};
    for (int k = 0; k < n; k += 16) {
        a[i][j] = A[(r0 + i) * n + k + j], a[i + 16][j] = A[(r0 + i + 16) * n + k + j], b[i][j] = B[(k + i) * n + c0 + j], b[i][j + 16] = B[(k + i) * n + c0 + j + 16]; __syncthreads();
        #pragma unroll
        for (int q = 0; q < 16; q++) { double x = a[i][q], y = a[i + 16][q], u = b[q][j], v = b[q][j + 16]; c[0][0] += x * u, c[0][1] += x * v, c[1][0] += y * u, c[1][1] += y * v; }
        __syncthreads();
    }
    C[(r0 + i) * n + c0 + j] = c[0][0], C[(r0 + i) * n + c0 + j + 16] = c[0][1], C[(r0 + i + 16) * n + c0 + j] = c[1][0], C[(r0 + i + 16) * n + c0 + j + 16] = c[1][1];
}
// GELU by erf, its gradient too.
K gelu_both(const float2 *__restrict__ x, const float2 *__restrict__ dy, float2 *__restrict__ y, float2 *__restrict__ dx) {
    float2 v = x[AT], d = dy[AT], o, g;
    { float e = 0.5f * (1 + erff(v.x * 0.70710678f)); o.x = v.x * e, g.x = d.x * (e + v.x * 0.39894228f * __expf(-0.5f * v.x * v.x)); }
    { float e = 0.5f * (1 + erff(v.y * 0.70710678f)); o.y = v.y * e, g.y = d.y * (e + v.y * 0.39894228f * __expf(-0.5f * v.y * v.y)); }
    y[AT] = o, dx[AT] = g;
}
// Embedding of places by sines and powers, all precise.
K sine_places(const float *__restrict__ p, float *__restrict__ y, int w) { int i = AT, c = i % w; float a = p[i / w] * powf(10000.f, -(float)(c / 2) / w * 2); y[i] = c & 1 ? cosf(a) : sinf(a); }
// SipHash-2-4 of 32 bytes.
#define SIP { a += b, b = b << 13 | b >> 51, b ^= a, a = a << 32 | a >> 32, c += d, d = d << 16 | d >> 48, d ^= c, a += d, d = d << 21 | d >> 43, d ^= a, c += b, b = b << 17 | b >> 47, b ^= c, c = c << 32 | c >> 32; }
K siphash(const ulonglong2 *__restrict__ x, u64 *__restrict__ y, u64 k0, u64 k1) {
    u64 a = k0 ^ 0x736f6d6570736575ull, b = k1 ^ 0x646f72616e646f6dull, c = k0 ^ 0x6c7967656e657261ull, d = k1 ^ 0x7465646279746573ull; ulonglong2 p = x[2 * AT], q = x[2 * AT + 1]; u64 m[5] = {p.x, p.y, q.x, q.y, 32ull << 56};
    #pragma unroll
    for (int k = 0; k < 5; k++) { d ^= m[k]; SIP SIP a ^= m[k]; }
    c ^= 255; SIP SIP SIP SIP y[AT] = a ^ b ^ c ^ d;
}
// Powers modulo a 62-bit prime by 128-bit products and Barrett's reduction.
K mod_pow(const u64 *__restrict__ x, u64 *__restrict__ y, u64 p, u64 r, u32 e) {
    u64 b = x[AT] % p, a = 1;
    for (u32 k = e; k; k >>= 1) {
        if (k & 1) { u64 h = __umul64hi(a, b), l = a * b, q = __umul64hi((h << 2 | l >> 62), r); a = l - q * p; while (a >= p) a -= p; }
        u64 h = __umul64hi(b, b), l = b * b, q = __umul64hi((h << 2 | l >> 62), r); b = l - q * p; while (b >= p) b -= p;
    }
    y[AT] = a;
}
// The burning ship, each pixel its own number of turns.
K burning_ship(u16 *__restrict__ o, int w, int most) {
    int i = AT; float cx = (i % w) * (3.f / w) - 2.2f, cy = (i / w) * (2.5f / w) - 1.8f, x = 0, y = 0; int k = 0;
    while (k < most && x * x + y * y < 4) { float t = x * x - y * y + cx; y = fabsf(2 * x * y) + cy, x = t, k++; }
    o[i] = k;
}
// Lines of text: where each word begins that is no blank, counted by thread over rows of 64 bytes.
K count_words(const uint4 *__restrict__ text, u32 *__restrict__ o, int rows) {
    int i = AT; u32 n = 0, was = 1;
    #pragma unroll 1
    for (int k = 0; k < 4; k++) { uint4 v = text[i * 4 + k]; const u8 *b = (const u8 *)&v;
        #pragma unroll
        for (int j = 0; j < 16; j++) { u32 blank = (b[j] & 7) == 0; n += was & !blank, was = blank; } }
    o[i] = n;
}
// Joined tables: probes of a table of pairs by linear steps, as many as it takes.
K join_probe(const u32 *__restrict__ keys, const uint2 *__restrict__ table, u32 *__restrict__ o, u32 mask, u32 most) { u32 k = keys[AT] % 100000, h = k * 2654435761u & mask, v = 0; for (u32 j = 0; j < most; j++) { uint2 e = table[h]; if (e.x % 5 == k % 5) { v = e.y; break; } h = (h + 1) & mask; } o[AT] = v; }
// 4-bit weights by groups of 32 rows, packed from f32: a thread 8 of them.
K pack_int4(const float4 *__restrict__ x, u32 *__restrict__ q, float *__restrict__ s) {
    int i = AT; float4 a = x[2 * i], b = x[2 * i + 1]; float m = fmaxf(fmaxf(fmaxf(fabsf(a.x), fabsf(a.y)), fmaxf(fabsf(a.z), fabsf(a.w))), fmaxf(fmaxf(fabsf(b.x), fabsf(b.y)), fmaxf(fabsf(b.z), fabsf(b.w))));
    m = fmaxf(m, __shfl_xor_sync(ALL, m, 1)), m = fmaxf(m, __shfl_xor_sync(ALL, m, 2)); float k = m > 0 ? 7 / m : 0; float v[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}; u32 w = 0;
    #pragma unroll
    for (int j = 0; j < 8; j++) w |= (__float2int_rn(v[j] * k) & 15) << (4 * j);
    q[i] = w; if (!(i & 3)) s[i / 4] = m / 7;
}
// Row times matrix of e4m3 weights, a warp a row of 1024.
K fp8_gemv(const uint4 *__restrict__ W, const float4 *__restrict__ x, float *__restrict__ y, float scale) {
    int r = AT / 32; float s = 0;
    #pragma unroll
    for (int k = 0; k < 2; k++) { uint4 a = W[(r * 2 + k) * 32 + LANE]; const u32 *w = (const u32 *)&a;
        #pragma unroll
        for (int j = 0; j < 4; j++) { __nv_fp8x4_e4m3 e; e.__x = w[j]; float4 f = (float4)e, v = x[(k * 32 + LANE) * 4 + j]; s += f.x * v.x + f.y * v.y + f.z * v.z + f.w * v.w; } }
    s = warp_sum(s); if (!LANE) y[r] = s * scale;
}
// Largest of windows 3x3 and where it was; the gradient goes back there by atomics.
K maxpool_back(const float *__restrict__ dy, const u8 *__restrict__ at, float *dx, int w, int n) { int i = AT, X = i % n, Y = i / n; u8 k = at[i] % 9; atomicAdd(&dx[(2 * Y + k / 3) * w + 2 * X + k % 3], dy[i]); }
// Systems 8x8 by elimination without pivots, each by 8 lanes with a column each.
K solve8(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ x) {
    int l = threadIdx.x & 7, q = AT / 8; float c[8], r = b[q * 8 + l];
    #pragma unroll
    for (int k = 0; k < 8; k++) c[k] = a[(q * 8 + k) * 8 + l] + (k == l ? 9.f : 0.f);
    #pragma unroll
    for (int k = 0; k < 8; k++) { float p = __shfl_sync(ALL, c[k], k, 8), rk = __shfl_sync(ALL, r, k, 8), f[8];
        #pragma unroll
        for (int j = 0; j < 8; j++) f[j] = __shfl_sync(ALL, c[j], k, 8) / p;
        #pragma unroll
        for (int j = 0; j < 8; j++) if (j != k) { c[j] -= f[j] * c[k]; if (l == j) r -= f[j] * rk; } }
    float d = 1;
    #pragma unroll
    for (int k = 0; k < 8; k++) if (k == l) d = c[k];
    x[q * 8 + l] = r / d;
}
// Rows of 512 by rows of a table of 16 through an online maximum, redux for integers: the index of the least byte.
K argmin_bytes(const u32 *__restrict__ x, u32 *__restrict__ o) {
    int r = AT / 32; u32 best = ~0u;
    #pragma unroll
    for (int k = 0; k < 4; k++) { u32 v = x[(r * 4 + k) * 32 + LANE];
        #pragma unroll
        for (int j = 0; j < 4; j++) best = min(best, (v >> (8 * j) & 255) << 16 | ((k * 32 + LANE) * 4 + j)); }
    best = __reduce_min_sync(ALL, best); if (!LANE) o[r] = best;
}
// A persistent grid normalises rows of 256 in turn, weights kept in registers.
K rms_persistent(const float4 *__restrict__ x, const float4 *__restrict__ g, float4 *__restrict__ y, int rows) {
    float4 w0 = g[LANE], w1 = g[LANE + 32];
    for (int r = AT / 32; r < rows; r += gridDim.x * blockDim.x / 32) { float4 a = x[r * 64 + LANE], b = x[r * 64 + 32 + LANE]; float s = rsqrtf(warp_sum(a.x * a.x + a.y * a.y + a.z * a.z + a.w * a.w + b.x * b.x + b.y * b.y + b.z * b.z + b.w * b.w) / 256 + 1e-6f);
        y[r * 64 + LANE] = make_float4(a.x * s * w0.x, a.y * s * w0.y, a.z * s * w0.z, a.w * s * w0.w), y[r * 64 + 32 + LANE] = make_float4(b.x * s * w1.x, b.y * s * w1.y, b.z * s * w1.z, b.w * s * w1.w); }
}
