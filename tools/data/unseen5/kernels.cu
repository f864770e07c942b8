#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cstdint>
#define K extern "C" __global__ void
typedef unsigned u32;
typedef unsigned char u8;
#define AT (blockIdx.x * blockDim.x + threadIdx.x)

__device__ float warp_sum(float v) { for (int o = 16; o; o /= 2) v += __shfl_xor_sync(~0u, v, o); return v; }
__device__ float warp_max(float v) { for (int o = 16; o; o /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, o)); return v; }

// Elementwise, as frameworks launch it: a word, two halves or four words a thread.
K saxpy_one(const float *__restrict__ x, float *__restrict__ y, float a, int n) { int i = AT; if (i < n) y[i] += a * x[i]; }
K saxpy_stride(const float *__restrict__ x, float *__restrict__ y, float a, int n) { for (int i = AT; i < n; i += gridDim.x * blockDim.x) y[i] += a * x[i]; }
K bias_gelu(const half2 *__restrict__ x, const half2 *__restrict__ b, half2 *__restrict__ y, int columns, int n) {
    int i = AT;
    if (i >= n) return;
    float2 v = __half22float2(__hadd2(x[i], b[i % columns]));
    v.x = 0.5f * v.x * (1 + tanhf(0.79788456f * (v.x + 0.044715f * v.x * v.x * v.x)));
    v.y = 0.5f * v.y * (1 + tanhf(0.79788456f * (v.y + 0.044715f * v.y * v.y * v.y)));
    y[i] = __float22half2_rn(v);
}
K scale_residual(const float4 *__restrict__ x, const float4 *__restrict__ r, const float4 *__restrict__ g, float4 *__restrict__ y, int columns) {
    int i = AT;
    float4 a = x[i], b = r[i], c = g[i % columns];
    y[i] = make_float4(b.x + a.x * c.x, b.y + a.y * c.y, b.z + a.z * c.z, b.w + a.w * c.w);
}
K lcg_dropout(const float *__restrict__ x, float *__restrict__ y, u32 seed, float keep) {
    u32 i = AT, s = i * 2654435761u ^ seed;
    s ^= s >> 16, s *= 0x85ebca6bu, s ^= s >> 13, s *= 0xc2b2ae35u, s ^= s >> 16;
    y[i] = (s >> 8) * (1.f / 16777216) < keep ? x[i] / keep : 0;
}
K rgb_to_yuv(const uchar4 *__restrict__ p, uchar4 *__restrict__ q) {
    int i = AT; uchar4 c = p[i];
    int y = (66 * c.x + 129 * c.y + 25 * c.z + 128 >> 8) + 16, u = (-38 * c.x - 74 * c.y + 112 * c.z + 128 >> 8) + 128, v = (112 * c.x - 94 * c.y - 18 * c.z + 128 >> 8) + 128;
    q[i] = make_uchar4(y, u, v, c.w);
}
// Pooling, resizing, im2col: grids over what is written.
K max_pool(const float *__restrict__ x, float *__restrict__ y, int w) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    const float *p = x + (size_t)(2 * r) * w + 2 * c;
    y[r * (w / 2) + c] = fmaxf(fmaxf(p[0], p[1]), fmaxf(p[w], p[w + 1]));
}
K upsample(const float *__restrict__ x, float *__restrict__ y, int w) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    y[r * 2 * w + c] = x[(r / 2) * w + c / 2];
}
K im2col(const float *__restrict__ x, float *__restrict__ y, int h, int w) {
    int i = AT, c = i % w, r = i / w % h, k = i / (w * h), dy = k % 9 / 3 - 1, dx = k % 3 - 1, ch = k / 9;
    int sr = r + dy, sc = c + dx;
    y[i] = sr < 0 || sc < 0 || sr >= h || sc >= w ? 0 : x[(ch * h + sr) * w + sc];
}
K wave_step(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n, float k) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x == 0 || y == 0 || x == n - 1 || y == n - 1) return;
    int i = y * n + x;
    c[i] = 2 * b[i] - a[i] + k * (b[i - 1] + b[i + 1] + b[i - n] + b[i + n] - 4 * b[i]);
}
K trilinear(const float *__restrict__ v, const float *__restrict__ p, float *__restrict__ o, int n, int count) {
    int i = AT;
    float x = p[i] * (n - 2), y = p[i + count] * (n - 2), z = p[i + 2 * count] * (n - 2);
    int a = x, b = y, c = z;
    x -= a, y -= b, z -= c;
    const float *q = v + (c * n + b) * n + a;
    float l0 = q[0] + x * (q[1] - q[0]), l1 = q[n] + x * (q[n + 1] - q[n]), l2 = q[n * n] + x * (q[n * n + 1] - q[n * n]), l3 = q[n * n + n] + x * (q[n * n + n + 1] - q[n * n + n]);
    l0 += y * (l1 - l0), l2 += y * (l3 - l2);
    o[i] = l0 + z * (l2 - l0);
}
// Norms and softmax.
K softmax_warp(const float *__restrict__ x, float *__restrict__ y) {
    int row = AT / 32, l = threadIdx.x % 32; float v[8], m = -1e30f, s = 0;
    for (int k = 0; k < 8; k++) v[k] = x[row * 256 + k * 32 + l], m = fmaxf(m, v[k]);
    m = warp_max(m);
    for (int k = 0; k < 8; k++) v[k] = __expf(v[k] - m), s += v[k];
    s = 1 / warp_sum(s);
    for (int k = 0; k < 8; k++) y[row * 256 + k * 32 + l] = v[k] * s;
}
K softmax_three(const float *__restrict__ x, float *__restrict__ y, int n) {
    __shared__ float part[32];
    x += (size_t)blockIdx.x * n, y += (size_t)blockIdx.x * n;
    float m = -1e30f, s = 0; int w = threadIdx.x / 32, l = threadIdx.x % 32, ws = blockDim.x / 32;
    for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, x[i]);
    m = warp_max(m); if (l == 0) part[w] = m;
    __syncthreads();
    m = warp_max(l < ws ? part[l] : -1e30f);
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += expf(x[i] - m);
    s = warp_sum(s); if (l == 0) part[w] = s;
    __syncthreads();
    s = warp_sum(l < ws ? part[l] : 0);
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = expf(x[i] - m) / s;
}
K group_norm(const float *__restrict__ x, const float *__restrict__ g, float *__restrict__ y, int n) {
    __shared__ float part[2][8];
    x += (size_t)blockIdx.x * n, y += (size_t)blockIdx.x * n;
    float s = 0, q = 0; int w = threadIdx.x / 32, l = threadIdx.x % 32;
    for (int i = threadIdx.x; i < n; i += 256) { float v = x[i]; s += v, q += v * v; }
    s = warp_sum(s), q = warp_sum(q);
    if (l == 0) part[0][w] = s, part[1][w] = q;
    __syncthreads();
    s = q = 0;
    for (int k = 0; k < 8; k++) s += part[0][k], q += part[1][k];
    float mean = s / n, inv = rsqrtf(q / n - mean * mean + 1e-5f);
    for (int i = threadIdx.x; i < n; i += 256) y[i] = (x[i] - mean) * inv * g[blockIdx.x % 32];
}
K rms_vec8(const uint4 *__restrict__ x, const uint4 *__restrict__ g, uint4 *__restrict__ y) {
    __shared__ float part[4];
    int at = blockIdx.x * 128 + threadIdx.x; uint4 u = x[at], h = g[threadIdx.x], o;
    float q = 0;
    for (int k = 0; k < 4; k++) { float2 f = __half22float2(((half2 *)&u)[k]); q += f.x * f.x + f.y * f.y; }
    q = warp_sum(q);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = q;
    __syncthreads();
    q = rsqrtf((part[0] + part[1] + part[2] + part[3]) / 1024 + 1e-6f);
    for (int k = 0; k < 4; k++) {
        float2 f = __half22float2(((half2 *)&u)[k]), w = __half22float2(((half2 *)&h)[k]);
        ((half2 *)&o)[k] = __floats2half2_rn(f.x * q * w.x, f.y * q * w.y);
    }
    y[at] = o;
}
// One query a warp against keys of 64 halves: scores, softmax as it goes, sum of values.
K attention_decode(const half2 *__restrict__ q, const half2 *__restrict__ k, const half2 *__restrict__ v, float *__restrict__ o, int keys) {
    __shared__ float most[8], sums[8], acc[8][64];
    int w = threadIdx.x / 32, l = threadIdx.x % 32, b = blockIdx.x;
    float2 a = __half22float2(q[b * 32 + l]), t = make_float2(0, 0); float m = -1e30f, s = 0;
    for (int i = w; i < keys; i += 8) {
        float2 c = __half22float2(k[((size_t)b * keys + i) * 32 + l]), u = __half22float2(v[((size_t)b * keys + i) * 32 + l]);
        float d = warp_sum(a.x * c.x + a.y * c.y) * 0.125f, n = fmaxf(m, d), f = __expf(m - n), e = __expf(d - n);
        s = s * f + e, t.x = t.x * f + e * u.x, t.y = t.y * f + e * u.y, m = n;
    }
    if (l == 0) most[w] = m, sums[w] = s;
    acc[w][2 * l] = t.x, acc[w][2 * l + 1] = t.y;
    __syncthreads();
    if (threadIdx.x < 64) {
        float M = -1e30f, S = 0, A = 0;
        for (int j = 0; j < 8; j++) M = fmaxf(M, most[j]);
        for (int j = 0; j < 8; j++) { float f = __expf(most[j] - M); S += sums[j] * f, A += acc[j][threadIdx.x] * f; }
        o[b * 64 + threadIdx.x] = A / S;
    }
}
// Convolutions.
K conv_depthwise7(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y, int n) {
    __shared__ float row[256 + 6];
    int c = blockIdx.y, at = blockIdx.x * 256;
    for (int i = threadIdx.x; i < 262; i += 256) { int s = at + i - 3; row[i] = s < 0 || s >= n ? 0 : x[c * n + s]; }
    __syncthreads();
    float a = 0;
    for (int k = 0; k < 7; k++) a += w[c * 7 + k] * row[threadIdx.x + k];
    y[c * n + at + threadIdx.x] = a;
}
K conv2d_16(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y, int n) {
    __shared__ float f[16 * 9], tile[10][34];
    int o = blockIdx.z, c0 = blockIdx.x * 32, r0 = blockIdx.y * 8, t = threadIdx.y * 32 + threadIdx.x;
    if (t < 144) f[t] = w[o * 144 + t];
    float a = 0;
    for (int ch = 0; ch < 16; ch++) {
        __syncthreads();
        for (int i = t; i < 340; i += 256) { int r = r0 + i / 34 - 1, c = c0 + i % 34 - 1; tile[i / 34][i % 34] = r < 0 || c < 0 || r >= n || c >= n ? 0 : x[(ch * n + r) * n + c]; }
        __syncthreads();
        for (int k = 0; k < 9; k++) a += f[ch * 9 + k] * tile[threadIdx.y + k / 3][threadIdx.x + k % 3];
    }
    y[(o * n + r0 + threadIdx.y) * n + c0 + threadIdx.x] = a;
}
K fir_shared(const float *__restrict__ x, const float *__restrict__ h, float *__restrict__ y) {
    __shared__ float s[1024 + 64], t[64];
    const float *p = x + blockIdx.x * 1024;
    for (int i = threadIdx.x; i < 1088; i += 256) s[i] = p[i];
    if (threadIdx.x < 64) t[threadIdx.x] = h[threadIdx.x];
    __syncthreads();
    float a[4] = {0, 0, 0, 0};
    for (int k = 0; k < 64; k++) for (int j = 0; j < 4; j++) a[j] += t[k] * s[threadIdx.x + 256 * j + k];
    for (int j = 0; j < 4; j++) y[blockIdx.x * 1024 + threadIdx.x + 256 * j] = a[j];
}
// Scans, sorts, counts.
K scan_exclusive(const u32 *__restrict__ x, u32 *__restrict__ y, u32 *__restrict__ totals) {
    __shared__ u32 part[16];
    int t = threadIdx.x, l = t % 32, w = t / 32; uint4 v = ((const uint4 *)x)[blockIdx.x * 512 + t];
    u32 s = v.x + v.y + v.z + v.w, i = s;
    for (int o = 1; o < 32; o *= 2) { u32 n = __shfl_up_sync(~0u, i, o); if (l >= o) i += n; }
    if (l == 31) part[w] = i;
    __syncthreads();
    if (w == 0) { u32 p = l < 16 ? part[l] : 0, q = p; for (int o = 1; o < 16; o *= 2) { u32 n = __shfl_up_sync(~0u, q, o); if (l >= o) q += n; } if (l < 16) part[l] = q - p; if (l == 15) totals[blockIdx.x] = q; }
    __syncthreads();
    u32 b = part[w] + i - s;
    ((uint4 *)y)[blockIdx.x * 512 + t] = make_uint4(b, b + v.x, b + v.x + v.y, b + v.x + v.y + v.z);
}
K rank_sort(const u32 *__restrict__ x, u32 *__restrict__ y) {
    __shared__ u32 s[256];
    u32 v = s[threadIdx.x] = x[AT]; int r = 0;
    __syncthreads();
    for (int j = 0; j < 256; j++) r += s[j] < v || (s[j] == v && j < threadIdx.x);
    y[blockIdx.x * 256 + r] = v;
}
K hist_256(const u32 *__restrict__ x, u32 *__restrict__ h, int each) {
    __shared__ u32 s[256];
    s[threadIdx.x] = 0;
    __syncthreads();
    for (int k = 0; k < each; k++) { u32 v = x[(blockIdx.x * each + k) * 256 + threadIdx.x]; atomicAdd(&s[v & 255], 1); atomicAdd(&s[v >> 8 & 255], 1); }
    __syncthreads();
    if (s[threadIdx.x]) atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}
