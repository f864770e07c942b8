// Kernels as libraries have them (serving, training, vision, data bases, physics, codecs), in shapes that no other set has, to judge by.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
typedef unsigned u32; typedef unsigned char u8; typedef unsigned short u16; typedef unsigned long long u64;
#define K extern "C" __global__ void
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
#define LANE (threadIdx.x & 31)
#define ALL 0xffffffffu
#define UNROLL _Pragma("unroll")
__device__ __forceinline__ u32 place(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ float warp_sum(float v) { UNROLL for (int k = 16; k; k /= 2) v += __shfl_xor_sync(ALL, v, k); return v; }
__device__ __forceinline__ float warp_max(float v) { UNROLL for (int k = 16; k; k /= 2) v = fmaxf(v, __shfl_xor_sync(ALL, v, k)); return v; }
__device__ __forceinline__ float cta_sum(float v, float *s) { int w = threadIdx.x / 32, n = blockDim.x / 32; v = warp_sum(v); __syncthreads(); if (!LANE) s[w] = v; __syncthreads(); return warp_sum(LANE < n ? s[LANE] : 0.f); }
__device__ __forceinline__ float cta_max(float v, float *s) { int w = threadIdx.x / 32, n = blockDim.x / 32; v = warp_max(v); __syncthreads(); if (!LANE) s[w] = v; __syncthreads(); return warp_max(LANE < n ? s[LANE] : -1e30f); }
// Keys turned by their position and put, with values, into slots of a paged cache: a CTA a token, 8 heads of 128.
K rope_cache(const __half2 *__restrict__ k, const uint4 *__restrict__ v, const float2 *__restrict__ cs, const int *__restrict__ slot, __half2 *kc, uint4 *vc) {
    int b = blockIdx.x, t = threadIdx.x; size_t to = slot[b];
    for (int i = t; i < 512; i += blockDim.x) { float2 c = cs[(b & 255) * 64 + (i & 63)], f = __half22float2(k[b * 512 + i]); kc[to * 512 + i] = __floats2half2_rn(f.x * c.x - f.y * c.y, f.x * c.y + f.y * c.x); }
    if (t < 128) vc[to * 128 + t] = v[b * 128 + t];
}
// SiLU of one half times the other, then e4m3 by the row's largest value.
K silu_quant(const uint4 *__restrict__ x, u32 *__restrict__ q, float *__restrict__ scales, int d8) {
    __shared__ float s[32]; int r = blockIdx.x, t = threadIdx.x; float v[8], m = 0; uint4 a = x[(size_t)r * 2 * d8 + t], b = x[(size_t)r * 2 * d8 + d8 + t]; const __half2 *g = (const __half2 *)&a, *u = (const __half2 *)&b;
    UNROLL for (int j = 0; j < 4; j++) { float2 f = __half22float2(g[j]), h = __half22float2(u[j]); v[2 * j] = f.x / (1 + __expf(-f.x)) * h.x, v[2 * j + 1] = f.y / (1 + __expf(-f.y)) * h.y; m = fmaxf(m, fmaxf(fabsf(v[2 * j]), fabsf(v[2 * j + 1]))); }
    m = cta_max(m, s) / 448.f + 1e-12f; float i = 1 / m; u32 o[2];
    UNROLL for (int j = 0; j < 2; j++) { __nv_fp8x4_e4m3 e(make_float4(v[4 * j] * i, v[4 * j + 1] * i, v[4 * j + 2] * i, v[4 * j + 3] * i)); o[j] = e.__x; }
    ((uint2 *)q)[r * d8 + t] = make_uint2(o[0], o[1]); if (!t) scales[r] = m;
}
// The router of a mixture: softmax over 64 experts, a warp a token, the four largest one after the other.
K topk_gate(const float *__restrict__ x, float *__restrict__ w, int *__restrict__ id) {
    int r = AT / 32; float a = x[r * 64 + LANE], b = x[r * 64 + 32 + LANE], m = warp_max(fmaxf(a, b)); a = __expf(a - m), b = __expf(b - m); float s = warp_sum(a + b), tot = 0, mine = 0; int who = 0; a /= s, b /= s;
    UNROLL for (int k = 0; k < 4; k++) {
        float v = a; int i = LANE; if (b > a) v = b, i = LANE + 32;
        UNROLL for (int d = 16; d; d /= 2) { float o = __shfl_xor_sync(ALL, v, d); int j = __shfl_xor_sync(ALL, i, d); if (o > v || (o == v && j < i)) v = o, i = j; }
        tot += v; if (LANE == k) mine = v, who = i; if ((i & 31) == LANE) { if (i < 32) a = -1; else b = -1; }
    }
    if (LANE < 4) w[r * 4 + LANE] = mine / tot, id[r * 4 + LANE] = who;
}
// Tokens put in the order of their experts, 64 of them, by one CTA.
K moe_align(const u32 *__restrict__ ids, int *sorted, int *starts, int n) {
    __shared__ int c[64], p[65]; int t = threadIdx.x; if (t < 64) c[t] = 0; __syncthreads();
    for (int i = t; i < n; i += blockDim.x) atomicAdd(&c[ids[i] & 63], 1);
    __syncthreads();
    if (t < 32) { int a = (c[2 * t] + 15) & ~15, b = (c[2 * t + 1] + 15) & ~15, s = a + b; UNROLL for (int d = 1; d < 32; d *= 2) { int o = __shfl_up_sync(ALL, s, d); if (t >= d) s += o; } p[2 * t + 1] = s - b, p[2 * t + 2] = s; if (!t) p[0] = 0; }
    __syncthreads(); if (t < 65) starts[t] = p[t]; __syncthreads();
    for (int i = t; i < n; i += blockDim.x) sorted[atomicAdd(&p[ids[i] & 63], 1)] = i;
}
// Mean and variance of channels by Welford's rule, a CTA a channel of a batch in NCHW.
K welford_stats(const float *__restrict__ x, float *__restrict__ mean, float *__restrict__ var, int n, int c, int hw) {
    __shared__ float sm[8], sq[8], sn[8]; int ch = blockIdx.x; float m = 0, q = 0, k = 0;
    for (int i = threadIdx.x; i < n * hw; i += blockDim.x) { float v = x[((i / hw) * c + ch) * hw + i % hw]; k += 1; float d = v - m; m += d / k; q += d * (v - m); }
    UNROLL for (int d = 16; d; d /= 2) { float m2 = __shfl_xor_sync(ALL, m, d), q2 = __shfl_xor_sync(ALL, q, d), k2 = __shfl_xor_sync(ALL, k, d), e = m2 - m, f = 1 / fmaxf(k + k2, 1.f); m = (m * k + m2 * k2) * f; q += q2 + e * e * k * k2 * f; k += k2; }
    int w = threadIdx.x / 32; if (!LANE) sm[w] = m, sq[w] = q, sn[w] = k; __syncthreads();
    if (!threadIdx.x) { for (int j = 1; j < blockDim.x / 32; j++) { float e = sm[j] - m, f = 1 / (k + sn[j]); m = (m * k + sm[j] * sn[j]) * f; q += sq[j] + e * e * k * sn[j] * f; k += sn[j]; } mean[ch] = m, var[ch] = q / k; }
}
// Bicubic enlargement by 2.5, a pixel a thread.
__device__ __forceinline__ void cubic(float t, float *w) { const float A = -0.75f; float x = t + 1; w[0] = ((A * x - 5 * A) * x + 8 * A) * x - 4 * A; x = t; w[1] = ((A + 2) * x - (A + 3)) * x * x + 1; x = 1 - t; w[2] = ((A + 2) * x - (A + 3)) * x * x + 1; w[3] = 1 - w[0] - w[1] - w[2]; }
K bicubic(const float *__restrict__ x, float *__restrict__ y, int w, int h, int W) {
    int i = AT, X = i % W, Y = i / W; float fx = (X + 0.5f) * 0.4f - 0.5f, fy = (Y + 0.5f) * 0.4f - 0.5f, ix = floorf(fx), iy = floorf(fy), a[4], b[4], s = 0; cubic(fx - ix, a), cubic(fy - iy, b);
    UNROLL for (int r = 0; r < 4; r++) { int yy = min(max((int)iy - 1 + r, 0), h - 1); float q = 0; UNROLL for (int c = 0; c < 4; c++) { int xx = min(max((int)ix - 1 + c, 0), w - 1); q += x[yy * w + xx] * a[c]; } s += q * b[r]; }
    y[i] = s;
}
// Suppression of overlapping boxes: bits of 64 boxes against 64 others.
K nms_mask(const float4 *__restrict__ boxes, u64 *__restrict__ mask, int n, float limit) {
    __shared__ float4 s[64]; int r = blockIdx.y, c = blockIdx.x, t = threadIdx.x; s[t] = boxes[c * 64 + t]; __syncthreads();
    float4 a = boxes[r * 64 + t]; u64 bits = 0; float sa = a.z * a.w;
    for (int i = r == c ? t + 1 : 0; i < 64; i++) { float4 b = s[i]; float w = fmaxf(fminf(a.x + a.z, b.x + b.z) - fmaxf(a.x, b.x), 0.f), h = fmaxf(fminf(a.y + a.w, b.y + b.w) - fmaxf(a.y, b.y), 0.f), o = w * h; if (o > limit * (sa + b.z * b.w - o)) bits |= 1ull << i; }
    mask[(r * 64 + t) * (n / 64) + c] = bits;
}
// Regions of a feature map by four bilinear samples a bin, 7x7 bins.
K roi_align(const float *__restrict__ x, const float4 *__restrict__ rois, float *__restrict__ y, int w, int h, int channels, int total) {
    for (int i = AT; i < total; i += gridDim.x * blockDim.x) {
        int px = i % 7, py = i / 7 % 7, ch = i / 49 % channels, r = i / 49 / channels; float4 b = rois[r]; const float *p = x + ch * w * h; float bw = b.z / 7, bh = b.w / 7, s = 0;
        for (int a = 0; a < 2; a++) for (int c = 0; c < 2; c++) {
            float fy = b.y + (py + (a + 0.5f) / 2) * bh, fx = b.x + (px + (c + 0.5f) / 2) * bw; int y0 = min((int)fy, h - 2), x0 = min((int)fx, w - 2); float ly = fy - y0, lx = fx - x0;
            s += (1 - ly) * ((1 - lx) * p[y0 * w + x0] + lx * p[y0 * w + x0 + 1]) + ly * ((1 - lx) * p[(y0 + 1) * w + x0] + lx * p[(y0 + 1) * w + x0 + 1]);
        }
        y[i] = s * 0.25f;
    }
}
// Merge sort of 1024 keys in shared memory: eight a thread by exchanges, then merges along diagonals.
K block_merge(const u32 *__restrict__ x, u32 *__restrict__ y) {
    __shared__ u32 s[1024]; int t = threadIdx.x; u32 v[8];
    UNROLL for (int k = 0; k < 8; k++) v[k] = x[blockIdx.x * 1024 + t * 8 + k];
    UNROLL for (int r = 0; r < 8; r++) UNROLL for (int k = r & 1; k < 7; k += 2) { u32 a = min(v[k], v[k + 1]), b = max(v[k], v[k + 1]); v[k] = a, v[k + 1] = b; }
    for (int n = 1; n < 128; n *= 2) {
        __syncthreads(); UNROLL for (int k = 0; k < 8; k++) s[t * 8 + k] = v[k]; __syncthreads();
        int first = t / (2 * n) * 2 * n * 8, d = t % (2 * n) * 8, len = n * 8, lo = max(0, d - len), hi = min(d, len);
        while (lo < hi) { int m = (lo + hi) / 2; if (s[first + m] <= s[first + len + d - 1 - m]) lo = m + 1; else hi = m; }
        int a = lo, b = d - lo;
        UNROLL for (int k = 0; k < 8; k++) { bool left = b >= len || (a < len && s[first + a] <= s[first + len + b]); v[k] = left ? s[first + a] : s[first + len + b]; if (left) a++; else b++; }
    }
    UNROLL for (int k = 0; k < 8; k++) y[blockIdx.x * 1024 + t * 8 + k] = v[k];
}
// Distinct columns of a sparse product's rows: a warp a row, a hash table of 512 in shared memory.
K hash_symbolic(const u32 *__restrict__ cols, int *__restrict__ count, int each) {
    __shared__ int s[4][512]; int w = threadIdx.x / 32, r = AT / 32, n = 0; for (int i = LANE; i < 512; i += 32) s[w][i] = -1; __syncwarp();
    for (int i = LANE; i < each; i += 32) { int c = cols[r * each + i] & 1023, h = c * 107 & 511; for (;;) { int o = atomicCAS(&s[w][h], -1, c); if (o == -1) { n++; break; } if (o == c) break; h = h + 1 & 511; } }
    n = __reduce_add_sync(ALL, n); if (!LANE) count[r] = n;
}
// Convolution 3x3 of NHWC halves as a product by mma with cp.async in two stages: a CTA 64 pixels by 64 channels, 32 channels a step.
#define LDM4(r, p) asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];" : "=r"((r)[0]), "=r"((r)[1]), "=r"((r)[2]), "=r"((r)[3]) : "r"(p))
#define LDM4T(r, p) asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3},[%4];" : "=r"((r)[0]), "=r"((r)[1]), "=r"((r)[2]), "=r"((r)[3]) : "r"(p))
#define MMA(c, a, b0, b1) asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};" : "+f"((c)[0]), "+f"((c)[1]), "+f"((c)[2]), "+f"((c)[3]) : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"(b0), "r"(b1))
#define CPA(to, from) asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(to), "l"(from) : "memory")
#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")
K conv_mma(const __half *__restrict__ x, const __half *__restrict__ wt, __half2 *__restrict__ y, int W, int C) {
    __shared__ __align__(16) __half A[2][64][40], B[2][64][40]; int t = threadIdx.x, w = t / 32, px = blockIdx.x * 64, steps = 9 * C / 32;
    auto load = [&](int k, int s) { int tap = k / (C / 32), part = k % (C / 32);
        UNROLL for (int j = 0; j < 2; j++) { int i = t + j * 128, r = i / 4, q = i % 4, p = px + r, X = p % W + tap % 3, Y = p / W + tap / 3; CPA(place(&A[s][r][q * 8]), x + ((size_t)(Y * (W + 2) + X) * C + part * 32 + q * 8)); CPA(place(&B[s][r][q * 8]), wt + ((size_t)(blockIdx.y * 64 + r) * 9 * C + tap * C + part * 32 + q * 8)); } COMMIT; };
    int wr = w & 1, wc = w / 2; load(0, 0); float d[2][4][4] = {};
    for (int k = 0; k < steps; k++) { if (k + 1 < steps) load(k + 1, k + 1 & 1); else COMMIT; asm volatile("cp.async.wait_group 1;" ::: "memory"); __syncthreads(); int s = k & 1;
        UNROLL for (int kk = 0; kk < 32; kk += 16) { u32 a[2][4], b[2][4];
            UNROLL for (int m = 0; m < 2; m++) LDM4(a[m], place(&A[s][wr * 32 + m * 16 + (LANE & 15)][kk + LANE / 16 * 8]));
            UNROLL for (int n = 0; n < 2; n++) LDM4(b[n], place(&B[s][wc * 32 + n * 16 + (LANE & 15)][kk + LANE / 16 * 8]));
            UNROLL for (int m = 0; m < 2; m++) UNROLL for (int n = 0; n < 4; n++) MMA(d[m][n], a[m], b[n / 2][n & 1], b[n / 2][(n & 1) + 2]); }
        __syncthreads(); }
    UNROLL for (int m = 0; m < 2; m++) UNROLL for (int n = 0; n < 4; n++) { int r = px + wr * 32 + m * 16 + LANE / 4, q = blockIdx.y * 64 + wc * 32 + n * 8 + LANE % 4 * 2; y[((size_t)r * gridDim.y * 64 + q) / 2] = __floats2half2_rn(fmaxf(d[m][n][0], 0.f), fmaxf(d[m][n][1], 0.f)); y[((size_t)(r + 8) * gridDim.y * 64 + q) / 2] = __floats2half2_rn(fmaxf(d[m][n][2], 0.f), fmaxf(d[m][n][3], 0.f)); }
}
// Product of 16 rows of halves and 4-bit weights kept in the order of fragments: a warp 32 columns, the depth split over four warps, then summed in shared memory.
K w4_fragments(const __half *__restrict__ x, const uint4 *__restrict__ q, const __half2 *__restrict__ scales, float *__restrict__ y, int depth, int n) {
    __shared__ float s[4][16][33]; int w = threadIdx.x / 32, k16 = depth / 16; float c[4][4] = {};
    for (int k = w * k16 / 4; k < (w + 1) * k16 / 4; k++) {
        u32 a[4]; const __half *p = x + (LANE / 4) * depth + k * 16 + LANE % 4 * 2; a[0] = *(const u32 *)p, a[1] = *(const u32 *)(p + 8 * depth), a[2] = *(const u32 *)(p + 8), a[3] = *(const u32 *)(p + 8 * depth + 8);
        u32 b = ((const u32 *)q)[((size_t)blockIdx.x * k16 + k) * 64 + LANE], e = ((const u32 *)q)[((size_t)blockIdx.x * k16 + k) * 64 + 32 + LANE];
        UNROLL for (int j = 0; j < 4; j++) { u32 v = j < 2 ? b : e, lo, hi; if (j & 1) v >>= 8; asm("lop3.b32 %0,%1,0x000f000f,0x64006400,0xea;" : "=r"(lo) : "r"(v)); asm("lop3.b32 %0,%1,0x000f000f,0x64006400,0xea;" : "=r"(hi) : "r"(v >> 4));
            __half2 sc = scales[(k / 8) * n / 2 + blockIdx.x * 16 + j * 4 + LANE % 4], z = __floats2half2_rn(1032.f, 1032.f), l = __hmul2(__hsub2(*(__half2 *)&lo, z), sc), h = __hmul2(__hsub2(*(__half2 *)&hi, z), sc); MMA(c[j], a, *(u32 *)&l, *(u32 *)&h); }
    }
    UNROLL for (int j = 0; j < 4; j++) { int r = LANE / 4, o = j * 8 + LANE % 4 * 2; s[w][r][o] = c[j][0], s[w][r][o + 1] = c[j][1], s[w][r + 8][o] = c[j][2], s[w][r + 8][o + 1] = c[j][3]; }
    __syncthreads();
    for (int i = threadIdx.x; i < 512; i += 128) { int r = i / 32, o = i & 31; y[r * n + blockIdx.x * 32 + o] = s[0][r][o] + s[1][r][o] + s[2][r][o] + s[3][r][o]; }
}
// Causal attention by mma: a CTA 64 queries of a head, width 64, tiles of 64 keys, four warps of 16 rows.
K flash_mma(const __half *__restrict__ Q, const __half *__restrict__ Kt, const __half *__restrict__ V, __half2 *__restrict__ O, int n, float scale) {
    __shared__ __align__(16) __half sk[64][72], sv[64][72]; int t = threadIdx.x, w = t / 32, q0 = blockIdx.x * 64; size_t base = (size_t)blockIdx.y * n * 64; u32 q[4][4];
    UNROLL for (int i = 0; i < 4; i++) { int j = t + i * 128; *(uint4 *)&sk[j / 8][j % 8 * 8] = *(const uint4 *)(Q + base + (size_t)(q0 + j / 8) * 64 + j % 8 * 8); }
    __syncthreads(); UNROLL for (int k = 0; k < 4; k++) LDM4(q[k], place(&sk[w * 16 + (LANE & 15)][k * 16 + LANE / 16 * 8]));
    float o[8][4] = {}, m0 = -1e30f, m1 = -1e30f, l0 = 0, l1 = 0;
    for (int kb = 0; kb <= q0; kb += 64) {
        __syncthreads(); UNROLL for (int i = 0; i < 4; i++) { int j = t + i * 128; *(uint4 *)&sk[j / 8][j % 8 * 8] = *(const uint4 *)(Kt + base + (size_t)(kb + j / 8) * 64 + j % 8 * 8); *(uint4 *)&sv[j / 8][j % 8 * 8] = *(const uint4 *)(V + base + (size_t)(kb + j / 8) * 64 + j % 8 * 8); } __syncthreads();
        float s[8][4] = {}; UNROLL for (int k = 0; k < 4; k++) UNROLL for (int g = 0; g < 4; g++) { u32 b[4]; LDM4(b, place(&sk[g * 16 + (LANE & 15)][k * 16 + LANE / 16 * 8])); MMA(s[2 * g], q[k], b[0], b[2]); MMA(s[2 * g + 1], q[k], b[1], b[3]); }
        int r0 = q0 + w * 16 + LANE / 4; float a0 = m0, a1 = m1;
        UNROLL for (int j = 0; j < 8; j++) UNROLL for (int e = 0; e < 4; e++) { int c = kb + j * 8 + LANE % 4 * 2 + (e & 1); s[j][e] = c <= r0 + (e & 2) * 4 ? s[j][e] * scale : -1e30f; if (e < 2) m0 = fmaxf(m0, s[j][e]); else m1 = fmaxf(m1, s[j][e]); }
        m0 = fmaxf(m0, __shfl_xor_sync(ALL, m0, 1)), m0 = fmaxf(m0, __shfl_xor_sync(ALL, m0, 2)), m1 = fmaxf(m1, __shfl_xor_sync(ALL, m1, 1)), m1 = fmaxf(m1, __shfl_xor_sync(ALL, m1, 2));
        a0 = exp2f(a0 - m0), a1 = exp2f(a1 - m1), l0 *= a0, l1 *= a1; UNROLL for (int j = 0; j < 8; j++) { o[j][0] *= a0, o[j][1] *= a0, o[j][2] *= a1, o[j][3] *= a1; s[j][0] = exp2f(s[j][0] - m0), s[j][1] = exp2f(s[j][1] - m0), s[j][2] = exp2f(s[j][2] - m1), s[j][3] = exp2f(s[j][3] - m1); l0 += s[j][0] + s[j][1], l1 += s[j][2] + s[j][3]; }
        UNROLL for (int k = 0; k < 4; k++) { __half2 h[4] = {__floats2half2_rn(s[2 * k][0], s[2 * k][1]), __floats2half2_rn(s[2 * k][2], s[2 * k][3]), __floats2half2_rn(s[2 * k + 1][0], s[2 * k + 1][1]), __floats2half2_rn(s[2 * k + 1][2], s[2 * k + 1][3])};
            UNROLL for (int g = 0; g < 4; g++) { u32 b[4]; LDM4T(b, place(&sv[k * 16 + (LANE & 15)][g * 16 + LANE / 16 * 8])); MMA(o[2 * g], (u32 *)h, b[0], b[1]); MMA(o[2 * g + 1], (u32 *)h, b[2], b[3]); } }
    }
    l0 += __shfl_xor_sync(ALL, l0, 1), l0 += __shfl_xor_sync(ALL, l0, 2), l1 += __shfl_xor_sync(ALL, l1, 1), l1 += __shfl_xor_sync(ALL, l1, 2); l0 = 1 / l0, l1 = 1 / l1;
    UNROLL for (int j = 0; j < 8; j++) { size_t at = base + (size_t)(q0 + w * 16 + LANE / 4) * 64 + j * 8 + LANE % 4 * 2; O[at / 2] = __floats2half2_rn(o[j][0] * l0, o[j][1] * l0); O[(at + 512) / 2] = __floats2half2_rn(o[j][2] * l1, o[j][3] * l1); }
}
// Rows of an embedding brought by bulk copies, eight under way, and summed: a warp a bag.
K bulk_bag(const float4 *__restrict__ table, const u32 *__restrict__ ids, float4 *__restrict__ y, int bag) {
    __shared__ __align__(128) float4 s[2][8][32]; __shared__ u64 bar[2][8]; int w = threadIdx.x / 32, b = AT / 32; if (!LANE) { UNROLL for (int k = 0; k < 8; k++) asm volatile("mbarrier.init.shared::cta.b64 [%0],1;" ::"r"(place(&bar[w][k])) : "memory"); asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); } __syncwarp();
    auto get = [&](int i) { if (!LANE) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _,[%0],512;\n cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%1],[%2],512,[%0];" ::"r"(place(&bar[w][i & 7])), "r"(place(&s[w][i & 7][0])), "l"(table + (ids[b * bag + i] & 4095) * 32) : "memory"); };
    for (int i = 0; i < 8; i++) get(i);
    float4 a = make_float4(0, 0, 0, 0);
    for (int i = 0; i < bag; i++) { u32 done; do { asm volatile("{ .reg .pred q; mbarrier.try_wait.parity.shared::cta.b64 q,[%1],%2; selp.u32 %0,1,0,q; }" : "=r"(done) : "r"(place(&bar[w][i & 7])), "r"(i >> 3 & 1) : "memory"); } while (!done);
        float4 v = s[w][i & 7][LANE]; a.x += v.x, a.y += v.y, a.z += v.z, a.w += v.w; __syncwarp(); if (i + 8 < bag) get(i + 8); }
    y[b * 32 + LANE] = a;
}
// A matrix by a vector, its depth split over the four CTAs of a cluster, whose sums the first one reads.
K __cluster_dims__(4) cluster_gemv(const float4 *__restrict__ A, const float4 *__restrict__ x, float *__restrict__ y, int depth4) {
    __shared__ float s[64]; u32 rank; asm volatile("mov.u32 %0,%%cluster_ctarank;" : "=r"(rank)); int w = threadIdx.x / 32, part = depth4 / 4;
    for (int r = w; r < 64; r += 8) { float a = 0; for (int i = LANE; i < part; i += 32) { float4 v = A[(size_t)(blockIdx.x / 4 * 64 + r) * depth4 + rank * part + i], u = x[rank * part + i]; a += v.x * u.x + v.y * u.y + v.z * u.z + v.w * u.w; } a = warp_sum(a); if (!LANE) s[r] = a; }
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (!rank && threadIdx.x < 64) { float a = 0; UNROLL for (int k = 0; k < 4; k++) { u32 far; float v; asm volatile("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(far) : "r"(place(s + threadIdx.x)), "r"(k)); asm volatile("ld.shared::cluster.f32 %0,[%1];" : "=f"(v) : "r"(far) : "memory"); a += v; } y[blockIdx.x / 4 * 64 + threadIdx.x] = a; }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
// Eight steps of a stencil over a line that a cluster of eight holds, edges from the neighbours' memory.
K __cluster_dims__(8) cluster_halo(const float *__restrict__ x, float *__restrict__ y, int steps) {
    __shared__ float s[2][512]; u32 rank; asm volatile("mov.u32 %0,%%cluster_ctarank;" : "=r"(rank)); int t = threadIdx.x; s[0][t] = x[AT], s[0][t + 256] = x[AT + 256 * gridDim.x];
    u32 l, r; asm volatile("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(l) : "r"(place(&s[0][511])), "r"((rank + 7) & 7)); asm volatile("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(r) : "r"(place(&s[0][0])), "r"((rank + 1) & 7));
    for (int k = 0; k < steps; k++) { int o = k & 1; asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
        for (int i = t; i < 512; i += 256) { float a, b; if (i) a = s[o][i - 1]; else asm volatile("ld.shared::cluster.f32 %0,[%1];" : "=f"(a) : "r"(l + o * 2048) : "memory"); if (i < 511) b = s[o][i + 1]; else asm volatile("ld.shared::cluster.f32 %0,[%1];" : "=f"(b) : "r"(r + o * 2048) : "memory"); s[o ^ 1][i] = 0.5f * s[o][i] + 0.25f * (a + b); } }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory"); y[AT] = s[steps & 1][t], y[AT + 256 * gridDim.x] = s[steps & 1][t + 256];
}
// Charges spread to 4x4x4 points of a grid by atomics, sixteen lanes a charge, four points each.
K pme_spread(const float4 *__restrict__ atoms, float *grid, int n) {
    int a = AT / 16, j = AT & 15; float4 p = atoms[a]; float fx = p.x - floorf(p.x), fy = p.y - floorf(p.y), fz = p.z - floorf(p.z); int X = (int)p.x, Y = (int)p.y + (j & 3), Z = (int)p.z + j / 4;
    auto spline = [](float t, int k) { float u = 1 - t; return k == 0 ? u * u * u / 6 : k == 1 ? (3 * t * t * t - 6 * t * t + 4) / 6 : k == 2 ? (3 * u * u * u - 6 * u * u + 4) / 6 : t * t * t / 6; };
    float q = p.w * spline(fy, j & 3) * spline(fz, j / 4); UNROLL for (int k = 0; k < 4; k++) atomicAdd(&grid[((Z & n - 1) * n + (Y & n - 1)) * n + (X + k & n - 1)], q * spline(fx, k));
}
// Estimates of pi by xoroshiro128+, a generator a thread.
K xoroshiro_pi(const ulonglong2 *__restrict__ seeds, u32 *__restrict__ hits, int n) {
    ulonglong2 s = seeds[AT]; u64 a = s.x, b = s.y | 1; u32 c = 0;
    for (int i = 0; i < n; i++) { u64 r = a + b; b ^= a; a = (a << 24 | a >> 40) ^ b ^ b << 16; b = b << 37 | b >> 27; float x = (u32)(r >> 40) * 0x1p-24f, y = (u32)(r >> 16 & 0xffffff) * 0x1p-24f; c += x * x + y * y < 1.f; }
    hits[AT] = c;
}
// BLAKE2b of a block of 128 bytes a thread.
__constant__ u8 SIGMA[12][16] = {{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15},{14,10,4,8,9,15,13,6,1,12,0,2,11,7,5,3},{11,8,12,0,5,2,15,13,10,14,3,6,7,1,9,4},{7,9,3,1,13,12,11,14,2,6,5,10,4,0,15,8},{9,0,5,7,2,4,10,15,14,1,11,12,6,8,3,13},{2,12,6,10,0,11,8,3,4,13,7,5,15,14,1,9},{12,5,1,15,14,13,4,10,0,7,6,3,9,2,8,11},{13,11,7,14,12,1,3,9,5,0,15,4,8,6,2,10},{6,15,14,9,11,3,0,8,12,2,13,7,1,4,10,5},{10,2,8,4,7,6,1,5,15,11,9,14,3,12,13,0},{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15},{14,10,4,8,9,15,13,6,1,12,0,2,11,7,5,3}};
K blake2b(const u64 *__restrict__ x, u64 *__restrict__ y) {
    const u64 iv[8] = {0x6a09e667f3bcc908ull,0xbb67ae8584caa73bull,0x3c6ef372fe94f82bull,0xa54ff53a5f1d36f1ull,0x510e527fade682d1ull,0x9b05688c2b3e6c1full,0x1f83d9abfb41bd6bull,0x5be0cd19137e2179ull}; __shared__ u64 m[16][64]; int t = threadIdx.x; u64 v[16];
    for (int k = 0; k < 16; k++) m[k][t] = x[(blockIdx.x * 16 + k) * 64 + t];
    UNROLL for (int k = 0; k < 8; k++) v[k] = iv[k], v[k + 8] = iv[k]; v[0] ^= 0x01010040, v[12] ^= 128, v[14] = ~v[14];
    auto g = [&](int a, int b, int c, int d, u64 p, u64 q) { v[a] += v[b] + p; v[d] ^= v[a]; v[d] = v[d] >> 32 | v[d] << 32; v[c] += v[d]; v[b] ^= v[c]; v[b] = v[b] >> 24 | v[b] << 40; v[a] += v[b] + q; v[d] ^= v[a]; v[d] = v[d] >> 16 | v[d] << 48; v[c] += v[d]; v[b] ^= v[c]; v[b] = v[b] >> 63 | v[b] << 1; };
    _Pragma("unroll 1") for (int r = 0; r < 12; r++) { const u8 *s = SIGMA[r]; g(0, 4, 8, 12, m[s[0]][t], m[s[1]][t]); g(1, 5, 9, 13, m[s[2]][t], m[s[3]][t]); g(2, 6, 10, 14, m[s[4]][t], m[s[5]][t]); g(3, 7, 11, 15, m[s[6]][t], m[s[7]][t]); g(0, 5, 10, 15, m[s[8]][t], m[s[9]][t]); g(1, 6, 11, 12, m[s[10]][t], m[s[11]][t]); g(2, 7, 8, 13, m[s[12]][t], m[s[13]][t]); g(3, 4, 9, 14, m[s[14]][t], m[s[15]][t]); }
    UNROLL for (int k = 0; k < 8; k++) y[(blockIdx.x * 8 + k) * 64 + t] = v[k] ^ v[k + 8] ^ iv[k];
}
// Powers in the field of 2^255 - 19 by five limbs of 51 bits.
K curve_square(const u64 *__restrict__ x, u64 *__restrict__ y, int n) {
    typedef unsigned __int128 W; const u64 M = (1ull << 51) - 1; u64 a[5]; UNROLL for (int k = 0; k < 5; k++) a[k] = x[k * gridDim.x * blockDim.x + AT] & M;
    for (int i = 0; i < n; i++) { W t0 = (W)a[0] * a[0] + (W)(38 * a[1]) * a[4] + (W)(38 * a[2]) * a[3], t1 = (W)(2 * a[0]) * a[1] + (W)(38 * a[2]) * a[4] + (W)(19 * a[3]) * a[3], t2 = (W)(2 * a[0]) * a[2] + (W)a[1] * a[1] + (W)(38 * a[3]) * a[4], t3 = (W)(2 * a[0]) * a[3] + (W)(2 * a[1]) * a[2] + (W)(19 * a[4]) * a[4], t4 = (W)(2 * a[0]) * a[4] + (W)(2 * a[1]) * a[3] + (W)a[2] * a[2];
        t1 += (u64)(t0 >> 51); t2 += (u64)(t1 >> 51); t3 += (u64)(t2 >> 51); t4 += (u64)(t3 >> 51); u64 c = (u64)(t4 >> 51); a[0] = ((u64)t0 & M) + c * 19; a[1] = ((u64)t1 & M) + (a[0] >> 51); a[0] &= M; a[2] = (u64)t2 & M, a[3] = (u64)t3 & M, a[4] = (u64)t4 & M; }
    UNROLL for (int k = 0; k < 5; k++) y[k * gridDim.x * blockDim.x + AT] = a[k];
}
// Edit distances of 64 letters by Myers' bits, a pattern a thread.
K myers_bits(const u32 *__restrict__ pattern, const u8 *__restrict__ text, int *__restrict__ y, int n) {
    __shared__ u8 s[1024]; for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = text[i] & 3; __syncthreads(); u64 peq[4] = {}; u32 p[4]; UNROLL for (int k = 0; k < 4; k++) p[k] = pattern[AT * 4 + k];
    UNROLL for (int k = 0; k < 64; k++) { u32 c = p[k / 16] >> (k & 15) * 2 & 3; UNROLL for (int j = 0; j < 4; j++) peq[j] |= (u64)(c == j) << k; }
    u64 pv = ~0ull, mv = 0; int score = 64, best = 64;
    for (int i = 0; i < n; i++) { int c = s[i]; u64 eq = c & 2 ? (c & 1 ? peq[3] : peq[2]) : (c & 1 ? peq[1] : peq[0]), xv = eq | mv, xh = (((eq & pv) + pv) ^ pv) | eq, ph = mv | ~(xh | pv), mh = pv & xh; score += (int)(ph >> 63) - (int)(mh >> 63); ph <<= 1, mh <<= 1; pv = mh | ~(xv | ph), mv = ph & xv; best = min(best, score); }
    y[AT] = best;
}
// Columns of differences packed in `width` bits, unpacked and summed: a CTA 1024 values.
K delta_unpack(const u32 *__restrict__ x, const u32 *__restrict__ first, u32 *__restrict__ y, int width) {
    __shared__ u32 s[8]; int t = threadIdx.x, b = blockIdx.x; const u32 *p = x + b * 32 * width; u32 v[4], sum = 0, mask = (1u << width) - 1;
    UNROLL for (int k = 0; k < 4; k++) { u32 bit = (t * 4 + k) * width, w = bit / 32; u64 q = (u64)p[w + 1] << 32 | p[w]; u32 d = (u32)(q >> (bit & 31)) & mask; sum += (d >> 1) ^ -(d & 1); v[k] = sum; }
    u32 a = sum; UNROLL for (int d = 1; d < 32; d *= 2) { u32 o = __shfl_up_sync(ALL, a, d); if (LANE >= d) a += o; } if (LANE == 31) s[t / 32] = a; __syncthreads(); u32 before = first[b] + a - sum; for (int k = 0; k < t / 32; k++) before += s[k];
    ((uint4 *)y)[b * 256 + t] = make_uint4(v[0] + before, v[1] + before, v[2] + before, v[3] + before);
}
// Letters of UTF-8 counted, bad sequences too, sixteen bytes a thread and turn.
K utf8_count(const uint4 *__restrict__ x, u32 *total, int n) {
    u32 c = 0, bad = 0; for (int i = AT; i < n; i += gridDim.x * blockDim.x) { uint4 v = x[i]; u32 w[4] = {v.x, v.y, v.z, v.w}, last = 0; UNROLL for (int k = 0; k < 4; k++) { u32 tail = (w[k] >> 7) & ~(w[k] >> 6) & 0x01010101, lead = (w[k] >> 7) & (w[k] >> 6) & 0x01010101; c += 4 - __popc(tail); u32 after = lead << 8 | last >> 24; bad += __popc(after & ~tail & 0x01010101); last = lead; } }
    c = __reduce_add_sync(ALL, c), bad = __reduce_add_sync(ALL, bad); if (!LANE) atomicAdd(total, c), atomicAdd(total + 1, bad);
}
// Triangular systems of 32 in f64: a warp a system, a row a lane.
K trsm64(const double *__restrict__ L, const double *__restrict__ b, double *__restrict__ x) {
    __shared__ double s[4][32][33]; int w = threadIdx.x / 32, q = AT / 32; for (int k = 0; k < 32; k++) s[w][k][LANE] = L[(q * 32 + k) * 32 + LANE]; __syncwarp(); double r = b[q * 32 + LANE], inv = 1 / (s[w][LANE][LANE] + 4);
    for (int k = 0; k < 32; k++) { double v = __shfl_sync(ALL, r * inv, k); if (LANE == k) r = v; else if (LANE > k) r -= s[w][LANE][k] * v; }
    x[q * 32 + LANE] = r;
}
// A cubic spline in f64 at places in any order: binary search, then Horner.
K spline64(const double *__restrict__ knots, const double *__restrict__ c, const double *__restrict__ x, double *__restrict__ y, int n) {
    for (int k = 0; k < 2; k++) { int i = AT + k * gridDim.x * blockDim.x; double v = x[i]; int lo = 0, hi = n - 1; while (hi - lo > 1) { int m = (lo + hi) / 2; if (knots[m] <= v) lo = m; else hi = m; } double d = v - knots[lo]; const double2 *p = (const double2 *)c + lo * 2; double2 a = p[0], b = p[1]; y[i] = ((a.x * d + a.y) * d + b.x) * d + b.y; }
}
// Rays through voxels of 64^3 until one is full.
K voxel_rays(const u8 *__restrict__ full, const float *__restrict__ dirs, int *__restrict__ y) {
    int i = AT; float dx = dirs[3 * i], dy = dirs[3 * i + 1], dz = dirs[3 * i + 2]; int X = 32, Y = 32, Z = 32, sx = dx < 0 ? -1 : 1, sy = dy < 0 ? -1 : 1, sz = dz < 0 ? -1 : 1, n = 0; float tx = fabsf(1 / dx), ty = fabsf(1 / dy), tz = fabsf(1 / dz), ax = tx, ay = ty, az = tz;
    while ((unsigned)X < 64 && (unsigned)Y < 64 && (unsigned)Z < 64 && full[(Z * 64 + Y) * 64 + X] < 248) { if (ax < ay && ax < az) X += sx, ax += tx; else if (ay < az) Y += sy, ay += ty; else Z += sz, az += tz; n++; }
    y[i] = n << 18 | (Z & 63) << 12 | (Y & 63) << 6 | (X & 63);
}
// The eight nearest of 256 points, kept in order in a list of a thread's own.
K knn_list(const float2 *__restrict__ points, const float2 *__restrict__ queries, float *__restrict__ d, int *__restrict__ id) {
    __shared__ float2 s[256]; int t = threadIdx.x; for (int i = t; i < 256; i += blockDim.x) s[i] = points[i]; __syncthreads(); float2 q = queries[AT]; float best[8]; int who[8]; for (int k = 0; k < 8; k++) best[k] = 1e30f, who[k] = -1;
    for (int i = 0; i < 256; i++) { float x = s[i].x - q.x, y = s[i].y - q.y, e = x * x + y * y; if (e < best[7]) { int k = 7; while (k > 0 && best[k - 1] > e) { best[k] = best[k - 1], who[k] = who[k - 1]; k--; } best[k] = e, who[k] = i; } }
    for (int k = 0; k < 8; k++) d[k * gridDim.x * blockDim.x + AT] = best[k], id[k * gridDim.x * blockDim.x + AT] = who[k];
}
// Groups of a query: lanes with the same key add up first, then one adds to a table.
K group_sum(const u32 *__restrict__ keys, const float *__restrict__ v, float *sums, u32 *counts, int n) {
    for (int i = AT; i < n; i += gridDim.x * blockDim.x) { u32 k = keys[i] >> 8 & 255, m = __match_any_sync(ALL, k); float x = v[i], s = 0; for (u32 r = m; r; r &= r - 1) s += __shfl_sync(m, x, __ffs(r) - 1); if (LANE == __ffs(m) - 1) atomicAdd(&sums[k], s), atomicAdd(&counts[k], __popc(m)); }
}
// Gradients of softmax, a warp a row of 512 halves.
K softmax_grad(const uint4 *__restrict__ y, const uint4 *__restrict__ dy, uint4 *__restrict__ dx) {
    int r = AT / 32; uint4 a[2], b[2]; float s = 0; UNROLL for (int k = 0; k < 2; k++) { a[k] = y[(r * 2 + k) * 32 + LANE], b[k] = dy[(r * 2 + k) * 32 + LANE]; UNROLL for (int j = 0; j < 4; j++) { float2 f = __half22float2(((__half2 *)&a[k])[j]), g = __half22float2(((__half2 *)&b[k])[j]); s += f.x * g.x + f.y * g.y; } }
    s = warp_sum(s); UNROLL for (int k = 0; k < 2; k++) { uint4 o; UNROLL for (int j = 0; j < 4; j++) { float2 f = __half22float2(((__half2 *)&a[k])[j]), g = __half22float2(((__half2 *)&b[k])[j]); ((__half2 *)&o)[j] = __floats2half2_rn(f.x * (g.x - s), f.y * (g.y - s)); } dx[(r * 2 + k) * 32 + LANE] = o; }
}
// Adam with moments of 8 bits by blocks of 256 and a book of codes.
K adam8(float *p, const float *__restrict__ g, u8 *m8, u8 *v8, float *ms, float *vs, const float *__restrict__ book) {
    __shared__ float code[256], s[8]; int t = threadIdx.x, b = blockIdx.x; code[t] = book[t]; __syncthreads(); float gr = g[AT], m = 0.9f * code[m8[AT]] * ms[b] + 0.1f * gr, v = 0.999f * fabsf(code[v8[AT]]) * vs[b] + 0.001f * gr * gr, M = cta_max(fabsf(m), s) + 1e-20f, V = cta_max(v, s) + 1e-20f;
    auto find = [&](float x) { int lo = 0; UNROLL for (int k = 128; k; k /= 2) if (lo + k < 256 && code[lo + k] <= x) lo += k; return (u8)lo; };
    p[AT] -= 1e-3f * m / (sqrtf(v) + 1e-8f); m8[AT] = find(m / M), v8[AT] = find(v / V); if (!t) ms[b] = M, vs[b] = V;
}
// Dropout by Philox, a residual and a layer norm in one: a CTA of 128 a row of 1024 halves.
K dropout_norm(const uint4 *__restrict__ x, const uint4 *__restrict__ res, const uint4 *__restrict__ gamma, uint4 *__restrict__ y, uint4 *__restrict__ sum, u32 seed, float keep) {
    __shared__ float s[32]; int t = threadIdx.x, i = AT; uint4 a = x[i], b = res[i], g = gamma[t], o; float v[8], q = 0; u32 rnd[8];
    UNROLL for (int h = 0; h < 2; h++) { u32 c0 = i, c1 = h, c2 = 0, c3 = 0, k0 = seed, k1 = 0; UNROLL for (int r = 0; r < 7; r++) { u32 h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0, h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2; c0 = h1 ^ c1 ^ k0, c1 = l1, c2 = h0 ^ c3 ^ k1, c3 = l0, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u; } rnd[4 * h] = c0, rnd[4 * h + 1] = c1, rnd[4 * h + 2] = c2, rnd[4 * h + 3] = c3; }
    UNROLL for (int j = 0; j < 4; j++) { float2 f = __half22float2(((__half2 *)&a)[j]), r = __half22float2(((__half2 *)&b)[j]); v[2 * j] = r.x + (rnd[2 * j] * 0x1p-32f < keep ? f.x / keep : 0.f), v[2 * j + 1] = r.y + (rnd[2 * j + 1] * 0x1p-32f < keep ? f.y / keep : 0.f); ((__half2 *)&o)[j] = __floats2half2_rn(v[2 * j], v[2 * j + 1]); q += v[2 * j] + v[2 * j + 1]; }
    sum[i] = o; float m = cta_sum(q, s) / 1024; q = 0; UNROLL for (int j = 0; j < 8; j++) v[j] -= m, q += v[j] * v[j]; q = rsqrtf(cta_sum(q, s) / 1024 + 1e-5f);
    UNROLL for (int j = 0; j < 4; j++) { float2 w = __half22float2(((__half2 *)&g)[j]); ((__half2 *)&o)[j] = __floats2half2_rn(v[2 * j] * q * w.x, v[2 * j + 1] * q * w.y); } y[i] = o;
}
// RWKV's recurrence: a CTA a head of 32, a column of the state in registers of each thread.
K wkv(const float *__restrict__ r, const float *__restrict__ k, const float *__restrict__ v, const float *__restrict__ w, const float *__restrict__ u, float *__restrict__ y, int n) {
    __shared__ float sr[32], sk[32], sw[32], su[32]; int t = threadIdx.x, b = blockIdx.x; float st[32] = {}; su[t] = u[t];
    for (int i = 0; i < n; i++) { int at = (b * n + i) * 32 + t; __syncthreads(); sr[t] = r[at], sk[t] = k[at], sw[t] = __expf(-__expf(w[at])); float x = v[at], o = 0; __syncthreads(); UNROLL for (int j = 0; j < 32; j++) { float kv = sk[j] * x; o += sr[j] * (st[j] + su[j] * kv); st[j] = st[j] * sw[j] + kv; } y[at] = o; }
}
// Depthwise convolution 5x5 of NHWC, two halves a thread.
K depthwise5(const __half2 *__restrict__ x, const __half2 *__restrict__ w, __half2 *__restrict__ y, int W, int C2) {
    int c = AT % C2, p = AT / C2, X = p % W, Y = p / W; float2 s = make_float2(0, 0); UNROLL for (int a = 0; a < 5; a++) UNROLL for (int b = 0; b < 5; b++) { float2 f = __half22float2(x[((Y + a) * (W + 4) + X + b) * C2 + c]), g = __half22float2(w[(a * 5 + b) * C2 + c]); s.x += f.x * g.x, s.y += f.y * g.y; } y[AT] = __floats2half2_rn(s.x, s.y);
}
// y = a x + y in f64.
K daxpy(const double *__restrict__ x, double *y, double a, int n) { for (int i = AT; i < n; i += gridDim.x * blockDim.x) y[i] += a * x[i]; }
// Rows to heads: [s][h][d] of 16 bytes to [h][s][d].
K heads_first(const uint4 *__restrict__ x, uint4 *__restrict__ y, int s, int h) { int i = AT, d = i & 15, hh = i / 16 % h, ss = i / 16 / h; y[(hh * s + ss) * 16 + d] = x[i]; }
// Distances by sums of differences, a CTA of 64 a pair of rows.
K cdist1(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ y, int d, int n) { __shared__ float s[32]; int i = blockIdx.x / n, j = blockIdx.x % n; float q = 0; for (int k = threadIdx.x; k < d; k += blockDim.x) q += fabsf(a[i * d + k] - b[j * d + k]); q = cta_sum(q, s); if (!threadIdx.x) y[blockIdx.x] = q; }
// Forward variables of a transducer's loss, diagonal after diagonal, a CTA an utterance.
K rnnt_alpha(const float *__restrict__ blank, const float *__restrict__ emit, float *__restrict__ y, int T, int U) {
    __shared__ float a[2][128]; int u = threadIdx.x, b = blockIdx.x * T * U; for (int d = 0; d < T + U - 1; d++) { int t = d - u; if (t >= 0 && t < T) { float p = d ? -1e30f : 0.f, q = -1e30f; if (t > 0) p = a[d + 1 & 1][u] + blank[b + (t - 1) * U + u]; if (u > 0) q = a[d + 1 & 1][u - 1] + emit[b + t * U + u - 1]; float m = fmaxf(p, q); a[d & 1][u] = m + __logf(__expf(p - m) + __expf(q - m) * (d > 0)); } __syncthreads(); }
    if (!u) y[blockIdx.x] = a[T + U & 1][U - 1];
}
// Factors of 32x32 with pivots in shared memory, a CTA a matrix.
K getrf(const float *__restrict__ x, float *__restrict__ y, int *__restrict__ piv) {
    __shared__ float s[32][33]; __shared__ int pr; int t = threadIdx.x, c = LANE, w = t / 32; for (int r = w; r < 32; r += 4) s[r][c] = x[(blockIdx.x * 32 + r) * 32 + c]; __syncthreads();
    for (int k = 0; k < 32; k++) { if (!w) { float v = LANE >= k ? fabsf(s[LANE][k]) : -1.f; float m = warp_max(v); int p = __ffs(__ballot_sync(ALL, v == m)) - 1; if (!LANE) pr = p, piv[blockIdx.x * 32 + k] = p; } __syncthreads();
        int p = pr; if (!w && p != k) { float a = s[k][c]; s[k][c] = s[p][c], s[p][c] = a; } __syncthreads(); float inv = 1 / s[k][k]; for (int r = k + 1 + w; r < 32; r += 4) { float l = s[r][k] * inv; __syncwarp(); if (c > k) s[r][c] -= l * s[k][c]; else if (c == k) s[r][c] = l; } __syncthreads(); }
    for (int r = w; r < 32; r += 4) y[(blockIdx.x * 32 + r) * 32 + c] = s[r][c];
}
// Counts of a cluster: each CTA sends what it has counted to the first one by red.async, whose mbarrier counts the bytes.
K __cluster_dims__(4) cluster_counts(const u32 *__restrict__ x, u32 *__restrict__ y, int n) {
    __shared__ u32 c[256], all[256]; __shared__ u64 bar; u32 rank, to, tb; asm volatile("mov.u32 %0,%%cluster_ctarank;" : "=r"(rank)); int t = threadIdx.x; c[t] = 0, all[t] = 0; if (!t) { asm volatile("mbarrier.init.shared::cta.b64 [%0],1;" ::"r"(place(&bar)) : "memory"); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory"); if (!rank && !t) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _,[%0],4096;" ::"r"(place(&bar)) : "memory");
    for (int i = t; i < n; i += 256) atomicAdd(&c[x[blockIdx.x * n + i] >> 24], 1); __syncthreads();
    asm volatile("mapa.shared::cluster.u32 %0,%1,0;" : "=r"(to) : "r"(place(&all[t]))); asm volatile("mapa.shared::cluster.u32 %0,%1,0;" : "=r"(tb) : "r"(place(&bar))); asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0],%1,[%2];" ::"r"(to), "r"(c[t]), "r"(tb) : "memory");
    if (!rank) { u32 done; do { asm volatile("{ .reg .pred q; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 q,[%1],0; selp.u32 %0,1,0,q; }" : "=r"(done) : "r"(place(&bar)) : "memory"); } while (!done); y[blockIdx.x / 4 * 256 + t] = all[t]; }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
// Jacobi's iteration with a barrier of the whole grid after each step.
K grid_jacobi(float *a, float *b, u32 *count, int n, int steps) {
    for (int k = 0; k < steps; k++) { float *x = k & 1 ? b : a, *y = k & 1 ? a : b; int i = AT; float l = i ? __ldcg(x + i - 1) : 0, r = i + 1 < n ? __ldcg(x + i + 1) : 0; y[i] = 0.5f * __ldcg(x + i) + 0.25f * (l + r);
        __syncthreads(); if (!threadIdx.x) { __threadfence(); atomicAdd(count, 1); u32 v; do asm volatile("ld.acquire.gpu.global.u32 %0,[%1];" : "=r"(v) : "l"(count) : "memory"); while (v < (k + 1) * gridDim.x); } __syncthreads(); }
}
// Edges of a graph that shorten ways, a warp a vertex.
K sssp_relax(const int *__restrict__ rp, const int *__restrict__ ci, const u32 *__restrict__ w, const u32 *__restrict__ dist, u32 *next, u32 *changed) {
    int v = AT / 32; u32 d = dist[v] & 0xffff, c = 0; for (int e = rp[v] + LANE; e < rp[v + 1]; e += 32) { u32 nd = d + (w[e & 4095] & 1023); int u = ci[e]; if (nd < (dist[u] & 0xffff)) { atomicMin(&next[u], nd); c++; } } c = __reduce_add_sync(ALL, c); if (!LANE && c) atomicAdd(changed, c);
}
// Life on bits, 64 cells a word.
K life_bits(const u64 *__restrict__ x, u64 *__restrict__ y, int w, int h) {
    int i = AT, X = i % w, Y = i / w; u64 r[3][3]; UNROLL for (int a = 0; a < 3; a++) { int q = (Y + a - 1 + h) % h; u64 m = x[q * w + X], l = x[q * w + (X + w - 1) % w], n = x[q * w + (X + 1) % w]; r[a][0] = m << 1 | l >> 63, r[a][1] = m, r[a][2] = m >> 1 | n << 63; }
    u64 s0 = 0, s1 = 0, s2 = 0; UNROLL for (int a = 0; a < 3; a++) UNROLL for (int b = 0; b < 3; b++) if (a != 1 || b != 1) { u64 c0 = s0 & r[a][b]; s0 ^= r[a][b]; u64 c1 = s1 & c0; s1 ^= c0; s2 |= c1; } y[i] = s1 & ~s2 & (s0 | r[1][1]);
}
// f32 to bf16 by chance, a hash of the place as noise, four a thread.
K stochastic_bf16(const float4 *__restrict__ x, uint2 *__restrict__ y, u32 seed) { int i = AT; float4 v = x[i]; u32 h = (i ^ seed) * 0x9E3779B1u; h ^= h >> 15, h *= 0x85EBCA77u, h ^= h >> 13; u32 g = h * 0xC2B2AE3Du; g ^= g >> 16; y[i] = make_uint2((__float_as_uint(v.x) + (h & 0xffff)) >> 16 | ((__float_as_uint(v.y) + (h >> 16)) & 0xffff0000), (__float_as_uint(v.z) + (g & 0xffff)) >> 16 | ((__float_as_uint(v.w) + (g >> 16)) & 0xffff0000)); }
// Column sums and largest values of tiles of 64x64 bf16 that TMA brings, three under way.
struct alignas(64) Map { char bytes[128]; };
K tile_columns(const __grid_constant__ Map map, float2 *__restrict__ y, int tiles) {
    __shared__ __align__(128) __nv_bfloat162 s[3][64][32]; __shared__ u64 bar[3]; __shared__ float ps[8][64], pm[8][64]; int t = threadIdx.x, w = t / 32; float a = 0, b = 0, m = -1e30f, n = -1e30f;
    if (!t) { UNROLL for (int k = 0; k < 3; k++) asm volatile("mbarrier.init.shared::cta.b64 [%0],1;" ::"r"(place(&bar[k])) : "memory"); asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;" ::: "memory"); } __syncthreads();
    auto get = [&](int i) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _,[%0],8192;\n cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%1],[%2,{%3,%4}],[%0];" ::"r"(place(&bar[i % 3])), "r"(place(&s[i % 3][0][0])), "l"(&map), "r"(blockIdx.x * 64), "r"((blockIdx.y * tiles + i) * 64) : "memory"); };
    if (!t) for (int i = 0; i < 3 && i < tiles; i++) get(i);
    for (int i = 0; i < tiles; i++) { u32 done; do { asm volatile("{ .reg .pred q; mbarrier.try_wait.parity.shared::cta.b64 q,[%1],%2; selp.u32 %0,1,0,q; }" : "=r"(done) : "r"(place(&bar[i % 3])), "r"(i / 3 & 1) : "memory"); } while (!done);
        UNROLL for (int r = 0; r < 8; r++) { float2 f = __bfloat1622float2(s[i % 3][w * 8 + r][LANE]); a += f.x, b += f.y, m = fmaxf(m, f.x), n = fmaxf(n, f.y); } __syncthreads(); if (!t && i + 3 < tiles) get(i + 3); }
    ps[w][2 * LANE] = a, ps[w][2 * LANE + 1] = b, pm[w][2 * LANE] = m, pm[w][2 * LANE + 1] = n; __syncthreads();
    if (t < 64) { float q = 0, l = -1e30f; UNROLL for (int k = 0; k < 8; k++) q += ps[k][t], l = fmaxf(l, pm[k][t]); y[(blockIdx.y * gridDim.x + blockIdx.x) * 64 + t] = make_float2(q, l); }
}
