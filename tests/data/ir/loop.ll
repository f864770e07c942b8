declare <32 x i64> @ptxsim_load_param_8x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare <32 x i32> @ptxsim_load_param_4x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare <32 x i32> @ptxsim_load_global_4x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare <32 x float> @llvm.fma.v32f32(<32 x float>, <32 x float>, <32 x float>)
declare void @ptxsim_store_global_4x1(ptr, ptr, <32 x i64>, i32, i32, i32, <32 x i32>)
define i32 @loop(ptr %context, ptr %warp) #0 {
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
    i32 2, label %b2
    i32 3, label %b3
  ]
nowhere:
  unreachable
b0:
  %v1 = call <32 x i64> @ptxsim_load_param_8x1(ptr %context, ptr %warp, <32 x i64> splat (i64 421114027184128), i32 -1, i32 0, i32 0)
  %v2 = getelementptr i8, ptr %warp, i64 3136
  store <32 x i64> %v1, ptr %v2, align 64
  %v3 = call <32 x i32> @ptxsim_load_param_4x1(ptr %context, ptr %warp, <32 x i64> splat (i64 421114027184136), i32 -1, i32 1, i32 0)
  %v4 = getelementptr i8, ptr %warp, i64 3392
  store <32 x i32> %v3, ptr %v4, align 64
  %v5 = call <32 x i32> @ptxsim_load_global_4x1(ptr %context, ptr %warp, <32 x i64> %v1, i32 -1, i32 2, i32 0)
  %v6 = bitcast <32 x i32> %v5 to <32 x float>
  %v7 = getelementptr i8, ptr %warp, i64 3520
  store <32 x i32> %v5, ptr %v7, align 64
  %v8 = getelementptr i8, ptr %warp, i64 3648
  store <32 x i32> splat (i32 0), ptr %v8, align 64
  %v9 = load i64, ptr %count.at
  %v10 = add i64 %v9, 4
  store i64 %v10, ptr %count.at
  %v11 = load i32, ptr %left.at
  %v12 = sub i32 %v11, 1
  store i32 %v12, ptr %left.at
  %v13 = icmp eq i32 %v12, 0
  br i1 %v13, label %stop1, label %b1
stop1:
  store i32 1, ptr %block.at
  ret i32 0
b1:
  %v14 = getelementptr i8, ptr %warp, i64 3520
  %v15 = load <32 x i32>, ptr %v14, align 64
  %v16 = bitcast <32 x i32> %v15 to <32 x float>
  %v17 = bitcast <32 x i32> splat (i32 1056964608) to <32 x float>
  %v18 = bitcast <32 x i32> splat (i32 1065353216) to <32 x float>
  %v19 = call <32 x float> @llvm.fma.v32f32(<32 x float> %v16, <32 x float> %v17, <32 x float> %v18)
  %v20 = bitcast <32 x float> %v19 to <32 x i32>
  %v21 = fcmp une <32 x float> %v19, %v19
  %v22 = select <32 x i1> %v21, <32 x i32> splat (i32 2147483647), <32 x i32> %v20
  %v23 = bitcast <32 x i32> %v22 to <32 x float>
  %v24 = getelementptr i8, ptr %warp, i64 3648
  %v25 = load <32 x i32>, ptr %v24, align 64
  %v26 = add <32 x i32> %v25, splat (i32 1)
  %v27 = getelementptr i8, ptr %warp, i64 3392
  %v28 = load <32 x i32>, ptr %v27, align 64
  %v29 = icmp ult <32 x i32> %v26, %v28
  %v30 = xor <32 x i1> %v29, splat (i1 true)
  %v31 = getelementptr i8, ptr %warp, i64 3520
  store <32 x i32> %v22, ptr %v31, align 64
  %v32 = getelementptr i8, ptr %warp, i64 3648
  store <32 x i32> %v26, ptr %v32, align 64
  %v33 = load i64, ptr %count.at
  %v34 = add i64 %v33, 4
  store i64 %v34, ptr %count.at
  %v35 = load i32, ptr %left.at
  %v36 = sub i32 %v35, 1
  store i32 %v36, ptr %left.at
  %v37 = bitcast <32 x i1> %v29 to i32
  %v38 = icmp eq i32 %v37, -1
  br i1 %v38, label %all2, label %some2
all2:
  %v39 = icmp eq i32 %v36, 0
  br i1 %v39, label %stop3, label %b1
stop3:
  store i32 1, ptr %block.at
  ret i32 0
some2:
  %v40 = icmp eq i32 %v37, 0
  br i1 %v40, label %none4, label %split4
none4:
  %v41 = icmp eq i32 %v36, 0
  br i1 %v41, label %stop5, label %b2
stop5:
  store i32 2, ptr %block.at
  ret i32 0
split4:
  store i32 %v37, ptr %taken.at
  store i32 1, ptr %block.at
  store i32 1, ptr %target.at
  ret i32 1
b2:
  %v42 = getelementptr i8, ptr %warp, i64 3136
  %v43 = load <32 x i64>, ptr %v42, align 64
  %v44 = getelementptr i8, ptr %warp, i64 3520
  %v45 = load <32 x i32>, ptr %v44, align 64
  %v46 = bitcast <32 x i32> %v45 to <32 x float>
  call void @ptxsim_store_global_4x1(ptr %context, ptr %warp, <32 x i64> %v43, i32 -1, i32 8, i32 0, <32 x i32> %v45)
  %v47 = load i64, ptr %count.at
  %v48 = add i64 %v47, 2
  store i64 %v48, ptr %count.at
  %v49 = load i32, ptr %left.at
  %v50 = sub i32 %v49, 1
  store i32 %v50, ptr %left.at
  store i32 -1, ptr %taken.at
  store i32 2, ptr %block.at
  store i32 9, ptr %site.at
  ret i32 2
b3:
  %v51 = load i64, ptr %count.at
  %v52 = add i64 %v51, 0
  store i64 %v52, ptr %count.at
  %v53 = load i32, ptr %left.at
  %v54 = sub i32 %v53, 1
  store i32 %v54, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
