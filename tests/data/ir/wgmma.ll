@table0 = private constant [14 x i32] [i32 0, i32 0, i32 384, i32 3840, i32 3968, i32 3840, i32 3968, i32 3072, i32 0, i32 384, i32 4096, i32 4224, i32 4096, i32 4224], align 64
declare <32 x i64> @ptxsim_load_param_8x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare <32 x i64> @ptxsim_load_global_8x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare i64 @ptxsim_tile(ptr, i32, i32, i64)
declare void @ptxsim_warpgroup_c69cbad3e1462a5b(ptr, ptr, ptr, ptr, ptr)
declare i32 @ptxsim_arrive_at_product(ptr, ptr, i32, i32, i32, i64, i64, i64, i64, i64)
declare i1 @ptxsim_commit_products(ptr, ptr)
declare i1 @ptxsim_wait_for_products(ptr, ptr, i64)
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
  %stop.before.at = getelementptr i8, ptr %warp, i64 88
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
  %v2 = getelementptr i8, ptr %warp, i64 3072
  store <32 x i64> %v1, ptr %v2, align 64
  %v3 = call <32 x i64> @ptxsim_load_global_8x1(ptr %context, ptr %warp, <32 x i64> %v1, i32 -1, i32 1, i32 0)
  %v4 = add <32 x i64> %v1, splat (i64 8)
  %v5 = getelementptr i8, ptr %warp, i64 3328
  store <32 x i64> %v3, ptr %v5, align 64
  %v6 = call <32 x i64> @ptxsim_load_global_8x1(ptr %context, ptr %warp, <32 x i64> %v4, i32 -1, i32 2, i32 0)
  %v7 = getelementptr i8, ptr %warp, i64 3584
  store <32 x i64> %v6, ptr %v7, align 64
  %v8 = getelementptr i8, ptr %context, i64 736
  %v9 = load i64, ptr %v8
  %v10 = icmp ne i64 %v9, 0
  br i1 %v10, label %good1, label %bad1
bad1:
  store i32 3, ptr %site.at
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
  %v16 = getelementptr i8, ptr %warp, i64 3328
  %v17 = load <32 x i64>, ptr %v16, align 64
  %v18 = getelementptr i8, ptr %warp, i64 3584
  %v19 = load <32 x i64>, ptr %v18, align 64
  %v20 = shufflevector <32 x i64> %v17, <32 x i64> poison, <32 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %v21 = icmp eq <32 x i64> %v17, %v20
  %v22 = bitcast <32 x i1> %v21 to i32
  %v23 = icmp eq i32 %v22, -1
  br i1 %v23, label %good3, label %bad3
bad3:
  store i32 4, ptr %site.at
  ret i32 3
good3:
  %v24 = extractelement <32 x i64> %v17, i64 0
  %v25 = shufflevector <32 x i64> %v19, <32 x i64> poison, <32 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %v26 = icmp eq <32 x i64> %v19, %v25
  %v27 = bitcast <32 x i1> %v26 to i32
  %v28 = icmp eq i32 %v27, -1
  br i1 %v28, label %good4, label %bad4
bad4:
  store i32 4, ptr %site.at
  ret i32 3
good4:
  %v29 = extractelement <32 x i64> %v19, i64 0
  %v30 = call i64 @ptxsim_tile(ptr %context, i32 4, i32 0, i64 %v24)
  %v31 = icmp ne i64 %v30, 0
  br i1 %v31, label %good5, label %bad5
bad5:
  store i32 4, ptr %site.at
  ret i32 3
good5:
  %v32 = call i64 @ptxsim_tile(ptr %context, i32 4, i32 1, i64 %v29)
  %v33 = icmp ne i64 %v32, 0
  br i1 %v33, label %good6, label %bad6
bad6:
  store i32 4, ptr %site.at
  ret i32 3
good6:
  %v34 = call i32 @ptxsim_arrive_at_product(ptr %context, ptr %warp, i32 4, i32 13, i32 0, i64 %v24, i64 %v29, i64 ptrtoint (ptr @ptxsim_warpgroup_c69cbad3e1462a5b to i64), i64 ptrtoint (ptr @table0 to i64), i64 1)
  %v35 = icmp eq i32 %v34, 1
  %v36 = icmp eq i32 %v34, 0
  %v37 = or i1 %v35, %v36
  br i1 %v37, label %good7, label %bad7
