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
  %stop.before.at = getelementptr i8, ptr %warp, i64 120
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
  %v6 = getelementptr i8, ptr %warp, i64 3648
  store <32 x i32> %v4, ptr %v6, align 64
  store i32 3, ptr %site.at
  ret i32 3
b1:
  %v7 = getelementptr i8, ptr %warp, i64 3648
  %v8 = load <32 x i32>, ptr %v7, align 64
  %v9 = getelementptr i8, ptr %warp, i64 3904
  %v10 = load i32, ptr %v9, align 8
  %v11 = bitcast i32 %v10 to <32 x i1>
  %v12 = select <32 x i1> %v11, <32 x i32> %v8, <32 x i32> splat (i32 0)
  %v13 = getelementptr i8, ptr %warp, i64 3392
  %v14 = load <32 x i64>, ptr %v13, align 64
  %v15 = getelementptr i8, ptr %warp, i64 3776
  store <32 x i32> %v12, ptr %v15, align 64
  call void @ptxsim_store_global_4x1(ptr %context, ptr %warp, <32 x i64> %v14, i32 -1, i32 5, i32 0, <32 x i32> %v12)
  %v16 = load i64, ptr %count.at
  %v17 = add i64 %v16, 3
  store i64 %v17, ptr %count.at
  %v18 = load i32, ptr %left.at
  %v19 = sub i32 %v18, 1
  store i32 %v19, ptr %left.at
  store i32 -1, ptr %taken.at
  store i32 1, ptr %block.at
  store i32 6, ptr %site.at
  ret i32 2
b2:
  %v20 = load i64, ptr %count.at
  %v21 = add i64 %v20, 0
  store i64 %v21, ptr %count.at
  %v22 = load i32, ptr %left.at
  %v23 = sub i32 %v22, 1
  store i32 %v23, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
