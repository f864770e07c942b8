declare <32 x i64> @ptxsim_load_param_8x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare <32 x i32> @ptxsim_load_shared_4x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare <32 x i32> @ptxsim_load_global_4x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare i1 @ptxsim_product_e3aca34bb1564c46(ptr, ptr, ptr, ptr, ptr)
declare void @ptxsim_store_global_4x1(ptr, ptr, <32 x i64>, i32, i32, i32, <32 x i32>)
define i32 @wmma(ptr %context, ptr %warp) #0 {
entry:
  %v169 = alloca [256 x i32], align 64
  %v178 = alloca [256 x i32], align 64
  %v187 = alloca [128 x i32], align 64
  %v192 = alloca [128 x i32], align 64
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
    i32 6, label %b6
  ]
nowhere:
  unreachable
b0:
  %v1 = call <32 x i64> @ptxsim_load_param_8x1(ptr %context, ptr %warp, <32 x i64> splat (i64 421114027184128), i32 -1, i32 0, i32 0)
  %v2 = zext <32 x i32> splat (i32 16) to <32 x i64>
  %v3 = mul <32 x i64> %v2, splat (i64 2)
  %v4 = shufflevector <32 x i64> splat (i64 1024), <32 x i64> poison, <32 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %v5 = icmp eq <32 x i64> splat (i64 1024), %v4
  %v6 = shufflevector <32 x i32> splat (i32 16), <32 x i32> poison, <32 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %v7 = icmp eq <32 x i32> splat (i32 16), %v6
  %v8 = and <32 x i1> %v5, %v7
  %v9 = icmp uge <32 x i32> splat (i32 16), splat (i32 16)
  %v10 = and <32 x i1> %v8, %v9
  %v11 = and <32 x i64> splat (i64 1024), splat (i64 31)
  %v12 = icmp eq <32 x i64> %v11, splat (i64 0)
  %v13 = and <32 x i1> %v10, %v12
  %v14 = and <32 x i64> %v3, splat (i64 31)
  %v15 = icmp eq <32 x i64> %v14, splat (i64 0)
  %v16 = and <32 x i1> %v13, %v15
  %v17 = getelementptr i8, ptr %warp, i64 3136
  store <32 x i64> %v1, ptr %v17, align 64
  %v18 = bitcast <32 x i1> %v16 to i32
  %v19 = icmp eq i32 %v18, -1
  br i1 %v19, label %good1, label %bad1
bad1:
  store i32 1, ptr %site.at
  ret i32 3
