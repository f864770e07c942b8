declare <32 x i64> @ptxsim_load_param_8x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare i32 @llvm.cttz.i32(i32, i1)
declare <32 x i64> @ptxsim_place_shared_4x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare <32 x i64> @ptxsim_place_global_4x1(ptr, ptr, <32 x i64>, i32, i32, i32)
define internal {<32 x i32>} @atomic0(<32 x i64> %places, i32 %mask, <32 x i32> %o0.0) noinline #0 {
entry:
  %slots = alloca <32 x i64>, align 64
  store <32 x i64> %places, ptr %slots, align 64
  %r0.0 = alloca <32 x i32>, align 64
  store <32 x i32> %o0.0, ptr %r0.0, align 64
  %old0 = alloca <32 x i32>, align 64
  store <32 x i32> zeroinitializer, ptr %old0, align 64
  br label %next
next:
  %rest = phi i32 [ %mask, %entry ], [ %later, %lane ]
  %none = icmp eq i32 %rest, 0
  br i1 %none, label %done, label %lane
lane:
  %number = call i32 @llvm.cttz.i32(i32 %rest, i1 false)
  %less = sub i32 %rest, 1
  %later = and i32 %rest, %less
  %pp = getelementptr i64, ptr %slots, i32 %number
  %place = load i64, ptr %pp
  %at = inttoptr i64 %place to ptr
  %u1 = getelementptr i8, ptr %at, i64 0
  %u2 = load <1 x i32>, ptr %u1, align 4
  %u3 = getelementptr i32, ptr %old0, i32 %number
  store <1 x i32> %u2, ptr %u3, align 4
  %u4 = getelementptr i32, ptr %r0.0, i32 %number
  %u5 = load <1 x i32>, ptr %u4, align 4
  %u6 = icmp uge <1 x i32> %u2, %u5
  %u7 = sub <1 x i32> %u2, %u2
  %u8 = add <1 x i32> %u2, splat (i32 1)
  %u9 = select <1 x i1> %u6, <1 x i32> %u7, <1 x i32> %u8
  store <1 x i32> %u9, ptr %u1, align 4
  br label %next
done:
  %w0 = load <32 x i32>, ptr %old0, align 64
  %s0 = insertvalue {<32 x i32>} poison, <32 x i32> %w0, 0
  ret {<32 x i32>} %s0
}
define internal {<32 x i32>} @atomic1(<32 x i64> %places, i32 %mask, <32 x i32> %o0.0, <32 x i32> %o1.0) noinline #0 {
entry:
  %slots = alloca <32 x i64>, align 64
  store <32 x i64> %places, ptr %slots, align 64
  %r0.0 = alloca <32 x i32>, align 64
  store <32 x i32> %o0.0, ptr %r0.0, align 64
  %r1.0 = alloca <32 x i32>, align 64
  store <32 x i32> %o1.0, ptr %r1.0, align 64
  %old0 = alloca <32 x i32>, align 64
  store <32 x i32> zeroinitializer, ptr %old0, align 64
  br label %next
next:
  %rest = phi i32 [ %mask, %entry ], [ %later, %lane ]
  %none = icmp eq i32 %rest, 0
  br i1 %none, label %done, label %lane
lane:
  %number = call i32 @llvm.cttz.i32(i32 %rest, i1 false)
  %less = sub i32 %rest, 1
  %later = and i32 %rest, %less
  %pp = getelementptr i64, ptr %slots, i32 %number
  %place = load i64, ptr %pp
  %at = inttoptr i64 %place to ptr
  %u1 = getelementptr i8, ptr %at, i64 0
  %u2 = load <1 x i32>, ptr %u1, align 4
  %u3 = getelementptr i32, ptr %old0, i32 %number
  store <1 x i32> %u2, ptr %u3, align 4
  %u4 = getelementptr i32, ptr %r0.0, i32 %number
  %u5 = load <1 x i32>, ptr %u4, align 4
  %u6 = getelementptr i32, ptr %r1.0, i32 %number
  %u7 = load <1 x i32>, ptr %u6, align 4
  %u8 = icmp eq <1 x i32> %u2, %u5
  %u9 = select <1 x i1> %u8, <1 x i32> %u7, <1 x i32> %u2
  store <1 x i32> %u9, ptr %u1, align 4
  br label %next
