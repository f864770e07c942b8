declare <32 x i64> @ptxsim_load_param_8x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare <32 x i64> @ptxsim_load_const_8x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare {<32 x i32>, <32 x i32>} @ptxsim_load_global_4x2(ptr, ptr, <32 x i64>, i32, i32, i32)
declare void @ptxsim_store_shared_4x2(ptr, ptr, <32 x i64>, i32, i32, i32, <32 x i32>, <32 x i32>)
declare <32 x i8> @ptxsim_load_shared_1x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare void @ptxsim_store_local_2x1(ptr, ptr, <32 x i64>, i32, i32, i32, <32 x i16>)
declare <32 x i32> @ptxsim_load_local_4x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare <32 x i64> @ptxsim_load_generic_8x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare void @ptxsim_store_generic_8x1(ptr, ptr, <32 x i64>, i32, i32, i32, <32 x i64>)
declare void @ptxsim_store_global_4x1(ptr, ptr, <32 x i64>, i32, i32, i32, <32 x i32>)
define i32 @spaces(ptr %context, ptr %warp) #0 {
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
  store <32 x i64> %v1, ptr %v2, align 64
  %v3 = call <32 x i64> @ptxsim_load_const_8x1(ptr %context, ptr %warp, <32 x i64> splat (i64 421114027221000), i32 -1, i32 1, i32 0)
  %v4 = getelementptr i8, ptr %warp, i64 3392
  store <32 x i64> %v3, ptr %v4, align 64
  %v5 = getelementptr i8, ptr %warp, i64 3904
  store <32 x i32> splat (i32 1024), ptr %v5, align 64
  %v6 = call {<32 x i32>, <32 x i32>} @ptxsim_load_global_4x2(ptr %context, ptr %warp, <32 x i64> %v1, i32 -1, i32 3, i32 0)
  %v7 = extractvalue {<32 x i32>, <32 x i32>} %v6, 0
  %v8 = extractvalue {<32 x i32>, <32 x i32>} %v6, 1
  %v9 = zext <32 x i32> splat (i32 1024) to <32 x i64>
  %v10 = getelementptr i8, ptr %warp, i64 4032
  store <32 x i32> %v7, ptr %v10, align 64
  %v11 = getelementptr i8, ptr %warp, i64 4160
  store <32 x i32> %v8, ptr %v11, align 64
  call void @ptxsim_store_shared_4x2(ptr %context, ptr %warp, <32 x i64> %v9, i32 -1, i32 4, i32 0, <32 x i32> %v8, <32 x i32> %v7)
  %v12 = add <32 x i32> splat (i32 1024), splat (i32 3)
  %v13 = zext <32 x i32> %v12 to <32 x i64>
  %v14 = call <32 x i8> @ptxsim_load_shared_1x1(ptr %context, ptr %warp, <32 x i64> %v13, i32 -1, i32 5, i32 0)
  %v15 = zext <32 x i8> %v14 to <32 x i16>
  %v16 = getelementptr i8, ptr %warp, i64 2096
  %v17 = load <32 x i64>, ptr %v16, align 8
  %v18 = add <32 x i64> %v17, splat (i64 2)
  %v19 = getelementptr i8, ptr %warp, i64 4416
  store <32 x i16> %v15, ptr %v19, align 64
  call void @ptxsim_store_local_2x1(ptr %context, ptr %warp, <32 x i64> %v18, i32 -1, i32 6, i32 0, <32 x i16> %v15)
  %v20 = getelementptr i8, ptr %warp, i64 2096
  %v21 = load <32 x i64>, ptr %v20, align 8
  %v22 = add <32 x i64> %v21, splat (i64 0)
  %v23 = call <32 x i32> @ptxsim_load_local_4x1(ptr %context, ptr %warp, <32 x i64> %v22, i32 -1, i32 7, i32 0)
  %v24 = add <32 x i64> %v1, splat (i64 16)
  %v25 = getelementptr i8, ptr %warp, i64 4288
  store <32 x i32> %v23, ptr %v25, align 64
  %v26 = call <32 x i64> @ptxsim_load_generic_8x1(ptr %context, ptr %warp, <32 x i64> %v24, i32 -1, i32 8, i32 0)
  %v27 = add <32 x i64> %v1, splat (i64 24)
  call void @ptxsim_store_generic_8x1(ptr %context, ptr %warp, <32 x i64> %v27, i32 -1, i32 9, i32 0, <32 x i64> %v3)
  %v28 = add <32 x i64> %v1, splat (i64 32)
  call void @ptxsim_store_global_4x1(ptr %context, ptr %warp, <32 x i64> %v28, i32 -1, i32 10, i32 0, <32 x i32> %v23)
  %v29 = load i64, ptr %count.at
  %v30 = add i64 %v29, 12
  store i64 %v30, ptr %count.at
  %v31 = load i32, ptr %left.at
  %v32 = sub i32 %v31, 1
  store i32 %v32, ptr %left.at
  store i32 -1, ptr %taken.at
  store i32 0, ptr %block.at
  store i32 11, ptr %site.at
  ret i32 2
b1:
  %v33 = load i64, ptr %count.at
  %v34 = add i64 %v33, 0
  store i64 %v34, ptr %count.at
  %v35 = load i32, ptr %left.at
  %v36 = sub i32 %v35, 1
  store i32 %v36, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
