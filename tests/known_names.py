"""The public names that a large body of existing Relay programs uses, by where they stand."""

KNOWN = {
    "relay": "Any Call Clause Constant Constructor Expr ExprFunctor ExprMutator ExprVisitor FuncType"
    " Function GlobalTypeVar GlobalVar IRModule If IncompleteType Let Match PatternConstructor"
    " PatternTuple PatternVar PatternWildcard RefCreate RefRead RefType RefWrite ScopeBuilder SourceName"
    " Span TVMError TensorType Tuple TupleGetItem TupleType TupleWrapper TypeCall TypeData TypeFunctor"
    " TypeMutator TypeRelation TypeVar TypeVisitor Var abs acos acosh add adv_index all arange argmax"
    " argmin argsort argwhere asin asinh atan atanh bind broadcast_to broadcast_to_like build build_config"
    " cast cast_like clip collapse_sum_like collapse_sum_to concatenate const copy cos cosh"
    " create_executor divide einsum equal erf exp expand_dims fixed_point_multiply floor floor_divide"
    " floor_mod fromtext full full_like gather gather_nd greater greater_equal isfinite isinf"
    " layout_transform left_shift less less_equal load_param_dict log log10 log2 logsumexp matrix_set_diag"
    " max maximum mean mean_std mean_variance meshgrid min minimum mod multiply ndarray_size negative"
    " not_equal one_hot ones ones_like op optimize parse parse_expr power reinterpret repeat reshape"
    " reshape_like reverse reverse_reshape reverse_sequence right_shift round rsqrt scalar_type"
    " searchsorted sequence_mask shape_of sigmoid sin sinh slice_like sliding_window sort"
    " sparse_fill_empty_rows sparse_to_dense split sqrt squeeze stack strided_set strided_slice subtract"
    " sum take tan tanh tile topk transpose trilu unique unravel_index var variance vm where zeros"
    " zeros_like",
    "relay.IRModule": "from_expr",
    "relay.TypeKind": "AdtHandle BaseType Constraint ShapeVar Type",
    "relay.adt": "Match TypeData",
    "relay.analysis": "AnnotatedRegionSet CallGraph all_type_vars all_vars bound_type_vars bound_vars"
    " check_basic_block_normal_form check_kind count_layers detect_feature extract_fused_functions"
    " extract_intermdeiate_expr free_type_vars free_vars get_calibration_data get_total_mac_number"
    " list_fake_quantized_op_freqs list_op_freqs post_order_visit unmatched_cases well_formed",
    "relay.analysis.Feature": "fCall fConstant fConstructor fFunction fGlobalVar fIf fLet fMatch fOp"
    " fRefCreate fRefRead fRefWrite fTuple fTupleGetItem fVar",
    "relay.annotation": "checkpoint compiler_begin compiler_end on_device stop_fusion",
    "relay.backend": "Executor Runtime vm",
    "relay.backend.Executor": "list_registered list_registered_options",
    "relay.backend.Runtime": "list_registered list_registered_options",
    "relay.backend.interpreter": "ConstructorValue RefValue",
    "relay.backend.vm": "VMCompiler compile invoke",
    "relay.base": "Span",
    "relay.build_module": "bind_params_by_name create_executor",
    "relay.container": "Map",
    "relay.data_dep_optimization.bsr_conv2d": "convert convert2",
    "relay.data_dep_optimization.bsr_dense": "convert",
    "relay.data_dep_optimization.simplify_fc_transpose": "convert",
    "relay.dataflow_pattern": "TupleGetItemPattern TuplePattern is_op wildcard",
    "relay.error": "DiagnosticError TVMError",
    "relay.expr": "Call If Let RefCreate RefRead RefWrite Tuple TupleGetItem TupleWrapper const",
    "relay.frontend.common": "infer_type",
    "relay.image": "affine_grid crop_and_resize dilation2d grid_sample resize1d resize2d resize3d",
    "relay.instrument": "pass_instrument",
    "relay.ir": "FuncType GlobalTypeVar GlobalVar IRModule IncompleteType Op TypeVar"
    " assert_structural_equal load_json make_node register_op_attr save_json structural_equal"
    " structural_hash",
    "relay.ir.EnvFunc": "get",
    "relay.ir.IRModule": "from_expr",
    "relay.ir.container": "Map",
    "relay.ir.instrument": "PassInstrument PassTimingInstrument pass_instrument",
    "relay.ir.supply": "GlobalVarSupply NameSupply",
    "relay.loops": "while_loop",
    "relay.nn": "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d"
    " adaptive_max_pool2d adaptive_max_pool3d avg_pool1d avg_pool2d avg_pool3d batch_flatten batch_matmul"
    " batch_norm batch_to_space_nd bias_add bitpack bitserial_conv2d bitserial_dense contrib_conv2d_nchwc"
    " conv1d conv1d_transpose conv2d conv2d_backward_weight conv2d_transpose conv3d conv3d_transpose"
    " correlation deformable_conv2d dense depth_to_space dilate dropout fast_softmax global_avg_pool1d"
    " global_avg_pool2d global_max_pool1d global_max_pool2d instance_norm l2_normalize layer_norm"
    " leaky_relu log_softmax lrn matmul max_pool1d max_pool2d max_pool3d mirror_pad nll_loss pad prelu"
    " relu softmax space_to_batch_nd space_to_depth upsampling upsampling3d",
    "relay.op": "abs add adv_index arange argmax argmin argsort broadcast_to cast clip"
    " collapse_sum_like concatenate const cumprod cumsum debug device_copy equal erf expand_dims get"
    " greater less log max maximum mean min minimum multiply ndarray_size ones_like reshape reshape_like"
    " reverse_reshape scatter_elements scatter_nd segment_sum shape_of sigmoid sparse_reshape split sqrt"
    " squeeze stack stft strided_slice subtract take tanh transpose zeros zeros_like",
    "relay.op.annotation": "compiler_begin compiler_end on_device",
    "relay.op.memory": "alloc_tensor",
    "relay.op.nn": "adaptive_avg_pool1d avg_pool2d batch_flatten batch_matmul batch_norm bias_add"
    " contrib_conv2d_nchwc conv2d conv2d_transpose cross_entropy cross_entropy_with_logits dense"
    " depth_to_space global_avg_pool2d leaky_relu max_pool2d pad relu softmax",
    "relay.op.op": "get register register_infer_correct_layout register_pattern register_stateful",
    "relay.op.op.OpPattern": "ELEMWISE",
    "relay.prelude": "Prelude StaticTensorArrayOps",
    "relay.qnn.op": "add batch_matmul concatenate conv2d conv2d_transpose dense dequantize erf exp"
    " hardswish leaky_relu mul quantize requantize requantize_config rsqrt sigmoid simulated_dequantize"
    " simulated_quantize subtract tanh",
    "relay.qnn.op.canonicalizations": "create_integer_lookup_op run_const_expr",
    "relay.qnn.op.legalizations": "hardswish_func",
    "relay.qnn.op.qnn": "batch_matmul dequantize",
    "relay.qnn.transform": "CanonicalizeOps Legalize",
    "relay.quantize": "qconfig quantize",
    "relay.random": "threefry_generate threefry_key threefry_split uniform",
    "relay.runtime": "Module convert enabled load_module save_param_dict",
    "relay.runtime.container": "ADT ShapeTuple String tuple_object",
    "relay.runtime.module": "BenchmarkResult Module",
    "relay.scope_builder": "ScopeBuilder",
    "relay.testing": "check_grad count count_ops create_workload enabled_targets make_nat_expr"
    " make_nat_value rand run_as_python run_infer_type run_opt_pass",
    "relay.testing.dcgan": "get_workload",
    "relay.testing.densenet": "get_workload",
    "relay.testing.dqn": "get_workload",
    "relay.testing.inception_v3": "get_net get_workload",
    "relay.testing.lstm": "get_workload",
    "relay.testing.mlp": "get_workload",
    "relay.testing.mobilenet": "get_workload",
    "relay.testing.resnet": "get_workload",
    "relay.testing.squeezenet": "get_workload",
    "relay.testing.synthetic": "get_workload",
    "relay.testing.temp_op_attr": "TempOpAttr",
    "relay.transform": "AlterOpLayout AnnotateSpans AnnotateTarget BackwardFoldScaleAxis"
    " CanonicalizeCast CanonicalizeOps CapturePostDfsIndexInSpans ChangeBatch CombineParallelBatchMatmul"
    " CombineParallelConv2D CombineParallelDense ConvertLayout DeadCodeElimination Defunctionalization"
    " DefuseOps DynamicToStatic EliminateCommonSubexpr EtaExpand FakeQuantizationToInteger FastMath"
    " FlattenAtrousConv FlexibleShapeDispatch FoldConstant FoldExplicitPadding FoldScaleAxis"
    " ForwardFoldScaleAxis FunctionPass FuseOps InferType InferTypeLocal Inline"
    " InlineCompilerFunctionsBoundTo LambdaLift LayoutConfig LazyGradientInit Legalize ManifestLifetimes"
    " MarkCompilerFunctionsAsExtern MergeCompilerRegions MergeComposite ModulePass"
    " OutlineCompilerFunctionsWithExistingGlobalSymbols PartialEvaluate PartitionGraph Pass PassContext"
    " PassInfo PlanDevices PrintIR RemoveUnusedFunctions Sequential SimplifyExpr SimplifyInference"
    " SplitArgs ToANormalForm ToBasicBlockNormalForm ToGraphNormalForm ToMixedPrecision function_pass"
    " gradient module_pass recast to_cps un_cps",
    "relay.transform.PassContext": "current list_configs",
    "relay.transform.infer_layout_utils": "InferCorrectLayoutOutput",
    "relay.ty": "FuncType GlobalTypeVar IncompleteType RefType TensorType TupleType TypeCall"
    " TypeRelation TypeVar",
    "relay.vision": "all_class_non_max_suppression get_valid_counts multibox_prior"
    " multibox_transform_loc non_max_suppression proposal roi_align roi_pool yolo_reorg",
    "relay.vm": "VMCompiler compile invoke",
}
