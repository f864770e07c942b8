declare <32 x i64> @ptxsim_load_param_8x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} @ptxsim_load_global_4x4(ptr, ptr, <32 x i64>, i32, i32, i32)
declare <32 x i32> @ptxsim_load_global_4x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare i1 @ptxsim_product_7d7afb51920812ac(ptr, ptr, ptr, ptr, ptr)
declare void @ptxsim_store_global_4x4(ptr, ptr, <32 x i64>, i32, i32, i32, <32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>)
define i32 @mma_sparse(ptr %context, ptr %warp) #0 {
entry:
  %v38 = alloca [32 x i32], align 64
  %v41 = alloca [128 x i32], align 64
  %v46 = alloca [128 x i32], align 64
  %v51 = alloca [128 x i32], align 64
  %v56 = alloca [128 x i32], align 64
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
  ]
nowhere:
  unreachable
b0:
  %v1 = call <32 x i64> @ptxsim_load_param_8x1(ptr %context, ptr %warp, <32 x i64> splat (i64 421114027184128), i32 -1, i32 0, i32 0)
  %v2 = getelementptr i8, ptr %warp, i64 3136
  store <32 x i64> %v1, ptr %v2, align 64
  %v3 = call {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} @ptxsim_load_global_4x4(ptr %context, ptr %warp, <32 x i64> %v1, i32 -1, i32 1, i32 0)
  %v4 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v3, 0
  %v5 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v3, 1
  %v6 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v3, 2
  %v7 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v3, 3
  %v8 = add <32 x i64> %v1, splat (i64 16)
  %v9 = getelementptr i8, ptr %warp, i64 3392
  store <32 x i32> %v4, ptr %v9, align 64
  %v10 = getelementptr i8, ptr %warp, i64 3520
  store <32 x i32> %v5, ptr %v10, align 64
  %v11 = getelementptr i8, ptr %warp, i64 3648
  store <32 x i32> %v6, ptr %v11, align 64
  %v12 = getelementptr i8, ptr %warp, i64 3776
  store <32 x i32> %v7, ptr %v12, align 64
  %v13 = call {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} @ptxsim_load_global_4x4(ptr %context, ptr %warp, <32 x i64> %v8, i32 -1, i32 2, i32 0)
  %v14 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v13, 0
  %v15 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v13, 1
  %v16 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v13, 2
  %v17 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v13, 3
  %v18 = add <32 x i64> %v1, splat (i64 32)
  %v19 = getelementptr i8, ptr %warp, i64 3904
  store <32 x i32> %v14, ptr %v19, align 64
  %v20 = getelementptr i8, ptr %warp, i64 4032
  store <32 x i32> %v15, ptr %v20, align 64
  %v21 = getelementptr i8, ptr %warp, i64 4160
  store <32 x i32> %v16, ptr %v21, align 64
  %v22 = getelementptr i8, ptr %warp, i64 4288
  store <32 x i32> %v17, ptr %v22, align 64
  %v23 = call {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} @ptxsim_load_global_4x4(ptr %context, ptr %warp, <32 x i64> %v18, i32 -1, i32 3, i32 0)
  %v24 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v23, 0
  %v25 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v23, 1
  %v26 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v23, 2
  %v27 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v23, 3
  %v28 = bitcast <32 x i32> %v24 to <32 x float>
  %v29 = bitcast <32 x i32> %v25 to <32 x float>
  %v30 = bitcast <32 x i32> %v26 to <32 x float>
  %v31 = bitcast <32 x i32> %v27 to <32 x float>
  %v32 = add <32 x i64> %v1, splat (i64 48)
  %v33 = getelementptr i8, ptr %warp, i64 4416
  store <32 x i32> %v24, ptr %v33, align 64
  %v34 = getelementptr i8, ptr %warp, i64 4544
  store <32 x i32> %v25, ptr %v34, align 64
  %v35 = getelementptr i8, ptr %warp, i64 4672
  store <32 x i32> %v26, ptr %v35, align 64
  %v36 = getelementptr i8, ptr %warp, i64 4800
  store <32 x i32> %v27, ptr %v36, align 64
  %v37 = call <32 x i32> @ptxsim_load_global_4x1(ptr %context, ptr %warp, <32 x i64> %v32, i32 -1, i32 4, i32 0)
  %v39 = getelementptr i8, ptr %v38, i64 0
  store <32 x i32> %v37, ptr %v39, align 64
  %v40 = getelementptr i8, ptr %warp, i64 4928
  store <32 x i32> %v37, ptr %v40, align 64
  %v42 = getelementptr i8, ptr %v41, i64 0
  store <32 x i32> %v4, ptr %v42, align 64
  %v43 = getelementptr i8, ptr %v41, i64 128
  store <32 x i32> %v5, ptr %v43, align 64
  %v44 = getelementptr i8, ptr %v41, i64 256
  store <32 x i32> %v6, ptr %v44, align 64
  %v45 = getelementptr i8, ptr %v41, i64 384
  store <32 x i32> %v7, ptr %v45, align 64
  %v47 = getelementptr i8, ptr %v46, i64 0
  store <32 x i32> %v14, ptr %v47, align 64
  %v48 = getelementptr i8, ptr %v46, i64 128
  store <32 x i32> %v15, ptr %v48, align 64
  %v49 = getelementptr i8, ptr %v46, i64 256
  store <32 x i32> %v16, ptr %v49, align 64
  %v50 = getelementptr i8, ptr %v46, i64 384
  store <32 x i32> %v17, ptr %v50, align 64
  %v52 = getelementptr i8, ptr %v51, i64 0
  store <32 x i32> %v24, ptr %v52, align 64
  %v53 = getelementptr i8, ptr %v51, i64 128
  store <32 x i32> %v25, ptr %v53, align 64
  %v54 = getelementptr i8, ptr %v51, i64 256
  store <32 x i32> %v26, ptr %v54, align 64
  %v55 = getelementptr i8, ptr %v51, i64 384
  store <32 x i32> %v27, ptr %v55, align 64
  %v57 = call i1 @ptxsim_product_7d7afb51920812ac(ptr %v41, ptr %v46, ptr %v51, ptr %v56, ptr %v38)
  br i1 %v57, label %good1, label %bad1