bad7:
  store i32 4, ptr %site.at
  ret i32 3
good7:
  br i1 %v35, label %good8, label %wait8
wait8:
  store i32 1, ptr %block.at
  store i32 1, ptr %op.at
  store i32 4, ptr %own.site.at
  ret i32 6
good8:
  %v38 = load i64, ptr %count.at
  %v39 = add i64 %v38, 1
  store i64 %v39, ptr %count.at
  %v40 = load i32, ptr %left.at
  %v41 = sub i32 %v40, 1
  store i32 %v41, ptr %left.at
  %v42 = icmp eq i32 %v41, 0
  br i1 %v42, label %stop9, label %b2
stop9:
  store i32 2, ptr %block.at
  ret i32 0
b2:
  %v43 = call i1 @ptxsim_commit_products(ptr %context, ptr %warp)
  br i1 %v43, label %good10, label %bad10
bad10:
  store i32 5, ptr %site.at
  ret i32 3
good10:
  %v44 = load i64, ptr %count.at
  %v45 = add i64 %v44, 1
  store i64 %v45, ptr %count.at
  %v46 = load i32, ptr %left.at
  %v47 = sub i32 %v46, 1
  store i32 %v47, ptr %left.at
  %v48 = icmp eq i32 %v47, 0
  br i1 %v48, label %stop11, label %b3
stop11:
  store i32 3, ptr %block.at
  ret i32 0
b3:
  %v49 = call i1 @ptxsim_wait_for_products(ptr %context, ptr %warp, i64 0)
  br i1 %v49, label %good12, label %bad12
bad12:
  store i32 6, ptr %site.at
  ret i32 3
good12:
  %v50 = load i64, ptr %count.at
  %v51 = add i64 %v50, 1
  store i64 %v51, ptr %count.at
  %v52 = load i32, ptr %left.at
  %v53 = sub i32 %v52, 1
  store i32 %v53, ptr %left.at
  %v54 = icmp eq i32 %v53, 0
  br i1 %v54, label %stop13, label %b4
stop13:
  store i32 4, ptr %block.at
  ret i32 0
b4:
  %v55 = getelementptr i8, ptr %warp, i64 3072
  %v56 = load <32 x i64>, ptr %v55, align 64
  %v57 = getelementptr i8, ptr %warp, i64 3840
  %v58 = load <32 x i32>, ptr %v57, align 64
  %v59 = bitcast <32 x i32> %v58 to <32 x float>
  %v60 = getelementptr i8, ptr %warp, i64 3968
  %v61 = load <32 x i32>, ptr %v60, align 64
  %v62 = bitcast <32 x i32> %v61 to <32 x float>
  %v63 = getelementptr i8, ptr %warp, i64 4096
  %v64 = load <32 x i32>, ptr %v63, align 64
  %v65 = bitcast <32 x i32> %v64 to <32 x float>
  %v66 = getelementptr i8, ptr %warp, i64 4224
  %v67 = load <32 x i32>, ptr %v66, align 64
  %v68 = bitcast <32 x i32> %v67 to <32 x float>
  call void @ptxsim_store_global_4x4(ptr %context, ptr %warp, <32 x i64> %v56, i32 -1, i32 7, i32 0, <32 x i32> %v58, <32 x i32> %v61, <32 x i32> %v64, <32 x i32> %v67)
  %v69 = load i64, ptr %count.at
  %v70 = add i64 %v69, 2
  store i64 %v70, ptr %count.at
  %v71 = load i32, ptr %left.at
  %v72 = sub i32 %v71, 1
  store i32 %v72, ptr %left.at
  store i32 -1, ptr %taken.at
  store i32 4, ptr %block.at
  store i32 8, ptr %site.at
  ret i32 2
b5:
  %v73 = load i64, ptr %count.at
  %v74 = add i64 %v73, 0
  store i64 %v74, ptr %count.at
  %v75 = load i32, ptr %left.at
  %v76 = sub i32 %v75, 1
  store i32 %v76, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
