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
  %v1 = call <32 x i64> @ptxsim_load_param_8x1(ptr %context, ptr %warp, <32 x i64> splat (i64 421114027184128), i32 %mask, i32 0, i32 0)
  %v2 = getelementptr i8, ptr %warp, i64 3392
  %v3 = load <32 x i64>, ptr %v2, align 64
  %v4 = select <32 x i1> %lanes, <32 x i64> %v1, <32 x i64> %v3
  %v5 = getelementptr i8, ptr %warp, i64 3136
  %v6 = load <32 x i32>, ptr %v5, align 64
  %v7 = getelementptr i8, ptr %warp, i64 3904
  %v8 = load <32 x i32>, ptr %v7, align 64
  %v9 = select <32 x i1> %lanes, <32 x i32> %v6, <32 x i32> %v8
  %v10 = icmp ugt <32 x i32> %v9, splat (i32 9)
  %v11 = xor <32 x i1> %v10, splat (i1 true)
  %v12 = getelementptr i8, ptr %warp, i64 4160
  %v13 = load i32, ptr %v12, align 8
  %v14 = bitcast i32 %v13 to <32 x i1>
  %v15 = select <32 x i1> %lanes, <32 x i1> %v10, <32 x i1> %v14
  %v16 = and <32 x i1> %v15, %lanes
  %v17 = getelementptr i8, ptr %warp, i64 3392
  store <32 x i64> %v4, ptr %v17, align 64
  %v18 = getelementptr i8, ptr %warp, i64 3904
  store <32 x i32> %v9, ptr %v18, align 64
  %v19 = load i64, ptr %count.at
  %v20 = add i64 %v19, 4
  store i64 %v20, ptr %count.at
  %v21 = load i32, ptr %left.at
  %v22 = sub i32 %v21, 1
  store i32 %v22, ptr %left.at
  %v23 = bitcast <32 x i1> %v16 to i32
  %v24 = icmp eq i32 %v23, %mask
  br i1 %v24, label %all1, label %some1
all1:
  %v25 = icmp eq i32 %v22, 0
  %v26 = icmp sle i32 %stop.before, 2
  %v27 = or i1 %v25, %v26
  br i1 %v27, label %stop2, label %b2
stop2:
  store i32 2, ptr %block.at
  ret i32 0
some1:
  %v28 = icmp eq i32 %v23, 0
  br i1 %v28, label %none3, label %split3
none3:
  %v29 = icmp eq i32 %v22, 0
  %v30 = icmp sle i32 %stop.before, 1
  %v31 = or i1 %v29, %v30
  br i1 %v31, label %stop4, label %b1
stop4:
  store i32 1, ptr %block.at
  ret i32 0
split3:
  store i32 %v23, ptr %taken.at
  store i32 0, ptr %block.at
  store i32 2, ptr %target.at
  ret i32 1
b1:
  %v32 = getelementptr i8, ptr %warp, i64 3904
  %v33 = load <32 x i32>, ptr %v32, align 64
  %v34 = icmp uge <32 x i32> splat (i32 3), splat (i32 32)
  %v35 = call <32 x i32> @llvm.umin.v32i32(<32 x i32> splat (i32 3), <32 x i32> splat (i32 31))
  %v36 = shl <32 x i32> %v33, %v35
  %v37 = select <32 x i1> %v34, <32 x i32> splat (i32 0), <32 x i32> %v36
  %v38 = getelementptr i8, ptr %warp, i64 4032
  %v39 = load <32 x i32>, ptr %v38, align 64
  %v40 = select <32 x i1> %lanes, <32 x i32> %v37, <32 x i32> %v39
  %v41 = getelementptr i8, ptr %warp, i64 4032
  store <32 x i32> %v40, ptr %v41, align 64
  %v42 = load i64, ptr %count.at
  %v43 = add i64 %v42, 2
  store i64 %v43, ptr %count.at
  %v44 = load i32, ptr %left.at
  %v45 = sub i32 %v44, 1
  store i32 %v45, ptr %left.at
  %v46 = icmp eq i32 %v45, 0
  %v47 = icmp sle i32 %stop.before, 3
  %v48 = or i1 %v46, %v47
  br i1 %v48, label %stop5, label %b3
stop5:
  store i32 3, ptr %block.at
  ret i32 0
b2:
  %v49 = getelementptr i8, ptr %warp, i64 3904
  %v50 = load <32 x i32>, ptr %v49, align 64
  %v51 = xor <32 x i32> %v50, splat (i32 -1)
  %v52 = getelementptr i8, ptr %warp, i64 4032
  %v53 = load <32 x i32>, ptr %v52, align 64
  %v54 = select <32 x i1> %lanes, <32 x i32> %v51, <32 x i32> %v53
  %v55 = getelementptr i8, ptr %warp, i64 4032
  store <32 x i32> %v54, ptr %v55, align 64
  %v56 = load i64, ptr %count.at
  %v57 = add i64 %v56, 1
  store i64 %v57, ptr %count.at
  %v58 = load i32, ptr %left.at
  %v59 = sub i32 %v58, 1
  store i32 %v59, ptr %left.at
  %v60 = icmp eq i32 %v59, 0
  %v61 = icmp sle i32 %stop.before, 3
  %v62 = or i1 %v60, %v61
  br i1 %v62, label %stop6, label %b3
stop6:
  store i32 3, ptr %block.at
  ret i32 0
b3:
  %v63 = getelementptr i8, ptr %warp, i64 3904
  %v64 = load <32 x i32>, ptr %v63, align 64
  %v65 = zext <32 x i32> %v64 to <32 x i64>
  %v66 = zext <32 x i32> splat (i32 4) to <32 x i64>
  %v67 = mul <32 x i64> %v65, %v66
  %v68 = getelementptr i8, ptr %warp, i64 3648
  %v69 = load <32 x i64>, ptr %v68, align 64
  %v70 = select <32 x i1> %lanes, <32 x i64> %v67, <32 x i64> %v69
  %v71 = getelementptr i8, ptr %warp, i64 3392
  %v72 = load <32 x i64>, ptr %v71, align 64
  %v73 = add <32 x i64> %v72, %v70
  %v74 = select <32 x i1> %lanes, <32 x i64> %v73, <32 x i64> %v72
  %v75 = getelementptr i8, ptr %warp, i64 4032
  %v76 = load <32 x i32>, ptr %v75, align 64
  %v77 = getelementptr i8, ptr %warp, i64 3392
  store <32 x i64> %v74, ptr %v77, align 64
  call void @ptxsim_store_global_4x1(ptr %context, ptr %warp, <32 x i64> %v74, i32 %mask, i32 9, i32 0, <32 x i32> %v76)
  %v78 = load i64, ptr %count.at
  %v79 = add i64 %v78, 4
  store i64 %v79, ptr %count.at
  %v80 = load i32, ptr %left.at
  %v81 = sub i32 %v80, 1
  store i32 %v81, ptr %left.at
  store i32 %mask, ptr %taken.at
  store i32 3, ptr %block.at
  store i32 10, ptr %site.at
  ret i32 2
b4:
  %v82 = load i64, ptr %count.at
  %v83 = add i64 %v82, 0
  store i64 %v83, ptr %count.at
  %v84 = load i32, ptr %left.at
  %v85 = sub i32 %v84, 1
  store i32 %v85, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
