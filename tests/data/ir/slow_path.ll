declare <32 x i64> @ptxsim_load_param_8x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare void @ptxsim_store_global_4x1(ptr, ptr, <32 x i64>, i32, i32, i32, <32 x i32>)
define i32 @slow_path(ptr %context, ptr %warp) #0 {
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
  ]
nowhere:
  unreachable
b0:
  %v1 = call <32 x i64> @ptxsim_load_param_8x1(ptr %context, ptr %warp, <32 x i64> splat (i64 421114027184128), i32 -1, i32 0, i32 0)
  %v2 = getelementptr i8, ptr %warp, i64 3136
  %v3 = load <32 x i32>, ptr %v2, align 64
  %v4 = add <32 x i32> %v3, splat (i32 1)
  %v5 = getelementptr i8, ptr %warp, i64 3392
  store <32 x i64> %v1, ptr %v5, align 64
  %v6 = getelementptr i8, ptr %warp, i64 3904
  store <32 x i32> %v4, ptr %v6, align 64
  %v7 = getelementptr i8, ptr %context, i64 648
  %v8 = load ptr, ptr %v7
  %v9 = call i32 %v8(ptr %warp, i32 3)
  %v10 = icmp eq i32 %v9, 1
  br i1 %v10, label %good1, label %bad1
bad1:
  ret i32 3
good1:
  %v11 = load i64, ptr %count.at
  %v12 = add i64 %v11, 4
  store i64 %v12, ptr %count.at
  %v13 = load i32, ptr %left.at
  %v14 = sub i32 %v13, 1
  store i32 %v14, ptr %left.at
  %v15 = icmp eq i32 %v14, 0
  br i1 %v15, label %stop2, label %b1
stop2:
  store i32 1, ptr %block.at
  ret i32 0
b1:
  %v16 = getelementptr i8, ptr %warp, i64 3648
  %v17 = load <32 x i64>, ptr %v16, align 64
  %v18 = icmp ne <32 x i64> %v17, splat (i64 0)
  %v19 = xor <32 x i1> %v18, splat (i1 true)
  %v20 = getelementptr i8, ptr %warp, i64 3904
  %v21 = load <32 x i32>, ptr %v20, align 64
  %v22 = select <32 x i1> %v18, <32 x i32> %v21, <32 x i32> splat (i32 0)
  %v23 = getelementptr i8, ptr %warp, i64 3392
  %v24 = load <32 x i64>, ptr %v23, align 64
  %v25 = getelementptr i8, ptr %warp, i64 4032
  store <32 x i32> %v22, ptr %v25, align 64
  call void @ptxsim_store_global_4x1(ptr %context, ptr %warp, <32 x i64> %v24, i32 -1, i32 6, i32 0, <32 x i32> %v22)
  %v26 = load i64, ptr %count.at
  %v27 = add i64 %v26, 4
  store i64 %v27, ptr %count.at
  %v28 = load i32, ptr %left.at
  %v29 = sub i32 %v28, 1
  store i32 %v29, ptr %left.at
  store i32 -1, ptr %taken.at
  store i32 1, ptr %block.at
  store i32 7, ptr %site.at
  ret i32 2
b2:
  %v30 = load i64, ptr %count.at
  %v31 = add i64 %v30, 0
  store i64 %v31, ptr %count.at
  %v32 = load i32, ptr %left.at
  %v33 = sub i32 %v32, 1
  store i32 %v33, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
