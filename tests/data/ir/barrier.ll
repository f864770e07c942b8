declare <32 x i64> @ptxsim_load_param_8x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare <32 x i32> @llvm.umin.v32i32(<32 x i32>, <32 x i32>)
declare void @ptxsim_store_shared_4x1(ptr, ptr, <32 x i64>, i32, i32, i32, <32 x i32>)
declare <32 x i32> @ptxsim_load_shared_4x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare void @ptxsim_store_global_4x1(ptr, ptr, <32 x i64>, i32, i32, i32, <32 x i32>)
define i32 @barrier(ptr %context, ptr %warp) #0 {
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
  %v3 = load <32 x i32>, ptr %v2, align 64
  %v4 = icmp uge <32 x i32> splat (i32 2), splat (i32 32)
  %v5 = call <32 x i32> @llvm.umin.v32i32(<32 x i32> splat (i32 2), <32 x i32> splat (i32 31))
  %v6 = shl <32 x i32> %v3, %v5
  %v7 = select <32 x i1> %v4, <32 x i32> splat (i32 0), <32 x i32> %v6
  %v8 = add <32 x i32> splat (i32 1024), %v7
  %v9 = zext <32 x i32> %v8 to <32 x i64>
  %v10 = getelementptr i8, ptr %warp, i64 3392
  store <32 x i64> %v1, ptr %v10, align 64
  %v11 = getelementptr i8, ptr %warp, i64 3648
  store <32 x i32> %v8, ptr %v11, align 64
  %v12 = getelementptr i8, ptr %warp, i64 3776
  store <32 x i32> %v3, ptr %v12, align 64
  call void @ptxsim_store_shared_4x1(ptr %context, ptr %warp, <32 x i64> %v9, i32 -1, i32 5, i32 0, <32 x i32> %v3)
  store i32 0, ptr %target.at
  store i32 0, ptr %taken.at
  store i32 0, ptr %block.at
  store i32 7, ptr %op.at
  store i32 6, ptr %site.at
  store i32 6, ptr %own.site.at
  ret i32 4
b1:
  %v13 = call <32 x i32> @ptxsim_load_shared_4x1(ptr %context, ptr %warp, <32 x i64> splat (i64 1024), i32 -1, i32 7, i32 0)
  %v14 = getelementptr i8, ptr %warp, i64 3392
  %v15 = load <32 x i64>, ptr %v14, align 64
  %v16 = getelementptr i8, ptr %warp, i64 3904
  store <32 x i32> %v13, ptr %v16, align 64
  call void @ptxsim_store_global_4x1(ptr %context, ptr %warp, <32 x i64> %v15, i32 -1, i32 8, i32 0, <32 x i32> %v13)
  store i32 1, ptr %target.at
  store i32 64, ptr %taken.at
  store i32 1, ptr %block.at
  store i32 3, ptr %op.at
  store i32 9, ptr %site.at
  store i32 9, ptr %own.site.at
  ret i32 4
b2:
  %v17 = load i64, ptr %count.at
  %v18 = add i64 %v17, 1
  store i64 %v18, ptr %count.at
  %v19 = load i32, ptr %left.at
  %v20 = sub i32 %v19, 1
  store i32 %v20, ptr %left.at
  store i32 -1, ptr %taken.at
  store i32 2, ptr %block.at
  store i32 10, ptr %site.at
  ret i32 2
b3:
  %v21 = load i64, ptr %count.at
  %v22 = add i64 %v21, 0
  store i64 %v22, ptr %count.at
  %v23 = load i32, ptr %left.at
  %v24 = sub i32 %v23, 1
  store i32 %v24, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
