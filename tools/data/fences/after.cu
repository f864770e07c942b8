#include <cstdio>
#include <algorithm>
#include <cuda_runtime.h>
__device__ long long t0s[256], t1s[256];
#define KERN(NAME,BODY) __global__ void NAME(float*o,int turns){ int lane=threadIdx.x&31,w=threadIdx.x>>5; float*q=o+(size_t)blockIdx.x*8192+w*1024+lane; float a=1.f; unsigned u=0; \
 for(int t=0;t<2;t++){ BODY } __syncthreads(); long long t0=clock64(); _Pragma("unroll 1") for(int t=0;t<turns;t++){ BODY } __syncthreads(); long long t1=clock64(); if(!threadIdx.x){t0s[blockIdx.x]=t0;t1s[blockIdx.x]=t1;} if(a==777.f||u==12345) o[1]=a+u; }
#define ATOM(SEM) asm volatile("atom.global." SEM ".gpu.add.f32 %0,[%1],%2;":"=f"(a):"l"(q),"f"(1.f):"memory");
#define DEP a=a*0.f+1.f; q+=(a==3.f);
#define FENCE asm volatile("fence.acq_rel.gpu;":::"memory");
#define LDACQ asm volatile("ld.acquire.gpu.global.u32 %0,[%1];":"=r"(u):"l"(q):"memory"); q+=(u==12345);
#define LDREL asm volatile("ld.relaxed.gpu.global.u32 %0,[%1];":"=r"(u):"l"(q):"memory"); q+=(u==12345);
#define STREL asm volatile("st.release.gpu.global.f32 [%0],%1;"::"l"(q),"f"(1.f):"memory");
#define STRLX asm volatile("st.relaxed.gpu.global.f32 [%0],%1;"::"l"(q),"f"(1.f):"memory");
#define REDREL asm volatile("red.release.gpu.global.add.f32 [%0],%1;"::"l"(q),"f"(1.f):"memory");
#define REDRLX asm volatile("red.relaxed.gpu.global.add.f32 [%0],%1;"::"l"(q),"f"(1.f):"memory");
KERN(atom_relaxed, ATOM("relaxed") DEP)
KERN(atom_acquire, ATOM("acquire") DEP)
KERN(atom_release, ATOM("release") DEP)
KERN(atom_acq_rel, ATOM("acq_rel") DEP)
KERN(atom_acq_rel_nodep, ATOM("acq_rel"))
KERN(fence, FENCE)
KERN(fence_sc, asm volatile("fence.sc.gpu;":::"memory");)
KERN(atom_fence, ATOM("relaxed") DEP FENCE)
KERN(load_fence, LDREL FENCE)
KERN(store_fence, STRLX FENCE)
KERN(load_acquire, LDACQ)
KERN(load_relaxed, LDREL)
KERN(store_release, STREL)
KERN(red_release, REDREL)
KERN(red_fence, REDRLX FENCE)
KERN(load_acquire_store_release, LDACQ STREL)
KERN(acquire_fence, LDACQ FENCE)
KERN(atom_acquire_fence, ATOM("acquire") DEP FENCE)
KERN(atom_release_load_acquire, ATOM("release") DEP LDACQ)
int main(){ float*o; cudaMalloc(&o,16<<20); cudaMemset(o,0,16<<20); const int T=50;
 printf("what\tctas\twarps\tmost\teach\n");
#define SHOW(N) for(int grid:{1,132}) for(int w:{1,2,4,8}) { for(int k=0;k<3;k++) N<<<grid,32*w>>>(o,T); if(cudaDeviceSynchronize()){printf(#N " error\n");return 1;} long long x[256],y[256]; cudaMemcpyFromSymbol(x,t0s,sizeof x);cudaMemcpyFromSymbol(y,t1s,sizeof y); double m=0; for(int i=0;i<grid;i++) m=std::max(m,double(y[i]-x[i])); printf(#N "\t%d\t%d\t%.0f\t%.1f\n",grid,w,m,m/T); }
 SHOW(atom_relaxed) SHOW(atom_acquire) SHOW(atom_release) SHOW(atom_acq_rel) SHOW(atom_acq_rel_nodep) SHOW(fence) SHOW(fence_sc) SHOW(atom_fence) SHOW(load_fence) SHOW(store_fence) SHOW(load_acquire) SHOW(load_relaxed) SHOW(store_release) SHOW(red_release) SHOW(red_fence) SHOW(load_acquire_store_release) SHOW(acquire_fence) SHOW(atom_acquire_fence) SHOW(atom_release_load_acquire)
}
