declare <32 x i64> @ptxsim_load_param_8x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare <32 x i32> @llvm.umin.v32i32(<32 x i32>, <32 x i32>)
declare {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} @ptxsim_load_shared_4x4(ptr, ptr, <32 x i64>, i32, i32, i32)
declare {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} @ptxsim_load_global_4x4(ptr, ptr, <32 x i64>, i32, i32, i32)
declare i1 @ptxsim_copy_issue(ptr, ptr, i32, <32 x i64>, <32 x i64>, i32, i32, i32)
declare {<32 x i32>, <32 x i32>} @ptxsim_load_shared_4x2(ptr, ptr, <32 x i64>, i32, i32, i32)
declare {<32 x i32>, <32 x i32>} @ptxsim_load_global_4x2(ptr, ptr, <32 x i64>, i32, i32, i32)
declare i1 @ptxsim_copy_commit(ptr, ptr)
declare i1 @ptxsim_copy_wait(ptr, ptr, i64, i1)
define i32 @cp_async(ptr %context, ptr %warp) #0 {
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
    i32 6, label %b6
  ]
nowhere:
  unreachable
b0:
  %v1 = call <32 x i64> @ptxsim_load_param_8x1(ptr %context, ptr %warp, <32 x i64> splat (i64 421114027184128), i32 -1, i32 0, i32 0)
  %v2 = getelementptr i8, ptr %warp, i64 1792
  %v3 = load <32 x i32>, ptr %v2, align 64
  %v4 = icmp uge <32 x i32> splat (i32 4), splat (i32 32)
  %v5 = call <32 x i32> @llvm.umin.v32i32(<32 x i32> splat (i32 4), <32 x i32> splat (i32 31))
  %v6 = shl <32 x i32> %v3, %v5
  %v7 = select <32 x i1> %v4, <32 x i32> splat (i32 0), <32 x i32> %v6
  %v8 = add <32 x i32> splat (i32 1024), %v7
  %v9 = icmp ult <32 x i32> %v3, splat (i32 16)
  %v10 = xor <32 x i1> %v9, splat (i1 true)
  %v11 = zext <32 x i32> %v8 to <32 x i64>
  %v12 = getelementptr i8, ptr %warp, i64 2048
  store <32 x i64> %v1, ptr %v12, align 64
  %v13 = getelementptr i8, ptr %warp, i64 2304
  store <32 x i32> %v3, ptr %v13, align 64
  %v14 = getelementptr i8, ptr %warp, i64 2560
  store <32 x i32> %v8, ptr %v14, align 64
  %v15 = bitcast <32 x i1> %v9 to i32
  %v16 = getelementptr i8, ptr %warp, i64 2688
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
  %v28 = call i1 @ptxsim_copy_issue(ptr %context, ptr %warp, i32 6, <32 x i64> %v17, <32 x i64> %v1, i32 -1, i32 -1, i32 16)
  br i1 %v28, label %good1, label %bad1
bad1:
  store i32 6, ptr %site.at
  ret i32 3
good1:
  %v29 = load i64, ptr %count.at
  %v30 = add i64 %v29, 7
  store i64 %v30, ptr %count.at
  %v31 = load i32, ptr %left.at
  %v32 = sub i32 %v31, 1
  store i32 %v32, ptr %left.at
  %v33 = icmp eq i32 %v32, 0
  br i1 %v33, label %stop2, label %b1
stop2:
  store i32 1, ptr %block.at
  ret i32 0
b1:
  %v34 = getelementptr i8, ptr %warp, i64 2560
  %v35 = load <32 x i32>, ptr %v34, align 64
  %v36 = zext <32 x i32> %v35 to <32 x i64>
  %v37 = getelementptr i8, ptr %warp, i64 2048
  %v38 = load <32 x i64>, ptr %v37, align 64
  %v39 = getelementptr i8, ptr %warp, i64 2304
  %v40 = load <32 x i32>, ptr %v39, align 64
  %v41 = getelementptr i8, ptr %warp, i64 2688
  %v42 = load i32, ptr %v41, align 8
  %v43 = bitcast i32 %v42 to <32 x i1>
  %v44 = bitcast <32 x i1> %v43 to i32
  %v45 = icmp ne <32 x i32> %v40, splat (i32 0)
  %v46 = icmp ult <32 x i32> %v40, splat (i32 8)
  %v47 = and <32 x i1> %v45, %v46
  %v48 = bitcast <32 x i1> %v47 to i32
  %v49 = and i32 %v48, %v44
  %v50 = icmp eq i32 %v49, 0
  br i1 %v50, label %good3, label %bad3
