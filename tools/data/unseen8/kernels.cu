#include <cuda_fp16.h>
#include <cstdint>
#define K extern "C" __global__ void
typedef unsigned u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
#define LANE (threadIdx.x % 32)

// Those of n words whose low bits are 0, appended to a queue: an atomic for each, for each warp's, for each CTA's.
K queue_lane(const u32 *__restrict__ x, u32 *__restrict__ out, u32 *count, u32 mask, int n) {
    for (int i = AT; i < n; i += gridDim.x * blockDim.x) { u32 v = x[i]; if (!(v & mask)) out[atomicAdd(count, 1)] = v; }
}
K queue_warp(const u32 *__restrict__ x, u32 *__restrict__ out, u32 *count, u32 mask, int n) {
    for (int i = AT; i < n; i += gridDim.x * blockDim.x) {
        u32 v = x[i], who = __ballot_sync(~0u, !(v & mask)), at = 0;
        if (!who) continue;
        if (LANE == 0) at = atomicAdd(count, __popc(who));
        at = __shfl_sync(~0u, at, 0);
        if (who >> LANE & 1) out[at + __popc(who & ((1u << LANE) - 1))] = v;
    }
}
K queue_block(const u32 *__restrict__ x, u32 *__restrict__ out, u32 *count, u32 mask, int n) {
    __shared__ u32 mine, begin, kept[1024];
    if (threadIdx.x == 0) mine = 0;
    __syncthreads();
    for (int i = AT; i < n; i += gridDim.x * blockDim.x) { u32 v = x[i]; if (!(v & mask)) kept[atomicAdd(&mine, 1)] = v; }
    __syncthreads();
    if (threadIdx.x == 0) begin = atomicAdd(count, mine);
    __syncthreads();
    for (int k = threadIdx.x; k < mine; k += blockDim.x) out[begin + k] = kept[k];
}

// Sobol points by direction numbers, and a product over dimensions.
K sobol(const u32 *__restrict__ dirs, float *__restrict__ y, int dims) {
    __shared__ u32 d[8 * 32];
    for (int k = threadIdx.x; k < dims * 32; k += blockDim.x) d[k] = dirs[k];
    __syncthreads();
    u32 i = AT, g = i ^ i >> 1; float p = 1;
    for (int j = 0; j < dims; j++) {
        u32 s = 0;
        for (u32 b = g, k = 0; b; b >>= 1, k++) if (b & 1) s ^= d[j * 32 + k];
        p *= fabsf(4 * (s * 2.3283064e-10f) - 2) + 0.5f * j / (1 + 0.5f * j);
    }
    y[i] = p;
}

// 3x3 complex matrices, one product a thread: a b + c*.
K su3(const float2 *__restrict__ a, const float2 *__restrict__ b, const float2 *__restrict__ c, float2 *__restrict__ y, int n) {
    int i = AT; float2 u[9], v[9];
    #pragma unroll
    for (int k = 0; k < 9; k++) u[k] = a[k * n + i], v[k] = b[k * n + i];
    #pragma unroll
    for (int r = 0; r < 3; r++)
        #pragma unroll
        for (int q = 0; q < 3; q++) {
            float2 t = c[(q * 3 + r) * n + i]; t.y = -t.y;
            #pragma unroll
            for (int k = 0; k < 3; k++) {
                float2 e = u[r * 3 + k], f = v[k * 3 + q];
                t.x += e.x * f.x - e.y * f.y, t.y += e.x * f.y + e.y * f.x;
            }
            y[(r * 3 + q) * n + i] = t;
        }
}

