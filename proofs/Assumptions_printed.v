From PrivJail Require Distance Rows Slices Chains Windows Groups Values Numbers Vectors Cells Budget Forms Laws Laplace NoisyMax Choices PermuteAndFlip NoisyMaxAsDrawn RealLaplace RealNoisyMax AboveThreshold PrivateKeys Composition.
Definition all_0 := (@Laws.sets_are_enough, tt).
Goal True. idtac "@@ Laws.sets_are_enough". exact I. Qed.
Print Assumptions all_0.
Definition all_1 := (@Laws.sets_are_enough_pure, tt).
Goal True. idtac "@@ Laws.sets_are_enough_pure". exact I. Qed.
Print Assumptions all_1.
Definition all_2 := (@Laws.post_processing, tt).
Goal True. idtac "@@ Laws.post_processing". exact I. Qed.
Print Assumptions all_2.
Definition all_3 := (@Laws.promising_less, tt).
Goal True. idtac "@@ Laws.promising_less". exact I. Qed.
Print Assumptions all_3.
Definition all_4 := (@Laws.sequential_composition, tt).
Goal True. idtac "@@ Laws.sequential_composition". exact I. Qed.
Print Assumptions all_4.
Definition all_5 := (@Laplace.laplace_mechanism, tt).
Goal True. idtac "@@ Laplace.laplace_mechanism". exact I. Qed.
Print Assumptions all_5.
Definition all_6 := (@Laplace.laplace_mechanism_of_a_vector, tt).
Goal True. idtac "@@ Laplace.laplace_mechanism_of_a_vector". exact I. Qed.
Print Assumptions all_6.
Definition all_7 := (@NoisyMax.noisy_max_for_any_noise, tt).
Goal True. idtac "@@ NoisyMax.noisy_max_for_any_noise". exact I. Qed.
Print Assumptions all_7.
Definition all_8 := (@NoisyMax.noisy_max_of_scores, tt).
Goal True. idtac "@@ NoisyMax.noisy_max_of_scores". exact I. Qed.
Print Assumptions all_8.
Definition all_9 := (@NoisyMax.differential_privacy_LapMech_RNM, tt).
Goal True. idtac "@@ NoisyMax.differential_privacy_LapMech_RNM". exact I. Qed.
Print Assumptions all_9.
Definition all_10 := (@Choices.exponential_mechanism_is_private, tt).
Goal True. idtac "@@ Choices.exponential_mechanism_is_private". exact I. Qed.
Print Assumptions all_10.
Definition all_11 := (@PermuteAndFlip.permute_and_flip_closed_form, tt).
Goal True. idtac "@@ PermuteAndFlip.permute_and_flip_closed_form". exact I. Qed.
Print Assumptions all_11.
Definition all_12 := (@PermuteAndFlip.permute_and_flip_is_private, tt).
Goal True. idtac "@@ PermuteAndFlip.permute_and_flip_is_private". exact I. Qed.
Print Assumptions all_12.
Definition all_13 := (@PermuteAndFlip.permute_and_flip_of_counts, tt).
Goal True. idtac "@@ PermuteAndFlip.permute_and_flip_of_counts". exact I. Qed.
Print Assumptions all_13.
Definition all_14 := (@NoisyMaxAsDrawn.permute_and_flip_always_answers, tt).
Goal True. idtac "@@ NoisyMaxAsDrawn.permute_and_flip_always_answers". exact I. Qed.
Print Assumptions all_14.
Definition all_15 := (@NoisyMaxAsDrawn.noisy_max_as_drawn, tt).
Goal True. idtac "@@ NoisyMaxAsDrawn.noisy_max_as_drawn". exact I. Qed.
Print Assumptions all_15.
Definition all_16 := (@NoisyMaxAsDrawn.noisy_max_of_counts_as_drawn, tt).
Goal True. idtac "@@ NoisyMaxAsDrawn.noisy_max_of_counts_as_drawn". exact I. Qed.
Print Assumptions all_16.
Definition all_17 := (@RealLaplace.real_noisy_max_always_answers, tt).
Goal True. idtac "@@ RealLaplace.real_noisy_max_always_answers". exact I. Qed.
Print Assumptions all_17.
Definition all_18 := (@RealNoisyMax.differential_privacy_LapMech_RNM_real, tt).
Goal True. idtac "@@ RealNoisyMax.differential_privacy_LapMech_RNM_real". exact I. Qed.
Print Assumptions all_18.
Definition all_19 := (@AboveThreshold.above_threshold_is_private, tt).
Goal True. idtac "@@ AboveThreshold.above_threshold_is_private". exact I. Qed.
Print Assumptions all_19.
Definition all_20 := (@AboveThreshold.above_threshold_with_laplace_noise, tt).
Goal True. idtac "@@ AboveThreshold.above_threshold_with_laplace_noise". exact I. Qed.
Print Assumptions all_20.
Definition all_21 := (@PrivateKeys.private_keys, tt).
Goal True. idtac "@@ PrivateKeys.private_keys". exact I. Qed.
Print Assumptions all_21.
Definition all_22 := (@Composition.parallel_composition, tt).
Goal True. idtac "@@ Composition.parallel_composition". exact I. Qed.
Print Assumptions all_22.
Definition all_23 := (@Composition.everything_seen_is_private, tt).
Goal True. idtac "@@ Composition.everything_seen_is_private". exact I. Qed.
Print Assumptions all_23.
Definition all_24 := (@Composition.real_probabilities_are_chances, tt).
Goal True. idtac "@@ Composition.real_probabilities_are_chances". exact I. Qed.
Print Assumptions all_24.
