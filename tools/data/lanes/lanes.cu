// In which order the lanes of a warp store to one place, and take their turns at an atomic.
//
//     nvcc -O2 -std=c++17 --extended-lambda -arch=sm_90a -o lanes lanes.cu && ./lanes PATTERNS RESULTS
//
// PATTERNS: PATTERNS times 32 offsets of lanes (uint32, multiples of 16 below REGION), then as many masks of the lanes that take part.
// RESULTS: of each store the region of each pattern, in which lanes have stored their number in each byte and others are 255; then, of
// each atomic, what each lane got (uint32).
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

constexpr int PATTERNS = 512, REGION = 4096;

struct Place {
    unsigned shared;
    char *global;
    unsigned lane;
};

#define SHARED(opcode, value, ...) [] __device__(Place p, unsigned) { \
    unsigned v = p.lane * 0x01010101u; \
    asm volatile("st.shared." opcode " [%0], " value ";" ::"r"(p.shared), __VA_ARGS__ : "memory"); return 0u; }
#define GLOBAL(opcode, value, ...) [] __device__(Place p, unsigned) { \
    unsigned v = p.lane * 0x01010101u; \
    asm volatile("st.global." opcode " [%0], " value ";" ::"l"(p.global), __VA_ARGS__ : "memory"); return 0u; }
#define ATOM(opcode, type, out, place, kind, ...) [] __device__(Place p, unsigned bit) { \
    type old; \
    asm volatile("atom." opcode ";" : out(old) : kind(place), __VA_ARGS__ : "memory"); return *(unsigned *)&old; }

#define STORES(SPACE) \
    store(SPACE("u8", "%1", "r"(v))); \
    store(SPACE("u16", "%1", "h"((unsigned short)v))); \
    store(SPACE("u32", "%1", "r"(v))); \
    store(SPACE("u64", "%1", "l"(twice(v)))); \
    store(SPACE("v2.u32", "{%1, %1}", "r"(v))); \
    store(SPACE("v4.u32", "{%1, %1, %1, %1}", "r"(v)));

__device__ unsigned long long twice(unsigned v) { return v | (unsigned long long)v << 32; }
__device__ float power(unsigned lane) { return __uint_as_float((127 + (lane & 7)) << 23); }

// What `access` leaves in regions full of `filling` (results: whole regions), or what lanes get (results: a word a lane).
template <class Access>
__global__ void run(Access access, bool of_stores, const unsigned *offsets, const unsigned *masks, unsigned *results, char *memory) {
    __shared__ unsigned tile[REGION / 4];
    unsigned lane = threadIdx.x, shared = (unsigned)__cvta_generic_to_shared(tile), filling = of_stores ? ~0u : 0;
    for (int p = blockIdx.x; p < PATTERNS; p += gridDim.x) {
        volatile unsigned *region = (unsigned *)(memory + (size_t)p * REGION), *own = tile;
        for (int i = lane; i < REGION / 4; i += 32) own[i] = region[i] = filling;
        __syncwarp();
        __threadfence();
        unsigned offset = offsets[p * 32 + lane], got = ~0u;
        if (masks[p] >> lane & 1) got = access(Place{shared + offset, (char *)region + offset, lane}, 1u << lane);
        __syncwarp();
        __threadfence();
        if (of_stores) // of the two regions one is untouched
            for (int i = lane; i < REGION / 4; i += 32) results[p * (REGION / 4) + i] = own[i] & region[i];
        else
            results[p * 32 + lane] = got;
        __syncwarp();
    }
}

template <class Access>
void measure(Access access, bool of_stores, const unsigned *offsets, const unsigned *masks, FILE *file) {
    unsigned *results;
    char *memory;
    std::vector<unsigned> host(PATTERNS * (of_stores ? REGION / 4 : 32));
    cudaMalloc(&results, host.size() * 4);
    cudaMalloc(&memory, PATTERNS * REGION);
    run<<<16, 32>>>(access, of_stores, offsets, masks, results, memory);
    if (cudaError_t error = cudaMemcpy(host.data(), results, host.size() * 4, cudaMemcpyDeviceToHost))
        printf("%s\n", cudaGetErrorString(error));
    fwrite(host.data(), 4, host.size(), file);
    cudaFree(results);
    cudaFree(memory);
}

int main(int count, char **names) {
    if (count < 3) return 2;
    std::vector<unsigned> given(PATTERNS * 33);
    FILE *file = fopen(names[1], "rb");
    if (!file || fread(given.data(), 4, given.size(), file) != given.size()) return 1;
    fclose(file);
    unsigned *offsets, *masks;
    cudaMalloc(&offsets, given.size() * 4);
    cudaMemcpy(offsets, given.data(), given.size() * 4, cudaMemcpyHostToDevice);
    masks = offsets + PATTERNS * 32;
    file = fopen(names[2], "wb");
    auto store = [&](auto access) { measure(access, true, offsets, masks, file); };
    auto atomic = [&](auto access) { measure(access, false, offsets, masks, file); };
    STORES(SHARED)
    STORES(GLOBAL)
    atomic(ATOM("shared.add.u32 %0, [%1], %2", unsigned, "=r", p.shared, "r", "r"(bit)));
    atomic(ATOM("global.add.u32 %0, [%1], %2", unsigned, "=r", p.global, "l", "r"(bit)));
    atomic(ATOM("shared.exch.b32 %0, [%1], %2", unsigned, "=r", p.shared, "r", "r"(bit)));
    atomic(ATOM("global.exch.b32 %0, [%1], %2", unsigned, "=r", p.global, "l", "r"(bit)));
    atomic(ATOM("global.add.f32 %0, [%1], %2", float, "=f", p.global, "l", "f"(power(p.lane))));
    atomic(ATOM("shared.add.f32 %0, [%1], %2", float, "=f", p.shared, "r", "f"(power(p.lane))));
    atomic(ATOM("global.add.u64 %0, [%1], %2", unsigned long long, "=l", p.global, "l", "l"((unsigned long long)bit)));
    atomic(ATOM("global.cas.b32 %0, [%1], 0, %2", unsigned, "=r", p.global, "l", "r"(bit)));
    atomic(ATOM("shared.cas.b32 %0, [%1], 0, %2", unsigned, "=r", p.shared, "r", "r"(bit)));
    atomic(ATOM("shared.or.b32 %0, [%1], %2", unsigned, "=r", p.shared, "r", "r"(bit)));
    fclose(file);
}
