declare <32 x i64> @ptxsim_load_param_8x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare <32 x i32> @llvm.umin.v32i32(<32 x i32>, <32 x i32>)
declare {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} @ptxsim_load_shared_4x4(ptr, ptr, <32 x i64>, i32, i32, i32)
declare {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} @ptxsim_load_global_4x4(ptr, ptr, <32 x i64>, i32, i32, i32)
declare i1 @ptxsim_issue_copy(ptr, i32, i32, i32, i64, ptr, ptr, ptr)
declare void @ptxsim_draw_landing(ptr, ptr, i32)
declare {<32 x i32>, <32 x i32>} @ptxsim_load_shared_4x2(ptr, ptr, <32 x i64>, i32, i32, i32)
declare {<32 x i32>, <32 x i32>} @ptxsim_load_global_4x2(ptr, ptr, <32 x i64>, i32, i32, i32)
declare void @ptxsim_commit_group(ptr, i32, i32)
declare i32 @ptxsim_uncommitted(ptr, i32)
declare void @ptxsim_wait_for_groups(ptr, ptr, i32, i32)
declare void @ptxsim_wait_for_copies(ptr, ptr, i32, i64)
define i32 @cp_async(ptr %context, ptr %warp) #0 {
entry:
  %v33 = alloca <32 x i32>, align 64
  %v34 = alloca <32 x i64>, align 64
  %v35 = alloca <32 x i64>, align 64
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
  %v17 = and <32 x i64> %v11, splat (i64 4294967295)
  %v18 = call {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} @ptxsim_load_shared_4x4(ptr %context, ptr %warp, <32 x i64> %v17, i32 -1, i32 6, i32 0)
  %v19 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v18, 0
  %v20 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v18, 1
  %v21 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v18, 2
  %v22 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v18, 3
  %v23 = call {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} @ptxsim_load_global_4x4(ptr %context, ptr %warp, <32 x i64> %v1, i32 -1, i32 6, i32 0)
  %v24 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v23, 0
  %v25 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v23, 1
  %v26 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v23, 2
  %v27 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v23, 3
  %v28 = bitcast i32 -1 to <32 x i1>
  %v29 = select <32 x i1> %v28, <32 x i32> splat (i32 16), <32 x i32> splat (i32 0)
  %v30 = getelementptr i8, ptr %warp, i64 40
  %v31 = load i64, ptr %v30
  %v32 = and <32 x i64> %v17, splat (i64 4294967295)
  store <32 x i32> %v29, ptr %v33, align 64
  store <32 x i64> %v32, ptr %v34, align 64
  store <32 x i64> %v1, ptr %v35, align 64
  %v36 = call i1 @ptxsim_issue_copy(ptr %warp, i32 6, i32 16, i32 -1, i64 %v31, ptr %v33, ptr %v34, ptr %v35)
  br i1 %v36, label %good1, label %bad1
bad1:
  store i32 6, ptr %site.at
  ret i32 3
good1:
  call void @ptxsim_draw_landing(ptr %context, ptr %warp, i32 -1)
  %v37 = load i64, ptr %count.at
  %v38 = add i64 %v37, 7
  store i64 %v38, ptr %count.at
  %v39 = load i32, ptr %left.at
  %v40 = sub i32 %v39, 1
  store i32 %v40, ptr %left.at
  %v41 = icmp eq i32 %v40, 0
  br i1 %v41, label %stop2, label %b1
stop2:
  store i32 1, ptr %block.at
  ret i32 0
b1:
  %v42 = getelementptr i8, ptr %warp, i64 3904
  %v43 = load <32 x i32>, ptr %v42, align 64
  %v44 = zext <32 x i32> %v43 to <32 x i64>
  %v45 = getelementptr i8, ptr %warp, i64 3392
  %v46 = load <32 x i64>, ptr %v45, align 64
  %v47 = getelementptr i8, ptr %warp, i64 3648
  %v48 = load <32 x i32>, ptr %v47, align 64
  %v49 = getelementptr i8, ptr %warp, i64 4032
  %v50 = load i32, ptr %v49, align 8
  %v51 = bitcast i32 %v50 to <32 x i1>
  %v52 = bitcast <32 x i1> %v51 to i32
  %v53 = icmp ne <32 x i32> %v48, splat (i32 0)
  %v54 = icmp ult <32 x i32> %v48, splat (i32 8)
  %v55 = and <32 x i1> %v53, %v54
  %v56 = bitcast <32 x i1> %v55 to i32
  %v57 = and i32 %v56, %v52
  %v58 = icmp eq i32 %v57, 0
  br i1 %v58, label %good3, label %bad3
bad3:
  store i32 7, ptr %site.at
  ret i32 3
