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
  %v36 = alloca <32 x i32>, align 64
  %v37 = alloca <32 x i64>, align 64
  %v38 = alloca <32 x i64>, align 64
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
  %v17 = getelementptr i8, ptr %context, i64 848
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
  %v35 = and <32 x i64> %v20, splat (i64 4294967295)
  store <32 x i32> %v32, ptr %v36, align 64
  store <32 x i64> %v35, ptr %v37, align 64
  store <32 x i64> %v1, ptr %v38, align 64
  %v39 = call i1 @ptxsim_issue_copy(ptr %warp, i32 6, i32 16, i32 -1, i64 %v34, ptr %v36, ptr %v37, ptr %v38)
  br i1 %v39, label %good2, label %bad2
bad2:
  store i32 6, ptr %site.at
  ret i32 3
good2:
  %v40 = load i64, ptr %count.at
  %v41 = add i64 %v40, 7
  store i64 %v41, ptr %count.at
  %v42 = load i32, ptr %left.at
  %v43 = sub i32 %v42, 1
  store i32 %v43, ptr %left.at
  %v44 = icmp eq i32 %v43, 0
  br i1 %v44, label %stop3, label %b1
stop3:
  store i32 1, ptr %block.at
  ret i32 0
b1:
  %v45 = getelementptr i8, ptr %warp, i64 3904
  %v46 = load <32 x i32>, ptr %v45, align 64
  %v47 = zext <32 x i32> %v46 to <32 x i64>
  %v48 = getelementptr i8, ptr %warp, i64 3392
  %v49 = load <32 x i64>, ptr %v48, align 64
  %v50 = getelementptr i8, ptr %warp, i64 3648
  %v51 = load <32 x i32>, ptr %v50, align 64
  %v52 = getelementptr i8, ptr %warp, i64 4032
  %v53 = load i32, ptr %v52, align 8
  %v54 = bitcast i32 %v53 to <32 x i1>
  %v55 = bitcast <32 x i1> %v54 to i32
  %v56 = getelementptr i8, ptr %context, i64 848
  %v57 = load i64, ptr %v56
  %v58 = icmp eq i64 %v57, 0
  br i1 %v58, label %good4, label %bad4
bad4:
  store i32 7, ptr %site.at
  ret i32 3
good4:
  %v59 = icmp ne <32 x i32> %v51, splat (i32 0)
  %v60 = icmp ult <32 x i32> %v51, splat (i32 8)
  %v61 = and <32 x i1> %v59, %v60
  %v62 = bitcast <32 x i1> %v61 to i32
  %v63 = and i32 %v62, %v55
  %v64 = icmp eq i32 %v63, 0
  br i1 %v64, label %good5, label %bad5
bad5:
  store i32 7, ptr %site.at
  ret i32 3
good5:
  %v65 = bitcast <32 x i1> %v59 to i32
  %v66 = and i32 %v65, %v55
  %v67 = and <32 x i64> %v47, splat (i64 4294967295)
  %v68 = call {<32 x i32>, <32 x i32>} @ptxsim_load_shared_4x2(ptr %context, ptr %warp, <32 x i64> %v67, i32 %v55, i32 7, i32 0)
  %v69 = extractvalue {<32 x i32>, <32 x i32>} %v68, 0
  %v70 = extractvalue {<32 x i32>, <32 x i32>} %v68, 1
  %v71 = call {<32 x i32>, <32 x i32>} @ptxsim_load_global_4x2(ptr %context, ptr %warp, <32 x i64> %v49, i32 %v66, i32 7, i32 0)
  %v72 = extractvalue {<32 x i32>, <32 x i32>} %v71, 0
  %v73 = extractvalue {<32 x i32>, <32 x i32>} %v71, 1
  %v74 = bitcast i32 %v66 to <32 x i1>
  %v75 = select <32 x i1> %v74, <32 x i32> splat (i32 8), <32 x i32> splat (i32 0)
  %v76 = getelementptr i8, ptr %warp, i64 32
  %v77 = load i64, ptr %v76
  %v78 = and <32 x i64> %v67, splat (i64 4294967295)
  store <32 x i32> %v75, ptr %v36, align 64
  store <32 x i64> %v78, ptr %v37, align 64
  store <32 x i64> %v49, ptr %v38, align 64
  %v79 = call i1 @ptxsim_issue_copy(ptr %warp, i32 7, i32 8, i32 %v55, i64 %v77, ptr %v36, ptr %v37, ptr %v38)
  br i1 %v79, label %good6, label %bad6