K max_atomic(const u32 *__restrict__ x, u32 *__restrict__ o, int each) {
    u32 m = 0;
    for (int k = 0; k < each; k++) m = max(m, x[(k * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x]);
    m = __reduce_max_sync(~0u, m);
    if (threadIdx.x % 32 == 0) atomicMax(o, m);
}
K ballot_pack(const float *__restrict__ x, u32 *__restrict__ y) { int i = AT; u32 b = __ballot_sync(~0u, x[i] > 0); if (threadIdx.x % 32 == 0) y[i / 32] = b; }
K fnv_rows(const u8 *__restrict__ x, u32 *__restrict__ y, int n) { int i = AT; u32 h = 2166136261u; for (int k = 0; k < n; k++) h = (h ^ x[(size_t)k * gridDim.x * blockDim.x + i]) * 16777619u; y[i] = h; }
K kahan(const double *__restrict__ x, double *__restrict__ y, int n) {
    double s = 0, c = 0;
    for (int k = 0; k < n; k++) { double v = x[(size_t)k * gridDim.x * blockDim.x + AT] - c, t = s + v; c = (t - s) - v, s = t; }
    y[AT] = s;
}
// Rows picked and added up.
K index_select(const float4 *__restrict__ t, const int *__restrict__ i, float4 *__restrict__ y) { int row = AT / 32; y[AT] = t[i[row] * 32 + threadIdx.x % 32]; }
K scatter_rows(const float *__restrict__ x, const int *__restrict__ i, float *__restrict__ y) { int row = AT / 64; atomicAdd(&y[i[row] * 64 + threadIdx.x % 64], x[AT]); }
K sddmm(const int *__restrict__ r, const int *__restrict__ c, const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ o, int each) {
    int w = AT / 32, l = threadIdx.x % 32;
    for (int k = 0; k < each; k++) {
        int e = w * each + k; const float *p = a + r[e] * 64, *q = b + c[e] * 64;
        float s = warp_sum(p[l] * q[l] + p[l + 32] * q[l + 32]);
        if (l == 0) o[e] = s;
    }
}
K bsr_rows(const int *__restrict__ rp, const int *__restrict__ ci, const float4 *__restrict__ v, const float4 *__restrict__ x, float *__restrict__ y) {
    int i = AT, row = i / 4, part = i % 4; float s = 0;
    for (int e = rp[row]; e < rp[row + 1]; e++) { float4 a = v[e * 4 + part], b = x[ci[e]]; s += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
    y[i] = s;
}
K nearest_centroid(const float *__restrict__ p, const float *__restrict__ c, int *__restrict__ o, int n, int k) {
    __shared__ float s[64][8];
    for (int i = threadIdx.x; i < k * 8; i += blockDim.x) ((float *)s)[i] = c[i];
    __syncthreads();
    int i = AT, best = 0; float v[8], d0 = 1e30f;
    for (int j = 0; j < 8; j++) v[j] = p[j * n + i];
    for (int m = 0; m < k; m++) { float d = 0; for (int j = 0; j < 8; j++) d += (v[j] - s[m][j]) * (v[j] - s[m][j]); if (d < d0) d0 = d, best = m; }
    o[i] = best;
}
K ray_boxes(const float *__restrict__ r, const float *__restrict__ b, float *__restrict__ o, int n, int boxes) {
    int i = AT; float ox = r[i], oy = r[i + n], oz = r[i + 2 * n], ix = 1 / (r[i + 3 * n] + 0.01f), iy = 1 / (r[i + 4 * n] + 0.01f), iz = 1 / (r[i + 5 * n] + 0.01f), t = 1e30f;
    for (int k = 0; k < boxes; k++) {
        const float *q = b + 6 * k;
        float x0 = (q[0] - ox) * ix, x1 = (q[0] + 0.3f + q[3] - ox) * ix, y0 = (q[1] - oy) * iy, y1 = (q[1] + 0.3f + q[4] - oy) * iy, z0 = (q[2] - oz) * iz, z1 = (q[2] + 0.3f + q[5] - oz) * iz;
        float a = fmaxf(fmaxf(fminf(x0, x1), fminf(y0, y1)), fminf(z0, z1)), e = fminf(fminf(fmaxf(x0, x1), fmaxf(y0, y1)), fmaxf(z0, z1));
        if (a <= e && e > 0) t = fminf(t, fmaxf(a, 0.f));
    }
    o[i] = t;
}
// Products of many small matrices, and tiles by cp.async.
K batched_32(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c) {
    __shared__ float A[32][33], B[32][32];
    int t = threadIdx.x, x = t % 32, y = t / 32; size_t at = (size_t)blockIdx.x * 1024;
    for (int r = y; r < 32; r += 8) A[r][x] = a[at + r * 32 + x], B[r][x] = b[at + r * 32 + x];
    __syncthreads();
    float s[4] = {0, 0, 0, 0};
    for (int k = 0; k < 32; k++) for (int j = 0; j < 4; j++) s[j] += A[y + 8 * j][k] * B[k][x];
    for (int j = 0; j < 4; j++) c[at + (y + 8 * j) * 32 + x] = s[j];
}
K batched_8(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c) {
    int w = AT / 32, l = threadIdx.x % 32; size_t at = (size_t)w * 64;
    float u0 = a[at + l], u1 = a[at + 32 + l], v0 = b[at + l], v1 = b[at + 32 + l], s0 = 0, s1 = 0;
    int r = l / 8, q = l % 8;
    for (int k = 0; k < 8; k++) {
        float x0 = __shfl_sync(~0u, u0, r * 8 + k), x1 = __shfl_sync(~0u, u1, r * 8 + k), y = k < 4 ? __shfl_sync(~0u, v0, k * 8 + q) : __shfl_sync(~0u, v1, (k - 4) * 8 + q);
        s0 += x0 * y, s1 += x1 * y;
    }
    c[at + l] = s0, c[at + 32 + l] = s1;
}
K pipe_scale(const float4 *__restrict__ x, float4 *__restrict__ y, int tiles) {
    __shared__ float4 s[3][256];
    int t = threadIdx.x; x += (size_t)blockIdx.x * tiles * 256, y += (size_t)blockIdx.x * tiles * 256;
    for (int k = 0; k < 2; k++) { __pipeline_memcpy_async(&s[k][t], &x[k * 256 + t], 16); __pipeline_commit(); }
    for (int k = 0; k < tiles; k++) {
        if (k + 2 < tiles) __pipeline_memcpy_async(&s[(k + 2) % 3][t], &x[(k + 2) * 256 + t], 16);
        __pipeline_commit();
        __pipeline_wait_prior(2);
        float4 v = s[k % 3][t];
        y[k * 256 + t] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
    }
}
K sgemm_async(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n, int k) {
    __shared__ float A[2][64][20], B[2][16][64];
    int t = threadIdx.x, tx = t % 16, ty = t / 16;
    a += (size_t)blockIdx.y * 64 * k, b += blockIdx.x * 64;
    auto bring = [&](int s, int at) {
        __pipeline_memcpy_async(&A[s][t / 4][t % 4 * 4], &a[(size_t)(t / 4) * k + at + t % 4 * 4], 16);
        __pipeline_memcpy_async(&B[s][t / 16][t % 16 * 4], &b[(size_t)(at + t / 16) * n + t % 16 * 4], 16);
        __pipeline_commit();
    };
    float s[4][4] = {};
    bring(0, 0);
    for (int at = 0, f = 0; at < k; at += 16, f ^= 1) {
        if (at + 16 < k) bring(f ^ 1, at + 16); else __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        for (int j = 0; j < 16; j++) {
            float4 v = *(float4 *)&B[f][j][tx * 4];
            for (int i = 0; i < 4; i++) { float u = A[f][ty * 4 + i][j]; s[i][0] += u * v.x, s[i][1] += u * v.y, s[i][2] += u * v.z, s[i][3] += u * v.w; }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++) *(float4 *)&c[(size_t)(blockIdx.y * 64 + ty * 4 + i) * n + blockIdx.x * 64 + tx * 4] = make_float4(s[i][0], s[i][1], s[i][2], s[i][3]);
}
__device__ u32 shared_of(const void *p) { return (u32)__cvta_generic_to_shared(p); }
K hgemm_async(const half *__restrict__ a, const half *__restrict__ b, float *__restrict__ c, int n, int k) {
    __shared__ half A[2][64][40], B[2][64][40];
    int t = threadIdx.x, w = t / 32, l = t % 32;
    a += (size_t)blockIdx.y * 64 * k, b += (size_t)blockIdx.x * 64 * k;
    auto bring = [&](int s, int at) {
        for (int i = t; i < 256; i += 128) {
            __pipeline_memcpy_async(&A[s][i / 4][i % 4 * 8], &a[(size_t)(i / 4) * k + at + i % 4 * 8], 16);
            __pipeline_memcpy_async(&B[s][i / 4][i % 4 * 8], &b[(size_t)(i / 4) * k + at + i % 4 * 8], 16);
        }
        __pipeline_commit();
    };
    float s[8][4] = {};
    bring(0, 0);
    for (int at = 0, f = 0; at < k; at += 32, f ^= 1) {
        if (at + 32 < k) bring(f ^ 1, at + 32); else __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        for (int d = 0; d < 32; d += 16) {
            u32 x[4];
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(shared_of(&A[f][w * 16 + l % 16][d + l / 16 * 8])));
            for (int j = 0; j < 8; j++) {
                u32 y0, y1;
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1},[%2];" : "=r"(y0), "=r"(y1) : "r"(shared_of(&B[f][j * 8 + l % 8][d + l / 8 % 2 * 8])));
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};" : "+f"(s[j][0]), "+f"(s[j][1]), "+f"(s[j][2]), "+f"(s[j][3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y0), "r"(y1));
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < 8; j++) {
        float *p = c + (size_t)(blockIdx.y * 64 + w * 16 + l / 4) * n + blockIdx.x * 64 + j * 8 + l % 4 * 2;
        *(float2 *)p = make_float2(s[j][0], s[j][1]);
        *(float2 *)(p + 8 * n) = make_float2(s[j][2], s[j][3]);
    }
}
