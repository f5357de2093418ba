(** Real-valued Laplace noise, and the chance that an option wins noisy max with it.

    Noise of density f and distribution function F is added to each number. Option i wins with the value x if its own noise
    is x - q_i and that of every other option is below x - q_j, so

      Pr[i wins] = ∫ f(x - q_i)·Π_{j ≠ i} F(x - q_j) dx   over the real line.

    This integral is the definition here; its values are proved to add up to 1. *)

From Coq Require Import Reals Lra Lia List ZArith Bool.
From Coquelicot Require Import Coquelicot.
From PrivJail Require Import Laws NoisyMax PermuteAndFlip NoisyMaxAsDrawn.
Import ListNotations.
Open Scope R_scope.

Section LaplaceNoise.
Variable b : R.
Hypothesis positive : 0 < b.

Definition density (x : R) : R := exp (- Rabs x / b) / (2 * b).
Definition cdf (x : R) : R := 1 / 2 + RInt density 0 x.

Lemma density_positive : forall x, 0 < density x.
Proof. intros x. apply Rdiv_lt_0_compat; [apply exp_pos | lra]. Qed.

Lemma density_continuous : forall x, continuous density x.
Proof.
  intros x. unfold density, Rdiv.
  apply (continuous_mult (fun x => exp (- Rabs x * / b)) (fun _ => / (2 * b))); [|apply continuous_const].
  apply (continuous_comp (fun x => - Rabs x * / b) exp).
  - apply (continuous_mult (fun x => - Rabs x) (fun _ => / b)); [|apply continuous_const].
    apply (continuous_opp Rabs). apply continuous_Rabs.
  - apply continuous_exp.
Qed.

Lemma density_integrable : forall x y, ex_RInt density x y.
Proof. intros. apply (ex_RInt_continuous density). intros. apply density_continuous. Qed.

(** Moving by [s] changes the density by a factor of at most e^(|s|/b). *)
Lemma density_shifts : forall x s c, Rabs s <= c -> density x <= exp (c / b) * density (x + s).
Proof.
  intros x s c small. unfold density.
  replace (exp (c / b) * (exp (- Rabs (x + s) / b) / (2 * b))) with (exp (c / b + - Rabs (x + s) / b) / (2 * b))
    by (rewrite exp_plus; unfold Rdiv; ring).
  apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|].
  assert (- Rabs x / b <= c / b + - Rabs (x + s) / b) as [lt|eq]; [|left; apply exp_increasing; auto | rewrite eq; lra].
  apply (Rmult_le_reg_r b); auto. unfold Rdiv. rewrite Rmult_plus_distr_r, !Rmult_assoc, Rinv_l by lra.
  pose proof (Rabs_triang x s). lra.
Qed.

Lemma cdf_derive : forall x, is_derive cdf x (density x).
Proof.
  intros x. unfold cdf. evar_last.
  - apply (is_derive_plus (fun _ => 1 / 2) (fun x => RInt density 0 x)); [apply (is_derive_const (1 / 2))|].
    apply (is_derive_RInt density (fun x => RInt density 0 x) 0); [|apply density_continuous].
    exists (mkposreal 1 Rlt_0_1). intros y _. apply (RInt_correct density), density_integrable.
  - unfold plus, zero; simpl. ring.
Qed.

Lemma cdf_continuous : forall x, continuous cdf x.
Proof. intros x. apply (ex_derive_continuous cdf). exists (density x). apply cdf_derive. Qed.

Lemma cdf_grows : forall x y, x <= y -> cdf x <= cdf y.
Proof.
  intros x y less. unfold cdf. rewrite <- (RInt_Chasles density 0 x y) by apply density_integrable.
  unfold plus; simpl. assert (0 <= RInt density x y); [|lra].
  apply RInt_ge_0; auto; [apply density_integrable|]. intros. left. apply density_positive.
Qed.