good1:
  %v20 = mul <32 x i64> <i64 0, i64 0, i64 0, i64 0, i64 2, i64 2, i64 2, i64 2, i64 4, i64 4, i64 4, i64 4, i64 6, i64 6, i64 6, i64 6, i64 8, i64 8, i64 8, i64 8, i64 10, i64 10, i64 10, i64 10, i64 12, i64 12, i64 12, i64 12, i64 14, i64 14, i64 14, i64 14>, %v2
  %v21 = add <32 x i64> splat (i64 1024), %v20
  %v22 = add <32 x i64> %v21, <i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12>
  %v23 = mul <32 x i64> <i64 16, i64 16, i64 16, i64 16, i64 18, i64 18, i64 18, i64 18, i64 20, i64 20, i64 20, i64 20, i64 22, i64 22, i64 22, i64 22, i64 24, i64 24, i64 24, i64 24, i64 26, i64 26, i64 26, i64 26, i64 28, i64 28, i64 28, i64 28, i64 30, i64 30, i64 30, i64 30>, %v2
  %v24 = add <32 x i64> splat (i64 1024), %v23
  %v25 = add <32 x i64> %v24, <i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12>
  %v26 = add <32 x i64> %v21, <i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28>
  %v27 = add <32 x i64> %v24, <i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28>
  %v28 = call <32 x i32> @ptxsim_load_shared_4x1(ptr %context, ptr %warp, <32 x i64> %v22, i32 -1, i32 1, i32 0)
  %v29 = call <32 x i32> @ptxsim_load_shared_4x1(ptr %context, ptr %warp, <32 x i64> %v25, i32 -1, i32 1, i32 0)
  %v30 = call <32 x i32> @ptxsim_load_shared_4x1(ptr %context, ptr %warp, <32 x i64> %v26, i32 -1, i32 1, i32 0)
  %v31 = call <32 x i32> @ptxsim_load_shared_4x1(ptr %context, ptr %warp, <32 x i64> %v27, i32 -1, i32 1, i32 0)
  %v32 = getelementptr i8, ptr %warp, i64 3392
  store <32 x i32> %v28, ptr %v32, align 64
  %v33 = getelementptr i8, ptr %warp, i64 3520
  store <32 x i32> %v29, ptr %v33, align 64
  %v34 = getelementptr i8, ptr %warp, i64 3648
  store <32 x i32> %v30, ptr %v34, align 64
  %v35 = getelementptr i8, ptr %warp, i64 3776
  store <32 x i32> %v31, ptr %v35, align 64
  %v36 = getelementptr i8, ptr %warp, i64 3904
  store <32 x i32> %v28, ptr %v36, align 64
  %v37 = getelementptr i8, ptr %warp, i64 4032
  store <32 x i32> %v29, ptr %v37, align 64
  %v38 = getelementptr i8, ptr %warp, i64 4160
  store <32 x i32> %v30, ptr %v38, align 64
  %v39 = getelementptr i8, ptr %warp, i64 4288
  store <32 x i32> %v31, ptr %v39, align 64
  %v40 = load i64, ptr %count.at
  %v41 = add i64 %v40, 2
  store i64 %v41, ptr %count.at
  %v42 = load i32, ptr %left.at
  %v43 = sub i32 %v42, 1
  store i32 %v43, ptr %left.at
  %v44 = icmp eq i32 %v43, 0
  br i1 %v44, label %stop2, label %b1
stop2:
  store i32 1, ptr %block.at
  ret i32 0
b1:
  %v45 = getelementptr i8, ptr %warp, i64 3136
  %v46 = load <32 x i64>, ptr %v45, align 64
  %v47 = zext <32 x i32> splat (i32 32) to <32 x i64>
  %v48 = mul <32 x i64> %v47, splat (i64 2)
  %v49 = shufflevector <32 x i64> %v46, <32 x i64> poison, <32 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %v50 = icmp eq <32 x i64> %v46, %v49
  %v51 = shufflevector <32 x i32> splat (i32 32), <32 x i32> poison, <32 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %v52 = icmp eq <32 x i32> splat (i32 32), %v51
  %v53 = and <32 x i1> %v50, %v52
  %v54 = icmp uge <32 x i32> splat (i32 32), splat (i32 16)
  %v55 = and <32 x i1> %v53, %v54
  %v56 = and <32 x i64> %v46, splat (i64 31)
  %v57 = icmp eq <32 x i64> %v56, splat (i64 0)
  %v58 = and <32 x i1> %v55, %v57
  %v59 = and <32 x i64> %v48, splat (i64 31)
  %v60 = icmp eq <32 x i64> %v59, splat (i64 0)
  %v61 = and <32 x i1> %v58, %v60
  %v62 = bitcast <32 x i1> %v61 to i32
  %v63 = icmp eq i32 %v62, -1
  br i1 %v63, label %good3, label %bad3
bad3:
  store i32 2, ptr %site.at
  ret i32 3