// A block cipher by tables of words: one table in shared memory, or one for each bank.
#define ROT(v, s) __funnelshift_l(v, v, s)
template <int COPIES> __device__ void cipher(const u32 *table, const u32 *key, u32 *y, int rounds) {
    __shared__ u32 t[256 * COPIES];
    for (int k = threadIdx.x; k < 256 * COPIES; k += blockDim.x) t[k] = table[k / COPIES];
    __syncthreads();
    int i = AT; u32 a = i, b = i * 77u, c = ~i, d = 0x01234567;
    const int l = COPIES > 1 ? LANE : 0;
    #define T(v) t[(v) * COPIES + l]
    for (int r = 0; r < rounds; r++) {
        u32 p = T(a >> 24) ^ ROT(T(b >> 16 & 255), 24) ^ ROT(T(c >> 8 & 255), 16) ^ ROT(T(d & 255), 8) ^ key[4 * r];
        u32 q = T(b >> 24) ^ ROT(T(c >> 16 & 255), 24) ^ ROT(T(d >> 8 & 255), 16) ^ ROT(T(a & 255), 8) ^ key[4 * r + 1];
        u32 s = T(c >> 24) ^ ROT(T(d >> 16 & 255), 24) ^ ROT(T(a >> 8 & 255), 16) ^ ROT(T(b & 255), 8) ^ key[4 * r + 2];
        d = T(d >> 24) ^ ROT(T(a >> 16 & 255), 24) ^ ROT(T(b >> 8 & 255), 16) ^ ROT(T(c & 255), 8) ^ key[4 * r + 3];
        a = p, b = q, c = s;
    }
    ((uint4 *)y)[i] = make_uint4(a, b, c, d);
}
K cipher_one(const u32 *__restrict__ table, const u32 *__restrict__ key, u32 *__restrict__ y, int rounds) { cipher<1>(table, key, y, rounds); }
K cipher_banks(const u32 *__restrict__ table, const u32 *__restrict__ key, u32 *__restrict__ y, int rounds) { cipher<32>(table, key, y, rounds); }

// Costs of 64 disparities along a row, two a lane.
K sgm_path(const u8 *__restrict__ cost, u16 *__restrict__ sum, int w, int p1, int p2) {
    int row = AT / 32; const uchar2 *c = (const uchar2 *)(cost + (size_t)row * w * 64); ushort2 *s = (ushort2 *)(sum + (size_t)row * w * 64);
    int a = 0, b = 0, least = 0;
    for (int x = 0; x < w; x++) {
        uchar2 v = c[x * 32 + LANE];
        int below = __shfl_up_sync(~0u, b, 1), above = __shfl_down_sync(~0u, a, 1);
        if (LANE == 0) below = 60000;
        if (LANE == 31) above = 60000;
        int na = v.x + min(min(a, min(below, b) + p1), least + p2) - least, nb = v.y + min(min(b, min(a, above) + p1), least + p2) - least;
        a = na, b = nb, least = __reduce_min_sync(~0u, min(a, b));
        s[x * 32 + LANE] = make_ushort2(a, b);
    }
}

// Weights of 4 bits that name one of 16 values: by constants, shared memory, a shuffle.
__constant__ float nf4[16] = {-1.0f, -0.6962f, -0.5251f, -0.3949f, -0.2844f, -0.1848f, -0.0911f, 0.f, 0.0796f, 0.1609f, 0.2461f, 0.3379f, 0.4407f, 0.5626f, 0.723f, 1.f};
K nf4_constant(const u32 *__restrict__ x, const float *__restrict__ scale, __half2 *__restrict__ y) {
    int i = AT; u32 v = x[i]; float s = scale[i / 8];
    #pragma unroll
    for (int k = 0; k < 4; k++) y[i * 4 + k] = __floats2half2_rn(nf4[v >> 8 * k & 15] * s, nf4[v >> (8 * k + 4) & 15] * s);
}
K nf4_shared(const u32 *__restrict__ x, const float *__restrict__ scale, __half2 *__restrict__ y) {
    __shared__ float t[16];
    if (threadIdx.x < 16) t[threadIdx.x] = nf4[threadIdx.x];
    __syncthreads();
    int i = AT; u32 v = x[i]; float s = scale[i / 8];
    #pragma unroll
    for (int k = 0; k < 4; k++) y[i * 4 + k] = __floats2half2_rn(t[v >> 8 * k & 15] * s, t[v >> (8 * k + 4) & 15] * s);
}
K nf4_shuffle(const u32 *__restrict__ x, const float *__restrict__ scale, __half2 *__restrict__ y) {
    float t = nf4[LANE & 15];
    int i = AT; u32 v = x[i]; float s = scale[i / 8];
    #pragma unroll
    for (int k = 0; k < 4; k++) y[i * 4 + k] = __floats2half2_rn(__shfl_sync(~0u, t, v >> 8 * k & 15) * s, __shfl_sync(~0u, t, v >> (8 * k + 4) & 15) * s);
}

