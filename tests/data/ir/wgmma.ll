@table0 = private constant [14 x i32] [i32 0, i32 0, i32 384, i32 3904, i32 4032, i32 3904, i32 4032, i32 3072, i32 0, i32 384, i32 4160, i32 4288, i32 4160, i32 4288], align 64
declare <32 x i64> @ptxsim_load_param_8x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare <32 x i64> @ptxsim_load_global_8x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare i64 @ptxsim_tile(ptr, ptr, i32, i32, i64)
declare void @ptxsim_warpgroup_1b41719d2a0536b0(ptr, ptr, ptr, ptr, ptr)
declare i32 @ptxsim_arrive_at_product(ptr, ptr, i32, i32, i32, i64, i64, i64, i64, i64, i32)
declare i1 @ptxsim_commit_products(ptr, ptr)
declare i1 @ptxsim_wait_for_products(ptr, ptr, i32, i64, i32)
declare void @ptxsim_store_global_4x4(ptr, ptr, <32 x i64>, i32, i32, i32, <32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>)
define i32 @wgmma(ptr %context, ptr %warp) #0 {
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
    i32 5, label %b5
  ]
nowhere:
  unreachable
b0:
  %v1 = call <32 x i64> @ptxsim_load_param_8x1(ptr %context, ptr %warp, <32 x i64> splat (i64 421114027184128), i32 -1, i32 0, i32 0)
  %v2 = getelementptr i8, ptr %warp, i64 3136
  store <32 x i64> %v1, ptr %v2, align 64
  %v3 = call <32 x i64> @ptxsim_load_global_8x1(ptr %context, ptr %warp, <32 x i64> %v1, i32 -1, i32 1, i32 0)
  %v4 = add <32 x i64> %v1, splat (i64 8)
  %v5 = getelementptr i8, ptr %warp, i64 3392
  store <32 x i64> %v3, ptr %v5, align 64
  %v6 = call <32 x i64> @ptxsim_load_global_8x1(ptr %context, ptr %warp, <32 x i64> %v4, i32 -1, i32 2, i32 0)
  %v7 = getelementptr i8, ptr %warp, i64 3648
  store <32 x i64> %v6, ptr %v7, align 64
  %v8 = load i64, ptr %count.at
  %v9 = add i64 %v8, 4
  store i64 %v9, ptr %count.at
  %v10 = load i32, ptr %left.at
  %v11 = sub i32 %v10, 1
  store i32 %v11, ptr %left.at
  %v12 = icmp eq i32 %v11, 0
  br i1 %v12, label %stop1, label %b1
stop1:
  store i32 1, ptr %block.at
  ret i32 0
b1:
  %v13 = getelementptr i8, ptr %warp, i64 3392
  %v14 = load <32 x i64>, ptr %v13, align 64
  %v15 = getelementptr i8, ptr %warp, i64 3648
  %v16 = load <32 x i64>, ptr %v15, align 64
  %v17 = shufflevector <32 x i64> %v14, <32 x i64> poison, <32 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %v18 = icmp eq <32 x i64> %v14, %v17
  %v19 = bitcast <32 x i1> %v18 to i32
  %v20 = icmp eq i32 %v19, -1
  br i1 %v20, label %good2, label %bad2
bad2:
  store i32 4, ptr %site.at
  ret i32 3
good2:
  %v21 = extractelement <32 x i64> %v14, i64 0
  %v22 = shufflevector <32 x i64> %v16, <32 x i64> poison, <32 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %v23 = icmp eq <32 x i64> %v16, %v22
  %v24 = bitcast <32 x i1> %v23 to i32
  %v25 = icmp eq i32 %v24, -1
  br i1 %v25, label %good3, label %bad3
bad3:
  store i32 4, ptr %site.at
  ret i32 3
good3:
  %v26 = extractelement <32 x i64> %v16, i64 0
  %v27 = call i64 @ptxsim_tile(ptr %context, ptr %warp, i32 4, i32 0, i64 %v21)
  %v28 = icmp ne i64 %v27, 0
  br i1 %v28, label %good4, label %bad4
bad4:
  store i32 4, ptr %site.at
  ret i32 3
good4:
  %v29 = call i64 @ptxsim_tile(ptr %context, ptr %warp, i32 4, i32 1, i64 %v26)
  %v30 = icmp ne i64 %v29, 0
  br i1 %v30, label %good5, label %bad5
bad5:
  store i32 4, ptr %site.at
  ret i32 3
