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
  %v45 = alloca <32 x i32>, align 64
  %v46 = alloca <32 x i64>, align 64
  %v47 = alloca <32 x i64>, align 64
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
  %v36 = getelementptr i8, ptr %warp, i64 56
  %v37 = load i64, ptr %v36
  %v38 = insertelement <32 x i64> poison, i64 %v37, i64 0
  %v39 = shufflevector <32 x i64> %v38, <32 x i64> poison, <32 x i32> zeroinitializer
  %v40 = lshr <32 x i64> %v35, splat (i64 24)
  %v41 = icmp eq <32 x i64> %v40, splat (i64 0)
  %v42 = add <32 x i64> %v35, %v39
  %v43 = sub <32 x i64> %v35, splat (i64 16777216)
  %v44 = select <32 x i1> %v41, <32 x i64> %v42, <32 x i64> %v43
  store <32 x i32> %v32, ptr %v45, align 64
  store <32 x i64> %v44, ptr %v46, align 64
  store <32 x i64> %v1, ptr %v47, align 64
  %v48 = call i1 @ptxsim_issue_copy(ptr %warp, i32 6, i32 16, i32 -1, i64 %v34, ptr %v45, ptr %v46, ptr %v47)
  br i1 %v48, label %good2, label %bad2
bad2:
  store i32 6, ptr %site.at
  ret i32 3
good2:
  %v49 = load i64, ptr %count.at
  %v50 = add i64 %v49, 7
  store i64 %v50, ptr %count.at
  %v51 = load i32, ptr %left.at
  %v52 = sub i32 %v51, 1
  store i32 %v52, ptr %left.at
  %v53 = icmp eq i32 %v52, 0
  br i1 %v53, label %stop3, label %b1
stop3:
  store i32 1, ptr %block.at
  ret i32 0
b1:
  %v54 = getelementptr i8, ptr %warp, i64 3904
  %v55 = load <32 x i32>, ptr %v54, align 64
  %v56 = zext <32 x i32> %v55 to <32 x i64>
  %v57 = getelementptr i8, ptr %warp, i64 3392
  %v58 = load <32 x i64>, ptr %v57, align 64
  %v59 = getelementptr i8, ptr %warp, i64 3648
  %v60 = load <32 x i32>, ptr %v59, align 64
  %v61 = getelementptr i8, ptr %warp, i64 4032
  %v62 = load i32, ptr %v61, align 8
  %v63 = bitcast i32 %v62 to <32 x i1>
  %v64 = bitcast <32 x i1> %v63 to i32
  %v65 = getelementptr i8, ptr %context, i64 848
  %v66 = load i64, ptr %v65
  %v67 = icmp eq i64 %v66, 0
  br i1 %v67, label %good4, label %bad4
bad4:
  store i32 7, ptr %site.at
  ret i32 3
good4:
  %v68 = icmp ne <32 x i32> %v60, splat (i32 0)
  %v69 = icmp ult <32 x i32> %v60, splat (i32 8)
  %v70 = and <32 x i1> %v68, %v69
  %v71 = bitcast <32 x i1> %v70 to i32
  %v72 = and i32 %v71, %v64
  %v73 = icmp eq i32 %v72, 0
  br i1 %v73, label %good5, label %bad5
bad5:
  store i32 7, ptr %site.at
  ret i32 3
good5:
  %v74 = bitcast <32 x i1> %v68 to i32
  %v75 = and i32 %v74, %v64
  %v76 = and <32 x i64> %v56, splat (i64 4294967295)
  %v77 = call {<32 x i32>, <32 x i32>} @ptxsim_load_shared_4x2(ptr %context, ptr %warp, <32 x i64> %v76, i32 %v64, i32 7, i32 0)
  %v78 = extractvalue {<32 x i32>, <32 x i32>} %v77, 0
  %v79 = extractvalue {<32 x i32>, <32 x i32>} %v77, 1
  %v80 = call {<32 x i32>, <32 x i32>} @ptxsim_load_global_4x2(ptr %context, ptr %warp, <32 x i64> %v58, i32 %v75, i32 7, i32 0)
  %v81 = extractvalue {<32 x i32>, <32 x i32>} %v80, 0
  %v82 = extractvalue {<32 x i32>, <32 x i32>} %v80, 1
  %v83 = bitcast i32 %v75 to <32 x i1>
  %v84 = select <32 x i1> %v83, <32 x i32> splat (i32 8), <32 x i32> splat (i32 0)
  %v85 = getelementptr i8, ptr %warp, i64 32
  %v86 = load i64, ptr %v85
  %v87 = and <32 x i64> %v76, splat (i64 4294967295)
  %v88 = getelementptr i8, ptr %warp, i64 56
  %v89 = load i64, ptr %v88
  %v90 = insertelement <32 x i64> poison, i64 %v89, i64 0
  %v91 = shufflevector <32 x i64> %v90, <32 x i64> poison, <32 x i32> zeroinitializer
  %v92 = lshr <32 x i64> %v87, splat (i64 24)
  %v93 = icmp eq <32 x i64> %v92, splat (i64 0)
  %v94 = add <32 x i64> %v87, %v91
  %v95 = sub <32 x i64> %v87, splat (i64 16777216)
  %v96 = select <32 x i1> %v93, <32 x i64> %v94, <32 x i64> %v95
  store <32 x i32> %v84, ptr %v45, align 64
  store <32 x i64> %v96, ptr %v46, align 64
  store <32 x i64> %v58, ptr %v47, align 64
  %v97 = call i1 @ptxsim_issue_copy(ptr %warp, i32 7, i32 8, i32 %v64, i64 %v86, ptr %v45, ptr %v46, ptr %v47)
  br i1 %v97, label %good6, label %bad6
