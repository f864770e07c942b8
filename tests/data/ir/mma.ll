declare <32 x i64> @ptxsim_load_param_8x1(ptr, ptr, <32 x i64>, i32, i32, i32)
declare {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} @ptxsim_load_global_4x4(ptr, ptr, <32 x i64>, i32, i32, i32)
declare {<32 x i32>, <32 x i32>} @ptxsim_load_global_4x2(ptr, ptr, <32 x i64>, i32, i32, i32)
declare i1 @ptxsim_product_9683eae8e17b79f9(ptr, ptr, ptr, ptr, ptr)
declare void @ptxsim_store_global_4x4(ptr, ptr, <32 x i64>, i32, i32, i32, <32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>)
define i32 @mma(ptr %context, ptr %warp) #0 {
entry:
  %v28 = alloca [128 x i32], align 64
  %v33 = alloca [64 x i32], align 64
  %v36 = alloca [128 x i32], align 64
  %v41 = alloca [128 x i32], align 64
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
  %v13 = call {<32 x i32>, <32 x i32>} @ptxsim_load_global_4x2(ptr %context, ptr %warp, <32 x i64> %v8, i32 -1, i32 2, i32 0)
  %v14 = extractvalue {<32 x i32>, <32 x i32>} %v13, 0
  %v15 = extractvalue {<32 x i32>, <32 x i32>} %v13, 1
  %v16 = add <32 x i64> %v1, splat (i64 32)
  %v17 = getelementptr i8, ptr %warp, i64 3904
  store <32 x i32> %v14, ptr %v17, align 64
  %v18 = getelementptr i8, ptr %warp, i64 4032
  store <32 x i32> %v15, ptr %v18, align 64
  %v19 = call {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} @ptxsim_load_global_4x4(ptr %context, ptr %warp, <32 x i64> %v16, i32 -1, i32 3, i32 0)
  %v20 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v19, 0
  %v21 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v19, 1
  %v22 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v19, 2
  %v23 = extractvalue {<32 x i32>, <32 x i32>, <32 x i32>, <32 x i32>} %v19, 3
  %v24 = bitcast <32 x i32> %v20 to <32 x float>
  %v25 = bitcast <32 x i32> %v21 to <32 x float>
  %v26 = bitcast <32 x i32> %v22 to <32 x float>
  %v27 = bitcast <32 x i32> %v23 to <32 x float>
  %v29 = getelementptr i8, ptr %v28, i64 0
  store <32 x i32> %v4, ptr %v29, align 64
  %v30 = getelementptr i8, ptr %v28, i64 128
  store <32 x i32> %v5, ptr %v30, align 64
  %v31 = getelementptr i8, ptr %v28, i64 256
  store <32 x i32> %v6, ptr %v31, align 64
  %v32 = getelementptr i8, ptr %v28, i64 384
  store <32 x i32> %v7, ptr %v32, align 64
  %v34 = getelementptr i8, ptr %v33, i64 0
  store <32 x i32> %v14, ptr %v34, align 64
  %v35 = getelementptr i8, ptr %v33, i64 128
  store <32 x i32> %v15, ptr %v35, align 64
  %v37 = getelementptr i8, ptr %v36, i64 0
  store <32 x i32> %v20, ptr %v37, align 64
  %v38 = getelementptr i8, ptr %v36, i64 128
  store <32 x i32> %v21, ptr %v38, align 64
  %v39 = getelementptr i8, ptr %v36, i64 256
  store <32 x i32> %v22, ptr %v39, align 64
  %v40 = getelementptr i8, ptr %v36, i64 384
  store <32 x i32> %v23, ptr %v40, align 64
  %v42 = call i1 @ptxsim_product_9683eae8e17b79f9(ptr %v28, ptr %v33, ptr %v36, ptr %v41, ptr null)
  %v43 = getelementptr i8, ptr %v41, i64 0
  %v44 = load <32 x float>, ptr %v43, align 64
  %v45 = getelementptr i8, ptr %v41, i64 128
  %v46 = load <32 x float>, ptr %v45, align 64
  %v47 = getelementptr i8, ptr %v41, i64 256
  %v48 = load <32 x float>, ptr %v47, align 64
  %v49 = getelementptr i8, ptr %v41, i64 384
  %v50 = load <32 x float>, ptr %v49, align 64
  %v51 = bitcast <32 x float> %v44 to <32 x i32>
  %v52 = bitcast <32 x float> %v46 to <32 x i32>
  %v53 = bitcast <32 x float> %v48 to <32 x i32>
  %v54 = bitcast <32 x float> %v50 to <32 x i32>
  %v55 = getelementptr i8, ptr %warp, i64 4160
  store <32 x i32> %v51, ptr %v55, align 64
  %v56 = getelementptr i8, ptr %warp, i64 4288
  store <32 x i32> %v52, ptr %v56, align 64
  %v57 = getelementptr i8, ptr %warp, i64 4416
  store <32 x i32> %v53, ptr %v57, align 64
  %v58 = getelementptr i8, ptr %warp, i64 4544
  store <32 x i32> %v54, ptr %v58, align 64
  %v59 = load i64, ptr %count.at
  %v60 = add i64 %v59, 5
  store i64 %v60, ptr %count.at
  %v61 = load i32, ptr %left.at
  %v62 = sub i32 %v61, 1
  store i32 %v62, ptr %left.at
  %v63 = icmp eq i32 %v62, 0
  br i1 %v63, label %stop1, label %b1
stop1:
  store i32 1, ptr %block.at
  ret i32 0
b1:
  %v64 = getelementptr i8, ptr %warp, i64 3136
  %v65 = load <32 x i64>, ptr %v64, align 64
  %v66 = add <32 x i64> %v65, splat (i64 32)
  %v67 = getelementptr i8, ptr %warp, i64 4160
  %v68 = load <32 x i32>, ptr %v67, align 64
  %v69 = bitcast <32 x i32> %v68 to <32 x float>
  %v70 = getelementptr i8, ptr %warp, i64 4288
  %v71 = load <32 x i32>, ptr %v70, align 64
  %v72 = bitcast <32 x i32> %v71 to <32 x float>
  %v73 = getelementptr i8, ptr %warp, i64 4416
  %v74 = load <32 x i32>, ptr %v73, align 64
  %v75 = bitcast <32 x i32> %v74 to <32 x float>
  %v76 = getelementptr i8, ptr %warp, i64 4544
  %v77 = load <32 x i32>, ptr %v76, align 64
  %v78 = bitcast <32 x i32> %v77 to <32 x float>
  call void @ptxsim_store_global_4x4(ptr %context, ptr %warp, <32 x i64> %v66, i32 -1, i32 5, i32 0, <32 x i32> %v68, <32 x i32> %v71, <32 x i32> %v74, <32 x i32> %v77)
  %v79 = load i64, ptr %count.at
  %v80 = add i64 %v79, 2
  store i64 %v80, ptr %count.at
  %v81 = load i32, ptr %left.at
  %v82 = sub i32 %v81, 1
  store i32 %v82, ptr %left.at
  store i32 -1, ptr %taken.at
  store i32 1, ptr %block.at
  store i32 6, ptr %site.at
  ret i32 2
b2:
  %v83 = load i64, ptr %count.at
  %v84 = add i64 %v83, 0
  store i64 %v84, ptr %count.at
  %v85 = load i32, ptr %left.at
  %v86 = sub i32 %v85, 1
  store i32 %v86, ptr %left.at
  unreachable
}
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