bad1:
  store i32 5, ptr %site.at
  ret i32 3
good1:
  %v58 = getelementptr i8, ptr %v56, i64 0
  %v59 = load <32 x float>, ptr %v58, align 64
  %v60 = getelementptr i8, ptr %v56, i64 128
  %v61 = load <32 x float>, ptr %v60, align 64
  %v62 = getelementptr i8, ptr %v56, i64 256
  %v63 = load <32 x float>, ptr %v62, align 64
  %v64 = getelementptr i8, ptr %v56, i64 384
  %v65 = load <32 x float>, ptr %v64, align 64
  %v66 = bitcast <32 x float> %v59 to <32 x i32>
  %v67 = bitcast <32 x float> %v61 to <32 x i32>
  %v68 = bitcast <32 x float> %v63 to <32 x i32>
  %v69 = bitcast <32 x float> %v65 to <32 x i32>
  %v70 = getelementptr i8, ptr %warp, i64 4416
  store <32 x i32> %v66, ptr %v70, align 64
  %v71 = getelementptr i8, ptr %warp, i64 4544
  store <32 x i32> %v67, ptr %v71, align 64
  %v72 = getelementptr i8, ptr %warp, i64 4672
  store <32 x i32> %v68, ptr %v72, align 64
  %v73 = getelementptr i8, ptr %warp, i64 4800
  store <32 x i32> %v69, ptr %v73, align 64
  %v74 = load i64, ptr %count.at
  %v75 = add i64 %v74, 6
  store i64 %v75, ptr %count.at
  %v76 = load i32, ptr %left.at
  %v77 = sub i32 %v76, 1
  store i32 %v77, ptr %left.at
  %v78 = icmp eq i32 %v77, 0
  br i1 %v78, label %stop2, label %b1
stop2:
  store i32 1, ptr %block.at
  ret i32 0
b1:
  %v79 = getelementptr i8, ptr %warp, i64 3136
  %v80 = load <32 x i64>, ptr %v79, align 64
  %v81 = add <32 x i64> %v80, splat (i64 32)
  %v82 = getelementptr i8, ptr %warp, i64 4416
  %v83 = load <32 x i32>, ptr %v82, align 64
  %v84 = bitcast <32 x i32> %v83 to <32 x float>
  %v85 = getelementptr i8, ptr %warp, i64 4544
  %v86 = load <32 x i32>, ptr %v85, align 64
  %v87 = bitcast <32 x i32> %v86 to <32 x float>
  %v88 = getelementptr i8, ptr %warp, i64 4672
  %v89 = load <32 x i32>, ptr %v88, align 64
  %v90 = bitcast <32 x i32> %v89 to <32 x float>
  %v91 = getelementptr i8, ptr %warp, i64 4800
  %v92 = load <32 x i32>, ptr %v91, align 64
  %v93 = bitcast <32 x i32> %v92 to <32 x float>
  call void @ptxsim_store_global_4x4(ptr %context, ptr %warp, <32 x i64> %v81, i32 -1, i32 6, i32 0, <32 x i32> %v83, <32 x i32> %v86, <32 x i32> %v89, <32 x i32> %v92)
  %v94 = load i64, ptr %count.at
  %v95 = add i64 %v94, 2
  store i64 %v95, ptr %count.at
  %v96 = load i32, ptr %left.at
  %v97 = sub i32 %v96, 1
  store i32 %v97, ptr %left.at
  store i32 -1, ptr %taken.at
  store i32 1, ptr %block.at
  store i32 7, ptr %site.at
  ret i32 2
b2:
  %v98 = load i64, ptr %count.at
  %v99 = add i64 %v98, 0
  store i64 %v99, ptr %count.at
  %v100 = load i32, ptr %left.at
  %v101 = sub i32 %v100, 1
  store i32 %v101, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