good3:
  %v64 = mul <32 x i64> <i64 0, i64 0, i64 0, i64 0, i64 2, i64 2, i64 2, i64 2, i64 4, i64 4, i64 4, i64 4, i64 6, i64 6, i64 6, i64 6, i64 8, i64 8, i64 8, i64 8, i64 10, i64 10, i64 10, i64 10, i64 12, i64 12, i64 12, i64 12, i64 14, i64 14, i64 14, i64 14>, %v47
  %v65 = add <32 x i64> %v46, %v64
  %v66 = add <32 x i64> %v65, <i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12>
  %v67 = add <32 x i64> %v65, <i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28>
  %v68 = mul <32 x i64> <i64 16, i64 16, i64 16, i64 16, i64 18, i64 18, i64 18, i64 18, i64 20, i64 20, i64 20, i64 20, i64 22, i64 22, i64 22, i64 22, i64 24, i64 24, i64 24, i64 24, i64 26, i64 26, i64 26, i64 26, i64 28, i64 28, i64 28, i64 28, i64 30, i64 30, i64 30, i64 30>, %v47
  %v69 = add <32 x i64> %v46, %v68
  %v70 = add <32 x i64> %v69, <i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12>
  %v71 = add <32 x i64> %v69, <i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28>
  %v72 = call <32 x i32> @ptxsim_load_global_4x1(ptr %context, ptr %warp, <32 x i64> %v66, i32 -1, i32 2, i32 0)
  %v73 = call <32 x i32> @ptxsim_load_global_4x1(ptr %context, ptr %warp, <32 x i64> %v67, i32 -1, i32 2, i32 0)
  %v74 = call <32 x i32> @ptxsim_load_global_4x1(ptr %context, ptr %warp, <32 x i64> %v70, i32 -1, i32 2, i32 0)
  %v75 = call <32 x i32> @ptxsim_load_global_4x1(ptr %context, ptr %warp, <32 x i64> %v71, i32 -1, i32 2, i32 0)
  %v76 = getelementptr i8, ptr %warp, i64 4416
  store <32 x i32> %v72, ptr %v76, align 64
  %v77 = getelementptr i8, ptr %warp, i64 4544
  store <32 x i32> %v73, ptr %v77, align 64
  %v78 = getelementptr i8, ptr %warp, i64 4672
  store <32 x i32> %v74, ptr %v78, align 64
  %v79 = getelementptr i8, ptr %warp, i64 4800
  store <32 x i32> %v75, ptr %v79, align 64
  %v80 = getelementptr i8, ptr %warp, i64 4928
  store <32 x i32> %v72, ptr %v80, align 64
  %v81 = getelementptr i8, ptr %warp, i64 5056
  store <32 x i32> %v73, ptr %v81, align 64
  %v82 = getelementptr i8, ptr %warp, i64 5184
  store <32 x i32> %v74, ptr %v82, align 64
  %v83 = getelementptr i8, ptr %warp, i64 5312
  store <32 x i32> %v75, ptr %v83, align 64
  %v84 = load i64, ptr %count.at
  %v85 = add i64 %v84, 1
  store i64 %v85, ptr %count.at
  %v86 = load i32, ptr %left.at
  %v87 = sub i32 %v86, 1
  store i32 %v87, ptr %left.at
  %v88 = icmp eq i32 %v87, 0
  br i1 %v88, label %stop4, label %b2
stop4:
  store i32 2, ptr %block.at
  ret i32 0
b2:
  %v89 = getelementptr i8, ptr %warp, i64 3136
  %v90 = load <32 x i64>, ptr %v89, align 64
  %v91 = zext <32 x i32> splat (i32 16) to <32 x i64>
  %v92 = mul <32 x i64> %v91, splat (i64 2)
  %v93 = shufflevector <32 x i64> %v90, <32 x i64> poison, <32 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %v94 = icmp eq <32 x i64> %v90, %v93
  %v95 = shufflevector <32 x i32> splat (i32 16), <32 x i32> poison, <32 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %v96 = icmp eq <32 x i32> splat (i32 16), %v95
  %v97 = and <32 x i1> %v94, %v96
  %v98 = icmp uge <32 x i32> splat (i32 16), splat (i32 16)
  %v99 = and <32 x i1> %v97, %v98
  %v100 = and <32 x i64> %v90, splat (i64 15)
  %v101 = icmp eq <32 x i64> %v100, splat (i64 0)
  %v102 = and <32 x i1> %v99, %v101
  %v103 = and <32 x i64> %v92, splat (i64 15)
  %v104 = icmp eq <32 x i64> %v103, splat (i64 0)
  %v105 = and <32 x i1> %v102, %v104
  %v106 = bitcast <32 x i1> %v105 to i32
  %v107 = icmp eq i32 %v106, -1
  br i1 %v107, label %good5, label %bad5