done:
  %w0 = load <32 x i32>, ptr %old0, align 64
  %s0 = insertvalue {<32 x i32>} poison, <32 x i32> %w0, 0
  ret {<32 x i32>} %s0
}
define internal {<32 x i32>} @atomic2(<32 x i64> %places, i32 %mask, <32 x i32> %o0.0) noinline #0 {
entry:
  %slots = alloca <32 x i64>, align 64
  store <32 x i64> %places, ptr %slots, align 64
  %r0.0 = alloca <32 x i32>, align 64
  store <32 x i32> %o0.0, ptr %r0.0, align 64
  %old0 = alloca <32 x i32>, align 64
  store <32 x i32> zeroinitializer, ptr %old0, align 64
  br label %next
next:
  %rest = phi i32 [ %mask, %entry ], [ %later, %lane ]
  %none = icmp eq i32 %rest, 0
  br i1 %none, label %done, label %lane
lane:
  %number = call i32 @llvm.cttz.i32(i32 %rest, i1 false)
  %less = sub i32 %rest, 1
  %later = and i32 %rest, %less
  %pp = getelementptr i64, ptr %slots, i32 %number
  %place = load i64, ptr %pp
  %at = inttoptr i64 %place to ptr
  %u1 = getelementptr i8, ptr %at, i64 0
  %u2 = load <1 x i32>, ptr %u1, align 4
  %u3 = getelementptr i32, ptr %old0, i32 %number
  store <1 x i32> %u2, ptr %u3, align 4
  %u4 = getelementptr i32, ptr %r0.0, i32 %number
  %u5 = load <1 x i32>, ptr %u4, align 4
  %u6 = bitcast <1 x i32> %u5 to <1 x float>
  %u7 = bitcast <1 x i32> %u2 to <1 x float>
  %u8 = and <1 x i32> %u2, splat (i32 2147483647)
  %u9 = icmp ult <1 x i32> %u8, splat (i32 8388608)
  %u10 = and <1 x i32> %u2, splat (i32 2147483648)
  %u11 = select <1 x i1> %u9, <1 x i32> %u10, <1 x i32> %u2
  %u12 = bitcast <1 x i32> %u11 to <1 x float>
  %u13 = and <1 x i32> %u5, splat (i32 2147483647)
  %u14 = icmp ult <1 x i32> %u13, splat (i32 8388608)
  %u15 = and <1 x i32> %u5, splat (i32 2147483648)
  %u16 = select <1 x i1> %u14, <1 x i32> %u15, <1 x i32> %u5
  %u17 = bitcast <1 x i32> %u16 to <1 x float>
  %u18 = fadd <1 x float> %u12, %u17
  %u19 = bitcast <1 x float> %u18 to <1 x i32>
  %u20 = and <1 x i32> %u19, splat (i32 2147483647)
  %u21 = icmp ult <1 x i32> %u20, splat (i32 8388608)
  %u22 = and <1 x i32> %u19, splat (i32 2147483648)
  %u23 = select <1 x i1> %u21, <1 x i32> %u22, <1 x i32> %u19
  %u24 = bitcast <1 x i32> %u23 to <1 x float>
  %u25 = fcmp une <1 x float> %u24, %u24
  %u26 = select <1 x i1> %u25, <1 x i32> splat (i32 2147483647), <1 x i32> %u23
  %u27 = bitcast <1 x i32> %u26 to <1 x float>
  store <1 x i32> %u26, ptr %u1, align 4
  br label %next
done:
  %w0 = load <32 x i32>, ptr %old0, align 64
  %s0 = insertvalue {<32 x i32>} poison, <32 x i32> %w0, 0
  ret {<32 x i32>} %s0
}
define i32 @atomics(ptr %context, ptr %warp) #0 {
entry:
  %count.at = getelementptr i8, ptr %context, i64 512
  %left.at = getelementptr i8, ptr %warp, i64 12
  %block.at = getelementptr i8, ptr %warp, i64 0
  %op.at = getelementptr i8, ptr %warp, i64 24
  %taken.at = getelementptr i8, ptr %warp, i64 16
  %target.at = getelementptr i8, ptr %warp, i64 20
  %site.at = getelementptr i8, ptr %context, i64 528
  %own.site.at = getelementptr i8, ptr %warp, i64 28
  %mask.at = getelementptr i8, ptr %warp, i64 4
  %mask = load i32, ptr %mask.at
  %stop.before.at = getelementptr i8, ptr %warp, i64 128
  %stop.before = load i32, ptr %stop.before.at
  %lanes = bitcast i32 %mask to <32 x i1>
  %block = load i32, ptr %block.at
  switch i32 %block, label %nowhere [
    i32 0, label %b0
    i32 1, label %b1
  ]
nowhere:
  unreachable
