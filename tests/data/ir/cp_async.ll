declare <32 x i64> @ptxsim_load_param_8x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare <32 x i32> @llvm.umin.v32i32(<32 x i32>, <32 x i32>)
declare {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} @ptxsim_load_shared_4x4(ptr, ptr, <32 x i64>, i32, i32, i32)
declare {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} @ptxsim_load_global_4x4(ptr, ptr, <32 x i64>, i32, i32, i32)
declare i1 @ptxsim_issue_copy(ptr, i32, i32, i32, i64, ptr, ptr, ptr)
declare {<32 x i32>, <32 x i32>} @ptxsim_load_shared_4x2(ptr, ptr, <32 x i64>, i32, i32, i32)
declare {<32 x i32>, <32 x i32>} @ptxsim_load_global_4x2(ptr, ptr, <32 x i64>, i32, i32, i32)
declare void @ptxsim_commit_group(ptr, i32, i32)
declare i32 @ptxsim_uncommitted(ptr, i32)
declare void @ptxsim_wait_for_groups(ptr, ptr, i32, i32)
declare void @ptxsim_wait_for_copies(ptr, ptr, i32, i64)
define i32 @cp_async(ptr %context, ptr %warp) #0 {
entry:
  %v35 = alloca <32 x i32>, align 64
  %v36 = alloca <32 x i64>, align 64
  %v37 = alloca <32 x i64>, align 64
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
    i32 3, label %b3
    i32 4, label %b4
    i32 5, label %b5
    i32 6, label %b6
  ]
nowhere:
  unreachable
b0:
  %v1 = call <32 x i64> @ptxsim_load_param_8x1(ptr %context, ptr %warp, <32 x i64> splat (i64 421114027184128), i32 -1, i32 0, i32 0)
  %v2 = getelementptr i8, ptr %warp, i64 3136
  %v3 = load <32 x i32>, ptr %v2, align 64
  %v4 = icmp uge <32 x i32> splat (i32 4), splat (i32 32)
  %v5 = call <32 x i32> @llvm.umin.v32i32(<32 x i32> splat (i32 4), <32 x i32> splat (i32 31))
  %v6 = shl <32 x i32> %v3, %v5
  %v7 = select <32 x i1> %v4, <32 x i32> splat (i32 0), <32 x i32> %v6
  %v8 = add <32 x i32> splat (i32 1024), %v7
  %v9 = icmp ult <32 x i32> %v3, splat (i32 16)
  %v10 = xor <32 x i1> %v9, splat (i1 true)
  %v11 = zext <32 x i32> %v8 to <32 x i64>
  %v12 = getelementptr i8, ptr %warp, i64 3392
  store <32 x i64> %v1, ptr %v12, align 64
  %v13 = getelementptr i8, ptr %warp, i64 3648
  store <32 x i32> %v3, ptr %v13, align 64
  %v14 = getelementptr i8, ptr %warp, i64 3904
  store <32 x i32> %v8, ptr %v14, align 64
  %v15 = bitcast <32 x i1> %v9 to i32
  %v16 = getelementptr i8, ptr %warp, i64 4032
  store i32 %v15, ptr %v16, align 8
  %v17 = getelementptr i8, ptr %context, i64 816
  %v18 = load i64, ptr %v17
  %v19 = icmp eq i64 %v18, 0
  br i1 %v19, label %good1, label %bad1
bad1:
  store i32 6, ptr %site.at
  ret i32 3
