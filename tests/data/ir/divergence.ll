declare <32 x i64> @ptxsim_load_param_8x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare <32 x i32> @llvm.umin.v32i32(<32 x i32>, <32 x i32>)
declare void @ptxsim_store_global_4x1(ptr, ptr, <32 x i64>, i32, i32, i32, <32 x i32>)
define i32 @divergence(ptr %context, ptr %warp) #0 {
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
    i32 4, label %b4
  ]
nowhere:
  unreachable
b0:
  %v1 = call <32 x i64> @ptxsim_load_param_8x1(ptr %context, ptr %warp, <32 x i64> splat (i64 421114027184128), i32 -1, i32 0, i32 0)
  %v2 = getelementptr i8, ptr %warp, i64 3136
  %v3 = load <32 x i32>, ptr %v2, align 64
  %v4 = icmp ugt <32 x i32> %v3, splat (i32 9)
  %v5 = xor <32 x i1> %v4, splat (i1 true)
  %v6 = getelementptr i8, ptr %warp, i64 3392
  store <32 x i64> %v1, ptr %v6, align 64
  %v7 = getelementptr i8, ptr %warp, i64 3904
  store <32 x i32> %v3, ptr %v7, align 64
  %v8 = load i64, ptr %count.at
  %v9 = add i64 %v8, 4
  store i64 %v9, ptr %count.at
  %v10 = load i32, ptr %left.at
  %v11 = sub i32 %v10, 1
  store i32 %v11, ptr %left.at
  %v12 = bitcast <32 x i1> %v4 to i32
  %v13 = icmp eq i32 %v12, -1
  br i1 %v13, label %all1, label %some1
all1:
  %v14 = icmp eq i32 %v11, 0
  br i1 %v14, label %stop2, label %b2
stop2:
  store i32 2, ptr %block.at
  ret i32 0
some1:
  %v15 = icmp eq i32 %v12, 0
  br i1 %v15, label %none3, label %split3
none3:
  %v16 = icmp eq i32 %v11, 0
  br i1 %v16, label %stop4, label %b1
stop4:
  store i32 1, ptr %block.at
  ret i32 0
split3:
  store i32 %v12, ptr %taken.at
  store i32 0, ptr %block.at
  store i32 2, ptr %target.at
  ret i32 1
b1:
  %v17 = getelementptr i8, ptr %warp, i64 3904
  %v18 = load <32 x i32>, ptr %v17, align 64
  %v19 = icmp uge <32 x i32> splat (i32 3), splat (i32 32)
  %v20 = call <32 x i32> @llvm.umin.v32i32(<32 x i32> splat (i32 3), <32 x i32> splat (i32 31))
  %v21 = shl <32 x i32> %v18, %v20
  %v22 = select <32 x i1> %v19, <32 x i32> splat (i32 0), <32 x i32> %v21
  %v23 = getelementptr i8, ptr %warp, i64 4032
  store <32 x i32> %v22, ptr %v23, align 64
  %v24 = load i64, ptr %count.at
  %v25 = add i64 %v24, 2
  store i64 %v25, ptr %count.at
  %v26 = load i32, ptr %left.at
  %v27 = sub i32 %v26, 1
  store i32 %v27, ptr %left.at
  %v28 = icmp eq i32 %v27, 0
  br i1 %v28, label %stop5, label %b3
stop5:
  store i32 3, ptr %block.at
  ret i32 0
b2:
  %v29 = getelementptr i8, ptr %warp, i64 3904
  %v30 = load <32 x i32>, ptr %v29, align 64
  %v31 = xor <32 x i32> %v30, splat (i32 -1)
  %v32 = getelementptr i8, ptr %warp, i64 4032
  store <32 x i32> %v31, ptr %v32, align 64
  %v33 = load i64, ptr %count.at
  %v34 = add i64 %v33, 1
  store i64 %v34, ptr %count.at
  %v35 = load i32, ptr %left.at
  %v36 = sub i32 %v35, 1
  store i32 %v36, ptr %left.at
  %v37 = icmp eq i32 %v36, 0
  br i1 %v37, label %stop6, label %b3
stop6:
  store i32 3, ptr %block.at
  ret i32 0
b3:
  %v38 = getelementptr i8, ptr %warp, i64 3904
  %v39 = load <32 x i32>, ptr %v38, align 64
  %v40 = zext <32 x i32> %v39 to <32 x i64>
  %v41 = zext <32 x i32> splat (i32 4) to <32 x i64>
  %v42 = mul <32 x i64> %v40, %v41
  %v43 = getelementptr i8, ptr %warp, i64 3392
  %v44 = load <32 x i64>, ptr %v43, align 64
  %v45 = add <32 x i64> %v44, %v42
  %v46 = getelementptr i8, ptr %warp, i64 4032
  %v47 = load <32 x i32>, ptr %v46, align 64
  %v48 = getelementptr i8, ptr %warp, i64 3392
  store <32 x i64> %v45, ptr %v48, align 64
  call void @ptxsim_store_global_4x1(ptr %context, ptr %warp, <32 x i64> %v45, i32 -1, i32 9, i32 0, <32 x i32> %v47)
  %v49 = load i64, ptr %count.at
  %v50 = add i64 %v49, 4
  store i64 %v50, ptr %count.at
  %v51 = load i32, ptr %left.at
  %v52 = sub i32 %v51, 1
  store i32 %v52, ptr %left.at
  store i32 -1, ptr %taken.at
  store i32 3, ptr %block.at
  store i32 10, ptr %site.at
  ret i32 2
b4:
  %v53 = load i64, ptr %count.at
  %v54 = add i64 %v53, 0
  store i64 %v54, ptr %count.at
  %v55 = load i32, ptr %left.at
  %v56 = sub i32 %v55, 1
  store i32 %v56, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