bad6:
  store i32 7, ptr %site.at
  ret i32 3
good6:
  %v98 = load i64, ptr %count.at
  %v99 = add i64 %v98, 1
  store i64 %v99, ptr %count.at
  %v100 = load i32, ptr %left.at
  %v101 = sub i32 %v100, 1
  store i32 %v101, ptr %left.at
  %v102 = icmp eq i32 %v101, 0
  br i1 %v102, label %stop7, label %b2
stop7:
  store i32 2, ptr %block.at
  ret i32 0
b2:
  %v103 = getelementptr i8, ptr %warp, i64 8
  %v104 = load i32, ptr %v103
  %v105 = getelementptr i8, ptr %warp, i64 2344
  call void @ptxsim_commit_group(ptr %v105, i32 %v104, i32 -1)
  %v106 = load i64, ptr %count.at
  %v107 = add i64 %v106, 1
  store i64 %v107, ptr %count.at
  %v108 = load i32, ptr %left.at
  %v109 = sub i32 %v108, 1
  store i32 %v109, ptr %left.at
  %v110 = icmp eq i32 %v109, 0
  br i1 %v110, label %stop8, label %b3
stop8:
  store i32 3, ptr %block.at
  ret i32 0
b3:
  %v111 = call i32 @ptxsim_uncommitted(ptr %warp, i32 -1)
  %v112 = icmp eq i32 %v111, 0
  br i1 %v112, label %good9, label %bad9
bad9:
  store i32 9, ptr %site.at
  ret i32 3
good9:
  call void @ptxsim_wait_for_groups(ptr %context, ptr %warp, i32 -1, i32 1)
  %v113 = load i64, ptr %count.at
  %v114 = add i64 %v113, 1
  store i64 %v114, ptr %count.at
  %v115 = load i32, ptr %left.at
  %v116 = sub i32 %v115, 1
  store i32 %v116, ptr %left.at
  %v117 = icmp eq i32 %v116, 0
  br i1 %v117, label %stop10, label %b4
stop10:
  store i32 4, ptr %block.at
  ret i32 0
b4:
  %v118 = getelementptr i8, ptr %warp, i64 2536
  %v119 = load i64, ptr %v118
  call void @ptxsim_wait_for_copies(ptr %context, ptr %warp, i32 -1, i64 %v119)
  %v120 = load i64, ptr %count.at
  %v121 = add i64 %v120, 1
  store i64 %v121, ptr %count.at
  %v122 = load i32, ptr %left.at
  %v123 = sub i32 %v122, 1
  store i32 %v123, ptr %left.at
  %v124 = icmp eq i32 %v123, 0
  br i1 %v124, label %stop11, label %b5
stop11:
  store i32 5, ptr %block.at
  ret i32 0
b5:
  %v125 = load i64, ptr %count.at
  %v126 = add i64 %v125, 1
  store i64 %v126, ptr %count.at
  %v127 = load i32, ptr %left.at
  %v128 = sub i32 %v127, 1
  store i32 %v128, ptr %left.at
  store i32 -1, ptr %taken.at
  store i32 5, ptr %block.at
  store i32 11, ptr %site.at
  ret i32 2
b6:
  %v129 = load i64, ptr %count.at
  %v130 = add i64 %v129, 0
  store i64 %v130, ptr %count.at
  %v131 = load i32, ptr %left.at
  %v132 = sub i32 %v131, 1
  store i32 %v132, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
