declare <32 x i64> @ptxsim_load_param_8x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare <32 x i32> @ptxsim_load_global_4x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare void @ptxsim_store_global_4x1(ptr, ptr, <32 x i64>, i32, i32, i32, <32 x i32>)
define i32 @guarded_add(ptr %context, ptr %warp) #0 {
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
  %v4 = zext <32 x i32> %v3 to <32 x i64>
  %v5 = zext <32 x i32> splat (i32 4) to <32 x i64>
  %v6 = mul <32 x i64> %v4, %v5
  %v7 = add <32 x i64> %v1, %v6
  %v8 = getelementptr i8, ptr %warp, i64 4160
  store <32 x i32> %v3, ptr %v8, align 64
  %v9 = getelementptr i8, ptr %warp, i64 3904
  store <32 x i64> %v7, ptr %v9, align 64
  %v10 = call <32 x i32> @ptxsim_load_global_4x1(ptr %context, ptr %warp, <32 x i64> %v7, i32 -1, i32 4, i32 0)
  %v11 = icmp ult <32 x i32> %v3, splat (i32 20)
  %v12 = xor <32 x i1> %v11, splat (i1 true)
  %v13 = add <32 x i32> %v10, splat (i32 7)
  %v14 = select <32 x i1> %v11, <32 x i32> %v13, <32 x i32> %v10
  %v15 = getelementptr i8, ptr %warp, i64 4288
  store <32 x i32> %v14, ptr %v15, align 64
  call void @ptxsim_store_global_4x1(ptr %context, ptr %warp, <32 x i64> %v7, i32 -1, i32 7, i32 0, <32 x i32> %v14)
  %v16 = load i64, ptr %count.at
  %v17 = add i64 %v16, 9
  store i64 %v17, ptr %count.at
  %v18 = load i32, ptr %left.at
  %v19 = sub i32 %v18, 1
  store i32 %v19, ptr %left.at
  store i32 -1, ptr %taken.at
  store i32 0, ptr %block.at
  store i32 8, ptr %site.at
  ret i32 2
b1:
  %v20 = load i64, ptr %count.at
  %v21 = add i64 %v20, 0
  store i64 %v21, ptr %count.at
  %v22 = load i32, ptr %left.at
  %v23 = sub i32 %v22, 1
  store i32 %v23, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