good3:
  %v59 = bitcast <32 x i1> %v53 to i32
  %v60 = and i32 %v59, %v52
  %v61 = and <32 x i64> %v44, splat (i64 4294967295)
  %v62 = call {<32 x i32>, <32 x i32>} @ptxsim_load_shared_4x2(ptr %context, ptr %warp, <32 x i64> %v61, i32 %v52, i32 7, i32 0)
  %v63 = extractvalue {<32 x i32>, <32 x i32>} %v62, 0
  %v64 = extractvalue {<32 x i32>, <32 x i32>} %v62, 1
  %v65 = call {<32 x i32>, <32 x i32>} @ptxsim_load_global_4x2(ptr %context, ptr %warp, <32 x i64> %v46, i32 %v60, i32 7, i32 0)
  %v66 = extractvalue {<32 x i32>, <32 x i32>} %v65, 0
  %v67 = extractvalue {<32 x i32>, <32 x i32>} %v65, 1
  %v68 = bitcast i32 %v60 to <32 x i1>
  %v69 = select <32 x i1> %v68, <32 x i32> splat (i32 8), <32 x i32> splat (i32 0)
  %v70 = getelementptr i8, ptr %warp, i64 40
  %v71 = load i64, ptr %v70
  %v72 = and <32 x i64> %v61, splat (i64 4294967295)
  store <32 x i32> %v69, ptr %v33, align 64
  store <32 x i64> %v72, ptr %v34, align 64
  store <32 x i64> %v46, ptr %v35, align 64
  %v73 = call i1 @ptxsim_issue_copy(ptr %warp, i32 7, i32 8, i32 %v52, i64 %v71, ptr %v33, ptr %v34, ptr %v35)
  br i1 %v73, label %good4, label %bad4
bad4:
  store i32 7, ptr %site.at
  ret i32 3
good4:
  call void @ptxsim_draw_landing(ptr %context, ptr %warp, i32 %v52)
  %v74 = load i64, ptr %count.at
  %v75 = add i64 %v74, 1
  store i64 %v75, ptr %count.at
  %v76 = load i32, ptr %left.at
  %v77 = sub i32 %v76, 1
  store i32 %v77, ptr %left.at
  %v78 = icmp eq i32 %v77, 0
  br i1 %v78, label %stop5, label %b2
stop5:
  store i32 2, ptr %block.at
  ret i32 0
b2:
  %v79 = getelementptr i8, ptr %warp, i64 8
  %v80 = load i32, ptr %v79
  %v81 = getelementptr i8, ptr %warp, i64 2352
  call void @ptxsim_commit_group(ptr %v81, i32 %v80, i32 -1)
  %v82 = load i64, ptr %count.at
  %v83 = add i64 %v82, 1
  store i64 %v83, ptr %count.at
  %v84 = load i32, ptr %left.at
  %v85 = sub i32 %v84, 1
  store i32 %v85, ptr %left.at
  %v86 = icmp eq i32 %v85, 0
  br i1 %v86, label %stop6, label %b3
stop6:
  store i32 3, ptr %block.at
  ret i32 0
b3:
  %v87 = call i32 @ptxsim_uncommitted(ptr %warp, i32 -1)
  %v88 = icmp eq i32 %v87, 0
  br i1 %v88, label %good7, label %bad7
bad7:
  store i32 9, ptr %site.at
  ret i32 3
good7:
  call void @ptxsim_wait_for_groups(ptr %context, ptr %warp, i32 -1, i32 1)
  %v89 = load i64, ptr %count.at
  %v90 = add i64 %v89, 1
  store i64 %v90, ptr %count.at
  %v91 = load i32, ptr %left.at
  %v92 = sub i32 %v91, 1
  store i32 %v92, ptr %left.at
  %v93 = icmp eq i32 %v92, 0
  br i1 %v93, label %stop8, label %b4
stop8:
  store i32 4, ptr %block.at
  ret i32 0
b4:
  %v94 = getelementptr i8, ptr %warp, i64 2544
  %v95 = load i64, ptr %v94
  call void @ptxsim_wait_for_copies(ptr %context, ptr %warp, i32 -1, i64 %v95)
  %v96 = load i64, ptr %count.at
  %v97 = add i64 %v96, 1
  store i64 %v97, ptr %count.at
  %v98 = load i32, ptr %left.at
  %v99 = sub i32 %v98, 1
  store i32 %v99, ptr %left.at
  %v100 = icmp eq i32 %v99, 0
  br i1 %v100, label %stop9, label %b5
stop9:
  store i32 5, ptr %block.at
  ret i32 0
b5:
  %v101 = load i64, ptr %count.at
  %v102 = add i64 %v101, 1
  store i64 %v102, ptr %count.at
  %v103 = load i32, ptr %left.at
  %v104 = sub i32 %v103, 1
  store i32 %v104, ptr %left.at
  store i32 -1, ptr %taken.at
  store i32 5, ptr %block.at
  store i32 11, ptr %site.at
  ret i32 2
b6:
  %v105 = load i64, ptr %count.at
  %v106 = add i64 %v105, 0
  store i64 %v106, ptr %count.at
  %v107 = load i32, ptr %left.at
  %v108 = sub i32 %v107, 1
  store i32 %v108, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
