declare <32 x i32> @llvm.umin.v32i32(<32 x i32>, <32 x i32>)
declare <32 x i32> @ptxsim_load_shared_4x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare <32 x i16> @ptxsim_load_shared_2x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare void @ptxsim_store_shared_4x1(ptr, ptr, <32 x i64>, i32, i32, i32, <32 x i32>)
define i32 @ldmatrix(ptr %context, ptr %warp) #0 {
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
  %v1 = getelementptr i8, ptr %warp, i64 3136
  %v2 = load <32 x i32>, ptr %v1, align 64
  %v3 = icmp uge <32 x i32> splat (i32 4), splat (i32 32)
  %v4 = call <32 x i32> @llvm.umin.v32i32(<32 x i32> splat (i32 4), <32 x i32> splat (i32 31))
  %v5 = shl <32 x i32> %v2, %v4
  %v6 = select <32 x i1> %v3, <32 x i32> splat (i32 0), <32 x i32> %v5
  %v7 = add <32 x i32> %v6, splat (i32 1024)
  %v8 = zext <32 x i32> %v7 to <32 x i64>
  %v9 = and <32 x i64> %v8, splat (i64 15)
  %v10 = icmp ne <32 x i64> %v9, splat (i64 0)
  %v11 = getelementptr i8, ptr %warp, i64 3392
  store <32 x i32> %v7, ptr %v11, align 64
  %v12 = and <32 x i1> %v10, <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>
  %v13 = bitcast <32 x i1> %v12 to i32
  %v14 = icmp eq i32 %v13, 0
  br i1 %v14, label %good1, label %bad1
bad1:
  store i32 4, ptr %site.at
  ret i32 3
good1:
  %v15 = shufflevector <32 x i64> %v8, <32 x i64> poison, <32 x i32> <i32 0, i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 1, i32 2, i32 2, i32 2, i32 2, i32 3, i32 3, i32 3, i32 3, i32 4, i32 4, i32 4, i32 4, i32 5, i32 5, i32 5, i32 5, i32 6, i32 6, i32 6, i32 6, i32 7, i32 7, i32 7, i32 7>
  %v16 = add <32 x i64> %v15, <i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12>
  %v17 = shufflevector <32 x i64> %v8, <32 x i64> poison, <32 x i32> <i32 8, i32 8, i32 8, i32 8, i32 9, i32 9, i32 9, i32 9, i32 10, i32 10, i32 10, i32 10, i32 11, i32 11, i32 11, i32 11, i32 12, i32 12, i32 12, i32 12, i32 13, i32 13, i32 13, i32 13, i32 14, i32 14, i32 14, i32 14, i32 15, i32 15, i32 15, i32 15>
  %v18 = add <32 x i64> %v17, <i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12>
  %v19 = call <32 x i32> @ptxsim_load_shared_4x1(ptr %context, ptr %warp, <32 x i64> %v16, i32 -1, i32 4, i32 0)
  %v20 = call <32 x i32> @ptxsim_load_shared_4x1(ptr %context, ptr %warp, <32 x i64> %v18, i32 -1, i32 4, i32 0)
  %v21 = getelementptr i8, ptr %warp, i64 3648
  store <32 x i32> %v19, ptr %v21, align 64
  %v22 = load i64, ptr %count.at
  %v23 = add i64 %v22, 5
  store i64 %v23, ptr %count.at
  %v24 = load i32, ptr %left.at
  %v25 = sub i32 %v24, 1
  store i32 %v25, ptr %left.at
  %v26 = icmp eq i32 %v25, 0
  br i1 %v26, label %stop2, label %b1
stop2:
  store i32 1, ptr %block.at
  ret i32 0