// One query by pages of 16 keys that a table names; a warp a head of 64.
K paged_attention(const __half2 *__restrict__ q, const __half2 *__restrict__ k, const __half2 *__restrict__ v, const int *__restrict__ pages, float2 *__restrict__ o, int count) {
    int w = AT / 32; float2 qq = __half22float2(q[w * 32 + LANE]), acc = make_float2(0, 0); float top = -1e30f, sum = 0;
    for (int p = 0; p < count; p++) {
        size_t base = (size_t)pages[w * count + p] * 16 * 32 + LANE; float s[16];
        #pragma unroll
        for (int t = 0; t < 16; t++) {
            float2 kk = __half22float2(k[base + t * 32]); float d = qq.x * kk.x + qq.y * kk.y;
            #pragma unroll
            for (int m = 16; m; m /= 2) d += __shfl_xor_sync(~0u, d, m);
            s[t] = d * 0.125f;
        }
        float now = top;
        #pragma unroll
        for (int t = 0; t < 16; t++) now = fmaxf(now, s[t]);
        float f = __expf(top - now); acc.x *= f, acc.y *= f, sum *= f, top = now;
        #pragma unroll
        for (int t = 0; t < 16; t++) { float e = __expf(s[t] - top); float2 vv = __half22float2(v[base + t * 32]); acc.x += e * vv.x, acc.y += e * vv.y, sum += e; }
    }
    o[w * 32 + LANE] = make_float2(acc.x / sum, acc.y / sum);
}

// Forward variables of a label sequence with blanks, one CTA a sequence.
__device__ float log_add(float a, float b) { float m = fmaxf(a, b); return m + __logf(__expf(a - m) + __expf(b - m)); }
K ctc_alpha(const float *__restrict__ logp, const int *__restrict__ label, float *__restrict__ o, int steps, int classes) {
    __shared__ float a[2][132];
    int s = threadIdx.x, b = blockIdx.x, me = s & 1 ? label[b * 64 + s / 2] : 0, skip = s & 1 && s > 2 && me != label[b * 64 + s / 2 - 1];
    const float *p = logp + (size_t)b * steps * classes;
    if (s < 2) a[0][s] = a[1][s] = -1e30f;
    a[0][s + 2] = s < 2 ? p[me] : -1e30f;
    __syncthreads();
    for (int t = 1; t < steps; t++) {
        const float *from = a[(t - 1) & 1] + s + 2; float v = log_add(from[0], from[-1]);
        if (skip) v = log_add(v, from[-2]);
        a[t & 1][s + 2] = v + p[t * classes + me];
        __syncthreads();
    }
    o[b * blockDim.x + s] = a[(steps - 1) & 1][s + 2];
}

// Products modulo a number of 256 bits, eight words a thread.
K mont256(const u32 *__restrict__ x, const u32 *__restrict__ mod, u32 *__restrict__ y, u32 inv, int n, int turns) {
    u32 a[8], b[8], m[8]; int i = AT;
    #pragma unroll
    for (int k = 0; k < 8; k++) a[k] = b[k] = x[k * n + i], m[k] = mod[k];
    #pragma unroll 1
    for (int turn = 0; turn < turns; turn++) {
        u32 t[10] = {0};
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            u64 c = 0;
            #pragma unroll
            for (int k = 0; k < 8; k++) { c += (u64)a[k] * b[j] + t[k]; t[k] = (u32)c, c >>= 32; }
            c += t[8]; t[8] = (u32)c, t[9] = (u32)(c >> 32);
            u32 f = t[0] * inv; c = (u64)f * m[0] + t[0], c >>= 32;
            #pragma unroll
            for (int k = 1; k < 8; k++) { c += (u64)f * m[k] + t[k]; t[k - 1] = (u32)c, c >>= 32; }
            c += t[8]; t[7] = (u32)c, t[8] = t[9] + (u32)(c >> 32);
        }
        #pragma unroll
        for (int k = 0; k < 8; k++) a[k] = t[k];
    }
    #pragma unroll
    for (int k = 0; k < 8; k++) y[k * n + i] = a[k];
}