bad5:
  store i32 3, ptr %site.at
  ret i32 3
good5:
  %v108 = mul <32 x i64> <i64 0, i64 0, i64 0, i64 0, i64 2, i64 2, i64 2, i64 2, i64 4, i64 4, i64 4, i64 4, i64 6, i64 6, i64 6, i64 6, i64 8, i64 8, i64 8, i64 8, i64 10, i64 10, i64 10, i64 10, i64 12, i64 12, i64 12, i64 12, i64 14, i64 14, i64 14, i64 14>, %v91
  %v109 = add <32 x i64> %v90, %v108
  %v110 = add <32 x i64> %v109, <i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12>
  %v111 = mul <32 x i64> <i64 16, i64 16, i64 16, i64 16, i64 18, i64 18, i64 18, i64 18, i64 20, i64 20, i64 20, i64 20, i64 22, i64 22, i64 22, i64 22, i64 24, i64 24, i64 24, i64 24, i64 26, i64 26, i64 26, i64 26, i64 28, i64 28, i64 28, i64 28, i64 30, i64 30, i64 30, i64 30>, %v91
  %v112 = add <32 x i64> %v90, %v111
  %v113 = add <32 x i64> %v112, <i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12>
  %v114 = add <32 x i64> %v109, <i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28>
  %v115 = add <32 x i64> %v112, <i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28>
  %v116 = call <32 x i32> @ptxsim_load_global_4x1(ptr %context, ptr %warp, <32 x i64> %v110, i32 -1, i32 3, i32 0)
  %v117 = call <32 x i32> @ptxsim_load_global_4x1(ptr %context, ptr %warp, <32 x i64> %v113, i32 -1, i32 3, i32 0)
  %v118 = call <32 x i32> @ptxsim_load_global_4x1(ptr %context, ptr %warp, <32 x i64> %v114, i32 -1, i32 3, i32 0)
  %v119 = call <32 x i32> @ptxsim_load_global_4x1(ptr %context, ptr %warp, <32 x i64> %v115, i32 -1, i32 3, i32 0)
  %v120 = getelementptr i8, ptr %warp, i64 5440
  store <32 x i32> %v116, ptr %v120, align 64
  %v121 = getelementptr i8, ptr %warp, i64 5568
  store <32 x i32> %v117, ptr %v121, align 64
  %v122 = getelementptr i8, ptr %warp, i64 5696
  store <32 x i32> %v118, ptr %v122, align 64
  %v123 = getelementptr i8, ptr %warp, i64 5824
  store <32 x i32> %v119, ptr %v123, align 64
  %v124 = load i64, ptr %count.at
  %v125 = add i64 %v124, 1
  store i64 %v125, ptr %count.at
  %v126 = load i32, ptr %left.at
  %v127 = sub i32 %v126, 1
  store i32 %v127, ptr %left.at
  %v128 = icmp eq i32 %v127, 0
  br i1 %v128, label %stop6, label %b3
stop6:
  store i32 3, ptr %block.at
  ret i32 0