bad3:
  store i32 7, ptr %site.at
  ret i32 3
good3:
  %v51 = bitcast <32 x i1> %v45 to i32
  %v52 = and i32 %v51, %v44
  %v53 = and <32 x i64> %v36, splat (i64 4294967295)
  %v54 = call {<32 x i32>, <32 x i32>} @ptxsim_load_shared_4x2(ptr %context, ptr %warp, <32 x i64> %v53, i32 %v44, i32 7, i32 0)
  %v55 = extractvalue {<32 x i32>, <32 x i32>} %v54, 0
  %v56 = extractvalue {<32 x i32>, <32 x i32>} %v54, 1
  %v57 = call {<32 x i32>, <32 x i32>} @ptxsim_load_global_4x2(ptr %context, ptr %warp, <32 x i64> %v38, i32 %v52, i32 7, i32 0)
  %v58 = extractvalue {<32 x i32>, <32 x i32>} %v57, 0
  %v59 = extractvalue {<32 x i32>, <32 x i32>} %v57, 1
  %v60 = call i1 @ptxsim_copy_issue(ptr %context, ptr %warp, i32 7, <32 x i64> %v53, <32 x i64> %v38, i32 %v44, i32 %v52, i32 8)
  br i1 %v60, label %good4, label %bad4
bad4:
  store i32 7, ptr %site.at
  ret i32 3
good4:
  %v61 = load i64, ptr %count.at
  %v62 = add i64 %v61, 1
  store i64 %v62, ptr %count.at
  %v63 = load i32, ptr %left.at
  %v64 = sub i32 %v63, 1
  store i32 %v64, ptr %left.at
  %v65 = icmp eq i32 %v64, 0
  br i1 %v65, label %stop5, label %b2
stop5:
  store i32 2, ptr %block.at
  ret i32 0
b2:
  %v66 = call i1 @ptxsim_copy_commit(ptr %context, ptr %warp)
  br i1 %v66, label %good6, label %bad6
bad6:
  store i32 8, ptr %site.at
  ret i32 3
good6:
  %v67 = load i64, ptr %count.at
  %v68 = add i64 %v67, 1
  store i64 %v68, ptr %count.at
  %v69 = load i32, ptr %left.at
  %v70 = sub i32 %v69, 1
  store i32 %v70, ptr %left.at
  %v71 = icmp eq i32 %v70, 0
  br i1 %v71, label %stop7, label %b3
stop7:
  store i32 3, ptr %block.at
  ret i32 0
b3:
  %v72 = call i1 @ptxsim_copy_wait(ptr %context, ptr %warp, i64 1, i1 false)
  br i1 %v72, label %good8, label %bad8
bad8:
  store i32 9, ptr %site.at
  ret i32 3
good8:
  %v73 = load i64, ptr %count.at
  %v74 = add i64 %v73, 1
  store i64 %v74, ptr %count.at
  %v75 = load i32, ptr %left.at
  %v76 = sub i32 %v75, 1
  store i32 %v76, ptr %left.at
  %v77 = icmp eq i32 %v76, 0
  br i1 %v77, label %stop9, label %b4
stop9:
  store i32 4, ptr %block.at
  ret i32 0
b4:
  %v78 = call i1 @ptxsim_copy_wait(ptr %context, ptr %warp, i64 0, i1 true)
  br i1 %v78, label %good10, label %bad10
bad10:
  store i32 10, ptr %site.at
  ret i32 3
good10:
  %v79 = load i64, ptr %count.at
  %v80 = add i64 %v79, 1
  store i64 %v80, ptr %count.at
  %v81 = load i32, ptr %left.at
  %v82 = sub i32 %v81, 1
  store i32 %v82, ptr %left.at
  %v83 = icmp eq i32 %v82, 0
  br i1 %v83, label %stop11, label %b5
stop11:
  store i32 5, ptr %block.at
  ret i32 0
b5:
  %v84 = load i64, ptr %count.at
  %v85 = add i64 %v84, 1
  store i64 %v85, ptr %count.at
  %v86 = load i32, ptr %left.at
  %v87 = sub i32 %v86, 1
  store i32 %v87, ptr %left.at
  store i32 -1, ptr %taken.at
  store i32 5, ptr %block.at
  store i32 11, ptr %site.at
  ret i32 2
b6:
  %v88 = load i64, ptr %count.at
  %v89 = add i64 %v88, 0
  store i64 %v89, ptr %count.at
  %v90 = load i32, ptr %left.at
  %v91 = sub i32 %v90, 1
  store i32 %v91, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