bad6:
  store i32 7, ptr %site.at
  ret i32 3
good6:
  %v80 = load i64, ptr %count.at
  %v81 = add i64 %v80, 1
  store i64 %v81, ptr %count.at
  %v82 = load i32, ptr %left.at
  %v83 = sub i32 %v82, 1
  store i32 %v83, ptr %left.at
  %v84 = icmp eq i32 %v83, 0
  br i1 %v84, label %stop7, label %b2
stop7:
  store i32 2, ptr %block.at
  ret i32 0
b2:
  %v85 = getelementptr i8, ptr %warp, i64 8
  %v86 = load i32, ptr %v85
  %v87 = getelementptr i8, ptr %warp, i64 2344
  call void @ptxsim_commit_group(ptr %v87, i32 %v86, i32 -1)
  %v88 = load i64, ptr %count.at
  %v89 = add i64 %v88, 1
  store i64 %v89, ptr %count.at
  %v90 = load i32, ptr %left.at
  %v91 = sub i32 %v90, 1
  store i32 %v91, ptr %left.at
  %v92 = icmp eq i32 %v91, 0
  br i1 %v92, label %stop8, label %b3
stop8:
  store i32 3, ptr %block.at
  ret i32 0
b3:
  %v93 = call i32 @ptxsim_uncommitted(ptr %warp, i32 -1)
  %v94 = icmp eq i32 %v93, 0
  br i1 %v94, label %good9, label %bad9
bad9:
  store i32 9, ptr %site.at
  ret i32 3
good9:
  call void @ptxsim_wait_for_groups(ptr %context, ptr %warp, i32 -1, i32 1)
  %v95 = load i64, ptr %count.at
  %v96 = add i64 %v95, 1
  store i64 %v96, ptr %count.at
  %v97 = load i32, ptr %left.at
  %v98 = sub i32 %v97, 1
  store i32 %v98, ptr %left.at
  %v99 = icmp eq i32 %v98, 0
  br i1 %v99, label %stop10, label %b4
stop10:
  store i32 4, ptr %block.at
  ret i32 0
b4:
  %v100 = getelementptr i8, ptr %warp, i64 2536
  %v101 = load i64, ptr %v100
  call void @ptxsim_wait_for_copies(ptr %context, ptr %warp, i32 -1, i64 %v101)
  %v102 = load i64, ptr %count.at
  %v103 = add i64 %v102, 1
  store i64 %v103, ptr %count.at
  %v104 = load i32, ptr %left.at
  %v105 = sub i32 %v104, 1
  store i32 %v105, ptr %left.at
  %v106 = icmp eq i32 %v105, 0
  br i1 %v106, label %stop11, label %b5
stop11:
  store i32 5, ptr %block.at
  ret i32 0
b5:
  %v107 = load i64, ptr %count.at
  %v108 = add i64 %v107, 1
  store i64 %v108, ptr %count.at
  %v109 = load i32, ptr %left.at
  %v110 = sub i32 %v109, 1
  store i32 %v110, ptr %left.at
  store i32 -1, ptr %taken.at
  store i32 5, ptr %block.at
  store i32 11, ptr %site.at
  ret i32 2
b6:
  %v111 = load i64, ptr %count.at
  %v112 = add i64 %v111, 0
  store i64 %v112, ptr %count.at
  %v113 = load i32, ptr %left.at
  %v114 = sub i32 %v113, 1
  store i32 %v114, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