b3:
  %v129 = getelementptr i8, ptr %warp, i64 3392
  %v130 = load <32 x i32>, ptr %v129, align 64
  %v131 = getelementptr i8, ptr %warp, i64 3520
  %v132 = load <32 x i32>, ptr %v131, align 64
  %v133 = getelementptr i8, ptr %warp, i64 3648
  %v134 = load <32 x i32>, ptr %v133, align 64
  %v135 = getelementptr i8, ptr %warp, i64 3776
  %v136 = load <32 x i32>, ptr %v135, align 64
  %v137 = getelementptr i8, ptr %warp, i64 3904
  %v138 = load <32 x i32>, ptr %v137, align 64
  %v139 = getelementptr i8, ptr %warp, i64 4032
  %v140 = load <32 x i32>, ptr %v139, align 64
  %v141 = getelementptr i8, ptr %warp, i64 4160
  %v142 = load <32 x i32>, ptr %v141, align 64
  %v143 = getelementptr i8, ptr %warp, i64 4288
  %v144 = load <32 x i32>, ptr %v143, align 64
  %v145 = getelementptr i8, ptr %warp, i64 4416
  %v146 = load <32 x i32>, ptr %v145, align 64
  %v147 = getelementptr i8, ptr %warp, i64 4544
  %v148 = load <32 x i32>, ptr %v147, align 64
  %v149 = getelementptr i8, ptr %warp, i64 4672
  %v150 = load <32 x i32>, ptr %v149, align 64
  %v151 = getelementptr i8, ptr %warp, i64 4800
  %v152 = load <32 x i32>, ptr %v151, align 64
  %v153 = getelementptr i8, ptr %warp, i64 4928
  %v154 = load <32 x i32>, ptr %v153, align 64
  %v155 = getelementptr i8, ptr %warp, i64 5056
  %v156 = load <32 x i32>, ptr %v155, align 64
  %v157 = getelementptr i8, ptr %warp, i64 5184
  %v158 = load <32 x i32>, ptr %v157, align 64
  %v159 = getelementptr i8, ptr %warp, i64 5312
  %v160 = load <32 x i32>, ptr %v159, align 64
  %v161 = getelementptr i8, ptr %warp, i64 5440
  %v162 = load <32 x i32>, ptr %v161, align 64
  %v163 = getelementptr i8, ptr %warp, i64 5568
  %v164 = load <32 x i32>, ptr %v163, align 64
  %v165 = getelementptr i8, ptr %warp, i64 5696
  %v166 = load <32 x i32>, ptr %v165, align 64
  %v167 = getelementptr i8, ptr %warp, i64 5824
  %v168 = load <32 x i32>, ptr %v167, align 64
  %v170 = getelementptr i8, ptr %v169, i64 0
  store <32 x i32> %v130, ptr %v170, align 64
  %v171 = getelementptr i8, ptr %v169, i64 128
  store <32 x i32> %v132, ptr %v171, align 64
  %v172 = getelementptr i8, ptr %v169, i64 256
  store <32 x i32> %v134, ptr %v172, align 64
  %v173 = getelementptr i8, ptr %v169, i64 384
  store <32 x i32> %v136, ptr %v173, align 64
  %v174 = getelementptr i8, ptr %v169, i64 512
  store <32 x i32> %v138, ptr %v174, align 64
  %v175 = getelementptr i8, ptr %v169, i64 640
  store <32 x i32> %v140, ptr %v175, align 64
  %v176 = getelementptr i8, ptr %v169, i64 768
  store <32 x i32> %v142, ptr %v176, align 64
  %v177 = getelementptr i8, ptr %v169, i64 896
  store <32 x i32> %v144, ptr %v177, align 64
  %v179 = getelementptr i8, ptr %v178, i64 0
  store <32 x i32> %v146, ptr %v179, align 64
  %v180 = getelementptr i8, ptr %v178, i64 128
  store <32 x i32> %v148, ptr %v180, align 64
  %v181 = getelementptr i8, ptr %v178, i64 256
  store <32 x i32> %v150, ptr %v181, align 64
  %v182 = getelementptr i8, ptr %v178, i64 384
  store <32 x i32> %v152, ptr %v182, align 64
  %v183 = getelementptr i8, ptr %v178, i64 512
  store <32 x i32> %v154, ptr %v183, align 64
  %v184 = getelementptr i8, ptr %v178, i64 640
  store <32 x i32> %v156, ptr %v184, align 64
  %v185 = getelementptr i8, ptr %v178, i64 768
  store <32 x i32> %v158, ptr %v185, align 64
  %v186 = getelementptr i8, ptr %v178, i64 896
  store <32 x i32> %v160, ptr %v186, align 64
  %v188 = getelementptr i8, ptr %v187, i64 0
  store <32 x i32> %v162, ptr %v188, align 64
  %v189 = getelementptr i8, ptr %v187, i64 128
  store <32 x i32> %v164, ptr %v189, align 64
  %v190 = getelementptr i8, ptr %v187, i64 256
  store <32 x i32> %v166, ptr %v190, align 64
  %v191 = getelementptr i8, ptr %v187, i64 384
  store <32 x i32> %v168, ptr %v191, align 64
  %v193 = call i1 @ptxsim_product_e3aca34bb1564c46(ptr %v169, ptr %v178, ptr %v187, ptr %v192, ptr null)
  %v194 = getelementptr i8, ptr %v192, i64 0
  %v195 = load <32 x i32>, ptr %v194, align 64
  %v196 = getelementptr i8, ptr %v192, i64 128
  %v197 = load <32 x i32>, ptr %v196, align 64
  %v198 = getelementptr i8, ptr %v192, i64 256
  %v199 = load <32 x i32>, ptr %v198, align 64
  %v200 = getelementptr i8, ptr %v192, i64 384
  %v201 = load <32 x i32>, ptr %v200, align 64
  %v202 = getelementptr i8, ptr %warp, i64 5440
  store <32 x i32> %v195, ptr %v202, align 64
  %v203 = getelementptr i8, ptr %warp, i64 5568
  store <32 x i32> %v197, ptr %v203, align 64
  %v204 = getelementptr i8, ptr %warp, i64 5696
  store <32 x i32> %v199, ptr %v204, align 64
  %v205 = getelementptr i8, ptr %warp, i64 5824
  store <32 x i32> %v201, ptr %v205, align 64
  %v206 = load i64, ptr %count.at
  %v207 = add i64 %v206, 1
  store i64 %v207, ptr %count.at
  %v208 = load i32, ptr %left.at
  %v209 = sub i32 %v208, 1
  store i32 %v209, ptr %left.at
  %v210 = icmp eq i32 %v209, 0
  br i1 %v210, label %stop7, label %b4