b1:
  %v27 = getelementptr i8, ptr %warp, i64 3392
  %v28 = load <32 x i32>, ptr %v27, align 64
  %v29 = zext <32 x i32> %v28 to <32 x i64>
  %v30 = and <32 x i64> %v29, splat (i64 15)
  %v31 = icmp ne <32 x i64> %v30, splat (i64 0)
  %v32 = and <32 x i1> %v31, <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>
  %v33 = bitcast <32 x i1> %v32 to i32
  %v34 = icmp eq i32 %v33, 0
  br i1 %v34, label %good3, label %bad3
bad3:
  store i32 5, ptr %site.at
  ret i32 3
good3:
  %v35 = shufflevector <32 x i64> %v29, <32 x i64> poison, <32 x i32> <i32 0, i32 2, i32 4, i32 6, i32 0, i32 2, i32 4, i32 6, i32 0, i32 2, i32 4, i32 6, i32 0, i32 2, i32 4, i32 6, i32 0, i32 2, i32 4, i32 6, i32 0, i32 2, i32 4, i32 6, i32 0, i32 2, i32 4, i32 6, i32 0, i32 2, i32 4, i32 6>
  %v36 = add <32 x i64> %v35, <i64 0, i64 0, i64 0, i64 0, i64 2, i64 2, i64 2, i64 2, i64 4, i64 4, i64 4, i64 4, i64 6, i64 6, i64 6, i64 6, i64 8, i64 8, i64 8, i64 8, i64 10, i64 10, i64 10, i64 10, i64 12, i64 12, i64 12, i64 12, i64 14, i64 14, i64 14, i64 14>
  %v37 = shufflevector <32 x i64> %v29, <32 x i64> poison, <32 x i32> <i32 1, i32 3, i32 5, i32 7, i32 1, i32 3, i32 5, i32 7, i32 1, i32 3, i32 5, i32 7, i32 1, i32 3, i32 5, i32 7, i32 1, i32 3, i32 5, i32 7, i32 1, i32 3, i32 5, i32 7, i32 1, i32 3, i32 5, i32 7, i32 1, i32 3, i32 5, i32 7>
  %v38 = add <32 x i64> %v37, <i64 0, i64 0, i64 0, i64 0, i64 2, i64 2, i64 2, i64 2, i64 4, i64 4, i64 4, i64 4, i64 6, i64 6, i64 6, i64 6, i64 8, i64 8, i64 8, i64 8, i64 10, i64 10, i64 10, i64 10, i64 12, i64 12, i64 12, i64 12, i64 14, i64 14, i64 14, i64 14>
  %v39 = call <32 x i16> @ptxsim_load_shared_2x1(ptr %context, ptr %warp, <32 x i64> %v36, i32 -1, i32 5, i32 0)
  %v40 = zext <32 x i16> %v39 to <32 x i32>
  %v41 = call <32 x i16> @ptxsim_load_shared_2x1(ptr %context, ptr %warp, <32 x i64> %v38, i32 -1, i32 5, i32 0)
  %v42 = zext <32 x i16> %v41 to <32 x i32>
  %v43 = shl <32 x i32> %v42, splat (i32 16)
  %v44 = or <32 x i32> %v40, %v43
  %v45 = getelementptr i8, ptr %warp, i64 3776
  store <32 x i32> %v44, ptr %v45, align 64
  %v46 = load i64, ptr %count.at
  %v47 = add i64 %v46, 1
  store i64 %v47, ptr %count.at
  %v48 = load i32, ptr %left.at
  %v49 = sub i32 %v48, 1
  store i32 %v49, ptr %left.at
  %v50 = icmp eq i32 %v49, 0
  br i1 %v50, label %stop4, label %b2
stop4:
  store i32 2, ptr %block.at
  ret i32 0
