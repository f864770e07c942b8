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
  %v1 = call <32 x i64> @ptxsim_load_param_8x1(ptr %context, ptr %warp, <32 x i64> splat (i64 421114027184128), i32 %mask, i32 0, i32 0)
  %v2 = getelementptr i8, ptr %warp, i64 3136
  %v3 = load <32 x i64>, ptr %v2, align 64
  %v4 = select <32 x i1> %lanes, <32 x i64> %v1, <32 x i64> %v3
  %v5 = getelementptr i8, ptr %warp, i64 3136
  store <32 x i64> %v4, ptr %v5, align 64
  %v6 = call <32 x i32> @ptxsim_load_param_4x1(ptr %context, ptr %warp, <32 x i64> splat (i64 421114027184136), i32 %mask, i32 1, i32 0)
  %v7 = getelementptr i8, ptr %warp, i64 3392
  %v8 = load <32 x i32>, ptr %v7, align 64
  %v9 = select <32 x i1> %lanes, <32 x i32> %v6, <32 x i32> %v8
  %v10 = getelementptr i8, ptr %warp, i64 3392
  store <32 x i32> %v9, ptr %v10, align 64
  %v11 = call <32 x i32> @ptxsim_load_global_4x1(ptr %context, ptr %warp, <32 x i64> %v4, i32 %mask, i32 2, i32 0)
  %v12 = bitcast <32 x i32> %v11 to <32 x float>
  %v13 = getelementptr i8, ptr %warp, i64 3520
  %v14 = load <32 x i32>, ptr %v13, align 64
  %v15 = select <32 x i1> %lanes, <32 x i32> %v11, <32 x i32> %v14
  %v16 = getelementptr i8, ptr %warp, i64 3648
  %v17 = load <32 x i32>, ptr %v16, align 64
  %v18 = select <32 x i1> %lanes, <32 x i32> splat (i32 0), <32 x i32> %v17
  %v19 = getelementptr i8, ptr %warp, i64 3520
  store <32 x i32> %v15, ptr %v19, align 64
  %v20 = getelementptr i8, ptr %warp, i64 3648
  store <32 x i32> %v18, ptr %v20, align 64
  %v21 = load i64, ptr %count.at
  %v22 = add i64 %v21, 4
  store i64 %v22, ptr %count.at
  %v23 = load i32, ptr %left.at
  %v24 = sub i32 %v23, 1
  store i32 %v24, ptr %left.at
  %v25 = icmp eq i32 %v24, 0
  %v26 = icmp sle i32 %stop.before, 1
  %v27 = or i1 %v25, %v26
  br i1 %v27, label %stop1, label %b1
stop1:
  store i32 1, ptr %block.at
  ret i32 0
b1:
  %v28 = getelementptr i8, ptr %warp, i64 3520
  %v29 = load <32 x i32>, ptr %v28, align 64
  %v30 = bitcast <32 x i32> %v29 to <32 x float>
  %v31 = bitcast <32 x i32> splat (i32 1056964608) to <32 x float>
  %v32 = bitcast <32 x i32> splat (i32 1065353216) to <32 x float>
  %v33 = call <32 x float> @llvm.fma.v32f32(<32 x float> %v30, <32 x float> %v31, <32 x float> %v32)
  %v34 = bitcast <32 x float> %v33 to <32 x i32>
  %v35 = fcmp une <32 x float> %v33, %v33
  %v36 = select <32 x i1> %v35, <32 x i32> splat (i32 2147483647), <32 x i32> %v34
  %v37 = bitcast <32 x i32> %v36 to <32 x float>
  %v38 = select <32 x i1> %lanes, <32 x i32> %v36, <32 x i32> %v29
  %v39 = getelementptr i8, ptr %warp, i64 3648
  %v40 = load <32 x i32>, ptr %v39, align 64
  %v41 = add <32 x i32> %v40, splat (i32 1)
  %v42 = select <32 x i1> %lanes, <32 x i32> %v41, <32 x i32> %v40
  %v43 = getelementptr i8, ptr %warp, i64 3392
  %v44 = load <32 x i32>, ptr %v43, align 64
  %v45 = icmp ult <32 x i32> %v42, %v44
  %v46 = xor <32 x i1> %v45, splat (i1 true)
  %v47 = getelementptr i8, ptr %warp, i64 3776
  %v48 = load i32, ptr %v47, align 8
  %v49 = bitcast i32 %v48 to <32 x i1>
  %v50 = select <32 x i1> %lanes, <32 x i1> %v45, <32 x i1> %v49
  %v51 = and <32 x i1> %v50, %lanes
  %v52 = getelementptr i8, ptr %warp, i64 3520
  store <32 x i32> %v38, ptr %v52, align 64
  %v53 = getelementptr i8, ptr %warp, i64 3648
  store <32 x i32> %v42, ptr %v53, align 64
  %v54 = load i64, ptr %count.at
  %v55 = add i64 %v54, 4
  store i64 %v55, ptr %count.at
  %v56 = load i32, ptr %left.at
  %v57 = sub i32 %v56, 1
  store i32 %v57, ptr %left.at
  %v58 = bitcast <32 x i1> %v51 to i32
  %v59 = icmp eq i32 %v58, %mask
  br i1 %v59, label %all2, label %some2
all2:
  %v60 = icmp eq i32 %v57, 0
  %v61 = icmp sle i32 %stop.before, 1
  %v62 = or i1 %v60, %v61
  br i1 %v62, label %stop3, label %b1
stop3:
  store i32 1, ptr %block.at
  ret i32 0
some2:
  %v63 = icmp eq i32 %v58, 0
  br i1 %v63, label %none4, label %split4
none4:
  %v64 = icmp eq i32 %v57, 0
  %v65 = icmp sle i32 %stop.before, 2
  %v66 = or i1 %v64, %v65
  br i1 %v66, label %stop5, label %b2
stop5:
  store i32 2, ptr %block.at
  ret i32 0
split4:
  store i32 %v58, ptr %taken.at
  store i32 1, ptr %block.at
  store i32 1, ptr %target.at
  ret i32 1
b2:
  %v67 = getelementptr i8, ptr %warp, i64 3136
  %v68 = load <32 x i64>, ptr %v67, align 64
  %v69 = getelementptr i8, ptr %warp, i64 3520
  %v70 = load <32 x i32>, ptr %v69, align 64
  %v71 = bitcast <32 x i32> %v70 to <32 x float>
  call void @ptxsim_store_global_4x1(ptr %context, ptr %warp, <32 x i64> %v68, i32 %mask, i32 8, i32 0, <32 x i32> %v70)
  %v72 = load i64, ptr %count.at
  %v73 = add i64 %v72, 2
  store i64 %v73, ptr %count.at
  %v74 = load i32, ptr %left.at
  %v75 = sub i32 %v74, 1
  store i32 %v75, ptr %left.at
  store i32 %mask, ptr %taken.at
  store i32 2, ptr %block.at
  store i32 9, ptr %site.at
  ret i32 2
b3:
  %v76 = load i64, ptr %count.at
  %v77 = add i64 %v76, 0
  store i64 %v77, ptr %count.at
  %v78 = load i32, ptr %left.at
  %v79 = sub i32 %v78, 1
  store i32 %v79, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