stop7:
  store i32 4, ptr %block.at
  ret i32 0
b4:
  %v211 = getelementptr i8, ptr %warp, i64 3136
  %v212 = load <32 x i64>, ptr %v211, align 64
  %v213 = getelementptr i8, ptr %warp, i64 5440
  %v214 = load <32 x i32>, ptr %v213, align 64
  %v215 = getelementptr i8, ptr %warp, i64 5568
  %v216 = load <32 x i32>, ptr %v215, align 64
  %v217 = getelementptr i8, ptr %warp, i64 5696
  %v218 = load <32 x i32>, ptr %v217, align 64
  %v219 = getelementptr i8, ptr %warp, i64 5824
  %v220 = load <32 x i32>, ptr %v219, align 64
  %v221 = zext <32 x i32> splat (i32 16) to <32 x i64>
  %v222 = mul <32 x i64> %v221, splat (i64 2)
  %v223 = shufflevector <32 x i64> %v212, <32 x i64> poison, <32 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %v224 = icmp eq <32 x i64> %v212, %v223
  %v225 = shufflevector <32 x i32> splat (i32 16), <32 x i32> poison, <32 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %v226 = icmp eq <32 x i32> splat (i32 16), %v225
  %v227 = and <32 x i1> %v224, %v226
  %v228 = icmp uge <32 x i32> splat (i32 16), splat (i32 16)
  %v229 = and <32 x i1> %v227, %v228
  %v230 = and <32 x i64> %v212, splat (i64 15)
  %v231 = icmp eq <32 x i64> %v230, splat (i64 0)
  %v232 = and <32 x i1> %v229, %v231
  %v233 = and <32 x i64> %v222, splat (i64 15)
  %v234 = icmp eq <32 x i64> %v233, splat (i64 0)
  %v235 = and <32 x i1> %v232, %v234
  %v236 = bitcast <32 x i1> %v235 to i32
  %v237 = icmp eq i32 %v236, -1
  br i1 %v237, label %good8, label %bad8