good5:
  %v31 = call i32 @ptxsim_arrive_at_product(ptr %context, ptr %warp, i32 4, i32 13, i32 0, i64 %v21, i64 %v26, i64 ptrtoint (ptr @ptxsim_warpgroup_1b41719d2a0536b0 to i64), i64 ptrtoint (ptr @table0 to i64), i64 1, i32 0)
  %v32 = icmp eq i32 %v31, 1
  %v33 = icmp eq i32 %v31, 0
  %v34 = or i1 %v32, %v33
  br i1 %v34, label %good6, label %bad6
bad6:
  store i32 4, ptr %site.at
  ret i32 3
good6:
  br i1 %v32, label %good7, label %wait7
wait7:
  store i32 1, ptr %block.at
  store i32 1, ptr %op.at
  store i32 4, ptr %own.site.at
  ret i32 6
good7:
  %v35 = load i64, ptr %count.at
  %v36 = add i64 %v35, 1
  store i64 %v36, ptr %count.at
  %v37 = load i32, ptr %left.at
  %v38 = sub i32 %v37, 1
  store i32 %v38, ptr %left.at
  %v39 = icmp eq i32 %v38, 0
  br i1 %v39, label %stop8, label %b2
stop8:
  store i32 2, ptr %block.at
  ret i32 0
b2:
  %v40 = call i1 @ptxsim_commit_products(ptr %context, ptr %warp)
  br i1 %v40, label %good9, label %bad9
bad9:
  store i32 5, ptr %site.at
  ret i32 3
good9:
  %v41 = load i64, ptr %count.at
  %v42 = add i64 %v41, 1
  store i64 %v42, ptr %count.at
  %v43 = load i32, ptr %left.at
  %v44 = sub i32 %v43, 1
  store i32 %v44, ptr %left.at
  %v45 = icmp eq i32 %v44, 0
  br i1 %v45, label %stop10, label %b3
stop10:
  store i32 3, ptr %block.at
  ret i32 0
b3:
  %v46 = call i1 @ptxsim_wait_for_products(ptr %context, ptr %warp, i32 6, i64 0, i32 0)
  br i1 %v46, label %good11, label %bad11
bad11:
  store i32 6, ptr %site.at
  ret i32 3
good11:
  %v47 = load i64, ptr %count.at
  %v48 = add i64 %v47, 1
  store i64 %v48, ptr %count.at
  %v49 = load i32, ptr %left.at
  %v50 = sub i32 %v49, 1
  store i32 %v50, ptr %left.at
  %v51 = icmp eq i32 %v50, 0
  br i1 %v51, label %stop12, label %b4
stop12:
  store i32 4, ptr %block.at
  ret i32 0
b4:
  %v52 = getelementptr i8, ptr %warp, i64 3136
  %v53 = load <32 x i64>, ptr %v52, align 64
  %v54 = getelementptr i8, ptr %warp, i64 3904
  %v55 = load <32 x i32>, ptr %v54, align 64
  %v56 = bitcast <32 x i32> %v55 to <32 x float>
  %v57 = getelementptr i8, ptr %warp, i64 4032
  %v58 = load <32 x i32>, ptr %v57, align 64
  %v59 = bitcast <32 x i32> %v58 to <32 x float>
  %v60 = getelementptr i8, ptr %warp, i64 4160
  %v61 = load <32 x i32>, ptr %v60, align 64
  %v62 = bitcast <32 x i32> %v61 to <32 x float>
  %v63 = getelementptr i8, ptr %warp, i64 4288
  %v64 = load <32 x i32>, ptr %v63, align 64
  %v65 = bitcast <32 x i32> %v64 to <32 x float>
  call void @ptxsim_store_global_4x4(ptr %context, ptr %warp, <32 x i64> %v53, i32 -1, i32 7, i32 0, <32 x i32> %v55, <32 x i32> %v58, <32 x i32> %v61, <32 x i32> %v64)
  %v66 = load i64, ptr %count.at
  %v67 = add i64 %v66, 2
  store i64 %v67, ptr %count.at
  %v68 = load i32, ptr %left.at
  %v69 = sub i32 %v68, 1
  store i32 %v69, ptr %left.at
  store i32 -1, ptr %taken.at
  store i32 4, ptr %block.at
  store i32 8, ptr %site.at
  ret i32 2
b5:
  %v70 = load i64, ptr %count.at
  %v71 = add i64 %v70, 0
  store i64 %v71, ptr %count.at
  %v72 = load i32, ptr %left.at
  %v73 = sub i32 %v72, 1
  store i32 %v73, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
