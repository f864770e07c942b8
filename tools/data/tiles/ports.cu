// Copies of one wave on all SMs: when warps of each SM begin, have what they load, and have stored, in cycles after the SM's first; by SM.
// Of each launch: CTAs, threads, bytes a thread, what (0 load, 1 load and store, 2 store); mean over SMs with even and odd numbers and the most, of the last warp's
// begin, load and end; the numbers of the three SMs that take longest, and how often each of those is odd, over 5 launches.
#include <cstdio>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
__device__ __forceinline__ unsigned clk(){unsigned c;asm volatile("mov.u32 %0,%%clock;":"=r"(c)::"memory");return c;}
struct Row{unsigned sm,begin,loaded,end;};
template<int V> __global__ void copy(const char*p,char*q,int what,Row*rows){
  unsigned b=clk(); size_t at=(size_t)(blockIdx.x*blockDim.x+threadIdx.x)*V; uint4 v=make_uint4(1,2,3,4);
  if(what<2){ if(V==16) asm volatile("ld.global.nc.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(v.x),"=r"(v.y),"=r"(v.z),"=r"(v.w):"l"(p+at)); else asm volatile("ld.global.nc.u32 %0,[%1];":"=r"(v.x):"l"(p+at)); }
  unsigned t=v.x; asm volatile("{.reg .pred z; setp.eq.u32 z,%0,0xabcdef01; @z trap;}"::"r"(t):"memory");
  unsigned l=clk();
  if(what){ if(V==16) asm volatile("st.global.v4.u32 [%0],{%1,%2,%3,%4};"::"l"(q+at),"r"(v.x),"r"(v.y),"r"(v.z),"r"(v.w):"memory"); else asm volatile("st.global.u32 [%0],%1;"::"l"(q+at),"r"(v.x):"memory"); }
  unsigned e=clk(); 
  if((threadIdx.x&31)==0){ unsigned sm;asm("mov.u32 %0,%%smid;":"=r"(sm)); rows[(blockIdx.x*blockDim.x+threadIdx.x)>>5]={sm,b,l,e}; }
}
int main(){
  char*p,*q;Row*d;cudaMalloc(&p,64<<20);cudaMalloc(&q,64<<20);cudaMalloc(&d,4<<20);cudaMemset(p,0,64<<20);
  std::vector<Row> h;
  printf("ctas\tthreads\tbytes\twhat\tbegin_even\tbegin_odd\tbegin_most\tload_even\tload_odd\tload_most\tend_even\tend_odd\tend_most\tslowest\todd\n");
  for(int threads:{128,256,512}) for(int per:{1,2,4,6,8,16}) for(int bytes:{4,16}) for(int what:{0,1,2}){
    if(per*threads>2048||per*threads<256) continue; int ctas=132*per; double s[9]={}; char names[64]="";int odd=0,turns=0;
    for(int r=0;r<7;r++){
      if(bytes==4) copy<4><<<ctas,threads>>>(p,q,what,d); else copy<16><<<ctas,threads>>>(p,q,what,d);
      if(cudaDeviceSynchronize()){printf("error\n");return 1;} if(r<2) continue; turns++;
      int n=ctas*threads/32; h.resize(n); cudaMemcpy(h.data(),d,n*sizeof(Row),cudaMemcpyDeviceToHost);
      unsigned first[256];bool seen[256]={};double last[3][256]={};
      for(auto&x:h){ if(!seen[x.sm]||(int)(x.begin-first[x.sm])<0) first[x.sm]=x.begin; seen[x.sm]=true; }
      for(auto&x:h){ last[0][x.sm]=std::max(last[0][x.sm],(double)(x.begin-first[x.sm])); last[1][x.sm]=std::max(last[1][x.sm],(double)(x.loaded-first[x.sm])); last[2][x.sm]=std::max(last[2][x.sm],(double)(x.end-first[x.sm])); }
      for(int k=0;k<3;k++){ double e=0,o=0,m=0;int ne=0,no=0; for(int j=0;j<256;j++) if(seen[j]){ if(j&1) o+=last[k][j],no++; else e+=last[k][j],ne++; m=std::max(m,last[k][j]); } s[3*k]+=e/std::max(1,ne);s[3*k+1]+=o/std::max(1,no);s[3*k+2]+=m; }
      std::vector<int> idx; for(int j=0;j<256;j++) if(seen[j]) idx.push_back(j); std::sort(idx.begin(),idx.end(),[&](int a,int b){return last[2][a]>last[2][b];});
      for(int j=0;j<3;j++) odd+=idx[j]&1; snprintf(names,64,"%d,%d,%d",idx[0],idx[1],idx[2]);
    }
    printf("%d\t%d\t%d\t%d",ctas,threads,bytes,what); for(int k=0;k<9;k++) printf("\t%.0f",s[k]/turns); printf("\t%s\t%d/%d\n",names,odd,3*turns);
  }
}
