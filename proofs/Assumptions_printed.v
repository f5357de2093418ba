From PrivJail Require Distance Rows Slices Chains Windows Groups People Values Numbers Vectors Certified Cells Budget Forms Laws Laplace NoisyMax Choices PermuteAndFlip NoisyMaxAsDrawn RealLaplace RealNoisyMax AboveThreshold PrivateKeys Composition Samples.
Definition all_0 := (@Distance.distance_zero_means_equal, @Distance.distance_is_symmetric, @Distance.triangle_inequality, @Distance.small_tables_are_near, @Distance.one_edit_is_enough, @Distance.edits_is_the_shortest_script, tt).
Goal True. idtac "@@ Distance". exact I. Qed.
Print Assumptions all_0.
Definition all_1 := (@Rows.expressions_keep_the_distance, @Rows.expressions_within, @Rows.filter_keeps_the_distance, @Rows.filter_within, @Rows.filter_reaches_its_bound, @Rows.dropna_keeps_the_distance, @Rows.groups_share_the_edits, @Rows.sort_keeps_the_distance, @Rows.sort_within, @Rows.every_stable_sort_is_this_one, @Rows.sort_reaches_its_bound, @Rows.join_with_a_public_table, @Rows.many_to_one_join_keeps_the_distance, @Rows.join_reaches_its_bound, tt).
Goal True. idtac "@@ Rows". exact I. Qed.
Print Assumptions all_1.
Definition all_2 := (@Slices.any_sliding_window, @Slices.slice_within, @Slices.slice_distance, @Slices.count_after_head, @Slices.slices_are_at_most_twice_their_rows_apart, @Slices.head_reaches_2, @Slices.tail_reaches_2, @Slices.cut_at_the_front_reaches_1, @Slices.cut_at_both_ends_reaches_1, @Slices.from_the_end_to_the_front_reaches_3, tt).
Goal True. idtac "@@ Slices". exact I. Qed.
Print Assumptions all_2.
Definition all_3 := (@Chains.chain_of_slices, @Chains.chain_of_slices_distance, @Chains.head_then_tail_claims_2, @Chains.head_then_tail_reaches_2, @Chains.a_mixed_slice_in_a_chain_claims_3, tt).
Goal True. idtac "@@ Chains". exact I. Qed.
Print Assumptions all_3.
Definition all_4 := (@Windows.window_within, @Windows.window_distance, @Windows.lags_move_with_their_window, @Windows.lag_reads_the_row_above, @Windows.lag_reads_the_row_below, @Windows.lone_shift_within, @Windows.lone_shift_up_within, @Windows.window_beside_its_row_within, @Windows.few_windows_are_near, @Windows.window_of_three_reaches_5, @Windows.window_of_three_above_reaches_5, tt).
Goal True. idtac "@@ Windows". exact I. Qed.
Print Assumptions all_4.
Definition all_5 := (@Groups.source_one_row, @Groups.source_one_person, @Groups.group_head_by_any_key, @Groups.group_head_by_any_key_distance, @Groups.group_head_by_owner, @Groups.by_any_key_2_is_reached, @Groups.by_owner_k_is_reached, @Groups.per_person_aggregation, @Groups.join_on_the_person, @Groups.many_to_one_join_on_the_person, tt).
Goal True. idtac "@@ Groups". exact I. Qed.
Print Assumptions all_5.
Definition all_6 := (@People.expand_is_owned, @People.expand_multiplies, @People.lookup_keeps_the_distance, @People.found_at_the_same_person, @People.append_is_owned, @People.append_adds, tt).
Goal True. idtac "@@ People". exact I. Qed.
Print Assumptions all_6.
Definition all_7 := (@Values.count_distance, @Values.sum_distance, @Values.sum_of_one_sign_distance, @Values.net_sum_distance, @Values.sums_only_grow, @Values.tally_distance, @Values.one_group_distance, @Values.distinct_distance, @Values.distinct_net_distance, @Values.quantile_scores_distance, @Values.ranks_net_distance, @Values.count_after_a_head, @Values.sum_of_mixed_signs_moves_by_both, @Values.count_after_an_insertion, @Values.sum_of_the_largest_value, @Values.quantile_scores_move_by_the_heavier_side, tt).
Goal True. idtac "@@ Values". exact I. Qed.
Print Assumptions all_7.
Definition all_8 := (@Numbers.add_distance, @Numbers.scale_distance, @Numbers.offset_distance, @Numbers.absolute_distance, @Numbers.one_element_moves_in_one_direction, @Numbers.public_number_distance, @Numbers.stack_distance, @Numbers.element_distance, @Numbers.column_stack_distance, @Numbers.total_distance, @Numbers.largest_distance, @Numbers.smallest_distance, @Numbers.scaled_by_three, @Numbers.sums_move_by_the_sum, tt).
Goal True. idtac "@@ Numbers". exact I. Qed.
Print Assumptions all_8.
Definition all_9 := (@Vectors.toward_zero_keeps_norms, @Vectors.vector_sum_distance, @Vectors.vector_sum_moves_by_its_edits, @Vectors.outer_products_have_the_product_of_norms, @Vectors.nearest_exceeds, tt).
Goal True. idtac "@@ Vectors". exact I. Qed.
Print Assumptions all_9.
Definition all_10 := (@Certified.moved_is_sound, @Certified.bounds_are_sound, @Certified.accepts_is_sound, @Certified.enough_is_accepted, @Certified.too_small_a_sensitivity_is_rejected, @Certified.too_small_a_charge_is_rejected, tt).
Goal True. idtac "@@ Certified". exact I. Qed.
Print Assumptions all_10.
Definition all_11 := (@Cells.cost_is_never_exceeded, @Cells.cost_is_reached, tt).
Goal True. idtac "@@ Cells". exact I. Qed.
Print Assumptions all_11.
Definition all_12 := (@Budget.shares_of_a_script, @Budget.every_cell_is_charged, @Budget.a_release_loses_what_it_is_charged, @Budget.nothing_over_the_limit_is_answered, @Budget.the_ledger_bounds_the_joint_loss, tt).
Goal True. idtac "@@ Budget". exact I. Qed.
Print Assumptions all_12.
Definition all_13 := (@Forms.a_maximum_is_below_its_flattened_form, @Forms.euclidean_norm, @Forms.a_base_shares_out_its_edits, tt).
Goal True. idtac "@@ Forms". exact I. Qed.
Print Assumptions all_13.
Definition all_14 := (@Laws.sets_are_enough, @Laws.sets_are_enough_pure, @Laws.post_processing, @Laws.promising_less, @Laws.sequential_composition, tt).
Goal True. idtac "@@ Laws". exact I. Qed.
Print Assumptions all_14.
Definition all_15 := (@Laplace.laplace_mechanism, @Laplace.laplace_mechanism_of_a_vector, tt).
Goal True. idtac "@@ Laplace". exact I. Qed.
Print Assumptions all_15.
Definition all_16 := (@NoisyMax.noisy_max_for_any_noise, @NoisyMax.noisy_max_of_scores, @NoisyMax.differential_privacy_LapMech_RNM, tt).
Goal True. idtac "@@ NoisyMax". exact I. Qed.
Print Assumptions all_16.
Definition all_17 := (@Choices.exponential_mechanism_is_private, tt).
Goal True. idtac "@@ Choices". exact I. Qed.
Print Assumptions all_17.
Definition all_18 := (@PermuteAndFlip.permute_and_flip_closed_form, @PermuteAndFlip.permute_and_flip_is_private, @PermuteAndFlip.permute_and_flip_of_counts, tt).
Goal True. idtac "@@ PermuteAndFlip". exact I. Qed.
Print Assumptions all_18.
Definition all_19 := (@NoisyMaxAsDrawn.permute_and_flip_always_answers, @NoisyMaxAsDrawn.noisy_max_as_drawn, @NoisyMaxAsDrawn.noisy_max_of_counts_as_drawn, tt).
Goal True. idtac "@@ NoisyMaxAsDrawn". exact I. Qed.
Print Assumptions all_19.
Definition all_20 := (@RealLaplace.real_noisy_max_always_answers, tt).
Goal True. idtac "@@ RealLaplace". exact I. Qed.
Print Assumptions all_20.
Definition all_21 := (@RealNoisyMax.differential_privacy_LapMech_RNM_real, tt).
Goal True. idtac "@@ RealNoisyMax". exact I. Qed.
Print Assumptions all_21.
Definition all_22 := (@AboveThreshold.above_threshold_is_private, @AboveThreshold.above_threshold_with_laplace_noise, tt).
Goal True. idtac "@@ AboveThreshold". exact I. Qed.
Print Assumptions all_22.
Definition all_23 := (@PrivateKeys.keys_move_by_one, @PrivateKeys.few_keys_move, @PrivateKeys.private_keys, @PrivateKeys.private_keys_of_a_person, tt).
Goal True. idtac "@@ PrivateKeys". exact I. Qed.
Print Assumptions all_23.
Definition all_24 := (@Composition.parallel_composition, @Composition.everything_seen_is_private, @Composition.real_probabilities_are_chances, tt).
Goal True. idtac "@@ Composition". exact I. Qed.
Print Assumptions all_24.
Definition all_25 := (@Samples.a_sample_keeps_the_distance, @Samples.samples_cost_what_the_ledger_says, @Samples.a_sample_costs_no_more_than_all_rows, @Samples.coins_of_other_rows_cost_nothing, @Samples.the_cost_of_a_sample_is_reached, tt).
Goal True. idtac "@@ Samples". exact I. Qed.
Print Assumptions all_25.