bad8:
  store i32 5, ptr %site.at
  ret i32 3
good8:
  %v238 = mul <32 x i64> <i64 0, i64 0, i64 0, i64 0, i64 2, i64 2, i64 2, i64 2, i64 4, i64 4, i64 4, i64 4, i64 6, i64 6, i64 6, i64 6, i64 8, i64 8, i64 8, i64 8, i64 10, i64 10, i64 10, i64 10, i64 12, i64 12, i64 12, i64 12, i64 14, i64 14, i64 14, i64 14>, %v221
  %v239 = add <32 x i64> %v212, %v238
  %v240 = add <32 x i64> %v239, <i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12>
  %v241 = mul <32 x i64> <i64 16, i64 16, i64 16, i64 16, i64 18, i64 18, i64 18, i64 18, i64 20, i64 20, i64 20, i64 20, i64 22, i64 22, i64 22, i64 22, i64 24, i64 24, i64 24, i64 24, i64 26, i64 26, i64 26, i64 26, i64 28, i64 28, i64 28, i64 28, i64 30, i64 30, i64 30, i64 30>, %v221
  %v242 = add <32 x i64> %v212, %v241
  %v243 = add <32 x i64> %v242, <i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12, i64 0, i64 4, i64 8, i64 12>
  %v244 = add <32 x i64> %v239, <i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28>
  %v245 = add <32 x i64> %v242, <i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28, i64 16, i64 20, i64 24, i64 28>
  %v246 = call <32 x i32> @ptxsim_load_global_4x1(ptr %context, ptr %warp, <32 x i64> %v240, i32 -1, i32 5, i32 0)
  %v247 = call <32 x i32> @ptxsim_load_global_4x1(ptr %context, ptr %warp, <32 x i64> %v243, i32 -1, i32 5, i32 0)
  %v248 = call <32 x i32> @ptxsim_load_global_4x1(ptr %context, ptr %warp, <32 x i64> %v244, i32 -1, i32 5, i32 0)
  %v249 = call <32 x i32> @ptxsim_load_global_4x1(ptr %context, ptr %warp, <32 x i64> %v245, i32 -1, i32 5, i32 0)
  call void @ptxsim_store_global_4x1(ptr %context, ptr %warp, <32 x i64> %v240, i32 -1, i32 5, i32 0, <32 x i32> %v214)
  call void @ptxsim_store_global_4x1(ptr %context, ptr %warp, <32 x i64> %v243, i32 -1, i32 5, i32 0, <32 x i32> %v216)
  call void @ptxsim_store_global_4x1(ptr %context, ptr %warp, <32 x i64> %v244, i32 -1, i32 5, i32 0, <32 x i32> %v218)
  call void @ptxsim_store_global_4x1(ptr %context, ptr %warp, <32 x i64> %v245, i32 -1, i32 5, i32 0, <32 x i32> %v220)
  %v250 = load i64, ptr %count.at
  %v251 = add i64 %v250, 1
  store i64 %v251, ptr %count.at
  %v252 = load i32, ptr %left.at
  %v253 = sub i32 %v252, 1
  store i32 %v253, ptr %left.at
  %v254 = icmp eq i32 %v253, 0
  br i1 %v254, label %stop9, label %b5
stop9:
  store i32 5, ptr %block.at
  ret i32 0
b5:
  %v255 = load i64, ptr %count.at
  %v256 = add i64 %v255, 1
  store i64 %v256, ptr %count.at
  %v257 = load i32, ptr %left.at
  %v258 = sub i32 %v257, 1
  store i32 %v258, ptr %left.at
  store i32 -1, ptr %taken.at
  store i32 5, ptr %block.at
  store i32 6, ptr %site.at
  ret i32 2
b6:
  %v259 = load i64, ptr %count.at
  %v260 = add i64 %v259, 0
  store i64 %v260, ptr %count.at
  %v261 = load i32, ptr %left.at
  %v262 = sub i32 %v261, 1
  store i32 %v262, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