// Squared distances along rows by lower envelopes, a row of 24 a thread.
K envelope(const float *__restrict__ f, float *__restrict__ d, int n) {
    int i = AT, v[24], k = 0; float z[25], g[24];
    for (int q = 0; q < 24; q++) g[q] = f[q * n + i];
    v[0] = 0, z[0] = -1e20f, z[1] = 1e20f;
    for (int q = 1; q < 24; q++) {
        float s;
        while ((s = ((g[q] + q * q) - (g[v[k]] + v[k] * v[k])) / (2 * q - 2 * v[k])) <= z[k]) k--;
        k++, v[k] = q, z[k] = s, z[k + 1] = 1e20f;
    }
    k = 0;
    for (int q = 0; q < 24; q++) { while (z[k + 1] < q) k++; d[q * n + i] = (q - v[k]) * (q - v[k]) + g[v[k]]; }
}

// A transposed convolution, 3x3, stride 2, eight channels to four.
K deconv2d(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y, int size) {
    __shared__ float ww[8 * 4 * 9];
    for (int k = threadIdx.x; k < 288; k += blockDim.x) ww[k] = w[k];
    __syncthreads();
    int i = AT, side = 2 * size, ox = i % side, oy = i / side; float s[4] = {0};
    for (int c = 0; c < 8; c++)
        #pragma unroll
        for (int ky = 0; ky < 3; ky++)
            #pragma unroll
            for (int kx = 0; kx < 3; kx++) {
                int py = oy + 1 - ky, px = ox + 1 - kx;
                if (py & 1 || px & 1 || py < 0 || px < 0 || py >= side || px >= side) continue;
                float v = x[(c * size + py / 2) * size + px / 2];
                #pragma unroll
                for (int o = 0; o < 4; o++) s[o] += v * ww[(c * 4 + o) * 9 + ky * 3 + kx];
            }
    #pragma unroll
    for (int o = 0; o < 4; o++) y[(o * side + oy) * side + ox] = s[o];
}

// Softmax over the edges of a node, then 32 features: a warp a node, or a thread a node (16 features at a time).
K gat_warp(const int *__restrict__ rp, const int *__restrict__ ci, const float *__restrict__ from, const float *__restrict__ to, const float *__restrict__ h, float *__restrict__ y, int nodes) {
    int i = AT / 32; if (i >= nodes) return;
    int b = rp[i], e = rp[i + 1]; float t = to[i], top = -1e30f, sum = 0, acc = 0;
    for (int k = b + LANE; k < e; k += 32) { float v = from[ci[k]] + t; v = v > 0 ? v : 0.2f * v; top = fmaxf(top, v); }
    for (int m = 16; m; m /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, m));
    for (int k = b; k < e; k++) { int j = ci[k]; float v = from[j] + t; v = __expf((v > 0 ? v : 0.2f * v) - top); sum += v, acc += v * h[j * 32 + LANE]; }
    y[i * 32 + LANE] = acc / sum;
}
K gat_thread(const int *__restrict__ rp, const int *__restrict__ ci, const float *__restrict__ from, const float *__restrict__ to, const float *__restrict__ h, float *__restrict__ y, int nodes) {
    int i = AT; if (i >= nodes) return;
    int b = rp[i], e = rp[i + 1]; float t = to[i], top = -1e30f, sum = 0; float4 acc[8];
    for (int k = b; k < e; k++) { float v = from[ci[k]] + t; v = v > 0 ? v : 0.2f * v; top = fmaxf(top, v); }
    #pragma unroll
    for (int q = 0; q < 8; q++) acc[q] = make_float4(0, 0, 0, 0);
    for (int k = b; k < e; k++) {
        int j = ci[k]; float v = from[j] + t; v = __expf((v > 0 ? v : 0.2f * v) - top); sum += v;
        #pragma unroll
        for (int q = 0; q < 8; q++) { float4 g = ((const float4 *)h)[j * 8 + q]; acc[q].x += v * g.x, acc[q].y += v * g.y, acc[q].z += v * g.z, acc[q].w += v * g.w; }
    }
    float r = 1 / sum;
    #pragma unroll
    for (int q = 0; q < 8; q++) ((float4 *)y)[i * 8 + q] = make_float4(acc[q].x * r, acc[q].y * r, acc[q].z * r, acc[q].w * r);
}