b0:
  %v1 = call <32 x i64> @ptxsim_load_param_8x1(ptr %context, ptr %warp, <32 x i64> splat (i64 421114027184128), i32 -1, i32 0, i32 0)
  %v2 = getelementptr i8, ptr %warp, i64 3136
  %v3 = load <32 x i32>, ptr %v2, align 64
  %v4 = getelementptr i8, ptr %warp, i64 3392
  store <32 x i64> %v1, ptr %v4, align 64
  %v5 = getelementptr i8, ptr %warp, i64 3648
  store <32 x i32> %v3, ptr %v5, align 64
  %v6 = call <32 x i64> @ptxsim_place_shared_4x1(ptr %context, ptr %warp, <32 x i64> splat (i64 1024), i32 -1, i32 2, i32 131073)
  %v7 = call {<32 x i32>} @atomic0(<32 x i64> %v6, i32 -1, <32 x i32> splat (i32 15))
  %v8 = extractvalue {<32 x i32>} %v7, 0
  %v9 = getelementptr i8, ptr %warp, i64 3776
  store <32 x i32> %v8, ptr %v9, align 64
  %v10 = call <32 x i64> @ptxsim_place_global_4x1(ptr %context, ptr %warp, <32 x i64> %v1, i32 -1, i32 3, i32 196609)
  %v11 = call {<32 x i32>} @atomic1(<32 x i64> %v10, i32 -1, <32 x i32> %v8, <32 x i32> %v3)
  %v12 = extractvalue {<32 x i32>} %v11, 0
  %v13 = uitofp <32 x i32> %v12 to <32 x double>
  %v14 = xor <32 x i32> %v12, %v12
  %v15 = uitofp <32 x i32> %v14 to <32 x double>
  %v16 = fadd <32 x double> %v13, %v15
  %v17 = fsub <32 x double> %v16, %v13
  %v18 = fsub <32 x double> %v16, %v17
  %v19 = fsub <32 x double> %v13, %v18
  %v20 = fsub <32 x double> %v15, %v17
  %v21 = fadd <32 x double> %v19, %v20
  %v22 = bitcast <32 x double> %v16 to <32 x i64>
  %v23 = fcmp olt <32 x double> %v21, splat (double 0x0000000000000000)
  %v24 = fcmp ogt <32 x double> %v21, splat (double 0x0000000000000000)
  %v25 = or <32 x i1> %v23, %v24
  %v26 = and <32 x i64> %v22, splat (i64 1)
  %v27 = icmp eq <32 x i64> %v26, splat (i64 0)
  %v28 = and <32 x i1> %v25, %v27
  %v29 = fcmp ogt <32 x double> %v16, splat (double 0x0000000000000000)
  %v30 = icmp eq <32 x i1> %v24, %v29
  %v31 = add <32 x i64> %v22, splat (i64 1)
  %v32 = sub <32 x i64> %v22, splat (i64 1)
  %v33 = select <32 x i1> %v30, <32 x i64> %v31, <32 x i64> %v32
  %v34 = select <32 x i1> %v28, <32 x i64> %v33, <32 x i64> %v22
  %v35 = bitcast <32 x i64> %v34 to <32 x double>
  %v36 = fptrunc <32 x double> %v35 to <32 x float>
  %v37 = bitcast <32 x float> %v36 to <32 x i32>
  %v38 = fcmp une <32 x float> %v36, %v36
  %v39 = select <32 x i1> %v38, <32 x i32> splat (i32 2147483647), <32 x i32> %v37
  %v40 = bitcast <32 x i32> %v39 to <32 x float>
  %v41 = add <32 x i64> %v1, splat (i64 8)
  %v42 = getelementptr i8, ptr %warp, i64 4032
  store <32 x i32> %v39, ptr %v42, align 64
  %v43 = call <32 x i64> @ptxsim_place_global_4x1(ptr %context, ptr %warp, <32 x i64> %v41, i32 -1, i32 5, i32 262145)
  %v44 = call {<32 x i32>} @atomic2(<32 x i64> %v43, i32 -1, <32 x i32> %v39)
  %v45 = extractvalue {<32 x i32>} %v44, 0
  %v46 = bitcast <32 x i32> %v45 to <32 x float>
  %v47 = load i64, ptr %count.at
  %v48 = add i64 %v47, 7
  store i64 %v48, ptr %count.at
  %v49 = load i32, ptr %left.at
  %v50 = sub i32 %v49, 1
  store i32 %v50, ptr %left.at
  store i32 -1, ptr %taken.at
  store i32 0, ptr %block.at
  store i32 6, ptr %site.at
  ret i32 2
b1:
  %v51 = load i64, ptr %count.at
  %v52 = add i64 %v51, 0
  store i64 %v52, ptr %count.at
  %v53 = load i32, ptr %left.at
  %v54 = sub i32 %v53, 1
  store i32 %v54, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