good1:
  %v20 = and <32 x i64> %v11, splat (i64 4294967295)
  %v21 = call {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} @ptxsim_load_shared_4x4(ptr %context, ptr %warp, <32 x i64> %v20, i32 -1, i32 6, i32 0)
  %v22 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v21, 0
  %v23 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v21, 1
  %v24 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v21, 2
  %v25 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v21, 3
  %v26 = call {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} @ptxsim_load_global_4x4(ptr %context, ptr %warp, <32 x i64> %v1, i32 -1, i32 6, i32 0)
  %v27 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v26, 0
  %v28 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v26, 1
  %v29 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v26, 2
  %v30 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v26, 3
  %v31 = bitcast i32 -1 to <32 x i1>
  %v32 = select <32 x i1> %v31, <32 x i32> splat (i32 16), <32 x i32> splat (i32 0)
  %v33 = getelementptr i8, ptr %warp, i64 32
  %v34 = load i64, ptr %v33
  store <32 x i32> %v32, ptr %v35, align 64
  store <32 x i64> %v20, ptr %v36, align 64
  store <32 x i64> %v1, ptr %v37, align 64
  %v38 = call i1 @ptxsim_issue_copy(ptr %warp, i32 6, i32 16, i32 -1, i64 %v34, ptr %v35, ptr %v36, ptr %v37)
  br i1 %v38, label %good2, label %bad2
bad2:
  store i32 6, ptr %site.at
  ret i32 3
good2:
  %v39 = load i64, ptr %count.at
  %v40 = add i64 %v39, 7
  store i64 %v40, ptr %count.at
  %v41 = load i32, ptr %left.at
  %v42 = sub i32 %v41, 1
  store i32 %v42, ptr %left.at
  %v43 = icmp eq i32 %v42, 0
  br i1 %v43, label %stop3, label %b1
stop3:
  store i32 1, ptr %block.at
  ret i32 0
b1:
  %v44 = getelementptr i8, ptr %warp, i64 3904
  %v45 = load <32 x i32>, ptr %v44, align 64
  %v46 = zext <32 x i32> %v45 to <32 x i64>
  %v47 = getelementptr i8, ptr %warp, i64 3392
  %v48 = load <32 x i64>, ptr %v47, align 64
  %v49 = getelementptr i8, ptr %warp, i64 3648
  %v50 = load <32 x i32>, ptr %v49, align 64
  %v51 = getelementptr i8, ptr %warp, i64 4032
  %v52 = load i32, ptr %v51, align 8
  %v53 = bitcast i32 %v52 to <32 x i1>
  %v54 = bitcast <32 x i1> %v53 to i32
  %v55 = getelementptr i8, ptr %context, i64 816
  %v56 = load i64, ptr %v55
  %v57 = icmp eq i64 %v56, 0
  br i1 %v57, label %good4, label %bad4
bad4:
  store i32 7, ptr %site.at
  ret i32 3
good4:
  %v58 = icmp ne <32 x i32> %v50, splat (i32 0)
  %v59 = icmp ult <32 x i32> %v50, splat (i32 8)
  %v60 = and <32 x i1> %v58, %v59
  %v61 = bitcast <32 x i1> %v60 to i32
  %v62 = and i32 %v61, %v54
  %v63 = icmp eq i32 %v62, 0
  br i1 %v63, label %good5, label %bad5
bad5:
  store i32 7, ptr %site.at
  ret i32 3
good5:
  %v64 = bitcast <32 x i1> %v58 to i32
  %v65 = and i32 %v64, %v54
  %v66 = and <32 x i64> %v46, splat (i64 4294967295)
  %v67 = call {<32 x i32>, <32 x i32>} @ptxsim_load_shared_4x2(ptr %context, ptr %warp, <32 x i64> %v66, i32 %v54, i32 7, i32 0)
  %v68 = extractvalue {<32 x i32>, <32 x i32>} %v67, 0
  %v69 = extractvalue {<32 x i32>, <32 x i32>} %v67, 1
  %v70 = call {<32 x i32>, <32 x i32>} @ptxsim_load_global_4x2(ptr %context, ptr %warp, <32 x i64> %v48, i32 %v65, i32 7, i32 0)
  %v71 = extractvalue {<32 x i32>, <32 x i32>} %v70, 0
  %v72 = extractvalue {<32 x i32>, <32 x i32>} %v70, 1
  %v73 = bitcast i32 %v65 to <32 x i1>
  %v74 = select <32 x i1> %v73, <32 x i32> splat (i32 8), <32 x i32> splat (i32 0)
  %v75 = getelementptr i8, ptr %warp, i64 32
  %v76 = load i64, ptr %v75
  store <32 x i32> %v74, ptr %v35, align 64
  store <32 x i64> %v66, ptr %v36, align 64
  store <32 x i64> %v48, ptr %v37, align 64
  %v77 = call i1 @ptxsim_issue_copy(ptr %warp, i32 7, i32 8, i32 %v54, i64 %v76, ptr %v35, ptr %v36, ptr %v37)
  br i1 %v77, label %good6, label %bad6