Lemma cdf_right : forall x, 0 <= x -> cdf x = 1 - exp (- x / b) / 2.
Proof.
  intros x pos. unfold cdf.
  assert (is_RInt density 0 x ((- exp (- x / b) / 2) - (- exp (- 0 / b) / 2))) as whole.
  { apply (is_RInt_ext (fun t => exp (- t / b) / (2 * b))).
    - intros t between. rewrite Rmin_left, Rmax_right in between by auto. unfold density. rewrite Rabs_right by lra.
      reflexivity.
    - apply (is_RInt_derive (fun t => - exp (- t / b) / 2) (fun t => exp (- t / b) / (2 * b))).
      + intros t _. auto_derive; auto. change (- t / b) with (- t * / b). field. lra.
      + intros t _. apply (ex_derive_continuous (fun t => exp (- t / b) / (2 * b))). auto_derive. lra. }
  rewrite (is_RInt_unique _ _ _ _ whole). replace (- 0 / b) with 0 by (field; lra). rewrite exp_0. field.
Qed.

Lemma cdf_left : forall x, x <= 0 -> cdf x = exp (x / b) / 2.
Proof.
  intros x neg. unfold cdf.
  assert (is_RInt density x 0 (exp (0 / b) / 2 - exp (x / b) / 2)) as whole.
  { apply (is_RInt_ext (fun t => exp (t / b) / (2 * b))).
    - intros t between. rewrite Rmin_left, Rmax_right in between by auto. unfold density. rewrite Rabs_left1 by lra.
      rewrite Ropp_involutive. reflexivity.
    - apply (is_RInt_derive (fun t => exp (t / b) / 2) (fun t => exp (t / b) / (2 * b))).
      + intros t _. auto_derive; auto. change (t / b) with (t * / b). field. lra.
      + intros t _. apply (ex_derive_continuous (fun t => exp (t / b) / (2 * b))). auto_derive. lra. }
  rewrite <- (opp_RInt_swap density) by apply density_integrable. unfold opp; simpl.
  rewrite (is_RInt_unique _ _ _ _ whole). replace (0 / b) with 0 by (field; lra). rewrite exp_0. field.
Qed.

Lemma cdf_between : forall x, 0 <= cdf x <= 1.
Proof.
  intros x. destruct (Rle_dec 0 x) as [right|left].
  - rewrite cdf_right by auto. pose proof (exp_pos (- x / b)).
    assert (exp (- x / b) <= exp 0); [|rewrite exp_0 in *; lra].
    assert (- x / b <= 0) as [lt| ->]; try lra; [|left; apply exp_increasing; auto].
    apply (Rmult_le_reg_r b); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  - rewrite cdf_left by lra. pose proof (exp_pos (x / b)).
    assert (exp (x / b) <= exp 0); [|rewrite exp_0 in *; lra]. left. apply exp_increasing.
    apply (Rmult_lt_reg_r b); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** ** The chance that an option wins *)

(** All of the others stay below the value [x]. *)
Definition all_below (qs : list R) (x : R) : R := fold_right (fun q s => cdf (x - q) * s) 1 qs.

Definition winning_density (q : R) (qs : list R) (x : R) : R := density (x - q) * all_below qs x.

(** ∫ over the real line: the limit of the integrals from -n to n. *)
Definition over_the_line (g : R -> R) : R := real (Lim_seq (fun n => RInt g (- INR n) (INR n))).

Definition real_noisy_max (q : list R) (i : nat) : R :=
  over_the_line (winning_density (nth i q 0) (others i q)).

Lemma all_below_between : forall qs x, 0 <= all_below qs x <= 1.
Proof.
  induction qs as [|q qs IH]; intros x; simpl; [lra|]. pose proof (cdf_between (x - q)). specialize (IH x).
  split; [apply Rmult_le_pos; lra|]. rewrite <- (Rmult_1_r 1). apply Rmult_le_compat; lra.
Qed.

Lemma shifted_continuous : forall (g : R -> R) q x, (forall y, continuous g y) -> continuous (fun x => g (x - q)) x.
Proof.
  intros g q x cont. apply (continuous_comp (fun x => x - q) g); auto.
  apply (continuous_minus (fun x => x) (fun _ => q)); [apply continuous_id | apply continuous_const].
Qed.