// Cyclic reduction of a system of 256 unknowns by one CTA.
K pcr256(const float *__restrict__ a, const float *__restrict__ b, const float *__restrict__ c, const float *__restrict__ d, float *__restrict__ x) {
    __shared__ float sa[256], sb[256], sc[256], sd[256];
    int t = threadIdx.x, i = AT; float ra = t ? a[i] : 0, rb = b[i] + 4, rc = t < 255 ? c[i] : 0, rd = d[i];
    for (int s = 1; s < 256; s *= 2) {
        sa[t] = ra, sb[t] = rb, sc[t] = rc, sd[t] = rd;
        __syncthreads();
        float f = t >= s ? ra / sb[t - s] : 0, g = t + s < 256 ? rc / sb[t + s] : 0;
        if (t >= s) rb -= f * sc[t - s], rd -= f * sd[t - s], ra = -f * sa[t - s]; else ra = 0;
        if (t + s < 256) rb -= g * sa[t + s], rd -= g * sd[t + s], rc = -g * sc[t + s]; else rc = 0;
        __syncthreads();
    }
    x[i] = rd / rb;
}

// Rays through a tree of boxes with a stack.
K bvh_count(const float4 *__restrict__ node, const float *__restrict__ ray, int *__restrict__ y, int levels, int n) {
    int i = AT, stack[16], top = 0, hits = 0; float r[3], inv[3];
    for (int k = 0; k < 3; k++) r[k] = ray[k * n + i], inv[k] = 1 / (ray[(k + 3) * n + i] + 1e-3f);
    stack[top++] = 1;
    while (top) {
        int at = stack[--top]; float4 b = node[at]; float lo = 0, hi = 1e10f, c[3] = {b.x, b.y, b.z};
        #pragma unroll
        for (int k = 0; k < 3; k++) { float u = (c[k] - b.w - r[k]) * inv[k], v = (c[k] + b.w - r[k]) * inv[k]; lo = fmaxf(lo, fminf(u, v)), hi = fminf(hi, fmaxf(u, v)); }
        if (lo > hi) continue;
        if (at >> (levels - 1)) hits++; else stack[top++] = 2 * at, stack[top++] = 2 * at + 1;
    }
    y[i] = hits;
}

// A range coder's symbols by a table of slots, a stream a thread.
K rans(const u16 *__restrict__ stream, const u32 *__restrict__ table, u8 *__restrict__ y, int n, int count) {
    __shared__ u32 t[4096];
    for (int k = threadIdx.x; k < 4096; k += blockDim.x) t[k] = table[k];
    __syncthreads();
    int i = AT, at = 0; u32 s = 0x10000u + i * 2654435761u % 0x70000000u;
    for (int k = 0; k < count; k++) {
        u32 slot = s & 4095, e = t[slot]; y[k * n + i] = e & 255;
        s = ((e >> 8 & 2047) + 64) * (s >> 12) + (e >> 20);
        while (s < 0x10000u) s = s << 16 | stream[at++ * n + i];
    }
}

// Costs of a census transform over 32 shifts, the least of them.
K census(const u32 *__restrict__ left, const u32 *__restrict__ right, u8 *__restrict__ y, int w) {
    __shared__ u32 row[256 + 32];
    int i = AT; u32 mine = left[i]; (void)w;
    row[threadIdx.x + 32] = right[i];
    if (threadIdx.x < 32) row[threadIdx.x] = blockIdx.x ? right[i - 32] : 0;
    __syncthreads();
    int best = 99, at = 0;
    #pragma unroll
    for (int d = 0; d < 32; d++) { int c = __popc(mine ^ row[threadIdx.x + 32 - d]); if (c < best) best = c, at = d; }
    y[i] = at;
}