bad6:
  store i32 7, ptr %site.at
  ret i32 3
good6:
  %v78 = load i64, ptr %count.at
  %v79 = add i64 %v78, 1
  store i64 %v79, ptr %count.at
  %v80 = load i32, ptr %left.at
  %v81 = sub i32 %v80, 1
  store i32 %v81, ptr %left.at
  %v82 = icmp eq i32 %v81, 0
  br i1 %v82, label %stop7, label %b2
stop7:
  store i32 2, ptr %block.at
  ret i32 0
b2:
  %v83 = getelementptr i8, ptr %warp, i64 8
  %v84 = load i32, ptr %v83
  %v85 = getelementptr i8, ptr %warp, i64 2336
  call void @ptxsim_commit_group(ptr %v85, i32 %v84, i32 -1)
  %v86 = load i64, ptr %count.at
  %v87 = add i64 %v86, 1
  store i64 %v87, ptr %count.at
  %v88 = load i32, ptr %left.at
  %v89 = sub i32 %v88, 1
  store i32 %v89, ptr %left.at
  %v90 = icmp eq i32 %v89, 0
  br i1 %v90, label %stop8, label %b3
stop8:
  store i32 3, ptr %block.at
  ret i32 0
b3:
  %v91 = call i32 @ptxsim_uncommitted(ptr %warp, i32 -1)
  %v92 = icmp eq i32 %v91, 0
  br i1 %v92, label %good9, label %bad9
bad9:
  store i32 9, ptr %site.at
  ret i32 3
good9:
  call void @ptxsim_wait_for_groups(ptr %context, ptr %warp, i32 -1, i32 1)
  %v93 = load i64, ptr %count.at
  %v94 = add i64 %v93, 1
  store i64 %v94, ptr %count.at
  %v95 = load i32, ptr %left.at
  %v96 = sub i32 %v95, 1
  store i32 %v96, ptr %left.at
  %v97 = icmp eq i32 %v96, 0
  br i1 %v97, label %stop10, label %b4
stop10:
  store i32 4, ptr %block.at
  ret i32 0
b4:
  %v98 = getelementptr i8, ptr %warp, i64 2528
  %v99 = load i64, ptr %v98
  call void @ptxsim_wait_for_copies(ptr %context, ptr %warp, i32 -1, i64 %v99)
  %v100 = load i64, ptr %count.at
  %v101 = add i64 %v100, 1
  store i64 %v101, ptr %count.at
  %v102 = load i32, ptr %left.at
  %v103 = sub i32 %v102, 1
  store i32 %v103, ptr %left.at
  %v104 = icmp eq i32 %v103, 0
  br i1 %v104, label %stop11, label %b5
stop11:
  store i32 5, ptr %block.at
  ret i32 0
b5:
  %v105 = load i64, ptr %count.at
  %v106 = add i64 %v105, 1
  store i64 %v106, ptr %count.at
  %v107 = load i32, ptr %left.at
  %v108 = sub i32 %v107, 1
  store i32 %v108, ptr %left.at
  store i32 -1, ptr %taken.at
  store i32 5, ptr %block.at
  store i32 11, ptr %site.at
  ret i32 2
b6:
  %v109 = load i64, ptr %count.at
  %v110 = add i64 %v109, 0
  store i64 %v110, ptr %count.at
  %v111 = load i32, ptr %left.at
  %v112 = sub i32 %v111, 1
  store i32 %v112, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
