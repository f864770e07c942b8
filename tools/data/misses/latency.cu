// Latencies of loads at L2 by shape, SM and number of SMs.  g++-free: runtime API
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
#define N 64
__device__ __forceinline__ unsigned clk(){unsigned c;asm volatile("mov.u32 %0,%%clock;":"=r"(c)::"memory");return c;}
__device__ __forceinline__ unsigned smid(){unsigned c;asm volatile("mov.u32 %0,%%smid;":"=r"(c));return c;}
// mode 0: one lane; 1: 4 bytes a lane (1 line); 2: 8 bytes (2 lines); 3: 16 bytes (4 lines); 4: 4 bytes, 8 lines (tile4); 5: 32 lines; 6: one lane a sector (4 lanes)
template<int MODE> __global__ void lat(const unsigned*p,unsigned mask,unsigned*out){
  unsigned lane=threadIdx.x&31,warp=threadIdx.x>>5; unsigned sum=0,dep=0; unsigned mn=~0u,mx=0;
  unsigned line=(blockIdx.x*8+warp)*977u+13;
  __syncthreads();
  for(int i=0;i<N;i++){
    line=line*1664525u+1013904223u; unsigned l=((line>>8)&mask); 
    const unsigned*a;
    if(MODE==0||MODE==1) a=p+l*32+(MODE?lane:0);
    else if(MODE==2) a=p+(l&~1u)*32+lane*2;
    else if(MODE==3) a=p+(l&~3u)*32+lane*4;
    else if(MODE==4) a=p+((l+(lane>>2)*67)&mask)*32+(lane&3);
    else if(MODE==5) a=p+((l+lane*67)&mask)*32;
    else a=p+l*32+lane*8;
    bool on=MODE==0?lane==0:MODE==6?lane<4:true;
    unsigned v=0,t0=clk();
    if(on){
      if(MODE==2){unsigned x,y;asm volatile("ld.global.cg.v2.u32 {%0,%1},[%2];":"=r"(x),"=r"(y):"l"(a));v=x+y;}
      else if(MODE==3){unsigned x,y,z,w;asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(x),"=r"(y),"=r"(z),"=r"(w):"l"(a));v=x+y+z+w;}
      else asm volatile("ld.global.cg.u32 %0,[%1];":"=r"(v):"l"(a));
    }
    dep+=v; asm volatile(""::"r"(dep):"memory");
    unsigned t1=clk()+ (dep==12345678u); unsigned d=t1-t0; sum+=d; mn=min(mn,d); mx=max(mx,d); line+=dep;
  }
  if(lane==0){unsigned*o=out+(blockIdx.x*(blockDim.x>>5)+warp)*4;o[0]=smid();o[1]=sum;o[2]=mn;o[3]=mx;}
}
__global__ void spin(unsigned long long n,unsigned*o){unsigned long long t=clock64();while(clock64()-t<n);if(n==1)*o=1;}
typedef void(*K)(const unsigned*,unsigned,unsigned*);
int main(int c,char**v){
  bool quick=c>1; unsigned*p,*o; size_t bytes=32<<20; cudaMalloc(&p,bytes); cudaMemset(p,0,bytes); cudaMalloc(&o,1<<20);
  K ks[]={lat<0>,lat<1>,lat<2>,lat<3>,lat<4>,lat<5>,lat<6>}; const char*names[]={"lane","line","two","four","rows8","rows32","sectors"};
  std::vector<unsigned> h(1<<18);
  for(int hot=0;hot<(quick?1:2);hot++){
    for(int m=0;m<7;m++)for(int ctas:{1,16,132})for(int warps:{1,8})for(unsigned mb:{1u,16u}){
      if(hot){spin<<<132,32>>>(400000000ull/20,o);cudaDeviceSynchronize();}
      for(int r=0;r<3;r++){ks[m]<<<ctas,32*warps>>>(p,mb*8192-1,o);cudaDeviceSynchronize();}
      cudaMemcpy(h.data(),o,ctas*warps*16,cudaMemcpyDeviceToHost);
      double s=0;unsigned mn=~0u,mx=0;std::vector<double> sm(256,0),n(256,0);
      for(int k=0;k<ctas*warps;k++){s+=h[4*k+1];mn=std::min(mn,h[4*k+2]);mx=std::max(mx,h[4*k+3]);sm[h[4*k]]+=h[4*k+1];n[h[4*k]]+=N;}
      std::vector<double> q;for(int k=0;k<256;k++)if(n[k])q.push_back(sm[k]/n[k]);std::sort(q.begin(),q.end());
      printf("%d %-8s ctas %3d warps %d MB %2u mean %6.1f least %u most %u  SM lowest %.1f median %.1f highest %.1f\n",hot,names[m],ctas,warps,mb,s/(ctas*warps*N),mn,mx,q[0],q[q.size()/2],q.back());
    }
  }
}