Lemma all_below_continuous : forall qs x, continuous (all_below qs) x.
Proof.
  induction qs as [|q qs IH]; intros x; simpl; [apply continuous_const|].
  apply (continuous_mult (fun x => cdf (x - q)) (all_below qs)); auto. apply shifted_continuous, cdf_continuous.
Qed.

Lemma winning_continuous : forall q qs x, continuous (winning_density q qs) x.
Proof.
  intros q qs x. apply (continuous_mult (fun x => density (x - q)) (all_below qs)); [|apply all_below_continuous].
  apply shifted_continuous, density_continuous.
Qed.

Lemma winning_integrable : forall q qs x y, ex_RInt (winning_density q qs) x y.
Proof. intros. apply (ex_RInt_continuous (winning_density q qs)). intros. apply winning_continuous. Qed.

Lemma winning_between : forall q qs x, 0 <= winning_density q qs x <= density (x - q).
Proof.
  intros q qs x. unfold winning_density. pose proof (all_below_between qs x). pose proof (density_positive (x - q)).
  split; [apply Rmult_le_pos; lra|]. rewrite <- (Rmult_1_r (density (x - q))) at 2. apply Rmult_le_compat_l; lra.
Qed.

Lemma inr_not_negative : forall n, - INR n <= INR n.
Proof. intros n. pose proof (pos_INR n). lra. Qed.

Lemma wider_is_more : forall q qs x y x' y', x' <= x -> x <= y -> y <= y' ->
  RInt (winning_density q qs) x y <= RInt (winning_density q qs) x' y'.
