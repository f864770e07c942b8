#include <cuda_fp16.h>
#include <mma.h>
#include <cooperative_groups.h>
#include <cstdint>
#define K extern "C" __global__ void
typedef unsigned u32;
typedef unsigned long long u64;
typedef unsigned char u8;
#define AT (blockIdx.x * blockDim.x + threadIdx.x)

__device__ float warp_sum(float v) { for (int o = 16; o; o /= 2) v += __shfl_xor_sync(~0u, v, o); return v; }
__device__ u32 mix(u32 s) { s ^= s >> 16, s *= 0x85ebca6bu, s ^= s >> 13, s *= 0xc2b2ae35u; return s ^ s >> 16; }

// Arithmetic of a thread alone.
K chebyshev(const float *__restrict__ x, float *__restrict__ y, float c) {
    int i = AT; float t = x[i], a = 0, b = 0;
    #pragma unroll
    for (int k = 24; k > 0; k--) { float n = fmaf(2 * t, a, c / (k * k) - b); b = a, a = n; }
    y[i] = fmaf(t, a, c - b);
}
K haversine(const float2 *__restrict__ p, const float2 *__restrict__ q, float *__restrict__ d) {
    int i = AT; float2 a = p[i], b = q[i];
    float u = sinf((b.x - a.x) * 0.5f), v = sinf((b.y - a.y) * 0.5f);
    d[i] = 12742.f * asinf(sqrtf(fminf(1.f, u * u + cosf(a.x) * cosf(b.x) * v * v)));
}
K eigen3(const float *__restrict__ m, float *__restrict__ o, int n) {
    int i = AT; float a[3][3], c[6];
    for (int k = 0; k < 6; k++) c[k] = m[k * n + i];
    a[0][0] = c[0], a[1][1] = c[1], a[2][2] = c[2], a[0][1] = a[1][0] = c[3], a[0][2] = a[2][0] = c[4], a[1][2] = a[2][1] = c[5];
    #pragma unroll 1
    for (int turn = 0; turn < 4; turn++)
        #pragma unroll
        for (int pq = 0; pq < 3; pq++) {
            const int p = pq == 2 ? 1 : 0, q = pq == 0 ? 1 : 2, r = 3 - p - q;
            float e = a[p][q];
            if (fabsf(e) < 1e-7f) continue;
            float th = (a[q][q] - a[p][p]) / (2 * e), t = (th < 0 ? -1.f : 1.f) / (fabsf(th) + sqrtf(th * th + 1)), cs = rsqrtf(t * t + 1), sn = t * cs;
            a[p][p] -= t * e, a[q][q] += t * e, a[p][q] = a[q][p] = 0;
            float rp = a[r][p], rq = a[r][q];
            a[r][p] = a[p][r] = cs * rp - sn * rq, a[r][q] = a[q][r] = sn * rp + cs * rq;
        }
    for (int k = 0; k < 3; k++) o[k * n + i] = a[k][k];
}
K cordic(const int *__restrict__ x, int *__restrict__ y) {
    int i = AT, a = 0x26dd3b6a, b = 0, z = x[i] >> 2;
    const int t[16] = {0x3243f6a8, 0x1dac6705, 0x0fadbafc, 0x07f56ea6, 0x03feab76, 0x01ffd55b, 0x00fffaaa, 0x007fff55, 0x003fffea, 0x001ffffd, 0x000fffff, 0x0007ffff, 0x0003ffff, 0x0001ffff, 0x0000ffff, 0x00007fff};
    #pragma unroll
    for (int k = 0; k < 16; k++) { int s = z >> 31, u = a - ((b >> k ^ s) - s), v = b + ((a >> k ^ s) - s); z -= (t[k] ^ s) - s, a = u, b = v; }
    y[i] = a ^ b;
}
K keccak(const u64 *__restrict__ x, u64 *__restrict__ y, int n) {
    const int rot[24] = {1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44}, pil[24] = {10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1};
    u64 s[25]; int i = AT;
    for (int k = 0; k < 25; k++) s[k] = k < 9 ? x[k * n + i] : 0;
    #pragma unroll 1
    for (int r = 0; r < 12; r++) {
        u64 b[5];
        #pragma unroll
        for (int k = 0; k < 5; k++) b[k] = s[k] ^ s[k + 5] ^ s[k + 10] ^ s[k + 15] ^ s[k + 20];
        #pragma unroll
        for (int k = 0; k < 5; k++) { u64 t = b[(k + 4) % 5] ^ (b[(k + 1) % 5] << 1 | b[(k + 1) % 5] >> 63);
            #pragma unroll
            for (int j = 0; j < 25; j += 5) s[j + k] ^= t; }
        u64 t = s[1];
        #pragma unroll
        for (int k = 0; k < 24; k++) { u64 w = s[pil[k]]; s[pil[k]] = t << rot[k] | t >> (64 - rot[k]); t = w; }
        #pragma unroll
        for (int j = 0; j < 25; j += 5) {
            #pragma unroll
            for (int k = 0; k < 5; k++) b[k] = s[j + k];
            #pragma unroll
            for (int k = 0; k < 5; k++) s[j + k] = b[k] ^ (~b[(k + 1) % 5] & b[(k + 2) % 5]); }
        s[0] ^= 0x8000000080008081ull * (r + 1);
    }
    for (int k = 0; k < 4; k++) y[k * n + i] = s[k];
}
K newton_fractal(int *__restrict__ y, int w, float step) {
    int i = AT; float a = (i % w) * step - 1.5f, b = (i / w) * step - 1.5f; int k = 0;
    while (k < 40) {
        float c = a * a - b * b, d = 2 * a * b, e = c * a - d * b - 1, f = c * b + d * a, m = 3 * (c * c + d * d) + 1e-12f;
        if (e * e + f * f < 1e-6f) break;
        a -= 3 * (e * c + f * d) / (m * 3), b -= 3 * (f * c - e * d) / (m * 3), k++;
    }
    y[i] = k;
}
K heston_paths(float *__restrict__ y, u32 seed, int steps) {
    int i = AT; u32 s = mix(i * 2654435761u ^ seed); float v = 0.04f, x = 0;
    for (int k = 0; k < steps; k++) {
        s = s * 1664525u + 1013904223u; float u = ((s >> 8) + 1) * (1.f / 16777216);
        s = s * 1664525u + 1013904223u; float w = (s >> 8) * (6.2831853f / 16777216), r = sqrtf(-2 * __logf(u)), p = r * __cosf(w), q = r * __sinf(w);
        float sv = sqrtf(fmaxf(v, 0.f));
        x += -0.5f * fmaxf(v, 0.f) * 0.01f + sv * 0.1f * p, v += 1.5f * (0.04f - v) * 0.01f + 0.3f * sv * 0.1f * (-0.7f * p + 0.714f * q);
    }
    y[i] = __expf(x);
}
K sdf_march(float *__restrict__ y, int w, float step) {
    int i = AT; float dx = (i % w) * step - 1, dy = (i / w) * step - 1, n = rsqrtf(dx * dx + dy * dy + 1), t = 0, d = 0; int k;
    dx *= n, dy *= n;
    for (k = 0; k < 64; k++) {
        float x = dx * t, z = n * t - 3, q = dy * t, a = sqrtf(x * x + q * q) - 1;
        d = sqrtf(a * a + z * z) - 0.4f;
        if (d < 1e-3f || t > 8) break;
        t += d;
    }
    y[i] = t + k;
}
// Streams with something of their own.
K dequant4(const u32 *__restrict__ q, const half *__restrict__ s, uint4 *__restrict__ y) {
    int i = AT; u32 w = q[i]; half2 k = __half2half2(s[i / 16]); uint4 r; u32 *o = &r.x;
    #pragma unroll
    for (int j = 0; j < 4; j++) { half2 h = __hmul2(__hsub2(__halves2half2(__ushort2half_rn(w >> 8 * j & 15), __ushort2half_rn(w >> (8 * j + 4) & 15)), __float2half2_rn(8)), k); o[j] = *(u32 *)&h; }
    y[i] = r;
}
K gru_gates(const float4 *__restrict__ x, const float4 *__restrict__ h, const float4 *__restrict__ s, float4 *__restrict__ y, int n) {
    int i = AT; float4 r = x[i], z = x[i + n], c = x[i + 2 * n], hr = h[i], hz = h[i + n], hc = h[i + 2 * n], o = s[i], v; float *R = &r.x, *Z = &z.x, *C = &c.x, *A = &hr.x, *B = &hz.x, *D = &hc.x, *O = &o.x, *V = &v.x;
    #pragma unroll
    for (int k = 0; k < 4; k++) { float g = 1 / (1 + __expf(-R[k] - A[k])), u = 1 / (1 + __expf(-Z[k] - B[k])), t = tanhf(C[k] + g * D[k]); V[k] = (1 - u) * t + u * O[k]; }
    y[i] = v;
}
K kv_append(const uint4 *__restrict__ k, const int *__restrict__ slot, uint4 *__restrict__ cache) {
    int t = blockIdx.x * blockDim.y + threadIdx.y, c = threadIdx.x;
    cache[(size_t)slot[t] * 16 + c] = k[t * 16 + c];
}
K cast_transpose(const float *__restrict__ x, half *__restrict__ y, half *__restrict__ t, int n) {
    __shared__ half s[32][34];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) { half h = __float2half(x[(r + k) * n + c]); y[(r + k) * n + c] = h, s[threadIdx.y + k][threadIdx.x] = h; }
    __syncthreads();
    for (int k = 0; k < 32; k += 8) t[(blockIdx.x * 32 + threadIdx.y + k) * n + blockIdx.y * 32 + threadIdx.x] = s[threadIdx.x][threadIdx.y + k];
}
K advect(const float *__restrict__ u, const float *__restrict__ v, const float *__restrict__ d, float *__restrict__ o, int n, float dt) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, i = y * n + x;
    float px = fminf(fmaxf(x - dt * u[i], 0.f), n - 2.f), py = fminf(fmaxf(y - dt * v[i], 0.f), n - 2.f); int a = px, b = py;
    px -= a, py -= b;
    const float *q = d + b * n + a;
    o[i] = (1 - py) * ((1 - px) * q[0] + px * q[1]) + py * ((1 - px) * q[n] + px * q[n + 1]);
}
K bilateral(const float *__restrict__ x, float *__restrict__ y, int n, float k) {
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y; float m = x[r * n + c], s = 0, w = 0;
    for (int a = -2; a <= 2; a++) for (int b = -2; b <= 2; b++) {
        float v = x[min(max(r + a, 0), n - 1) * n + min(max(c + b, 0), n - 1)], g = __expf(-k * (v - m) * (v - m) - 0.1f * (a * a + b * b));
        s += g * v, w += g;
    }
    y[r * n + c] = s / w;
}
K winograd_in(const float *__restrict__ x, float *__restrict__ y, int w, int tiles) {
    int i = AT, c = i / tiles, t = i % tiles, per = w / 2 - 1, r = t / per * 2, q = t % per * 2; float d[4][4];
    for (int a = 0; a < 4; a++) for (int b = 0; b < 4; b++) d[a][b] = x[(c * w + r + a) * w + q + b];
    for (int b = 0; b < 4; b++) { float e = d[0][b] - d[2][b], f = d[1][b] + d[2][b], g = d[2][b] - d[1][b], h = d[1][b] - d[3][b]; d[0][b] = e, d[1][b] = f, d[2][b] = g, d[3][b] = h; }
    for (int a = 0; a < 4; a++) { y[(a * 4) * gridDim.x * blockDim.x + i] = d[a][0] - d[a][2], y[(a * 4 + 1) * gridDim.x * blockDim.x + i] = d[a][1] + d[a][2], y[(a * 4 + 2) * gridDim.x * blockDim.x + i] = d[a][2] - d[a][1], y[(a * 4 + 3) * gridDim.x * blockDim.x + i] = d[a][1] - d[a][3]; }
}
K dia_spmv(const float *__restrict__ a, const float *__restrict__ x, float *__restrict__ y, int n, int k) {
    int i = AT; float s = 0;
    for (int j = 0; j < k; j++) { int c = i + (j - k / 2) * 37; if (c >= 0 && c < n) s += a[(size_t)j * n + i] * x[c]; }
    y[i] = s;
}
K column_prefix(const float *__restrict__ x, float *__restrict__ y, int rows, int n) { int c = AT; float s = 0; for (int r = 0; r < rows; r++) s += x[r * n + c], y[r * n + c] = s; }
// Graphs, lists, trees: who loads what depends on what was loaded.
K pagerank_pull(const int *__restrict__ rp, const int *__restrict__ ci, const float *__restrict__ r, float *__restrict__ o, int n) { int i = AT; if (i >= n) return; float s = 0; for (int e = rp[i]; e < rp[i + 1]; e++) s += r[ci[e]]; o[i] = 0.15f / n + 0.85f * s; }
K triangles(const int *__restrict__ rp, const int *__restrict__ ci, u32 *__restrict__ o, int n) {
    int i = AT; u32 found = 0;
    for (int e = rp[i]; e < rp[i + 1]; e++) {
        int j = ci[e], a = rp[i], b = rp[j], ae = rp[i + 1], be = rp[j + 1];
        while (a < ae && b < be) { int u = ci[a], v = ci[b]; found += u == v, a += u <= v, b += v <= u; }
    }
    o[i] = found;
}
K cc_hook(const int *__restrict__ a, const int *__restrict__ b, int *__restrict__ label) { int i = AT, x = a[i], y = b[i]; if (x < y) atomicMin(&label[y], x); else if (y < x) atomicMin(&label[x], y); }
K kd_walk(const float *__restrict__ t, const float *__restrict__ p, int *__restrict__ o, int depth) {
    int i = AT, node = 1; float a = p[2 * i], b = p[2 * i + 1];
    for (int k = 0; k < depth; k++) node = 2 * node + ((k & 1 ? b : a) > t[node]);
    o[i] = node;
}
K interp1d(const float *__restrict__ xs, const float *__restrict__ ys, const float *__restrict__ q, float *__restrict__ o, int n, int each) {
    __shared__ float sx[1024], sy[1024];
    for (int k = threadIdx.x; k < 1024; k += blockDim.x) sx[k] = k * (1.f / 1024) + 1e-4f * xs[k], sy[k] = ys[k];
    __syncthreads();
    for (int k = 0; k < each; k++) {
        int i = (blockIdx.x * each + k) * blockDim.x + threadIdx.x, lo = 0; float v = q[i];
        for (int s = 512; s; s /= 2) if (sx[lo + s] <= v) lo += s;
        int h = min(lo, 1022); float w = (v - sx[h]) / (sx[h + 1] - sx[h]);
        o[i] = sy[h] + w * (sy[h + 1] - sy[h]);
    }
}
K lz_match(const u8 *__restrict__ x, int *__restrict__ o, int window) {
    __shared__ u8 s[1024];
    for (int k = threadIdx.x; k < 1024; k += 128) s[k] = x[blockIdx.x * 256 + k] & 3;
    __syncthreads();
    int at = 512 + threadIdx.x, best = 0;
    for (int d = 1; d <= window; d++) { int l = 0; while (l < 16 && s[at + l] == s[at + l - d]) l++; best = max(best, l << 12 | d); }
    o[AT] = best;
}
K dtw_band(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ o, int n) {
    int w = AT / 32, l = threadIdx.x % 32; float x = a[w * 32 + l], left = 1e30f, diag = 1e30f, v = 1e30f;
    for (int k = 0; k < n + 31; k++) {
        float up = __shfl_up_sync(~0u, v, 1); int j = k - l;
        if (l == 0) up = j == 0 ? 0 : 1e30f;
        if (j >= 0 && j < n) { float d = x - b[w * n + j]; v = d * d + fminf(fminf(left, up), diag); left = v; }
        diag = up;
    }
    if (l == 31) o[w] = v;
}
// Blocks that work together in shared memory.
K radix_select(const u32 *__restrict__ x, u32 *__restrict__ o, int n, int k) {
    __shared__ u32 h[256], want, prefix;
    x += blockIdx.x * n; int t = threadIdx.x;
    if (t == 0) want = k, prefix = 0;
    for (int s = 24; s >= 0; s -= 8) {
        h[t] = 0;
        __syncthreads();
        u32 p = prefix, mask = s == 24 ? 0 : ~0u << (s + 8);
        for (int i = t; i < n; i += 256) { u32 v = x[i]; if ((v & mask) == p) atomicAdd(&h[v >> s & 255], 1); }
        __syncthreads();
        if (t < 32) {
            u32 c[8], sum = 0, w = want;
            for (int j = 0; j < 8; j++) c[j] = h[t * 8 + j], sum += c[j];
            u32 at = sum; for (int d = 1; d < 32; d *= 2) { u32 u = __shfl_up_sync(~0u, at, d); if (t >= d) at += u; }
            u32 before = at - sum;
            if (w >= before && w < at) { for (int j = 0; j < 8; j++) { if (w < before + c[j]) { prefix = p | (t * 8 + j) << s, want = w - before; break; } before += c[j]; } }
        }
        __syncthreads();
    }
    if (t == 0) o[blockIdx.x] = prefix;
}
K sample_rows(const float *__restrict__ x, const float *__restrict__ u, int *__restrict__ o, int n) {
    __shared__ float part[8]; __shared__ float top; __shared__ int found;
    x += blockIdx.x * n; int t = threadIdx.x, l = t % 32, w = t / 32; float v[8], m = -1e30f, s = 0;
    for (int k = 0; k < 8; k++) v[k] = x[t * 8 + k], m = fmaxf(m, v[k]);
    for (int d = 16; d; d /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
    if (l == 0) part[w] = m;
    if (t == 0) found = n - 1;
    __syncthreads();
    if (t == 0) { for (int k = 1; k < 8; k++) m = fmaxf(m, part[k]); top = m; }
    __syncthreads();
    m = top;
    for (int k = 0; k < 8; k++) v[k] = __expf(v[k] - m), s += v[k];
    float at = s; for (int d = 1; d < 32; d *= 2) { float q = __shfl_up_sync(~0u, at, d); if (l >= d) at += q; }
    if (l == 31) part[w] = at;
    __syncthreads();
    float before = 0, all = 0; for (int k = 0; k < 8; k++) { float q = part[k]; if (k < w) before += q; all += q; }
    float c = before + at - s, want = u[blockIdx.x] * all;
    for (int k = 0; k < 8; k++) { c += v[k]; if (c >= want) { atomicMin(&found, t * 8 + k); break; } }
    __syncthreads();
    if (t == 0) o[blockIdx.x] = found;
}
K binomial_tree(const float *__restrict__ s0, float *__restrict__ o, int steps) {
    __shared__ float v[258]; int t = threadIdx.x; float s = s0[blockIdx.x], u = 1.01f, p = 0.5025f;
    v[t] = fmaxf(1.f - s * __powf(u, 2 * t - steps), 0.f);
    if (t == 0) v[256] = v[257] = 0;
    __syncthreads();
    for (int k = steps; k > 0; k--) { float a = v[t], b = v[t + 1]; __syncthreads(); if (t < k) v[t] = 0.9999f * (p * b + (1 - p) * a); __syncthreads(); }
    if (t == 0) o[blockIdx.x] = v[0];
}
K hadamard(const float *__restrict__ x, float *__restrict__ y) {
    __shared__ float s[1024]; int t = threadIdx.x; float v[4];
    for (int k = 0; k < 4; k++) v[k] = x[blockIdx.x * 1024 + k * 256 + t];
    float a = v[0] + v[1], b = v[0] - v[1], c = v[2] + v[3], d = v[2] - v[3]; v[0] = a + c, v[1] = b + d, v[2] = a - c, v[3] = b - d;
    for (int o = 1; o < 32; o *= 2) for (int k = 0; k < 4; k++) { float q = __shfl_xor_sync(~0u, v[k], o); v[k] = t & o ? q - v[k] : v[k] + q; }
    for (int k = 0; k < 4; k++) s[k * 256 + t] = v[k];
    for (int o = 32; o < 256; o *= 2) { __syncthreads(); for (int k = 0; k < 4; k++) v[k] = t & o ? s[k * 256 + (t ^ o)] - v[k] : v[k] + s[k * 256 + (t ^ o)]; __syncthreads(); for (int k = 0; k < 4; k++) s[k * 256 + t] = v[k]; }
    for (int k = 0; k < 4; k++) y[blockIdx.x * 1024 + k * 256 + t] = v[k];
}
K ntt_512(const u32 *__restrict__ x, u32 *__restrict__ y) {
    __shared__ u32 s[512]; const u32 P = 2013265921u; int t = threadIdx.x;
    s[t] = x[blockIdx.x * 512 + t] % P, s[t + 256] = x[blockIdx.x * 512 + 256 + t] % P;
    u32 root = 31;
    for (int h = 256; h; h /= 2) {
        __syncthreads();
        int j = t % h, i = (t / h) * 2 * h + j; u32 w = 1, e = j, r = root;
        for (; e; e /= 2) { if (e & 1) w = (u64)w * r % P; r = (u64)r * r % P; }
        u32 a = s[i], b = s[i + h], c = a + b >= P ? a + b - P : a + b, d = a >= b ? a - b : a + P - b;
        s[i] = c, s[i + h] = (u64)d * w % P, root = (u64)root * root % P;
    }
    __syncthreads();
    y[blockIdx.x * 512 + t] = s[t], y[blockIdx.x * 512 + 256 + t] = s[t + 256];
}
K house_qr(const float *__restrict__ x, float *__restrict__ r) {
    __shared__ float a[32][33]; int c = threadIdx.x % 32, w = threadIdx.x / 32;
    for (int k = w; k < 32; k += 4) a[k][c] = x[blockIdx.x * 1024 + k * 32 + c] + (k == c ? 4.f : 0.f);
    __syncthreads();
    for (int j = 0; j < 31; j++) {
        float v = c >= j ? a[c][j] : 0, s = warp_sum(v * v), h = __shfl_sync(~0u, v, j), al = h < 0 ? sqrtf(s) : -sqrtf(s);
        if (c == j) v -= al;
        float b = 2 / (s - h * h + (h - al) * (h - al));
        __syncthreads();
        for (int k = j + w; k < 32; k += 4) { float q = a[c][k], d = b * warp_sum(v * q); a[c][k] = q - d * v; }
        __syncthreads();
    }
    for (int k = w; k < 32; k += 4) r[blockIdx.x * 1024 + k * 32 + c] = k <= c ? a[k][c] : 0;
}
K erode_bytes(const u8 *__restrict__ x, u8 *__restrict__ y, int n) {
    __shared__ u8 s[22][132]; int c0 = blockIdx.x * 128, r0 = blockIdx.y * 16;
    for (int k = threadIdx.x; k < 18 * 130; k += 256) { int r = min(max(r0 + k / 130 - 1, 0), n - 1), c = min(max(c0 + k % 130 - 1, 0), n - 1); s[k / 130][k % 130] = x[r * n + c]; }
    __syncthreads();
    for (int k = threadIdx.x; k < 2048; k += 256) { int r = k / 128, c = k % 128; u32 m = 255; for (int a = 0; a < 3; a++) for (int b = 0; b < 3; b++) m = min(m, (u32)s[r + a][c + b]); y[(r0 + r) * n + c0 + c] = m; }
}
K hough(const u32 *__restrict__ p, u32 *__restrict__ o, int each) {
    __shared__ u32 h[2048]; __shared__ float cs[64], sn[64]; int t = threadIdx.x;
    for (int k = t; k < 2048; k += 256) h[k] = 0;
    if (t < 64) __sincosf(t * 0.04908739f, &sn[t], &cs[t]);
    __syncthreads();
    for (int k = 0; k < each; k++) { u32 v = p[(blockIdx.x * each + k) * 256 + t]; float x = (v & 1023) - 512.f, y = (v >> 16 & 1023) - 512.f; for (int a = t % 64, j = 0; j < 16; j++, a = (a + 4) % 64) atomicAdd(&h[a * 32 + (int)((x * cs[a] + y * sn[a] + 725) * 0.0220689f)], 1); }
    __syncthreads();
    for (int k = t; k < 2048; k += 256) if (h[k]) atomicAdd(&o[k], h[k]);
}
K moe_route(const float4 *__restrict__ g, int2 *__restrict__ e, float2 *__restrict__ w, u32 *__restrict__ count) {
    __shared__ u32 c[8]; int i = AT; if (threadIdx.x < 8) c[threadIdx.x] = 0;
    __syncthreads();
    float4 a = g[2 * i], b = g[2 * i + 1]; float v[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}; int p = 0, q = -1;
    #pragma unroll
    for (int k = 1; k < 8; k++) if (v[k] > v[p]) p = k;
    #pragma unroll
    for (int k = 0; k < 8; k++) if (k != p && (q < 0 || v[k] > v[q])) q = k;
    float r = 1 / (1 + __expf(v[q] - v[p]));
    e[i] = make_int2(p, q), w[i] = make_float2(r, 1 - r), atomicAdd(&c[p], 1), atomicAdd(&c[q], 1);
    __syncthreads();
    if (threadIdx.x < 8) atomicAdd(&count[threadIdx.x], c[threadIdx.x]);
}
// Products.
K lora_add(const float *__restrict__ x, const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ y, int n) {
    int w = AT / 32, l = threadIdx.x % 32; float s[8] = {};
    for (int k = l; k < n; k += 32) { float v = x[w * n + k]; for (int r = 0; r < 8; r++) s[r] += v * a[r * n + k]; }
    for (int r = 0; r < 8; r++) s[r] = warp_sum(s[r]);
    for (int k = l; k < n; k += 32) { float v = y[w * n + k]; for (int r = 0; r < 8; r++) v += s[r] * b[r * n + k]; y[w * n + k] = v; }
}
K sgemm_db(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n, int k) {
    __shared__ float as[2][8][64], bs[2][8][64]; int t = threadIdx.x, tr = t / 16 * 4, tc = t % 16 * 4, ar = t / 4, ac = t % 4 * 2, br = t / 32, bc = t % 32 * 2; float s[4][4] = {};
    a += (blockIdx.y * 64 + ar) * k + ac, b += br * n + blockIdx.x * 64 + bc;
    float2 p = *(const float2 *)a, q = *(const float2 *)b;
    as[0][ac][ar] = p.x, as[0][ac + 1][ar] = p.y, *(float2 *)&bs[0][br][bc] = q;
    __syncthreads();
    for (int o = 8, at = 0; o <= k; o += 8, at ^= 1) {
        if (o < k) p = *(const float2 *)(a + o), q = *(const float2 *)(b + o * n);
        #pragma unroll
        for (int j = 0; j < 8; j++) { float4 u = *(float4 *)&as[at][j][tr], v = *(float4 *)&bs[at][j][tc]; float *U = &u.x, *V = &v.x; for (int x = 0; x < 4; x++) for (int y = 0; y < 4; y++) s[x][y] += U[x] * V[y]; }
        if (o < k) as[at ^ 1][ac][ar] = p.x, as[at ^ 1][ac + 1][ar] = p.y, *(float2 *)&bs[at ^ 1][br][bc] = q;
        __syncthreads();
    }
    for (int x = 0; x < 4; x++) *(float4 *)&c[(blockIdx.y * 64 + tr + x) * n + blockIdx.x * 64 + tc] = make_float4(s[x][0], s[x][1], s[x][2], s[x][3]);
}
K wmma_relu(const half *__restrict__ a, const half *__restrict__ b, const float *__restrict__ bias, half *__restrict__ c, int n, int k) {
    using namespace nvcuda::wmma; __shared__ float out[4][16][20];
    int w = threadIdx.x / 32, l = threadIdx.x % 32, r = blockIdx.y * 64 + w * 16, q = blockIdx.x * 32;
    fragment<accumulator, 16, 16, 16, float> s[2]; fill_fragment(s[0], 0.f), fill_fragment(s[1], 0.f);
    for (int o = 0; o < k; o += 16) {
        fragment<matrix_a, 16, 16, 16, half, row_major> x; fragment<matrix_b, 16, 16, 16, half, row_major> y[2];
        load_matrix_sync(x, a + r * k + o, k);
        for (int j = 0; j < 2; j++) load_matrix_sync(y[j], b + o * n + q + 16 * j, n), mma_sync(s[j], x, y[j], s[j]);
    }
    for (int j = 0; j < 2; j++) { store_matrix_sync(&out[w][0][0], s[j], 20, mem_row_major); __syncwarp(); for (int i = l; i < 256; i += 32) c[(r + i / 16) * n + q + 16 * j + i % 16] = __float2half(fmaxf(out[w][i / 16][i % 16] + bias[q + 16 * j + i % 16], 0.f)); __syncwarp(); }
}
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_max4(const float *__restrict__ x, float *__restrict__ o, int n) {
    namespace cg = cooperative_groups; cg::cluster_group g = cg::this_cluster(); __shared__ float part[8]; __shared__ float best; int t = threadIdx.x; float m = -1e30f;
    for (int i = t; i < n; i += 256) m = fmaxf(m, fabsf(x[blockIdx.x * n + i]));
    for (int d = 16; d; d /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
    if (t % 32 == 0) part[t / 32] = m;
    __syncthreads();
    if (t == 0) { for (int k = 1; k < 8; k++) m = fmaxf(m, part[k]); best = m; }
    g.sync();
    float all = 0; for (int k = 0; k < 4; k++) all = fmaxf(all, *g.map_shared_rank(&best, k));
    g.sync();
    float s = 127 / all;
    for (int i = t; i < n; i += 256) o[blockIdx.x * n + i] = rintf(x[blockIdx.x * n + i] * s);
}
K attention_tile(const float *__restrict__ q, const float *__restrict__ k, const float *__restrict__ v, float *__restrict__ o, int keys) {
    __shared__ float ks[32][33], vs[32][33]; int l = threadIdx.x % 32, w = threadIdx.x / 32, row = blockIdx.x * 8 + w; float x = q[row * 32 + l], m = -1e30f, s = 0, acc = 0;
    for (int b = 0; b < keys; b += 32) {
        for (int j = w; j < 32; j += 8) ks[j][l] = k[(b + j) * 32 + l], vs[j][l] = v[(b + j) * 32 + l];
        __syncthreads();
        float d = 0;
        #pragma unroll
        for (int j = 0; j < 32; j++) d += __shfl_sync(~0u, x, j) * ks[l][j];
        d *= 0.17677670f; float n = d; for (int e = 16; e; e /= 2) n = fmaxf(n, __shfl_xor_sync(~0u, n, e));
        n = fmaxf(n, m); float p = __expf(d - n), z = __expf(m - n); m = n, s = s * z + warp_sum(p), acc *= z;
        #pragma unroll
        for (int j = 0; j < 32; j++) acc += __shfl_sync(~0u, p, j) * vs[j][l];
        __syncthreads();
    }
    o[row * 32 + l] = acc / s;
}
K varint_decode(const u8 *__restrict__ x, const int *__restrict__ at, u32 *__restrict__ y, int count) {
    int i = AT, p = at[i]; u32 sum = 0;
    for (int k = 0; k < count; k++) { u32 v = 0, s = 0, b; do { b = x[p++], v |= (b & 127) << s, s += 7; } while (b & 128 && s < 28); sum = sum * 31 + v; }
    y[i] = sum;
}
K adler(const u8 *__restrict__ x, u32 *__restrict__ o, int n) {
    int w = AT / 32, l = threadIdx.x % 32; const u32 *p = (const u32 *)(x + w * n); u32 a = 0, b = 0;
    for (int k = l; k < n / 4; k += 32) { u32 v = p[k], s = __dp4a(v, 0x01010101u, 0u); a += s, b += s * (n - 4 * k) - __dp4a(v, 0x03020100u, 0u); b %= 65521; }
    for (int d = 16; d; d /= 2) a += __shfl_xor_sync(~0u, a, d), b += __shfl_xor_sync(~0u, b, d);
    if (l == 0) o[w] = (a + 1) % 65521 | (b + n) % 65521 << 16;
}
K cg_step(const float4 *__restrict__ p, const float4 *__restrict__ ap, float4 *__restrict__ x, float4 *__restrict__ r, float alpha, float *__restrict__ dot, int n) {
    __shared__ float part[8]; float s = 0;
    for (int i = AT; i < n; i += gridDim.x * blockDim.x) { float4 a = x[i], b = r[i], c = p[i], d = ap[i]; a.x += alpha * c.x, a.y += alpha * c.y, a.z += alpha * c.z, a.w += alpha * c.w; b.x -= alpha * d.x, b.y -= alpha * d.y, b.z -= alpha * d.z, b.w -= alpha * d.w; x[i] = a, r[i] = b, s += b.x * b.x + b.y * b.y + b.z * b.z + b.w * b.w; }
    s = warp_sum(s);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 8) { s = part[threadIdx.x]; for (int d = 4; d; d /= 2) s += __shfl_xor_sync(255, s, d); if (threadIdx.x == 0) atomicAdd(dot, s); }
}
