#include <cstdio>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
__device__ long long t0s[4096], t1s[4096];
#define BEGIN __syncthreads(); long long t0=clock64();
#define END __syncthreads(); long long t1=clock64(); if(threadIdx.x==0){t0s[blockIdx.x]=t0;t1s[blockIdx.x]=t1;}
template<int BYTES,int MODE> __global__ void cp(const char*g,int turns,int groups){
  extern __shared__ __align__(1024) char s[]; int lane=threadIdx.x&31,w=threadIdx.x>>5,nw=blockDim.x>>5;
  uint32_t base=(uint32_t)__cvta_generic_to_shared(s)+w*4096;
  BEGIN
  for(int t=0;t<turns;t++){
    #pragma unroll
    for(int j=0;j<8;j++){
      uint32_t d; int r=lane;
      if(MODE==0) d=lane*BYTES+j*BYTES*32%4096; else if(MODE==1){ d=r*128+((((j*BYTES)>>4)^(r&7))<<4)+(j*BYTES&15);} else d=r*128+j*BYTES; // rows of 128 bytes
      const char*src=g+((size_t)((blockIdx.x*nw+w)*8+j)*32+lane)*BYTES+(size_t)(t&1)*132*16*8*32*16;
      if(BYTES==16) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(base+(d&4095)),"l"(src));
      else if(BYTES==8) asm volatile("cp.async.ca.shared.global [%0],[%1],8;"::"r"(base+(d&4095)),"l"(src));
      else asm volatile("cp.async.ca.shared.global [%0],[%1],4;"::"r"(base+(d&4095)),"l"(src));
    }
    asm volatile("cp.async.commit_group;"); if(groups==2) asm volatile("cp.async.wait_group 1;"); else asm volatile("cp.async.wait_group 0;");
  }
  END
}
template<int MODE> __global__ void st(float*o,int turns,int space){
  int lane=threadIdx.x&31; int gw=(blockIdx.x*blockDim.x+threadIdx.x)>>5; int nw=gridDim.x*blockDim.x>>5; float a=lane*0.5f;
  BEGIN
  for(int t=0;t<turns;t++){
    float*p=o+((size_t)(t%4)*nw+gw)*128+(MODE==2?lane:lane*4);
    if(MODE==1){ for(int k=0;k<4*space;k++) a=fmaf(a,1.0001f,0.5f); asm volatile("st.global.v4.f32 [%0],{%1,%1,%1,%1};"::"l"(p),"f"(a)); }
    else {
      #pragma unroll
      for(int j=0;j<4;j++){ for(int k=0;k<space;k++) a=fmaf(a,1.0001f,0.5f); asm volatile("st.global.f32 [%0],%1;"::"l"(p+(MODE==2?32*j:j)),"f"(a)); }
    }
  }
  END
  if(a==12345.f) o[0]=a;
}
template<int MODE> __global__ void at(float*o,int turns,int share){
  int lane=threadIdx.x&31,w=threadIdx.x>>5; float*p=o+(size_t)(blockIdx.x/share)*4096+w*1024+lane*4;
  BEGIN
  for(int t=0;t<turns;t++) {
    #pragma unroll
    for(int j=0;j<8;j++){ float*q=p+j*128; float a,b,c,d;
    if(MODE==0) asm volatile("atom.global.gpu.acq_rel.add.v4.f32 {%0,%1,%2,%3},[%4],{%5,%5,%5,%5};":"=f"(a),"=f"(b),"=f"(c),"=f"(d):"l"(q),"f"(1.f):"memory");
    if(MODE==1) asm volatile("atom.global.gpu.relaxed.add.v4.f32 {%0,%1,%2,%3},[%4],{%5,%5,%5,%5};":"=f"(a),"=f"(b),"=f"(c),"=f"(d):"l"(q),"f"(1.f):"memory");
    if(MODE==2) asm volatile("red.global.gpu.relaxed.add.v4.f32 [%0],{%1,%1,%1,%1};"::"l"(q),"f"(1.f):"memory");
    if(MODE==3) { asm volatile("atom.global.gpu.acq_rel.add.f32 %0,[%1],%2;":"=f"(a):"l"(o+(size_t)(blockIdx.x/share)*4096+w*1024+j*128+lane),"f"(1.f):"memory"); }
    if(MODE==4) { asm volatile("atom.global.gpu.acq_rel.add.v2.f32 {%0,%1},[%2],{%3,%3};":"=f"(a),"=f"(b):"l"(o+(size_t)(blockIdx.x/share)*4096+w*1024+j*128+lane*2),"f"(1.f):"memory"); }
    }
  }
  END
}
static void show(const char*n,int a,int b,int c,int grid,int per){
  if(cudaDeviceSynchronize()){printf("%s error %s\n",n,cudaGetErrorString(cudaGetLastError()));return;}
  static long long x[4096],y[4096]; cudaMemcpyFromSymbol(x,t0s,sizeof x);cudaMemcpyFromSymbol(y,t1s,sizeof y);
  double m=0,s=0; for(int i=0;i<grid;i++){double d=y[i]-x[i]; m=std::max(m,d); s+=d;}
  printf("%s\t%d\t%d\t%d\t%d\t%.0f\t%.0f\t%.2f\n",n,a,b,c,grid,m,s/grid,m/per);
}
#define R3(call) call;call;call
int main(){
  char*g; float*o; cudaMalloc(&g,64<<20); cudaMalloc(&o,64<<20); cudaMemset(g,0,64<<20); cudaMemset(o,0,64<<20);
  printf("what\ta\tb\tc\tctas\tmost\tmean\teach\n");
  #define CP(B,M) for(int w:{1,4,8,16}) for(int gr:{1,2}) for(int grid:{1,132}) { cudaFuncSetAttribute(cp<B,M>,cudaFuncAttributeMaxDynamicSharedMemorySize,65536); R3((cp<B,M><<<grid,32*w,65536>>>(g,32,gr))); show("cp" #B "_" #M,w,gr,32,grid,32*8*w); }
  CP(4,0) CP(4,1) CP(4,2) CP(8,0) CP(8,1) CP(16,0) CP(16,1)
  for(int sp:{0,8,32,128}) for(int th:{64,256,512,1024}) for(int per:{1,2}) for(int grid:{1,132}) { if(th*per>2048) continue;
    R3((st<0><<<grid*per,th>>>(o,8,sp))); show("st_words",th*per,sp,8,grid*per,8*4*th*per/32);
    R3((st<1><<<grid*per,th>>>(o,8,sp))); show("st_v4",th*per,sp,8,grid*per,8*4*th*per/32);
    R3((st<2><<<grid*per,th>>>(o,8,sp))); show("st_lanes",th*per,sp,8,grid*per,8*4*th*per/32); }
  for(int th:{32,128}) for(int share:{1,8}) for(int grid:{8,128}) for(int turns:{1,4}) {
    R3((at<0><<<grid,th>>>(o,turns,share))); show("atom_v4_acq_rel",th,share,turns,grid,turns*8);
    R3((at<1><<<grid,th>>>(o,turns,share))); show("atom_v4_relaxed",th,share,turns,grid,turns*8);
    R3((at<2><<<grid,th>>>(o,turns,share))); show("red_v4_relaxed",th,share,turns,grid,turns*8);
    R3((at<3><<<grid,th>>>(o,turns,share))); show("atom_acq_rel",th,share,turns,grid,turns*8);
    R3((at<4><<<grid,th>>>(o,turns,share))); show("atom_v2_acq_rel",th,share,turns,grid,turns*8); }
}