b2:
  %v51 = getelementptr i8, ptr %warp, i64 3392
  %v52 = load <32 x i32>, ptr %v51, align 64
  %v53 = zext <32 x i32> %v52 to <32 x i64>
  %v54 = getelementptr i8, ptr %warp, i64 3648
  %v55 = load <32 x i32>, ptr %v54, align 64
  %v56 = getelementptr i8, ptr %warp, i64 3776
  %v57 = load <32 x i32>, ptr %v56, align 64
  %v58 = and <32 x i64> %v53, splat (i64 15)
  %v59 = icmp ne <32 x i64> %v58, splat (i64 0)
  %v60 = and <32 x i1> %v59, <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>
  %v61 = bitcast <32 x i1> %v60 to i32
  %v62 = icmp eq i32 %v61, 0
  br i1 %v62, label %good5, label %bad5
bad5:
  store i32 6, ptr %site.at
  ret i32 3
good5:
  %v63 = shufflevector <32 x i64> %v53, <32 x i64> poison, <32 x i32> <i32 0, i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 1, i32 2, i32 2, i32 2, i32 2, i32 3, i32 3, i32 3, i32 3, i32 4, i32 4, i32 4, i32 4, i32 5, i32 5, i32 5, i32 5, i32 6, i32 6, i32 6, i32 6, i32 7, i32 7, i32 7, i32 7>
  %v64 = add <32 x i64> %v63, <i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12>
  %v65 = shufflevector <32 x i64> %v53, <32 x i64> poison, <32 x i32> <i32 8, i32 8, i32 8, i32 8, i32 9, i32 9, i32 9, i32 9, i32 10, i32 10, i32 10, i32 10, i32 11, i32 11, i32 11, i32 11, i32 12, i32 12, i32 12, i32 12, i32 13, i32 13, i32 13, i32 13, i32 14, i32 14, i32 14, i32 14, i32 15, i32 15, i32 15, i32 15>
  %v66 = add <32 x i64> %v65, <i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12>
  %v67 = call <32 x i32> @ptxsim_load_shared_4x1(ptr %context, ptr %warp, <32 x i64> %v64, i32 -1, i32 6, i32 0)
  %v68 = icmp eq <32 x i32> %v67, %v55
  %v69 = and <32 x i1> splat (i1 true), %v68
  %v70 = call <32 x i32> @ptxsim_load_shared_4x1(ptr %context, ptr %warp, <32 x i64> %v66, i32 -1, i32 6, i32 0)
  %v71 = icmp eq <32 x i32> %v70, %v57
  %v72 = and <32 x i1> %v69, %v71
  %v73 = bitcast <32 x i1> %v72 to i32
  %v74 = icmp eq i32 %v73, -1
  %v75 = select i1 %v74, i32 64, i32 0
  call void @ptxsim_store_shared_4x1(ptr %context, ptr %warp, <32 x i64> %v64, i32 -1, i32 6, i32 0, <32 x i32> %v55)
  call void @ptxsim_store_shared_4x1(ptr %context, ptr %warp, <32 x i64> %v66, i32 -1, i32 6, i32 0, <32 x i32> %v57)
  %v76 = load i64, ptr %count.at
  %v77 = add i64 %v76, 1
  store i64 %v77, ptr %count.at
  %v78 = load i32, ptr %left.at
  %v79 = sub i32 %v78, 1
  store i32 %v79, ptr %left.at
  %v80 = icmp eq i32 %v79, 0
  br i1 %v80, label %stop6, label %b3
stop6:
  store i32 3, ptr %block.at
  ret i32 0
b3:
  %v81 = load i64, ptr %count.at
  %v82 = add i64 %v81, 1
  store i64 %v82, ptr %count.at
  %v83 = load i32, ptr %left.at
  %v84 = sub i32 %v83, 1
  store i32 %v84, ptr %left.at
  store i32 -1, ptr %taken.at
  store i32 3, ptr %block.at
  store i32 7, ptr %site.at
  ret i32 2
b4:
  %v85 = load i64, ptr %count.at
  %v86 = add i64 %v85, 0
  store i64 %v86, ptr %count.at
  %v87 = load i32, ptr %left.at
  %v88 = sub i32 %v87, 1
  store i32 %v88, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