Proof.
  intros q qs x y x' y' l m r.
  rewrite <- (RInt_Chasles (winning_density q qs) x' x y') by apply winning_integrable.
  rewrite <- (RInt_Chasles (winning_density q qs) x y y') by apply winning_integrable. unfold plus; simpl.
  assert (0 <= RInt (winning_density q qs) x' x)
    by (apply RInt_ge_0; auto; [apply winning_integrable | intros; apply winning_between]).
  assert (0 <= RInt (winning_density q qs) y y')
    by (apply RInt_ge_0; auto; [apply winning_integrable | intros; apply winning_between]).
  lra.
Qed.

Lemma density_mass : forall q x y, is_RInt (fun x => density (x - q)) x y (cdf (y - q) - cdf (x - q)).
Proof.
  intros q x y. apply (is_RInt_derive (fun x => cdf (x - q)) (fun x => density (x - q))).
  - intros t _. evar_last.
    + apply (is_derive_comp cdf (fun x => x - q) t); [apply cdf_derive|].
      apply (is_derive_minus (fun x => x) (fun _ => q) t 1 0); [apply (is_derive_id t) | apply (is_derive_const q)].
    + unfold scal, minus, plus, opp; simpl. unfold mult; simpl. ring.
  - intros t _. apply shifted_continuous, density_continuous.
Qed.

Lemma winning_at_most_1 : forall q qs n, RInt (winning_density q qs) (- INR n) (INR n) <= 1.
Proof.
  intros q qs n. apply Rle_trans with (RInt (fun x => density (x - q)) (- INR n) (INR n)).
  - apply RInt_le; [apply inr_not_negative | apply winning_integrable | eexists; apply density_mass |].
    intros; apply winning_between.
  - rewrite (is_RInt_unique _ _ _ _ (density_mass q (- INR n) (INR n))).
    pose proof (cdf_between (INR n - q)). pose proof (cdf_between (- INR n - q)). lra.
Qed.

Lemma winning_converges : forall q qs, ex_finite_lim_seq (fun n => RInt (winning_density q qs) (- INR n) (INR n)).
Proof.
  intros q qs. apply (ex_finite_lim_seq_incr _ 1); [|apply winning_at_most_1].
  intros n. apply wider_is_more; rewrite ?S_INR; pose proof (pos_INR n); lra.
Qed.

(** ** Moving the scores *)

Lemma all_below_moves : forall up qs qs' x, Forall2 (fun q q' => q' <= q + up) qs qs' ->
  all_below qs x <= all_below qs' (x + up).
Proof.
  intros up qs qs' x near. induction near as [|q q' qs qs' first rest IH]; simpl; [lra|].
  apply Rmult_le_compat; auto; try apply cdf_between; try apply all_below_between. apply cdf_grows. lra.
Qed.

(** Scores that gain at most [up], and option [i] loses at most [down]: its chance falls by at most e^((up + down)/b). *)
Lemma real_noisy_max_moves : forall up down q q' i, 0 <= up -> Forall2 (fun x y => y <= x + up) q q' ->
  (i < length q)%nat -> nth i q 0 <= nth i q' 0 + down ->
  real_noisy_max q i <= exp ((up + down) / b) * real_noisy_max q' i.
Proof.
  intros up down q q' i pos near inside loses. unfold real_noisy_max, over_the_line.
  pose proof (forall2_nth _ _ _ i near inside) as gains. apply (forall2_others _ _ _ i) in near.
  set (x0 := nth i q 0) in *. set (x0' := nth i q' 0) in *. set (c := exp ((up + down) / b)).
  set (g := winning_density x0 (others i q)). set (h := winning_density x0' (others i q')).
  assert (point : forall x, g x <= c * h (x + up)).
  { intros x. unfold g, h, winning_density. rewrite <- Rmult_assoc.
    apply Rmult_le_compat; try apply all_below_between; [left; apply density_positive | |apply all_below_moves; auto].
    replace (x + up - x0') with ((x - x0) + (up - (x0' - x0))) by ring. apply density_shifts.
    apply Rabs_le. lra. }
  destruct (nfloor_ex up pos) as [k0 [_ big]]. rewrite <- S_INR in big. set (k := S k0) in *.
  assert (gs : is_lim_seq (fun n => RInt g (- INR n) (INR n)) (real (Lim_seq (fun n => RInt g (- INR n) (INR n)))))
    by (apply Lim_seq_correct', winning_converges).
  assert (hs : is_lim_seq (fun n => RInt h (- INR n) (INR n)) (real (Lim_seq (fun n => RInt h (- INR n) (INR n)))))
    by (apply Lim_seq_correct', winning_converges).
  apply (is_lim_seq_incr_n _ k) in hs.
  apply (is_lim_seq_scal_l _ c) in hs. simpl in hs.
  assert (less : forall n, RInt g (- INR n) (INR n) <= c * RInt h (- INR (n + k)) (INR (n + k))).
  { intros n. pose proof (RInt_comp_lin h 1 up (- INR n) (INR n)) as moved. cbv beta in moved.
    rewrite !Rmult_1_l in moved. specialize (moved (winning_integrable _ _ _ _)).
    assert (shifted : ex_RInt (fun x => h (x + up)) (- INR n) (INR n)).
    { apply (ex_RInt_continuous (fun x => h (x + up))). intros x _. apply (continuous_comp (fun x => x + up) h).
      - apply (continuous_plus (fun x => x) (fun _ => up)); [apply continuous_id | apply continuous_const].
      - apply winning_continuous. }
    apply Rle_trans with (RInt (fun x => c * h (x + up)) (- INR n) (INR n)).
    - apply RInt_le; [apply inr_not_negative | apply winning_integrable | |intros; apply point].
      apply (ex_RInt_scal (fun x => h (x + up)) (- INR n) (INR n) c). exact shifted.
    - assert (out : RInt (fun x => c * h (x + up)) (- INR n) (INR n) = c * RInt (fun x => h (x + up)) (- INR n) (INR n))
        by (apply (RInt_scal (fun x => h (x + up)) (- INR n) (INR n) c); exact shifted).
      rewrite out. apply Rmult_le_compat_l; [left; apply exp_pos|].
      replace (RInt (fun x => h (x + up)) (- INR n) (INR n)) with (RInt h (- INR n + up) (INR n + up)).
      + pose proof (pos_INR n). apply wider_is_more; rewrite ?plus_INR; lra.
      + rewrite <- moved. apply RInt_ext. intros x _. unfold scal; simpl; unfold mult; simpl. rewrite !Rmult_1_l.
        reflexivity. }
  exact (is_lim_seq_le _ _ _ _ less gs hs).
Qed.

(** ** The chances add up to 1 *)

Lemma all_below_derive : forall q x,
  is_derive (all_below q) x (sum_list (fun '(o, rest) => winning_density o rest x) (each_removed q)).
Proof.
  induction q as [|o q IH]; intros x; simpl; [apply (is_derive_const 1)|]. evar_last.
  - apply (is_derive_mult (fun x => cdf (x - o)) (all_below q) x (density (x - o))); [|apply IH | intros; apply Rmult_comm].
    evar_last.
    + apply (is_derive_comp cdf (fun x => x - o) x); [apply cdf_derive|].
      apply (is_derive_minus (fun x => x) (fun _ => o) x 1 0); [apply (is_derive_id x) | apply (is_derive_const o)].
    + unfold scal, minus, plus, opp; simpl. unfold mult; simpl. ring.
  - assert (inner : sum_list (fun '(p, rest) => winning_density p rest x)
        (map (fun '(p, rest) => (p, o :: rest)) (each_removed q)) =
      cdf (x - o) * sum_list (fun '(p, rest) => winning_density p rest x) (each_removed q)).
    { clear IH. induction (each_removed q) as [|[p rest] l IHl]; simpl; [ring|]. rewrite IHl.
      unfold winning_density. simpl. ring. }
    rewrite inner. unfold plus, mult; simpl. unfold mult; simpl. unfold winning_density at 2. reflexivity.
Qed.

Lemma all_win : forall q n, sum_to (length q) (fun i => RInt (winning_density (nth i q 0) (others i q)) (- INR n) (INR n)) =
  all_below q (INR n) - all_below q (- INR n).
Proof.
  intros q n. rewrite (by_position (fun o rest => RInt (winning_density o rest) (- INR n) (INR n))).
  assert (whole : is_RInt (fun x => sum_list (fun '(o, rest) => winning_density o rest x) (each_removed q))
    (- INR n) (INR n) (all_below q (INR n) - all_below q (- INR n))).
  { apply (is_RInt_derive (all_below q)); [intros; apply all_below_derive|]. intros x _.
    induction (each_removed q) as [|[o rest] l IH]; simpl; [apply continuous_const|].
    apply (continuous_plus (winning_density o rest)); [apply winning_continuous | exact IH]. }
  rewrite <- (is_RInt_unique _ _ _ _ whole). symmetry. apply is_RInt_unique. clear whole.
  induction (each_removed q) as [|[o rest] l IH]; simpl.
  - evar_last; [apply (is_RInt_const (- INR n) (INR n) 0)|]. unfold scal; simpl; unfold mult; simpl. ring.
  - apply (is_RInt_plus (winning_density o rest)
      (fun x => sum_list (fun '(o, rest) => winning_density o rest x) l)); [|exact IH].
    apply (RInt_correct (winning_density o rest)), winning_integrable.
Qed.

Lemma exp_at_least_1 : forall x, 0 <= x -> 1 <= exp x.
Proof. intros x pos. rewrite <- exp_0. destruct pos as [lt| <-]; [left; apply exp_increasing; auto | lra]. Qed.

Lemma cdf_tails : forall x, 1 - exp (- x / b) <= cdf x <= exp (x / b).
Proof.
  intros x. pose proof (cdf_between x) as between. pose proof (exp_pos (- x / b)). pose proof (exp_pos (x / b)).
  destruct (Rle_dec 0 x) as [right|left].
  - assert (1 <= exp (x / b)) by (apply exp_at_least_1, Rmult_le_pos; [auto | left; apply Rinv_0_lt_compat; auto]).
    rewrite cdf_right in * by auto. lra.
  - assert (1 <= exp (- x / b)) by (apply exp_at_least_1, Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; auto]).
    split; [lra|]. rewrite cdf_left by lra. lra.
Qed.

Lemma exp_times : forall n x, exp (INR n * x) = exp x ^ n.
Proof.
  induction n as [|n IH]; intros x; [simpl; rewrite Rmult_0_l; apply exp_0|].
  rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, exp_plus, IH. simpl. ring.
Qed.

Lemma tail_vanishes : forall c, is_lim_seq (fun n => exp (c / b) * exp (- / b) ^ n) 0.
Proof.
  intros c. replace (Finite 0) with (Rbar_mult (exp (c / b)) 0) by (simpl; f_equal; ring).
  apply is_lim_seq_scal_l, is_lim_seq_geom.
  pose proof (exp_pos (- / b)). rewrite Rabs_right by lra. rewrite <- exp_0. apply exp_increasing.
  pose proof (Rinv_0_lt_compat b positive). lra.
Qed.

Lemma far_right : forall q, is_lim_seq (fun n => all_below q (INR n)) 1.
Proof.
  induction q as [|o q IH]; simpl; [apply is_lim_seq_const|].
  replace (Finite 1) with (Rbar_mult 1 1) by (simpl; f_equal; ring).
  apply is_lim_seq_mult'; auto.
  apply (is_lim_seq_le_le (fun n => 1 - exp (o / b) * exp (- / b) ^ n) _ (fun _ => 1)).
  - intros n. split; [|apply cdf_between]. destruct (cdf_tails (INR n - o)) as [low _].
    rewrite <- exp_times, <- exp_plus. replace (o / b + INR n * - / b) with (- (INR n - o) / b) by (field; lra). exact low.
  - replace (Finite 1) with (Rbar_minus 1 0) by (simpl; f_equal; ring).
    apply is_lim_seq_minus'; [apply is_lim_seq_const | apply tail_vanishes].
  - apply is_lim_seq_const.
Qed.

Lemma far_left : forall o q, is_lim_seq (fun n => all_below (o :: q) (- INR n)) 0.
Proof.
  intros o q. apply (is_lim_seq_le_le (fun _ => 0) _ (fun n => exp (- o / b) * exp (- / b) ^ n)).
  - intros n. split; [apply all_below_between|]. destruct (cdf_tails (- INR n - o)) as [_ high].
    rewrite <- exp_times, <- exp_plus. replace (- o / b + INR n * - / b) with ((- INR n - o) / b) by (field; lra).
    eapply Rle_trans; [|exact high]. simpl. rewrite <- (Rmult_1_r (cdf (- INR n - o))) at 2.
    apply Rmult_le_compat_l; [apply cdf_between | apply all_below_between].
  - apply is_lim_seq_const.
  - apply tail_vanishes.
Qed.

Theorem real_noisy_max_always_answers : forall first rest,
  sum_to (S (length rest)) (real_noisy_max (first :: rest)) = 1.
Proof.
  intros first rest. set (q := first :: rest).
  assert (sums : forall m, is_lim_seq (fun n => sum_to m (fun i =>
    RInt (winning_density (nth i q 0) (others i q)) (- INR n) (INR n))) (sum_to m (real_noisy_max q))).
  { induction m as [|m IH]; simpl; [apply is_lim_seq_const|]. apply is_lim_seq_plus'; auto.
    apply Lim_seq_correct', winning_converges. }
  assert (whole : is_lim_seq (fun n => sum_to (length q) (fun i =>
    RInt (winning_density (nth i q 0) (others i q)) (- INR n) (INR n))) 1).
  { apply (is_lim_seq_ext (fun n => all_below q (INR n) - all_below q (- INR n))).
    - intros n. symmetry. apply all_win.
    - replace (Finite 1) with (Rbar_minus 1 0) by (simpl; f_equal; ring).
      apply is_lim_seq_minus'; [apply far_right | apply far_left]. }
  specialize (sums (length q)). apply is_lim_seq_unique in sums. apply is_lim_seq_unique in whole.
  rewrite sums in whole. injection whole as whole. exact whole.
Qed.

Lemma real_noisy_max_not_negative : forall q i, 0 <= real_noisy_max q i.
Proof.
  intros q i. assert (lim := Lim_seq_correct' _ (winning_converges (nth i q 0) (others i q))).
  refine (is_lim_seq_le (fun _ => 0) _ 0 _ _ (is_lim_seq_const 0) lim).
  intros n. apply RInt_ge_0; [apply inr_not_negative | apply winning_integrable | intros; apply winning_between].
Qed.
End LaplaceNoise.
